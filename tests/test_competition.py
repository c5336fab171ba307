"""Refdec's systems against the others at the same Novelty, on saved outputs whose Novelty is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refdec.evaluate.experiments.bench import Bench
from refdec.evaluate.experiments.competition import sentences_systems
from refdec.evaluate.experiments.runs import Runs
from refdec.evaluate.experiments.systems import GROUPS, each_system, system
from refdec.evaluate.reports.report import ReportTable
from refdec.metrics.novelty import novelty
from refdec.settings import InfillSettings, ParaphraseSettings

WORDS = [f"w{number}" for number in range(60)]
SOURCE = " ".join(WORDS)
ROWS = 20


def text(changed: int) -> str:
    """The source with some of its sixty words changed, from the last."""
    return " ".join([*WORDS[: len(WORDS) - changed], *(f"x{number}" for number in range(changed))])


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "data" / "sentences" / "dev.jsonl", [
        {"id": str(number), "source": SOURCE, "references": [text(9)]} for number in range(ROWS)
    ])  # fmt: skip
    return tmp_path


def candidates(*changed: int) -> list[dict[str, Any]]:
    return [{"text": text(count), "novelty": novelty(text(count), SOURCE), "copy": False} for count in changed]


def ranked(path: Path, *changed: int) -> Path:
    """Outputs with the same candidates for every row, in this order."""
    return write(
        path, [{"id": str(number), "source": SOURCE, "results": candidates(*changed)} for number in range(ROWS)]
    )


def single(path: Path, changed: int) -> Path:
    return write(path, [{"id": str(number), "output": text(changed)} for number in range(ROWS)])


def compared(folder: Path, *systems: Path | str) -> dict[str, ReportTable]:
    """The tables of differences by the end of their titles."""
    runs = Runs(folder / "out", None, lambda *_: None)

    def no_models() -> Any:
        raise AssertionError("outputs are there already")

    names = tuple(map(str, systems))
    bench = Bench(folder / "data", runs, "cpu", no_models, names, metrics=("sari", "novelty"), resamples=50)
    tables = [section for section in sentences_systems(bench) if isinstance(section, ReportTable)]
    return {table.title.partition(": differences at ")[2]: table for table in tables if "differences" in table.title}


def ours(folder: Path, name: str, *changed: int) -> None:
    ranked(folder / "out" / "outputs" / "sentences-dev" / f"{name}.jsonl", *changed)


def names(table: ReportTable) -> list[str]:
    return [row.name for row in table.rows]


EVERY = tuple(range(1, 50))


def test_every_system_of_ours_meets_every_other_at_30_and_at_45(folder: Path) -> None:
    ours(folder, "rd-faithful", *EVERY)
    ours(folder, "rd-paper", *EVERY)
    tables = compared(
        folder,
        "source",
        "rd:faithful",
        "rd:paper",
        ranked(folder / "upsa.jsonl", *EVERY),
        ranked(folder / "cgmh.jsonl", *EVERY),
    )
    assert list(tables) == ["Novelty 30", "Novelty 45"]
    assert names(tables["Novelty 30"]) == [
        "rd-faithful 30 less rd-paper 30",
        "rd-faithful 30 less upsa 30",
        "rd-faithful 30 less cgmh 30",
        "rd-paper 30 less upsa 30",
        "rd-paper 30 less cgmh 30",
    ]
    for table in tables.values():
        assert all(row.cells["novelty"].value == pytest.approx(0, abs=1) for row in table.rows)
        assert "Paired bootstrap" in table.note


def test_who_cannot_be_that_novel_is_named_and_met_elsewhere(folder: Path) -> None:
    ours(folder, "rd-faithful", *EVERY)
    ours(folder, "rd-paper", 40, 45)
    tables = compared(folder, "rd:faithful", "rd:paper", ranked(folder / "plain.jsonl", 1, 2, 3))
    assert list(tables) == ["the same Novelty"]
    least = novelty(text(40), SOURCE)
    assert names(tables["the same Novelty"]) == [
        f"rd-faithful at {least:.1f} less rd-paper",
        "rd-faithful less plain",
        f"rd-paper less plain at {least:.1f}",
    ]
    assert tables["the same Novelty"].rows[0].cells["novelty"].value == pytest.approx(0, abs=1)


def test_the_table_of_a_target_says_who_is_missing_and_what_they_have(folder: Path) -> None:
    ours(folder, "rd-faithful", *EVERY)
    tables = compared(
        folder,
        "rd:faithful",
        ranked(folder / "upsa.jsonl", *EVERY),
        ranked(folder / "far.jsonl", 40, 45),
        single(folder / "one.jsonl", 20),
    )
    far, farther, one = (novelty(text(count), SOURCE) for count in (40, 45, 20))
    note = tables["Novelty 30"].note
    assert f"Not at this Novelty: far ({far:.1f} to {farther:.1f}), one (has {one:.1f})." in note
    assert names(tables["Novelty 30"]) == ["rd-faithful 30 less upsa 30"]


def test_one_text_per_row_is_met_at_its_own_novelty(folder: Path) -> None:
    ours(folder, "rd-faithful", *EVERY)
    tables = compared(folder, "rd:faithful", single(folder / "apertium.jsonl", 20))
    (row,) = tables["the same Novelty"].rows
    assert row.name == f"rd-faithful at {novelty(text(20), SOURCE):.1f} less apertium"
    assert row.cells["novelty"].value == pytest.approx(0, abs=0.5)
    assert row.cells["sari"].value == pytest.approx(0)  # the same texts


def test_without_refdec_nothing_is_compared(folder: Path) -> None:
    assert compared(folder, "source", ranked(folder / "upsa.jsonl", *EVERY)) == {}


def test_variants_are_all_that_the_page_lists_and_each_is_a_system() -> None:
    page = (Path(__file__).parent.parent / "docs" / "baselines.md").read_text(encoding="utf-8")
    chosen = [system(name, ParaphraseSettings, "fast") for name in GROUPS["variants"]]
    assert len({item.name for item in chosen}) == len(GROUPS["variants"])
    assert all(f"`{name}`" in page for name in GROUPS["variants"])


def test_a_group_stands_for_its_systems_none_twice() -> None:
    names = each_system(["source", "rd:paper", "variants"], ParaphraseSettings)
    assert names[:2] == ["source", "rd:paper"]
    assert sorted(names[1:]) == sorted(GROUPS["variants"])
    assert each_system(["variants"], InfillSettings) == ["variants"]
