"""What the pages show is what the program does: examples run, outputs look as shown, links lead somewhere.

Sampled texts and their figures depend on how a CPU rounds, so outputs are compared by their form; those that do not
depend on it (help, refusals) word by word. `make docs` makes all of them anew.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from docs.make import GRAPH, MACHINE, PAGES, ROOT, TERMINAL, package_graph, remake, shown_outputs, tidy

import refdec.lm.pair
import refdec.tasks.reflector
from refdec import PRESETS, Pair, ParaphraseSettings, Reflector
from refdec.cli.main import main
from tests import example_files
from tests.conftest import Run, lend_calibration, let_servers_end, make_presets_tiny
from tests.example_files import in_a_second, write_example_files

NARROW = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/**/*.md"))),
]


def blocks(language: str) -> list[tuple[str, str]]:
    """The code blocks of a language, each with the name of its page."""
    return [
        (page.name, code)
        for page in PAGES
        for code in re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)
    ]


def use_pair(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (refdec.lm.pair, refdec.tasks.reflector):
        monkeypatch.setattr(module, "load_pair", lambda *_, **__: pair)


@pytest.fixture
def loaded(int8_pair: Pair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The embedded pair for every name, and an empty directory to work in."""
    use_pair(int8_pair, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small(small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The same with a small pair, and settings that take milliseconds."""
    use_pair(small_reflector.pair, monkeypatch)
    lend_calibration(monkeypatch)
    make_presets_tiny(monkeypatch)
    let_servers_end(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_examples_run(page: str, code: str, small: Path) -> None:
    write_example_files(small, [code], Reflector())
    exec(compile(code, page, "exec"), {"__name__": "example"})


def commands() -> list[list[str]]:
    """The commands of each block that has some: a later one may use what an earlier one wrote."""
    per_block = [
        [line.partition("#")[0].strip() for line in code.splitlines() if line.startswith("refdec ")]
        for _, code in blocks("console")
    ]
    return [lines for lines in per_block if lines]


@pytest.mark.long
@pytest.mark.parametrize("lines", commands(), ids=lambda lines: lines[0])
def test_commands_run(lines: list[str], small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_example_files(small, lines, Reflector())
    for line in lines:
        checked = " --dry-run" if "--engine ray" in line else ""  # in its processes, the pair would be the embedded one
        monkeypatch.setattr(sys, "argv", shlex.split(in_a_second(line.partition(">")[0] + checked)))
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, line


SHOWN = [(page.name, block) for page in PAGES for block in shown_outputs(page.read_text())]


@pytest.mark.parametrize(("page", "block"), SHOWN, ids=lambda value: value if isinstance(value, str) else value[0][0])
def test_shown_outputs_look_as_they_do_now(
    page: str, block: list[tuple[str, str]], loaded: Path, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    lines = [line for line, _ in block]
    if any("--dry-run" in line for line in lines):  # it looks the same with any settings and any number of rows
        make_presets_tiny(monkeypatch)
        monkeypatch.setattr(example_files, "MANY_ROWS", 1000)
    write_example_files(loaded, lines, Reflector())
    for line, shown in block:
        code, out, err = command(*shlex.split(line)[1:])
        now = tidy(err if code else out)
        if code or "--help" in line:
            assert now == shown, f"{page}: {line}: run make docs"
        else:
            assert form(now) == form(shown), f"{page}: {line}: run make docs"
            assert "No good " not in shown, f"{page}: {line}: choose an example that succeeds"


ENDS = (".", "?", "!")


def form(output: str) -> list[list[str]]:
    """The cells of each line, without what a CPU and its speed decide: digits, sampled texts and copies, widths.

    What is said about a text depends on it, too: in a table, the lines from └ up to the next row.
    """
    rows: list[list[str]] = []
    is_remark = False
    for line in (line.strip() for line in output.splitlines() if "copy of the source" not in line):
        cells = re.split(r"\s{2,}", line)
        is_remark = line.startswith("└") or (is_remark and len(cells) == 1 and bool(line))
        if is_remark:
            continue
        if rows and len(cells) == 1 < len(rows[-1]) and line.endswith(ENDS) and not rows[-1][0].endswith(ENDS):
            rows[-1][0] += f" {line}"  # the end of a text that did not fit into its column
        else:
            rows.append(cells)
    return [[_kind(cell) for cell in row] for row in rows]


def _kind(cell: str) -> str:
    if set(cell) == {"─"}:
        return "a rule"
    if re.search(r"[^\W\d].*[.?!]$", cell):
        return "a text"
    if cell.endswith(" …"):  # where a long line is cut depends on the figures in it
        return re.split(r"\d", cell)[0]
    if cell in ("left", "right", "both"):
        return "a side"
    figures = re.sub(r"[+-]?\d[\d,.]*", "#", cell)
    return re.sub(r"# (s|min|h|days)\b", "a time", re.sub(r"# (kB|MB|GB|TB)\b", "a size", figures))


def test_the_form_of_an_output_does_not_depend_on_the_cpu() -> None:
    one = """
  paraphrase                       score   from
 ───────────────────────────────────────────────
  Is it far off?                   -1.21   right
  └ far → far off; and 1
    more

  copy of the source, not counted: +0.00  Is it far?
  about 83.4 h, 32 MB
  made by  refdec:0.1.0|contexts:24|context_tok …
"""
    other = """
  paraphrase             score   from
 ────────────────────────────────────
  Is that a long way?   -10.20   left

  about 2 min, 1.1 GB
  made by  refdec:0.1.0|contexts:1000|context_t …
"""
    assert form(one) == form(other)
    wrapped = other.replace("Is that a long way?   -10.20   left", "Is that a long way      -10.20   left\n  off?")
    assert form(one) == form(wrapped)
    for changed in ("score", "-10.20", "left", "GB\n", "made by"):
        assert form(one) != form(other.replace(changed, ""))


def test_outputs_are_made_anew_where_they_stand() -> None:
    page = "A\n\n```console\n$ refdec score a b\nold\nold\n$ refdec train x\n```\nB\n```console\nrefdec score a\n```\n"
    first = remake(page, lambda lines: [f"new {line}\n" for line in lines], "a machine")
    assert first.startswith(page.replace("old\nold\n", "new refdec score a b\n"))
    assert MACHINE.search(first)
    assert remake(first, lambda lines: ["new\n" for _ in lines], "another").count("<sub>") == 1
    assert remake("No outputs here.\n", lambda _: [], "a machine") == "No outputs here.\n"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if shown_outputs(page.read_text())], ids=lambda page: page.name
)
def test_pages_name_the_machine_that_made_their_outputs(page: Path) -> None:
    assert len(MACHINE.findall(page.read_text())) == 1, "run make docs"


def test_the_package_graph_is_the_real_one() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = GRAPH.search(page)
    assert drawn is not None
    assert drawn.group() == package_graph(), "run make docs PAGE=docs/architecture.md"
    rooms = [path.parent.name for path in (ROOT / "src" / "refdec").glob("*/__init__.py")]
    assert all(f"| `{room}/` |" in page for room in rooms)


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"^make (\w+)", "\n".join(code for _, code in blocks("console")), re.M)
    assert {"demo", "test", "check", "docs"} <= set(named)
    assert all(f"\n{target}:" in makefile for target in named)


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((ROOT / "docs" / "results").glob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_pages_name_exist(name: str) -> None:
    page = (ROOT / name).read_text()
    named = re.findall(r"`(\w[\w/]*\.(?:py|md|toml|txt))`", page)
    assert named
    missing = [path for path in named if not any((top / path).exists() for top in (ROOT, ROOT / "src" / "refdec"))]
    assert [path for path in missing if "NAME" not in path] == []


@pytest.mark.parametrize("name", NARROW)
def test_lines_are_narrow_enough_to_read(name: str) -> None:
    """Tables are as wide as they must be, and a signature is one word."""
    lines = (ROOT / name).read_text().splitlines()
    prose = [line for line in lines if not line.startswith("|") and len(line.split()) > 1]
    assert [line for line in prose if len(line) >= 120] == []


def test_the_table_of_presets_is_that_of_the_program() -> None:
    page = (ROOT / "docs" / "quality.md").read_text()
    for name, settings in PRESETS["paraphrase"].items():
        assert isinstance(settings, ParaphraseSettings)
        values = [settings.contexts, settings.context_tokens, settings.context_top_p, settings.kept_contexts]
        row = [f"`{name}`", *map(str, [*values, settings.samples])]
        assert "| " + " | ".join(row) + " |" in page
