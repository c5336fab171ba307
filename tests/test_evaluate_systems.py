"""Systems are found by name, outputs by the paper's protocol, and nothing is generated twice or mixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refdec import InputError, Reflector, SettingsError
from refdec.evaluate.experiments.data import Example
from refdec.evaluate.experiments.runs import Rows, Runs
from refdec.evaluate.experiments.selection import best, cutoff_for, novelty_at, top
from refdec.evaluate.experiments.systems import GivenText, Reflective, Saved, system
from refdec.settings import InfillSettings, ParaphraseSettings
from tests.conftest import TINY

EXAMPLES = [
    Example("a", "How do I learn to cook?", ("What is the best way to learn cooking?",)),
    Example("b", "The train was late again.", ("Again the train came late.",)),
    Example("c", "How do I learn to cook?", ("How can I become a good cook?",)),
]


def candidate(text: str, novelty: float, copy: bool = False) -> dict[str, Any]:
    return {"text": text, "novelty": novelty, "copy": copy}


ROW = {
    "source": "the cat sat",
    "results": [candidate("the cat sat.", 0, copy=True), candidate("the cat sits", 40), candidate("a dog ran", 100)],
}


def test_top_may_be_a_copy_and_best_may_not() -> None:
    assert top(ROW) == "the cat sat."
    assert best(ROW) == "the cat sits"


def test_above_a_cutoff_the_best_ranked_counts_and_else_the_most_novel() -> None:
    assert best(ROW, 40) == "the cat sits"
    assert best(ROW, 41) == "a dog ran"
    assert best({**ROW, "results": ROW["results"][:2]}, 90) == "the cat sits"


def test_where_nothing_was_generated_the_source_stands() -> None:
    empty = {"source": "the cat sat", "results": []}
    assert top(empty) == best(empty) == "the cat sat"


def test_the_cutoff_is_the_lowest_that_reaches_the_target() -> None:
    rows = [ROW] * 3
    assert cutoff_for(rows, 1) == 0.0
    found = cutoff_for(rows, 90)
    assert 40 < found < 40.1
    assert novelty_at(rows, found) >= 90 > novelty_at(rows, 40)


def test_systems_are_named_with_preset_and_settings(tmp_path: Path) -> None:
    (tmp_path / "others.jsonl").write_text('{"id": "a", "output": "x"}\n')
    assert system("source", ParaphraseSettings, "fast") == GivenText("source")
    assert system("rd", ParaphraseSettings, "fast") == Reflective("fast")
    found = system("rd:paper,contexts=240,frame=none", ParaphraseSettings, "fast")
    assert found == Reflective("paper", {"contexts": 240, "frame": "none"})
    assert found.name == "rd-paper-contexts-240-frame-none"
    assert system(str(tmp_path / "others.jsonl"), ParaphraseSettings, "fast") == Saved(tmp_path / "others.jsonl")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sorce", "did you mean 'source'"),
        ("rd:papper", "did you mean 'paper'"),
        ("rd:paper,contextss=3", "did you mean 'contexts'"),
        ("rd:paper,contexts=-1", "contexts is -1"),
        ("rd:paper,fast", "NAME=VALUE"),
        ("nowhere/file.jsonl", "There is no file"),
    ],
)
def test_a_wrong_system_is_told_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises((SettingsError, InputError), match=message):
        system(name, ParaphraseSettings, "fast")


def test_a_preset_belongs_to_its_task() -> None:
    assert system("rd:released", InfillSettings, "fast") == Reflective("released")
    with pytest.raises(SettingsError, match="paraphrase preset"):
        system("rd:released", ParaphraseSettings, "fast")


class Counting:
    """Loads once, and tells how often it was asked."""

    def __init__(self, reflector: Reflector) -> None:
        self.reflector, self.asked, self.told = reflector, 0, list[tuple[str, int, int]]()

    def make(self) -> Reflector:
        self.asked += 1
        return self.reflector

    def tell(self, words: str, done: int, total: int) -> None:
        self.told.append((words, done, total))


def test_what_is_there_is_not_generated_again(reflector: Reflector, tmp_path: Path) -> None:
    counting = Counting(reflector)
    runs = Runs(tmp_path, counting.make, counting.tell)
    rows = Rows("made-up", EXAMPLES)
    rd = Reflective("fast", TINY)
    first = runs.outputs(rd, rows)
    path = runs.path(rd, rows)
    content = path.read_bytes()
    assert list(first) == ["a", "b", "c"]
    assert first["a"]["results"] == first["c"]["results"]  # one source, paraphrased once
    assert counting.told[-1] == (f"{rd.name} for made-up", 3, 3)
    assert runs.outputs(rd, rows) == first
    assert path.read_bytes() == content


def test_a_killed_run_goes_on_where_it_stopped(reflector: Reflector, tmp_path: Path) -> None:
    counting = Counting(reflector)
    runs, rows, rd = Runs(tmp_path, counting.make, counting.tell), Rows("made-up", EXAMPLES), Reflective("fast", TINY)
    whole = runs.outputs(rd, rows)
    path = runs.path(rd, rows)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:40])
    counting.told.clear()
    again = runs.outputs(rd, rows)
    assert counting.told[0][1:] == (1, 3)
    assert {key: row["results"] for key, row in again.items()} == {key: row["results"] for key, row in whole.items()}


def test_other_settings_are_not_mixed_in(reflector: Reflector, tmp_path: Path) -> None:
    counting = Counting(reflector)
    runs, rows, rd = Runs(tmp_path, counting.make, counting.tell), Rows("made-up", EXAMPLES), Reflective("fast", TINY)
    runs.outputs(rd, rows)
    path = runs.path(rd, rows)
    content = path.read_text().replace("seed:0", "seed:1")
    path.write_text(content)
    with pytest.raises(InputError, match="seed is 1 there and 0 here"):
        runs.outputs(rd, rows)
    assert path.read_text() == content


def test_without_models_what_is_missing_is_told(tmp_path: Path) -> None:
    runs = Runs(tmp_path, None, lambda *_: None)
    with pytest.raises(InputError, match="generate them first"):
        runs.outputs(Reflective("fast"), Rows("made-up", EXAMPLES))
    part = tmp_path / "part.jsonl"
    part.write_text(json.dumps({"id": "a", "output": "x"}) + "\n")
    with pytest.raises(InputError, match="first 1 of 3 rows"):
        runs.outputs(Saved(part), Rows("made-up", EXAMPLES))
    assert list(Runs(tmp_path, None, lambda *_: None, unfinished=True).outputs(Saved(part), Rows("x", EXAMPLES))) == [
        "a"
    ]
