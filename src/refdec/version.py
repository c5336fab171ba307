"""Which refdec this is: a release, or a development version and its commit.

The build runs this module, and so does the program: a checkout asks git, an installed wheel says what it was built as.
"""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path

RELEASE = "0.1.0"
"""The release that is worked on. Its commit gets the tag v0.1.0; the next number comes with the commit after it."""

SECONDS = 60.0
"""How long git may take: far longer than on a busy machine. Where it hangs, the commit is left out."""


def find_version(package: Path) -> str:
    """The version of the package in a directory."""
    root = package.parent.parent
    if (root / ".git").exists():
        return _of_checkout(root)
    try:
        installed = metadata.distribution("refdec")
        if Path(str(installed.locate_file("refdec"))).resolve() == package:
            return installed.version
    except metadata.PackageNotFoundError:
        pass
    return f"{RELEASE}.dev0"


def _of_checkout(root: Path) -> str:
    """The release where its tag is checked out and no file was changed, else a development version."""
    command = ["git", "--no-optional-locks", "-C", str(root), "describe", "--tags", "--match", f"v{RELEASE}"]
    try:
        answer = subprocess.run(
            [*command, "--long", "--always", "--dirty"], check=True, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return f"{RELEASE}.dev0"
    described = answer.stdout.strip()  # v0.1.0-3-g1d28291-dirty, or 1d28291-dirty where the tag is not known
    if described.startswith(f"v{RELEASE}-0-g") and not described.endswith("-dirty"):
        return RELEASE
    commit = described.removesuffix("-dirty").split("-")[-1].removeprefix("g")
    return f"{RELEASE}.dev0+g{commit}{'.dirty' if described.endswith('-dirty') else ''}"


def note_on(pair: str) -> str:
    """A sentence for users on a pair of models that came with earlier versions; empty for any other pair."""
    name = pair.partition(":")[0]
    return f" {name} came with earlier versions of refdec, and this one has another pair." if name == "pair-v0" else ""


def comparable(signature: str) -> str:
    """A signature without the commit of a development version, so that a run goes on after a change to the code."""
    return re.sub(r"^(refdec:[^|+]*)\+[^|]*", r"\1", signature)


__version__ = find_version(Path(__file__).resolve().parent)
