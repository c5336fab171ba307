"""What the pages show is what the program does: examples run, links lead somewhere, tables are true."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

import refdec
import refdec.lm.pair
import refdec.settings
import refdec.tasks.reflector
from refdec import PRESETS, Pair, ParaphraseSettings, Reflector
from refdec.cli.main import main
from tests.conftest import make_presets_tiny
from tests.example_files import write_example_files

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for code in re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S):
            found.append((page.name, code))
    return found


@pytest.fixture
def small(int8_pair: Pair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The loaded pair for every name, settings that take a second, an empty directory to work in."""
    for module in (refdec.lm.pair, refdec.tasks.reflector):
        monkeypatch.setattr(module, "load_pair", lambda *_, **__: int8_pair)
    make_presets_tiny(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_examples_run(page: str, code: str, small: Path) -> None:
    write_example_files(small, [code], Reflector())
    exec(compile(code, page, "exec"), {"__name__": "example"})


def commands() -> list[list[str]]:
    """The commands of each block that has some: a later one may use what an earlier one wrote."""
    found = [
        [line.partition("#")[0].strip() for line in code.splitlines() if line.startswith("refdec ")]
        for _, code in blocks("console")
    ]
    return [lines for lines in found if lines]


@pytest.mark.parametrize("lines", commands(), ids=lambda lines: lines[0])
def test_commands_run(lines: list[str], small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_example_files(small, lines, Reflector())
    for line in lines:
        monkeypatch.setattr(sys, "argv", shlex.split(line.partition(">")[0]))
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, line


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"^make (\w+)", "\n".join(code for _, code in blocks("console")), re.M)
    assert {"demo", "test"} <= set(named)
    assert all(f"\n{target}:" in makefile for target in named)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_table_of_presets_is_that_of_the_program() -> None:
    page = (ROOT / "docs" / "quality.md").read_text()
    for name, settings in PRESETS["paraphrase"].items():
        assert isinstance(settings, ParaphraseSettings)
        values = [settings.contexts, settings.context_tokens, settings.context_top_p, settings.kept_contexts]
        row = [f"`{name}`", *map(str, [*values, settings.samples])]
        assert "| " + " | ".join(row) + " |" in page
