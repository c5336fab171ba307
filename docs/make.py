"""Make what README and these pages show anew and in place: `make docs`, or `make docs PAGE=README.md` for one page.

A line `$ refdec ...` of a console block with lines under it is a shown output: the command is run as a reader would run
it, in an empty folder with the example files, and its output replaces those lines. A line at the foot of the page names
the machine. The package graph of architecture.md and explain.svg are made here too. What takes hours of measuring is
not: see `make_pictures`.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import grimp
import torch
from docs.make_pictures import explain
from importlinter import api as import_linter
from tests.example_files import write_example_files

import refdec
from refdec import Reflector

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

COLUMNS = 104
"""Width of the terminal that outputs are made for."""

LONGEST = 116
"""A longer line, such as a signature, is cut: it says nothing more to a reader of a page."""

TERMINAL = {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
"""The environment of shown commands: the pages show what a CPU does."""

GRAPH = re.compile(r"(?<=<!-- package graph, written by make docs -->\n).*?(?=<!-- end of package graph -->)", re.S)
MACHINE = re.compile(r"\n<sub>Outputs on this page were made .*?</sub>\n", re.S)

Runner = Callable[[list[str]], list[str]]
"""The outputs of commands that are run one after the other in one folder."""


def shown_outputs(page: str) -> list[list[tuple[str, str]]]:
    """For each console block that shows outputs of refdec, the commands and what is shown for each."""
    blocks = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.M | re.S):
        parts = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
        shown = [(command, output) for command, _, output in parts if output and command.startswith("refdec ")]
        if shown:
            blocks.append(shown)
    return blocks


def remake(page: str, run: Runner, machine: str) -> str:
    """A page with the outputs that its commands have now, and the machine at its foot where it shows some."""
    blocks = shown_outputs(page)
    for block in blocks:
        for (command, old), new in zip(block, run([command for command, _ in block]), strict=True):
            page = page.replace(f"$ {command}\n{old}", f"$ {command}\n{new}", 1)
    if blocks:
        line = f"<sub>Outputs on this page were made by `make docs` with {machine}.</sub>"
        page = MACHINE.sub("", page) + "\n" + textwrap.fill(line, LONGEST, break_on_hyphens=False) + "\n"
    return page


def run_commands(commands: list[str]) -> list[str]:
    """Outputs of the installed command on a terminal, without colours."""
    with tempfile.TemporaryDirectory() as name:
        write_example_files(Path(name), commands, Reflector(device="cpu"))
        return [_run(command, name) for command in commands]


def _run(command: str, folder: str) -> str:
    program = Path(sys.executable).with_name("refdec")
    arguments = [str(program), *shlex.split(command)[1:]]
    done = subprocess.run(arguments, cwd=folder, env=os.environ | TERMINAL, capture_output=True, text=True)
    return tidy(done.stderr if done.returncode else done.stdout)


def tidy(output: str) -> str:
    """The lines that a terminal shows, without colours and without blanks around them."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    lines = [line.rstrip() for line in plain.strip("\n").splitlines()]
    cut = [line if len(line) <= LONGEST else line[: LONGEST - 2] + " …" for line in lines]
    return "\n".join(cut).strip("\n") + "\n"


def machine(precision: str) -> str:
    """What the digits of sampled texts depend on."""
    cpuinfo = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.M) if cpuinfo.exists() else []
    instructions = torch.backends.cpu.get_cpu_capability() + (" with VNNI" if torch.cpu._is_vnni_supported() else "")
    cpu = f"{names[0] if names else platform.processor()} ({instructions}, {os.cpu_count()} cores)"
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    return f"refdec {refdec.__version__}, {precision} on {cpu}, {versions}"


def package_graph() -> str:
    """Which room imports which, as a drawing and as a table.

    The drawing leaves out an arrow where a longer way leads to the same room. Imports that the contract of
    import-linter names as exceptions are dotted.
    """
    graph = grimp.build_graph("refdec", cache_dir=None)
    doors = set()
    for importer, imported in _exceptions():
        graph.remove_import(importer=importer, imported=imported)
        doors.add((importer.split(".")[1], imported.split(".")[1]))
    rooms = sorted(name for name in graph.find_children("refdec") if graph.find_children(name))
    for name in graph.find_modules_directly_imported_by("refdec"):  # the public names lead everywhere
        graph.remove_import(importer="refdec", imported=name)
    for room in rooms:
        graph.squash_module(room)
    imports = {room: sorted(graph.find_modules_directly_imported_by(room) & set(rooms) - {room}) for room in rooms}
    arrows = [
        f"    {_name(room)} --> {_name(other)}"
        for room in rooms
        for other in imports[room]
        if not any(other in graph.find_upstream_modules(between) for between in imports[room] if between != other)
    ]
    arrows += [f"    {room} -. one lazy import .-> {other}" for room, other in sorted(doors)]
    rows = [f"| `{_name(room)}` | {', '.join(map(_name, imports[room])) or 'nobody'} |" for room in rooms]
    drawing = "\n".join(["```mermaid", "flowchart TD", *arrows, "```"])
    return drawing + "\n\n" + "\n".join(["| room | imports |", "|---|---|", *rows]) + "\n"


def _name(room: str) -> str:
    return room.removeprefix("refdec.")


def _exceptions() -> set[tuple[str, str]]:
    """Imports from room to room that the contract forbids in general and allows by name."""
    contracts = import_linter.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    named = {line for contract in contracts for line in contract.get("ignore_imports", [])}
    pairs = {tuple(line.split(" -> ")) for line in named if "*" not in line}
    return {(one, other) for one, other in pairs if one.split(".")[1] != other.split(".")[1]}


def main(names: list[str]) -> None:
    os.chdir(ROOT)
    unknown = [name for name in names if (ROOT / name) not in PAGES]
    if unknown:
        sys.exit(f"There is no page {unknown[0]}. Pages: {', '.join(str(page.relative_to(ROOT)) for page in PAGES)}.")
    where = machine(Reflector(device="cpu").pair.precision)
    for page in [ROOT / name for name in names] or PAGES:
        print(page.relative_to(ROOT), flush=True)
        old = page.read_text()
        page.write_text(GRAPH.sub(lambda _: package_graph(), remake(old, run_commands, where)))
    if not names:
        print("docs/explain.svg", flush=True)
        explain()


if __name__ == "__main__":
    main(sys.argv[1:])
