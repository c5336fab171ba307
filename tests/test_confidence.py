"""Confidence: what it is made of, that it is fitted and assessed as it says, and who has none."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import confidence as fitting
from benchmarks.confidence import JUDGES, as_told, calibrate, consistency, cross_validated, fit, folds, read_verdicts
from benchmarks.faithfulness.candidates import texts_by_source
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from refdec import Pair, Paraphrase, ParaphraseResult, Reflector
from refdec.errors import InputError
from refdec.evaluate.judging.confidence import Judge, JudgedCandidates, assess, auc, gather, precision_at
from refdec.ledger.comparison import compare
from refdec.metrics.novelty import novelty
from refdec.results import Flow
from refdec.tasks.confidence import (
    CALIBRATIONS,
    FEATURES,
    MOST_WHOLE,
    Calibration,
    calibration,
    features_of,
    with_confidence,
)
from tests.conftest import TINY, lend_calibration

CALIBRATED = list(json.loads(CALIBRATIONS.read_text()))
SOURCE = "How do I learn to cook rice?"
COUNT = len(FEATURES)
EVEN = Calibration(0.0, (1.0,) + (0.0,) * (COUNT - 1), ((-2.0, 2.0),) + ((0.0, 1.0),) * (COUNT - 1))
number = st.floats(-1e300, 1e300)


def candidate(text: str, novelty: float = 50.0, **others: Any) -> Paraphrase:
    fields: dict[str, Any] = {"prior": 0.0, "lost": (), "copy": False, "side": "right", "fits": ()}
    fields |= {"flow": Flow(0.0, 0.0)} | others
    return Paraphrase(text=text, score=-100.0, relative=0.0, novelty=novelty, **fields)


def values_of(item: Paraphrase) -> dict[str, float]:
    """The features of a candidate by their names."""
    return dict(zip(FEATURES, features_of(SOURCE, item), strict=True))


def test_features_are_what_their_names_say() -> None:
    text = "how do you cook rice, and why?"
    values = values_of(candidate(text, cost=3.0, flow=Flow(-3.5, -0.5, 2.0)))
    changed = {
        "small": 1.0,
        "large": 1 + math.log(3),
        "whole": -3.5,
        "worst": -0.5,
        "broken": 2.0,
        "novelty": novelty(text, SOURCE) / 100,
        "listed": 0.0,
        "opening": 1.0,
        "quotes": 0.0,
        "lost persons": 1.0,
        "new persons": 1.0,
        "new links": 1.0,
        "new commas": 1.0,
        "new relatives": 1.0,
    }
    assert {name: values[name] for name in changed} == pytest.approx(changed)
    assert values_of(candidate("How do I learn to cook rice?!", flow=Flow(99.0, 0.0)))["whole"] == MOST_WHOLE


def test_a_listed_change_is_told_from_others() -> None:
    source = "He did not purchase the car."
    listed, other = (
        dict(zip(FEATURES, features_of(source, candidate(text)), strict=True))
        for text in ("He didn't buy the car.", "He did not wash the car.")
    )
    assert (listed["listed"], listed["unlisted"]) == (1.0, 0.0)
    assert (other["listed"], other["unlisted"]) == (0.0, math.log(2))


def test_a_candidate_without_a_cost_is_priced_by_the_ledger() -> None:
    text = "How do I learn not to cook rice?"
    assert values_of(candidate(text)) == values_of(candidate(text, cost=compare(SOURCE, text).cost))


def test_confidence_is_the_logistic_function_of_the_features() -> None:
    assert EVEN.confidence((0.0,) * COUNT) == 0.5
    assert EVEN.confidence((math.log(3),) + (0.0,) * (COUNT - 1)) == pytest.approx(0.75)
    assert EVEN.confidence((-math.log(3),) + (1.0,) * (COUNT - 1)) == pytest.approx(0.25)


def test_beyond_what_was_seen_nothing_more_is_claimed() -> None:
    assert EVEN.confidence((9.0,) + (0.0,) * (COUNT - 1)) == EVEN.confidence((2.0,) + (0.0,) * (COUNT - 1))


@given(number, st.tuples(*[number] * COUNT), st.tuples(*[number] * COUNT))
def test_confidence_is_a_probability_whatever_comes(
    intercept: float, coefficients: tuple[float, ...], values: tuple[float, ...]
) -> None:
    seen = Calibration(intercept % 1e3, tuple(value % 1e3 for value in coefficients), ((-1e3, 1e3),) * COUNT)
    assert 0 <= seen.confidence(values) <= 1


def test_a_text_without_words_has_features() -> None:
    assert all(map(math.isfinite, features_of("🙂 🙂", candidate("🙂"))))


def test_the_embedded_pair_is_calibrated_and_says_on_what(int8_pair: Pair) -> None:
    content = json.loads(CALIBRATIONS.read_text())[int8_pair.name]
    assert tuple(content["coefficients"]) == tuple(content["ranges"]) == FEATURES
    assert {"judge", "threshold", "fitted_on", "cross_validated"} <= content.keys()
    assert all(int8_pair.name in item["signature"] for item in content["fitted_on"])
    assert content["cross_validated"]["auc"] > 0.85
    assert content["cross_validated"]["calibration_error"] < 0.1  # of pairs that were made, most are broken


@pytest.mark.parametrize("name", CALIBRATED)
def test_what_speaks_against_a_candidate_lowers_its_confidence(name: str) -> None:
    text = "How can I learn to cook rice?"
    worse = [
        candidate(text, cost=1.0),
        candidate(text, cost=6.0),
        candidate(text, cost=0.2, flow=Flow(-12.0, 0.0)),
        candidate(text, cost=0.2, flow=Flow(0.0, 0.0, 4.0)),
    ]
    alone = [with_confidence(name, SOURCE, [item])[0].confidence for item in (candidate(text, cost=0.2), *worse)]
    assert all(other is not None and alone[0] is not None and other < alone[0] for other in alone[1:])


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_copy_is_sure_and_a_pair_without_calibration_has_no_confidence(name: str) -> None:
    ranked = [candidate(SOURCE, novelty=0, copy=True), candidate("How can I learn to cook rice?", cost=0.2)]
    copy, other = with_confidence(name, SOURCE, ranked)
    assert copy.confidence == 1.0
    assert other.confidence is not None
    assert 0.5 < other.confidence < 1
    assert calibration("other:00000000") is None
    assert with_confidence("other:00000000", SOURCE, ranked) == ranked


@pytest.mark.parametrize("name", CALIBRATED)
def test_what_was_not_compared_has_no_confidence(name: str) -> None:
    (item,) = with_confidence(name, SOURCE, [candidate("How can I learn to cook rice?")])
    assert item.confidence is None


@pytest.mark.parametrize("name", CALIBRATED)
@pytest.mark.parametrize("source", ["¿Es difícil aprender un idioma nuevo?", "for (i = 0; i < n; i++) { x[i] += y; }"])
def test_what_is_not_english_has_no_confidence(name: str, source: str) -> None:
    (item,) = with_confidence(name, source, [candidate(source + "!")])
    assert item.confidence is None


def test_paraphrases_have_confidence_and_rewritings_have_none(
    int8_reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    lend_calibration(monkeypatch)
    result = int8_reflector.paraphrase("I like it here.", **TINY)
    assert all(item.confidence is not None and 0 <= item.confidence <= 1 for item in result)
    assert all(0 <= item["confidence"] <= 1 for item in result.to_dict()["results"])
    small = TINY | {"contexts": 2, "samples": 2}
    rewritten = int8_reflector.rewrite("We were very tired.", left="It was late.", **small)
    assert all(item.confidence is None for item in rewritten)


def test_confident_results_are_no_copies_and_never_less_sure() -> None:
    rows = [("copy", 1.0, True), ("sure", 0.95, False), ("doubtful", 0.2, False), ("fair", 0.8, False)]
    items = tuple(candidate(text, copy=copy, confidence=sure) for text, sure, copy in rows)
    result = ParaphraseResult(SOURCE, 0.0, items, (), {}, {}, "signature")
    assert [str(item) for item in result.confident(0.8)] == ["sure", "fair"]
    assert result.confident(0.99) == ()
    unknown = ParaphraseResult(SOURCE, 0.0, (candidate("text"),), (), {}, {}, "signature")
    assert unknown.confident(0) == ()
    assert unknown.to_dict()["results"][0]["confidence"] is None


def drawn(truth: Sequence[float], count: int) -> JudgedCandidates:
    """JudgedCandidates whose verdicts are drawn from a logistic function that is known."""
    random = np.random.default_rng(0)
    found = random.normal(size=(count, len(FEATURES)))
    kept = random.random(count) < 1 / (1 + np.exp(-(truth[0] + found @ np.array(truth[1:]))))
    return JudgedCandidates(found, kept, np.ones(count), np.ones(count), np.arange(count))


def test_fitting_finds_the_coefficients_that_verdicts_were_drawn_with() -> None:
    truth = (-0.5, 1.5, -1.0, 0.0, 0.5, 2.0, *(0.0,) * (COUNT - 5))
    found = drawn(truth, 20_000)
    fitted = fit(found)
    assert fitted.intercept == pytest.approx(truth[0], abs=0.1)
    assert fitted.coefficients == pytest.approx(np.array(truth[1:]), abs=0.1)
    assert assess(found.kept, cross_validated(found, found.row % 10)).error < 0.02


def test_a_feature_that_never_changes_counts_nothing() -> None:
    found = drawn((1.0, 1.0, *(0.0,) * (COUNT - 1)), 200)
    found.features[:, 4] = math.log(3)
    fitted = fit(found)
    assert fitted.coefficients[4] == 0
    assert np.isfinite(fitted.coefficients).all()


def test_features_that_tell_everything_apart_are_held_back() -> None:
    found = drawn((0.0, 1.0, *(0.0,) * (COUNT - 1)), 200)
    found.kept[:] = found.features[:, 0] > 0
    assert 1 < fit(found).coefficients[0] < 20


def test_verdicts_that_all_agree_are_refused() -> None:
    found = drawn((0.0, 1.0, *(0.0,) * (COUNT - 1)), 50)
    found.kept[:] = True
    with pytest.raises(InputError, match="all of 50 candidates"):
        fit(found)


def test_assessment_by_hand() -> None:
    kept = np.array([True, True, False, True, False])
    confidences = np.array([0.95, 0.85, 0.85, 0.45, 0.05])
    assert auc(kept, confidences) == pytest.approx((2 + 1.5 + 1) / 6)
    found = assess(kept, confidences)
    assert [(band.low, band.count, band.kept) for band in found.bands] == [
        (0.0, 1, 0.0),
        (0.4, 1, 1.0),
        (0.8, 2, 0.5),
        (0.9, 1, 1.0),
    ]
    assert found.error == pytest.approx((0.05 + 0.55 + 2 * 0.35 + 0.05) / 5)
    assert precision_at(kept, confidences, 0.4).precision == 1.0
    assert precision_at(kept, confidences, 0.4).least == 0.85
    assert precision_at(kept, confidences, 1.0).precision == 0.6
    assert auc(np.array([True, True]), np.array([0.1, 0.2])) is None
    assert assess(np.array([True]), np.array([1.0])).bands[0].high == 1.0


SIGNATURE = "refdec:0.1.0|task:paraphrase|pair:made-up:1234|contexts:24|kept_contexts:3|loss:5.0|torch:2"


def outputs(rows: int, seed: int = 0, signature: str = SIGNATURE) -> list[dict[str, Any]]:
    """Made-up outputs: a candidate that reads well says "good"."""
    draw = random.Random(seed)
    found = []
    for row in range(rows):
        flows = sorted((draw.gauss(-10, 8) for _ in range(4)), reverse=True)
        items = [
            candidate(f"{'good' if draw.gauss(nats, 2) > -8 else 'bad'} words {row}", flow=Flow(nats, 0.0), cost=0.0)
            for nats in flows
        ]
        results = [item.to_dict() for item in (candidate("copy", copy=True), *items)]
        line = {"id": str(row), "source": f"words number {row}", "results": results, "signature": signature}
        found.append(line)
    return found


def goodness(_: Sequence[str], texts: Sequence[str]) -> list[float]:
    return [1.0 if "good" in text else 0.0 for text in texts]


SAYS_GOOD = Judge("says good", goodness, 0.5)


def test_another_number_or_a_negation_is_not_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "meaning_kept", lambda sources, _: np.full(len(sources), 0.9))
    texts = ["Is it 5 km away?", "Is it 6 km away?", "Is it not 5 km away?"]
    assert consistency(["Is it 5 km off?"] * 3, texts).tolist() == [0.9, 0.0, 0.0]


def test_candidates_of_a_source_stay_together_and_copies_are_left_out() -> None:
    first, second = outputs(30), outputs(30, seed=1, signature=SIGNATURE.replace("24", "80"))
    rows = [*first, *second]
    found = gather(rows, SAYS_GOOD)
    assert found.features.shape == (240, len(FEATURES))
    assert found.place[:5].tolist() == [1, 2, 3, 4, 1]
    by_source = folds(found, rows).reshape(2, 30, 4)
    assert (by_source == by_source[0, :, :1]).all()  # also in another file
    assert len(gather(first, SAYS_GOOD, most=2).kept) == 60


def test_the_order_of_files_changes_nothing() -> None:
    files = {"one": outputs(40), "two": outputs(40, seed=1)}
    pair, content, assessments = calibrate(files, SAYS_GOOD)
    _, swapped, others = calibrate(dict(reversed(files.items())), SAYS_GOOD)
    assert pair == "made-up:1234"
    assert content["coefficients"] == swapped["coefficients"]
    assert assessments["one"].auc == pytest.approx(others["one"].auc)
    assert assessments["all"].count == 80
    assert assessments["all"].auc is not None
    assert assessments["all"].auc > 0.7


def test_what_is_fitted_is_what_the_program_computes() -> None:
    rows = outputs(40)
    _, content, _ = calibrate({"one": rows}, SAYS_GOOD)
    stored = Calibration.of(content)
    found = gather(rows, SAYS_GOOD)
    assert [stored.confidence(row) for row in found.features] == pytest.approx(
        fit(found).confidences(found.features).tolist(), abs=1e-3
    )


def test_the_command_writes_what_the_program_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JUDGES, "told", SAYS_GOOD)
    home, file = tmp_path / "confidence.json", tmp_path / "dev.jsonl"
    home.write_text('{"other:1": {}}')
    file.write_text("".join(json.dumps(row) + "\n" for row in outputs(60)))
    done = CliRunner().invoke(fitting.main, [str(file), "--to", str(home)])
    assert done.exit_code == 0, done.output
    first = home.read_text()
    written = json.loads(first)
    assert written.keys() == {"other:1", "made-up:1234"}
    assert Calibration.of(written["made-up:1234"]).confidence((0.0,) * COUNT) > 0.5
    assert written["made-up:1234"]["fitted_on"][0] == {"signature": SIGNATURE, "sources": 60, "candidates": 240}
    CliRunner().invoke(fitting.main, [str(file), "--to", str(home)])
    assert home.read_text() == first


def test_what_readers_said_goes_before_how_a_pair_was_made(tmp_path: Path) -> None:
    (source, texts), *_ = texts_by_source().items()
    good, other = (next(text for text in texts if texts[text] == kept) for kept in (True, False))
    lines = [
        {"source": source, "text": good, "verdict": "broken"},
        {"source": "Mine.", "text": "My.", "verdict": "nearly"},
    ]
    file = tmp_path / "verdicts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = read_verdicts(file)
    assert as_told([source, source, "Mine."], [good, other, "My."], read).tolist() == [0.0, 0.0, 1.0]
    assert as_told([source], [good], read_verdicts(None)).tolist() == [1.0]


def test_outputs_that_cannot_be_calibrated_are_refused() -> None:
    with pytest.raises(InputError, match="2 pairs of models"):
        calibrate({"one": outputs(3), "two": outputs(3, signature=SIGNATURE.replace("1234", "5678"))}, SAYS_GOOD)
    with pytest.raises(InputError, match="no signature of a paraphrase"):
        gather(outputs(3, signature="pair:made-up:1234"), SAYS_GOOD)
    old = outputs(1)
    del old[0]["results"][0]["prior"]
    with pytest.raises(InputError, match=r"'0' has no 'prior'\. Generate it"):
        gather(old, SAYS_GOOD)
    with pytest.raises(InputError, match="no candidate that is not a copy"):
        gather([], SAYS_GOOD)
    with pytest.raises(InputError, match="needs more sources"):
        calibrate({"one": outputs(1)}, SAYS_GOOD)
