"""METEOR 1.5 for English (Denkowski and Lavie 2014): words matched by form, stem, synonym and paraphrase.

Runs the authors' program as the package `pycocoevalcap` carries it (its README says that pooling over a corpus was
mended there), with the paraphrase table, in one Java process that ends with the call. The program tokenizes and
lower-cases (`-norm`), takes the best reference of each item and pools the counts of the whole corpus. From 0 to
100. NLTK's `meteor_score` is another metric.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from refdec.errors import InputError, ModelError

PACKAGE = "pycocoevalcap"
JAR = "pycocoevalcap/meteor/meteor-1.5.jar"


def corpus_meteor(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    if not candidates or not all(references):
        raise InputError("METEOR needs at least one text, and at least one reference for each.")
    if len(candidates) != len(references):
        raise InputError(f"METEOR got {len(candidates)} texts and the references of {len(references)}.")
    java, jar = _java(), _jar()
    most = max(len(group) for group in references)
    with tempfile.TemporaryDirectory() as folder:
        texts, others = Path(folder, "texts"), Path(folder, "references")
        _write(texts, candidates)
        # The program wants the same number of references everywhere. One given twice changes no maximum.
        _write(others, (group[min(place, len(group) - 1)] for group in references for place in range(most)))
        # Plain files give the same score as its -stdio dialogue, and "|||" in a text means nothing there.
        command = [java, "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(jar), str(texts), str(others)]
        command += ["-l", "en", "-norm", "-q", "-r", str(most)]
        finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")
    try:
        finished.check_returncode()
        return 100 * float(finished.stdout)
    except (subprocess.CalledProcessError, ValueError):
        said = (finished.stderr or finished.stdout).strip()[-300:]
        raise ModelError(f"METEOR gave no score (exit status {finished.returncode}): {said}") from None


def _write(path: Path, texts: Iterable[str]) -> None:
    lines = (" ".join(text.split()) + "\n" for text in texts)  # one text a line, whatever breaks it has inside
    path.write_text("".join(lines), encoding="utf-8", errors="replace", newline="\n")


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise ModelError("METEOR is a Java program and there is no java on the PATH. Install a Java runtime.")
    return java


def _jar() -> Path:
    try:
        jar = Path(str(importlib.metadata.distribution(PACKAGE).locate_file(JAR)))
    except importlib.metadata.PackageNotFoundError:
        raise ModelError("METEOR needs a package that is not installed: pip install 'refdec[evaluate]'.") from None
    if not jar.exists():
        raise ModelError(f"METEOR's program is not where its package has it: {jar}. Install {PACKAGE} again.")
    return jar
