"""What experiments make of outputs that lie there: figures worked out by hand on made-up data, without models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refdec import InputError, Pair
from refdec.evaluate.experiments.bench import Bench
from refdec.evaluate.experiments.infilling import anlg
from refdec.evaluate.experiments.runs import Runs
from refdec.evaluate.experiments.score_agreement import wmt18
from refdec.evaluate.reports.report import ReportRow, ReportTable, Section

GAP = {"o1": "It rained. Ann was out.", "o2": "She was wet.", "references": ["Ann had no coat."]}
FILLINGS = ["Ann had no coat.", "ann was out", "She ran. She ran.", "Rain fell on Ann."]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def no_models() -> Pair:
    raise AssertionError("what lies there needs no models")


def bench(folder: Path, *systems: str, **wanted: Any) -> Bench:
    """Data in `data`, outputs in `out`, and nothing generated."""
    runs = Runs(folder / "out", None, lambda *_: None)
    return Bench(folder / "data", runs, "cpu", no_models, tuple(systems), resamples=200, **wanted)


def rows_of(sections: list[Section]) -> dict[str, ReportRow]:
    assert isinstance(sections[0], ReportTable)
    return {row.name: row for row in sections[0].rows}


def value(row: ReportRow, key: str) -> float:
    found = row.cells[key].value
    assert found is not None
    return found


def test_infill_figures_worked_out_by_hand(tmp_path: Path) -> None:
    write(tmp_path / "data" / "anlg" / "dev.jsonl", [{"id": str(n), **GAP} for n in range(4)])
    others = tmp_path / "others.jsonl"
    write(others, [{"id": str(n), "output": text} for n, text in enumerate(FILLINGS)])
    found = rows_of(anlg(bench(tmp_path, str(others), metrics=("rougeL", "words"))))["others"]
    # Copies: the second alone. Repeats: the second (a sentence of o1) and the third (its own). Bare words: 4, 3, 4, 4.
    assert (value(found, "copies"), value(found, "repeats"), value(found, "words")) == (25.0, 50.0, 3.75)
    # 1; ann is 1 of 3 and of 4 (F1 2/7); 0; ann is 1 of 4 and of 4 (1/4).
    assert value(found, "rougeL") == pytest.approx(100 * (1 + 2 / 7 + 1 / 4) / 4)


def test_the_best_ranked_filling_counts_and_none_is_an_empty_one_that_does_not_pass(tmp_path: Path) -> None:
    write(tmp_path / "data" / "anlg" / "dev.jsonl", [{"id": str(n), **GAP} for n in range(4)])
    ranked: list[dict[str, Any]] = [
        {"id": str(n), "results": [{"text": FILLINGS[0], "passes": True}, {"text": "x", "passes": False}]}
        for n in range(3)
    ]
    ranked[2]["results"][0]["passes"] = False
    write(tmp_path / "out" / "outputs" / "anlg-dev" / "rd-fast.jsonl", [*ranked, {"id": "3", "results": []}])
    sections = anlg(bench(tmp_path, "rd:fast", metrics=("rougeL", "words")))
    found = rows_of(sections)["rd-fast"]
    assert (value(found, "rougeL"), value(found, "words")) == pytest.approx((75.0, 3.0))
    assert isinstance(sections[0], ReportTable)
    assert "rd-fast 50.0 %" in sections[0].note


JUDGED = [(1, "a", "b"), (1, "a", "c"), (2, "b", "a"), (2, "c", "a")]  # segment, better, worse
SCORES = {
    1: {"a": (3.0, 0.0), "b": (2.0, 4.0), "c": (1.0, -1.0)},
    2: {"a": (1.0, 0.0), "b": (2.0, 1.0), "c": (1.0, 2.0)},
}


def judged_translations(folder: Path, with_fluency: bool) -> Path:
    """Two segments of three systems, and a file of scores (each with the share of fluency in it)."""
    pair = folder / "data" / "wmt18" / "cs-en"
    write(pair / "segments.jsonl", [{"sid": sid, "source": "x", "reference": "It is late."} for sid in SCORES])
    write(
        pair / "translations.jsonl",
        [
            {"sid": sid, "system": name, "translation": f"It is {name}."}
            for sid, mine in SCORES.items()
            for name in mine
        ],
    )
    write(pair / "darr.jsonl", [{"sid": sid, "better": better, "worse": worse} for sid, better, worse in JUDGED])
    path = folder / "scores.jsonl"
    rows = []
    for sid, mine in SCORES.items():
        scores = {name: {"score": score, "fluency": share * with_fluency} for name, (score, share) in mine.items()}
        rows.append({"id": str(sid), "scores": scores})
    write(path, rows)
    return path


def test_wmt_figures_of_a_few_pairs(tmp_path: Path) -> None:
    path = judged_translations(tmp_path, with_fluency=False)
    sections = wmt18(bench(tmp_path, str(path), split="cs-en"))
    # 3 > 2, 3 > 1, 2 > 1, and a tie, which is discordant; segments by themselves have 1 and 0.
    found = rows_of(sections)["scores"].cells["cs-en"]
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)
    assert not any("alone" in name for name in rows_of(sections))
    assert isinstance(sections[0], ReportTable)
    assert "cs-en 4 pairs of 2 segments" in sections[0].note


def test_both_parts_of_a_score_with_fluency_are_judged_by_themselves(tmp_path: Path) -> None:
    path = judged_translations(tmp_path, with_fluency=True)
    found = rows_of(wmt18(bench(tmp_path, str(path), split="cs-en")))
    assert value(found["scores"], "cs-en") == 0.5
    # Without fluency: a 3, b -2, c 2, then a 1, b 1, c -1. Fluency: a 0, b 4, c -1, then a 0, b 1, c 2.
    assert value(found["scores, contexts alone"], "cs-en") == 0.0
    assert value(found["scores, fluency alone"], "cs-en") == 0.5
    assert [row.ranked for name, row in found.items() if "scores" in name] == [True, False, False]


@pytest.mark.parametrize("broken", [None, 1.0, {"fluency": 0.0}, {"score": float("nan")}])
def test_a_missing_score_is_named(tmp_path: Path, broken: Any) -> None:
    path = judged_translations(tmp_path, with_fluency=False)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1]["scores"]["b"] = broken
    write(path, rows)
    with pytest.raises(InputError, match="row 2, b"):
        wmt18(bench(tmp_path, str(path), split="cs-en"))
