"""Confidence as users of the command meet it: a figure for every result, a dial, and a word where nothing is good."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from typing import Any

import pytest
from rich.console import Console

from refdec import Paraphrase, ParaphraseResult, Reflector
from refdec.cli.render import show_results
from refdec.cli.selection import explained
from refdec.errors import SettingsError
from refdec.tasks.choice import Wanted, choose, percent
from refdec.tasks.confidence import check_calibrated
from tests.conftest import Run, refusal

OPTIONS: dict[str, Any] = {"novelty": None, "front": False, "top": 5, "confidence": None}
Rows = list[tuple[str, float | None, float]]

MIXED: Rows = [("copy", 1.0, 0.0), ("near", 0.95, 20.0), ("poor", 0.2, 60.0), ("far", 0.8, 50.0)]
BAD: Rows = [("copy", 1.0, 0.0), ("near", 0.3, 20.0), ("far", 0.0996, 60.0)]


def result(rows: Rows) -> ParaphraseResult:
    candidates = tuple(
        Paraphrase(text, -place, -place, 0.0, (), novelty, text == "copy", "right", (), sure)
        for place, (text, sure, novelty) in enumerate(rows)
    )
    return ParaphraseResult("source", 0.0, candidates, (), {}, {}, "signature")


def chosen(rows: Rows, **options: Any) -> tuple[list[str], str]:
    found, note = choose(result(rows), Wanted(**options))
    return [item.text for item in found], note


def test_only_results_that_are_sure_enough_are_shown() -> None:
    assert chosen(MIXED, confidence=0.8) == (["near", "far"], "")
    assert chosen(MIXED, confidence=0.8, top=1) == (["near"], "")
    assert chosen(MIXED, confidence=0.8, novelty=30) == (["far"], "")


def test_the_front_is_that_of_the_sure_ones() -> None:
    assert chosen(MIXED, front=True)[0] == ["near", "poor"]
    assert chosen(MIXED, front=True, confidence=0.5)[0] == ["near", "far"]


def test_that_nothing_good_was_found_is_said_and_the_best_still_shown() -> None:
    wrong = "What is wrong with the nearest"
    assert chosen(BAD) == (["near", "far"], f"No good paraphrase was found. {wrong}, number 1: confidence 30 %.")
    novel = f"No good paraphrase of Novelty 50 or more was found. {wrong}: confidence 9 %."
    assert chosen(BAD, novelty=50) == (["far"], novel)


def test_a_good_result_further_down_is_no_failure() -> None:
    assert chosen([BAD[1], MIXED[3]]) == (["near", "far"], "")
    lower = "None of these is good, but candidates that rank further down are:"
    assert chosen([BAD[1], MIXED[3]], top=1)[1] == f"{lower} show them with --top."
    assert chosen([BAD[2], MIXED[3]], front=True)[1] == f"{lower} leave --front out."


def test_a_confidence_that_nothing_reaches_is_said_with_the_highest() -> None:
    assert chosen(BAD, confidence=0.9) == (
        [],
        "No paraphrase reaches confidence 90 %; the highest is 30 %. Try more --contexts.",
    )
    assert chosen(BAD, confidence=0.2, novelty=50) == (
        [],
        "No paraphrase of Novelty 50 or more reaches confidence 20 %; the highest is 9 %. Try more --contexts.",
    )
    assert "No paraphrase reaches Novelty 90" in chosen(BAD, confidence=0.9, novelty=90)[1]
    assert chosen([("copy", 1.0, 0.0)], confidence=0.9)[1].startswith("Only copies")
    assert chosen([], confidence=0.9)[1].startswith("No paraphrase was generated")


def test_results_without_confidence_are_shown_without_a_word_about_it() -> None:
    rows: Rows = [("near", None, 20.0), ("far", None, 60.0)]
    assert chosen(rows) == (["near", "far"], "")
    for terminal in (False, True):
        assert "confidence" not in shown(rows, terminal)


def test_a_percentage_never_claims_more_than_there_is() -> None:
    assert [percent(value) for value in (0.0, 0.29, 0.8999, 0.9999, 1.0)] == ["0 %", "29 %", "89 %", "99 %", "100 %"]


def test_all_that_may_be_shown_is_explained() -> None:
    assert explained(OPTIONS | {"explain": True, "html": None}) == 5
    assert explained(OPTIONS | {"explain": True, "html": None, "confidence": 0.5}) > 1000


def shown(rows: Rows, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)
    found = result(rows)
    show_results(console, found, found.top(5), "")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_people_see_a_figure_for_every_result() -> None:
    lines = shown(MIXED, terminal=False).splitlines()
    assert lines[-1] == "  copy of the source, not counted: +0.00  copy"
    assert [line.split("novelty")[0].split()[-3:] for line in lines[1:-1]] == [
        ["confidence", share, "%"] for share in ("95", "20", "80")
    ]
    table = shown(MIXED, terminal=True)
    assert "confidence" in table
    assert "95 %" in table


def test_json_has_the_confidence_and_the_note(run_embedded: Run) -> None:
    code, out, _ = run_embedded("paraphrase", "--json", "How do I learn to cook?", "Is it safe to swim here?")
    assert code == 0
    for line in map(json.loads, out.splitlines()):
        assert all(0 <= item["confidence"] <= 1 and not item["copy"] for item in line["results"])
        good = [item for item in line["results"] if item["confidence"] >= 0.5 and item["cost"] <= 1]
        assert bool(re.match("No good|None of these", line.get("note", ""))) == (not good)


def test_the_dial_never_returns_less(run_embedded: Run) -> None:
    code, out, _ = run_embedded(
        "paraphrase", "--json", "--confidence", "0.05", "--top", "50", "How do I learn to cook?"
    )
    assert code == 0
    assert all(item["confidence"] >= 0.05 and not item["copy"] for item in json.loads(out)["results"])
    code, out, _ = run_embedded("paraphrase", "--confidence", "1", "How do I learn to cook?")
    assert code == 0
    assert "No paraphrase reaches confidence 100 %; the highest is " in out


@pytest.mark.parametrize(
    ("value", "told"), [("1", "100 %"), ("0.995", "99.5 %"), ("99.5", "99.5 %"), ("100%", "100 %"), ("100 %", "100 %")]
)
def test_a_confidence_over_one_is_per_cent(run_embedded: Run, value: str, told: str) -> None:
    code, out, _ = run_embedded("paraphrase", "--confidence", value, "How do I learn to cook?")
    assert code == 0
    assert f"No paraphrase reaches confidence {told};" in out


@pytest.mark.parametrize("value", ["101", "-0.1", "nan", "high", "%", "200%"])
def test_a_confidence_that_is_no_probability_is_refused(run: Run, value: str) -> None:
    message = refusal(run, "paraphrase", f"--confidence={value}", "text here")
    assert f"{value!r} is neither a probability from 0 to 1 nor per cent up to 100" in message


def test_a_pair_without_calibration_is_refused_with_what_to_do(
    run: Run, small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dataclasses.replace(small_reflector.pair, name="other:1234")
    monkeypatch.setattr("refdec.lm.pair.load_pair", lambda *_, **__: other)
    message = refusal(run, "paraphrase", "--confidence", "0.9", "text here")
    assert "other:1234 have no confidence" in message
    with pytest.raises(SettingsError, match="Leave the confidence out"):
        check_calibrated("other:1234")
    code, out, _ = run("paraphrase", "--json", "I like it here.")
    assert code == 0
    assert all(item["confidence"] is None for item in json.loads(out)["results"])
