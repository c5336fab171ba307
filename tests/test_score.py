"""The Reflective Score: against the plain version, its forms against each other, and what it says of real texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from refdec import InputError, Pair, Reflector, Score, ScoreSettings
from refdec.reflect import reference
from refdec.reflect.schedule import run, run_all
from refdec.reflect.side import Side, both_sides
from refdec.tasks.frame import FRAMES
from refdec.tasks.score import score
from refdec.tasks.yardstick import MOST_YARDSTICKS, UNRELATED, Yardsticks
from tests.conftest import on_both_engines

pytestmark = pytest.mark.long

SMALL: dict[str, Any] = {"contexts": 3, "context_tokens": 3, "kept_contexts": 2, "context_top_p": 0.9}
TEXT = "The train was late again."
PARAPHRASE = "The train was delayed again."
OTHER = "Bananas are rich in potassium."
TOLERANCE = 1e-4


def contexts(reflector: Reflector, side: Side, text: str, kept: bool = False) -> list[tuple[int, ...]]:
    """The contexts of a text, all of them or the kept ones, as its fingerprint lists them."""
    settings = ScoreSettings(**SMALL).description()
    own = reflector.fingerprint(text, settings).sides[side.name]
    return list(own.contexts if kept else own.contexts + own.others)


def plain_score(reflector: Reflector, name: str, text: str, candidate: str, kept: bool = False) -> float:
    side = Side(reflector.pair, name)
    ids = reflector.pair.tokens.encode(FRAMES["none"].wrap(candidate))
    return reference.score(side.outward, contexts(reflector, side, text, kept), ids)


def plain_fluency(pair: Pair, text: str) -> float:
    """Mean log-probability of a token, both directions added."""
    total = 0.0
    ids = pair.tokens.encode(FRAMES["none"].wrap(text))
    for model in (pair.forward, pair.backward):
        order = model.direction.arrange(ids)
        values = [reference.next_logprobs(model, order[:place])[token] for place, token in enumerate(order)]
        total += sum(values) / len(values)
    return total


def numbers(found: Score) -> Score:
    """A score without what names its settings."""
    return replace(found, signature="")


@pytest.mark.parametrize("changes", [{}, {"weighting": "learned"}, {"symmetric": True}, {"fluency": 2.0}])
@pytest.mark.parametrize("text", [TEXT, "Xq zzv 7."])
def test_a_reference_is_as_good_as_itself(untrained: Reflector, text: str, changes: dict[str, Any]) -> None:
    found = untrained.score(text, text, **SMALL, **changes)
    assert (found.relative, found.relative_low, found.relative_high) == (0, 0, 0)
    assert (found.scaled, found.scaled_low, found.scaled_high) == (100, 100, 100)
    assert float(found) == 100


@on_both_engines
def test_the_score_is_that_of_the_plain_version_on_each_side(untrained: Reflector) -> None:
    for name in ("right", "left"):
        plain, own = (plain_score(untrained, name, TEXT, text) for text in (PARAPHRASE, TEXT))
        found = untrained.score(TEXT, PARAPHRASE, sides=name, **SMALL)
        assert found.score == pytest.approx(plain, abs=TOLERANCE)
        assert found.relative == pytest.approx(plain - own, abs=TOLERANCE)


def test_the_scale_runs_from_unrelated_texts_to_the_reference(untrained: Reflector) -> None:
    found = untrained.score(TEXT, PARAPHRASE, sides="right", **SMALL)
    value, own = (plain_score(untrained, "right", TEXT, text) for text in (PARAPHRASE, TEXT))
    nothing = sum(plain_score(untrained, "right", TEXT, text) for text in UNRELATED) / len(UNRELATED)
    assert found.span == pytest.approx(own - nothing, abs=TOLERANCE)
    assert found.scaled == pytest.approx(100 * (value - nothing) / (own - nothing), abs=0.01)


@pytest.mark.parametrize("weighting", ["none", "kept", "learned"])
def test_both_sides_are_the_right_and_the_left_added(untrained: Reflector, weighting: str) -> None:
    found = {
        sides: untrained.score(TEXT, PARAPHRASE, sides=sides, weighting=weighting, **SMALL)
        for sides in ("both", "right", "left")
    }
    for name in ("score", "relative", "span"):
        right, left, both = (getattr(found[sides], name) for sides in ("right", "left", "both"))
        assert both == pytest.approx(right + left, abs=TOLERANCE)


def test_kept_contexts_count_alike_and_learned_ones_by_their_weights(untrained: Reflector) -> None:
    kept = untrained.score(TEXT, PARAPHRASE, weighting="kept", **SMALL)
    plain = sum(plain_score(untrained, name, TEXT, PARAPHRASE, kept=True) for name in ("right", "left"))
    assert kept.score == pytest.approx(plain, abs=TOLERANCE)
    learned = untrained.score(TEXT, PARAPHRASE, weighting="learned", **SMALL)
    ids = untrained.pair.tokens.encode(FRAMES["none"].wrap(PARAPHRASE))
    sides = untrained.fingerprint(TEXT, ScoreSettings(**SMALL).description()).sides
    expected = sum(
        weight * reference.score(side.outward, [context], ids)
        for side in both_sides(untrained.pair)
        for context, weight in zip(sides[side.name].contexts, sides[side.name].weights, strict=True)
    )
    assert learned.score == pytest.approx(expected, abs=1e-3)  # weights sum to one within float32


@pytest.mark.parametrize("changes", [{}, {"weighting": "kept"}, {"fluency": 1.5}, {"sides": "left"}])
def test_the_symmetric_score_is_the_mean_of_both_directions(untrained: Reflector, changes: dict[str, Any]) -> None:
    both = untrained.score(TEXT, PARAPHRASE, symmetric=True, **SMALL, **changes)
    forth = untrained.score(TEXT, PARAPHRASE, **SMALL, **changes)
    back = untrained.score(PARAPHRASE, TEXT, **SMALL, **changes)
    for name in ("score", "relative", "span", "fluency"):
        mean = (getattr(forth, name) + getattr(back, name)) / 2
        assert getattr(both, name) == pytest.approx(mean, abs=TOLERANCE)
    again = untrained.score(PARAPHRASE, TEXT, symmetric=True, **SMALL, **changes)
    assert again.score == pytest.approx(both.score, abs=TOLERANCE)


def test_fluency_adds_the_candidates_own_log_probability(untrained: Reflector) -> None:
    bare, fluent = (untrained.score(TEXT, PARAPHRASE, fluency=weight, **SMALL) for weight in (0.0, 2.0))
    expected = 2.0 * plain_fluency(untrained.pair, PARAPHRASE)
    assert bare.fluency == 0
    assert fluent.fluency == pytest.approx(expected, abs=TOLERANCE)
    assert fluent.score - bare.score == pytest.approx(expected, abs=TOLERANCE)
    own = 2.0 * plain_fluency(untrained.pair, TEXT)
    assert fluent.relative - bare.relative == pytest.approx(expected - own, abs=TOLERANCE)


def test_intervals_contain_the_value_and_are_reproducible(untrained: Reflector) -> None:
    found = untrained.score(TEXT, PARAPHRASE, **SMALL)
    assert found.low <= found.score <= found.high
    assert found.relative_low <= found.relative <= found.relative_high
    assert found.scaled_low <= found.scaled <= found.scaled_high
    assert found == untrained.score(TEXT, PARAPHRASE, **SMALL)


def test_without_resamples_the_interval_is_the_value(untrained: Reflector) -> None:
    found = untrained.score(TEXT, PARAPHRASE, resamples=0, **SMALL)
    assert (found.low, found.high) == (found.score, found.score)
    assert (found.relative_low, found.relative_high) == (found.relative, found.relative)


def test_more_contexts_do_not_widen_the_interval(untrained: Reflector) -> None:
    few, many = (untrained.score(TEXT, PARAPHRASE, **(SMALL | {"contexts": count})) for count in (4, 32))
    assert many.high - many.low <= few.high - few.low


def test_a_paraphrase_is_above_an_unrelated_text_and_that_is_near_zero(reflector: Reflector) -> None:
    paraphrase, other = reflector.score(TEXT, [PARAPHRASE, OTHER], contexts=12, context_tokens=12, context_top_p=0.4)
    assert paraphrase.scaled > other.scaled + 20
    assert other.scaled < 20


@on_both_engines
def test_candidates_come_back_in_order_whatever_shares_the_call(untrained: Reflector) -> None:
    texts = [OTHER, PARAPHRASE, OTHER, TEXT]
    together = untrained.score(TEXT, texts, **SMALL)
    assert [found.candidate for found in together] == texts
    assert together[0] == together[2]
    for found in together:
        assert found == untrained.score(TEXT, found.candidate, **SMALL)


GROUPS = [(TEXT, [PARAPHRASE, OTHER]), ("Is it far?", ["Is it a long way to the station?"]), (OTHER, [TEXT, OTHER])]


@on_both_engines
@pytest.mark.parametrize("symmetric", [False, True])
def test_groups_one_by_one_are_single_scores(untrained: Reflector, symmetric: bool) -> None:
    found = list(untrained.score_all(GROUPS, symmetric=symmetric, **SMALL))
    assert found == [untrained.score(text, texts, symmetric=symmetric, **SMALL) for text, texts in GROUPS]


@on_both_engines
@pytest.mark.parametrize("symmetric", [False, True])
def test_groups_together_are_close_to_single_scores(untrained: Reflector, symmetric: bool) -> None:
    """A padded batch rounds differently, by about 1e-5 nats a token; no draw here is near enough an edge to change."""
    pair, settings = untrained.pair, ScoreSettings(symmetric=symmetric, **SMALL)
    together = list(run_all(pair, (score(pair, text, texts, settings) for text, texts in GROUPS), at_once=3))
    for group, (text, texts) in zip(together, GROUPS, strict=True):
        for found, alone in zip(group, untrained.score(text, texts, settings), strict=True):
            assert (found.reference, found.candidate) == (alone.reference, alone.candidate)
            assert found.score == pytest.approx(alone.score, abs=1e-3)
            assert found.scaled == pytest.approx(alone.scaled, abs=0.05)


FORMS: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({}, True),
    ({"weighting": "kept", "fluency": 2.0}, True),
    ({"weighting": "learned", "sides": "left"}, False),
    ({"symmetric": True, "weighting": "learned", "fluency": 2.0}, False),
]
CANDIDATES = [PARAPHRASE, "It is the third time this week that no train came at all.", UNRELATED[0], TEXT]


@pytest.mark.parametrize(
    ("untrained", "changes", "explain"),
    [*(("our engine", *form) for form in FORMS), ("transformers", *FORMS[2])],
    indirect=["untrained"],
    ids=str,
)
def test_every_digit_is_the_same_alone_in_groups_and_with_a_store(
    untrained: Reflector, changes: dict[str, Any], explain: bool
) -> None:
    pair, settings = untrained.pair, ScoreSettings(**SMALL, **changes)
    alone = [untrained.score(TEXT, text, settings, explain=explain) for text in CANDIDATES]
    assert untrained.score(TEXT, CANDIDATES, settings, explain=explain) == alone
    assert untrained.score(TEXT, CANDIDATES[::-1], settings, explain=explain) == alone[::-1]
    made = untrained.fingerprint(TEXT, settings.description())
    assert untrained.score(None, CANDIDATES[::2], settings, fingerprint=made, explain=explain) == alone[::2]
    for store in (Yardsticks(pair, settings), Yardsticks(pair, settings, made)):
        rows = (score(pair, TEXT, [text], settings, yardsticks=store, explain=explain) for text in CANDIDATES)
        assert [found for (found,) in run_all(pair, rows, at_once=1)] == alone
        again = (
            run(pair, score(pair, f" {TEXT}", CANDIDATES[number:], settings, yardsticks=store, explain=explain))
            for number in (2, 1)
        )
        assert list(again) == [alone[2:], alone[1:]]


def test_every_digit_of_the_real_pair_in_int8_is_the_same_alone_and_in_groups(int8_pair: Pair) -> None:
    """There rounding differently would show in the second digit."""
    reflector, settings = Reflector(int8_pair), ScoreSettings(contexts=6, context_tokens=8, fluency=2.0)
    alone = [reflector.score(TEXT, text, settings) for text in CANDIDATES[:3]]
    assert reflector.score(TEXT, CANDIDATES[:3], settings) == alone
    store = Yardsticks(int8_pair, settings)
    rows = (score(int8_pair, TEXT, [text], settings, yardsticks=store) for text in CANDIDATES[:3])
    assert [found for (found,) in run_all(int8_pair, rows, at_once=1)] == alone


def test_a_store_explains_what_it_described_without_weights(untrained: Reflector) -> None:
    pair, settings = untrained.pair, ScoreSettings(**SMALL)
    store = Yardsticks(pair, settings)
    run(pair, score(pair, TEXT, [OTHER], settings, yardsticks=store))
    (found,) = run(pair, score(pair, TEXT, [PARAPHRASE], settings, yardsticks=store, explain=True))
    assert found == untrained.score(TEXT, PARAPHRASE, settings, explain=True)
    assert found.explanation is not None


@on_both_engines
def test_with_a_store_the_models_read_a_reference_once(untrained: Reflector) -> None:
    pair, settings = untrained.pair, ScoreSettings(**SMALL)
    store = Yardsticks(pair, settings)

    def read(*texts: str) -> int:
        before = pair.forward.work
        run(pair, score(pair, TEXT, texts, settings, yardsticks=store))
        return (pair.forward.work - before).tokens

    first, second, third = read(PARAPHRASE), read(PARAPHRASE), read(PARAPHRASE, OTHER)
    assert 0 < second < first / 4
    assert second < third < 3 * second
    assert read(TEXT) == 0


def test_a_store_forgets_what_was_asked_for_longest_ago(untrained: Reflector) -> None:
    pair = untrained.pair
    store = Yardsticks(pair, ScoreSettings(**SMALL | {"contexts": 1, "context_tokens": 1}))
    first, second = (run(pair, store.of(text)) for text in (TEXT, OTHER))
    for number in range(MOST_YARDSTICKS - 1):
        run(pair, store.of(f"Number {number}."))
        assert run(pair, store.of(f" {TEXT} ")) is first
    assert run(pair, store.of(OTHER)) is not second


def test_a_store_of_other_settings_or_another_text_is_refused(untrained: Reflector) -> None:
    pair, settings = untrained.pair, ScoreSettings(**SMALL)
    made = untrained.fingerprint(TEXT, settings.description())
    with pytest.raises(ValueError, match="other settings"):
        run(pair, score(pair, TEXT, [OTHER], settings, yardsticks=Yardsticks(pair, settings.replace(seed=1))))
    with pytest.raises(ValueError, match="another fingerprint"):
        run(pair, score(pair, TEXT, [OTHER], settings, fingerprint=made, yardsticks=Yardsticks(pair, settings)))
    store = Yardsticks(pair, settings, made)
    run(pair, score(pair, TEXT, [OTHER], settings, yardsticks=store))
    with pytest.raises(InputError, match="describes another text"):
        run(pair, score(pair, OTHER, [TEXT], settings, yardsticks=store))


def test_a_bad_candidate_is_refused_before_any_work(untrained: Reflector) -> None:
    stages: list[str] = []
    with pytest.raises(InputError, match="The text is empty"):
        untrained.score(TEXT, [PARAPHRASE, " "], stage=stages.append, **SMALL)
    with pytest.raises(InputError, match=r"has \d+ tokens; with contexts of 3 it may have"):
        untrained.score(TEXT, "word " * 520, stage=stages.append, **SMALL)
    with pytest.raises(InputError, match="There is no reference"):
        untrained.score(None, TEXT, stage=stages.append, **SMALL)
    assert stages == []


def test_the_json_form_has_every_number(untrained: Reflector) -> None:
    line = untrained.score(TEXT, PARAPHRASE, **SMALL).to_dict()
    assert {"score", "low", "high", "relative", "scaled", "scaled_low", "scaled_high", "signature"} <= line.keys()
    assert 0 <= line["scaled"] <= 100
