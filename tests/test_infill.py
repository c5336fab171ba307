"""Filling gaps on the real weights: what a filling is, and what it is credited for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from refdec import Constraints, InfillResult, InfillSettings, InputError, Reflector
from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel
from refdec.reflect import reference
from refdec.tasks.infill import split_blanks
from refdec.text.overlap import copies
from refdec.text.sentences import split_sentences
from refdec.text.stems import stem
from refdec.text.words import bare_words
from tests.conftest import on_both_engines

SMALL: dict[str, Any] = {"contexts": 4, "context_tokens": 6, "kept_contexts": 2, "samples": 4, "tokens": 12}
SETTINGS = InfillSettings(**SMALL)
LEFT, RIGHT = "She missed the bus.", "She was late for work."
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def found(int8_reflector: Reflector) -> InfillResult:
    return int8_reflector.infill(LEFT, RIGHT, SETTINGS)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rained. ___ We left.", ["It rained.", "We left."]),
        ("It rained.___", ["It rained.", ""]),
        ("______ We left.", ["", "We left."]),
        ("To ___ and\n___\nback.", ["To", "and", "back."]),
        ("___ and ___", ["", "and", ""]),
        ("snake_case and __dunder__ ___", ["snake_case and __dunder__", ""]),
    ],
)
def test_a_text_is_split_at_its_blanks(text: str, parts: list[str]) -> None:
    assert split_blanks(text) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("It rained. __ We left.", "There is no ___"),
        (" ___ ", "nothing but ___"),
        ("___ ___", "nothing but ___"),
        ("It rained. ___ ___ We left.", "Two ___ stand next to each other"),
    ],
)
def test_blanks_that_say_nothing_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_blanks(text)


def test_several_blanks_are_filled_one_after_the_other(untrained: Reflector) -> None:
    first, second = untrained.fill("We went to ___ and bought ___ for dinner.", SETTINGS, samples=2)
    assert (first.left, first.right) == ("We went to", "and bought")
    assert (second.left, second.right) == (first.filled, "for dinner.")
    assert second.filled.startswith("We went to")
    assert second.filled.endswith("for dinner.")


@pytest.mark.parametrize(
    ("left", "right"), [(LEFT, RIGHT), ("Tom was hungry.", "He felt much better."), ("The cat sat there.", "")]
)
def test_a_filling_is_one_sentence_of_its_own(int8_reflector: Reflector, left: str, right: str) -> None:
    result = int8_reflector.infill(left, right, SETTINGS)
    assert result.candidates
    for item in result:
        assert len(split_sentences(item.text)) == 1
        assert item.text.rstrip("\"'”’)]").endswith((".", "!", "?", "…"))
        assert not copies(item.text, (left, right))
        assert SETTINGS.least_words <= len(item.text.split()) <= SETTINGS.most_words
    assert len({item.text for item in result}) == len(result.candidates)


def test_words_fill_a_gap_inside_a_sentence(untrained: Reflector) -> None:
    result = untrained.infill("We went to the", "for dinner.", SETTINGS, least_words=1, most_words=3)
    assert result.candidates
    assert all(1 <= len(item.text.split()) <= 3 for item in result)
    assert result.filled == f"We went to the {result} for dinner."


def said_outside(text: str, spans: list[tuple[int, int]], filling: str) -> list[bool]:
    """For each token whether no word of the filling, by its stem, is in its place."""
    said = {stem(word) for word in bare_words(filling)}
    taken = {
        place
        for word in re.finditer(r"[\w']+", text)
        if stem(word.group().lower()) in said
        for place in range(*word.span())
    }
    return [not taken & set(range(*span)) for span in spans]


def plain_gain(model: LanguageModel, reflector: Reflector, near: str, far: str, filling: str) -> float:
    """Nats that a filling adds to the far observation from the near one, token by token and uncached."""
    tokens = reflector.pair.tokens
    ids, spans = tokens.encode_with_spans(" " + far)
    middle, before = tokens.encode(" " + filling), tokens.encode(" " + near) if near else []
    held = before + middle if model.direction is Direction.FORWARD else middle + before
    arrange = model.direction.arrange
    total = 0.0
    for place, (token, counts) in enumerate(
        zip(arrange(ids), arrange(said_outside(" " + far, spans, filling)), strict=True)
    ):
        if counts:
            seen = arrange(ids)[:place]
            with_it = reference.next_logprobs(model, arrange(held) + seen)[token]
            total += with_it - reference.next_logprobs(model, arrange(before) + seen)[token]
    return total


@pytest.mark.parametrize(("left", "right"), [(LEFT, RIGHT), ("", "Zoë laughed all day.")])
def test_a_filling_is_credited_for_what_it_adds_but_not_for_its_own_words(
    reflector: Reflector, left: str, right: str
) -> None:
    word = "bus" if left else "Zoë"
    result = reflector.infill(left, right, SETTINGS, constraints=Constraints(keep=(word,)))
    assert result.candidates
    item = result.candidates[0]
    right_gain = plain_gain(reflector.pair.forward, reflector, left, right, item.text)
    left_gain = plain_gain(reflector.pair.backward, reflector, right, left, item.text) if left else 0.0
    assert item.right_gain == pytest.approx(right_gain, abs=TOLERANCE)
    assert item.left_gain == pytest.approx(left_gain, abs=TOLERANCE)
    assert item.score == pytest.approx(left_gain + right_gain, abs=TOLERANCE)


def test_with_credit_for_all_words_a_repeated_word_counts(untrained: Reflector) -> None:
    left, right, keep = "We ate good", "for dinner", Constraints(keep=("good",))
    new, everything = (untrained.infill(left, right, SETTINGS, constraints=keep, credit=how) for how in ("new", "all"))
    gains = {item.text: item.left_gain for item in new}
    assert gains
    assert gains.keys() == {item.text for item in everything}
    assert all(item.left_gain != gains[item.text] for item in everything)


def test_a_filling_passes_if_both_observations_gain_and_those_come_first(found: InfillResult) -> None:
    for item in found:
        assert item.passes == (item.left_gain > 0 and item.right_gain > 0)
        assert item.score == pytest.approx(item.left_gain + item.right_gain)
    order = [(not item.passes, -item.score) for item in found]
    assert order == sorted(order)
    assert found.best == found.candidates[0]
    assert found.filled == f"{LEFT} {found} {RIGHT}"


@on_both_engines
@pytest.mark.parametrize(("left", "right"), [("We ate", ""), ("", "for dinner.")])
def test_one_observation_is_enough(untrained: Reflector, left: str, right: str) -> None:
    result = untrained.infill(left, right, SETTINGS, samples=8)
    assert result.candidates
    assert all((item.left_gain == 0) == (not left) and (item.right_gain == 0) == (not right) for item in result)
    assert all(item.passes == (item.score > 0) for item in result)
    assert result.filled == f"{left} {result} {right}".strip()


def test_constraints_hold(int8_reflector: Reflector) -> None:
    constraints = Constraints(keep=("home",), avoid=("she",))
    result = int8_reflector.infill(LEFT, RIGHT, SETTINGS, constraints=constraints)
    assert result.candidates
    assert all(constraints.failures(item.text) == [] for item in result)
    assert "keep='home'" in result.signature


def test_same_seed_same_fillings(int8_reflector: Reflector, found: InfillResult) -> None:
    assert int8_reflector.infill(f" {LEFT}\n", RIGHT, SETTINGS) == found
    assert "seed:0" in found.signature


@on_both_engines
def test_many_gaps_are_filled_in_order_as_if_alone(untrained: Reflector) -> None:
    gaps = [("We ate", "for dinner."), ("She went to", "yesterday.")]
    found = list(untrained.infill_all(gaps, SETTINGS, samples=2))
    assert found == [untrained.infill(left, right, SETTINGS, samples=2) for left, right in gaps]


def test_texts_that_are_too_long_are_told_how_long_they_may_be(untrained: Reflector) -> None:
    with pytest.raises(
        InputError, match=r"have 600 tokens; with contexts of 6 and fillings of 12 they may have \d+ with"
    ):
        untrained.infill("word " * 300, "word " * 300, SETTINGS)
    most = untrained.pair.window - 6 - 12 - 1
    untrained.infill("word " * most, "", SETTINGS, contexts=1, samples=1)
    with pytest.raises(InputError, match=f"have {most + 1} tokens; .* may have {most} with"):
        untrained.infill("word " * most, "word", SETTINGS, contexts=1, samples=1)
    with pytest.raises(InputError, match="characters"):
        untrained.infill("word " * 1_000_000, "", SETTINGS)


def test_no_observation_at_all_is_refused(untrained: Reflector) -> None:
    with pytest.raises(InputError, match="no text on either side"):
        untrained.infill(" ", "\n", SETTINGS)


def test_a_gap_that_nothing_fills_stays() -> None:
    empty = InfillResult("It rained.", "", (), (), "signature")
    assert (str(empty), empty.best, empty.filled) == ("", None, "It rained. ___")
