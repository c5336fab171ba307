"""The figures of faithful paraphrases: what counts as good, and how a run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.faithful import best_good, chosen_rows, is_good, kind_of, load_facts, paraphrase_rows
from benchmarks.outputs import read_rows

from refdec import InputError, ParaphraseSettings, Reflector

SETTINGS = ParaphraseSettings(contexts=3, context_tokens=6, kept_contexts=2, samples=4)


def _rows(*identifiers: str) -> list[dict[str, Any]]:
    source = "Anna walked to the house in the morning."
    return [{"id": name, "source": source, "references": ["In the morning Anna walked."]} for name in identifiers]


def test_a_result_is_good_unless_a_figure_speaks_against_it() -> None:
    assert is_good({"copy": False})
    assert is_good({"copy": False, "cost": 1.0, "confidence": 0.5})
    assert not is_good({"copy": True, "cost": 0.0, "confidence": 1.0})
    assert not is_good({"copy": False, "cost": 1.1, "confidence": 0.9})
    assert not is_good({"copy": False, "cost": 0.0, "confidence": 0.4})
    results = [{"copy": False, "cost": 3.0, "text": "a"}, {"copy": False, "cost": 0.5, "text": "b"}]
    assert best_good({"results": results}) == results[1]


def test_rows_are_chosen_kind_by_kind() -> None:
    rows = _rows("mrpc-0", "asset-0", "mrpc-1", "mrpc-2", "asset-1", "x-0")
    assert [row["id"] for row in chosen_rows(rows, ["news", "encyclopedia"], 2, None)] == [
        "mrpc-0",
        "mrpc-2",
        "asset-0",
    ]
    assert [row["id"] for row in chosen_rows(rows, [], 1, 1)] == ["mrpc-0", "asset-0", "x-0"]
    assert kind_of("quora-iso-dev-0000") == "questions"


def test_a_run_goes_on_without_loss_or_repeat(small_reflector: Reflector, tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    rows = _rows("mrpc-0", "mrpc-1", "mrpc-2")
    paraphrase_rows(path, rows[1:2], small_reflector, SETTINGS)
    first = path.read_text()
    paraphrase_rows(path, rows, small_reflector, SETTINGS)
    assert path.read_text().startswith(first)
    assert [row["id"] for row in read_rows(path)] == ["mrpc-1", "mrpc-0", "mrpc-2"]
    with pytest.raises(InputError, match="other settings"):
        paraphrase_rows(path, rows, small_reflector, ParaphraseSettings(contexts=4, context_tokens=6))


def test_facts_are_checked_by_the_named_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.py"
    path.write_text("def changed(source, text):\n    return [] if source == text else ['all']\n")
    assert load_facts(path)("a", "b") == ["all"]
    path.write_text(json.dumps({}))
    with pytest.raises(InputError, match="no function"):
        load_facts(path)
