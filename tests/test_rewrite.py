"""Rewriting a span in its place: the document around it, its neighbours as contexts, and the score."""

from __future__ import annotations

from typing import Any

import pytest

from refdec import Constraints, InputError, Pair, Reflector, RewriteResult, RewriteSettings
from refdec.reflect import reference
from refdec.tasks.rewrite import Spot, find_span, split_document
from tests.conftest import on_both_engines

pytestmark = pytest.mark.long

SMALL: dict[str, Any] = {"contexts": 4, "context_tokens": 6, "kept_contexts": 2, "samples": 6}
SETTINGS = RewriteSettings(**SMALL)
LEFT, SPAN, RIGHT = "It was late. ", "We were very tired.", " So we left.\nNobody saw us.\n"
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def found(int8_reflector: Reflector) -> RewriteResult:
    return int8_reflector.rewrite(f"{LEFT}[[{SPAN}]]{RIGHT}", SETTINGS)


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ("It was [[very]] late.", ("It was ", "very", " late.")),
        ("[[All of it.]]", ("", "All of it.", "")),
        ("It was[[ very\n]]late.", ("It was ", "very", "\nlate.")),
        ("a[0] = ([[b]])", ("a[0] = (", "b", ")")),
    ],
)
def test_a_marked_document_is_split_without_loss(document: str, parts: tuple[str, str, str]) -> None:
    assert split_document(document) == parts
    assert "".join(parts) == document.replace("[[", "").replace("]]", "")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("It was very late.", "There is no span in"),
        ("It was [[very late.", "The span has no end"),
        ("It was very]] late.", "The span has no beginning"),
        ("It was [[very]] [[late]].", "more than one span"),
        ("It was [[very [[late]].", "more than one span"),
        ("It was [[very]] late]].", "more than one span"),
        ("It was [[ ]] late.", "nothing between"),
    ],
)
def test_a_document_without_exactly_one_span_is_refused(document: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_document(document)


def test_a_span_is_found_where_it_stands_once() -> None:
    assert find_span("It was very late.", "very") == ("It was ", "very", " late.")
    assert find_span("It was\tvery\nlate.", "\tvery\n") == ("It was\t", "very", "\nlate.")
    with pytest.raises(InputError, match="'soon' is not in the document"):
        find_span("It was very late.", "soon")
    with pytest.raises(InputError, match="'it' is in the document 2 times"):
        find_span("Was it you? No, it was not.", "it")


def test_the_document_is_the_same_around_the_span(found: RewriteResult) -> None:
    assert (found.left, found.right) == (LEFT, RIGHT)
    assert found.candidates
    for item in found:
        assert found.in_place(item) == LEFT + item.text + RIGHT
        assert len(item.fits) == len(found.contexts)


def test_every_way_to_name_the_span_is_the_same(untrained: Reflector) -> None:
    marked = untrained.rewrite("We ate [[good food]] today.", SETTINGS)
    assert marked.candidates
    assert untrained.rewrite("good food", SETTINGS, document="We ate good food today.") == marked
    assert untrained.rewrite(" good food\n", SETTINGS, left="We ate", right="today.") == marked


@on_both_engines
def test_many_documents_are_rewritten_in_order_as_if_alone(untrained: Reflector) -> None:
    documents = ["We ate [[good food]] today.", "It was [[very]] late."]
    found = list(untrained.rewrite_all(documents, SETTINGS))
    assert found == [untrained.rewrite(document, SETTINGS) for document in documents]


def test_the_true_neighbours_are_among_the_contexts(found: RewriteResult) -> None:
    for side, text in (("right", RIGHT), ("left", LEFT.rstrip(" "))):
        (own,) = [context for context in found.contexts if context.side == side and context.text == text]
        assert own.weight >= SETTINGS.neighbour_weight - 1e-4
        assert sum(context.weight for context in found.contexts if context.side == side) == pytest.approx(1, abs=1e-4)


def test_the_fits_of_the_neighbours_count_beside_those_of_the_others(found: RewriteResult) -> None:
    for item in found:
        total = 0.0
        for side, neighbour in (("right", RIGHT), ("left", LEFT.rstrip(" "))):
            own = [(c.text, fit) for c, fit in zip(found.contexts, item.fits, strict=True) if c.side == side]
            others = [fit for text, fit in own if text != neighbour]
            total += sum(others) / max(1, len(others)) + SETTINGS.place * sum(
                fit for text, fit in own if text == neighbour
            )
        assert item.relative == pytest.approx(total, abs=1e-3)
        assert item.relative == pytest.approx(item.score - found.source_score)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)


@on_both_engines
@pytest.mark.parametrize(
    ("left", "right"), [("We ate ", " today."), ("", " today."), ("We ate ", ""), ('A "', '" ate.')]
)
def test_the_score_is_that_of_the_plain_version(untrained: Reflector, left: str, right: str) -> None:
    """With no sampled context kept, the score is what the neighbours say, each next to the text in its place."""
    alone = SETTINGS.replace(minimum_weight=1.0, place=0.5, samples=20)
    found = untrained.rewrite("good food", alone, left=left, right=right)
    pair = untrained.pair
    encode = pair.tokens.encode
    space = " " if left[-1:] in ("", " ") else ""
    before, after = (encode(text) if text else [] for text in (left.removesuffix(" "), right))

    def plain(text: str) -> float:
        middle = encode(space + text)
        total = reference.score(pair.forward, [after], before + middle) if after else 0.0
        return 0.5 * (total + (reference.score(pair.backward, [before], middle + after) if before else 0.0))

    sampled = [c for c in found.contexts if c.text not in (left.removesuffix(" "), right)]
    assert len(sampled) == 2 - bool(left) - bool(right)  # a side without a neighbour keeps one of its samples
    if not sampled:
        assert found.source_score == pytest.approx(plain("good food"), abs=TOLERANCE)
        assert found.candidates
        item = found.candidates[0]
        assert item.score == pytest.approx(plain(item.text), abs=TOLERANCE)
    assert all(found.in_place(item) == left + item.text + right for item in found)


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        ("It was late.", "So we left.", ("It was late. ", " So we left.")),
        ("It was", ", so we left.", ("It was ", ", so we left.")),
        ('She said "', '" and left.', ('She said "', '" and left.')),
        ('She said "no"', "and left.", ('She said "no" ', " and left.")),
        ("We (", ") left.", ("We (", ") left.")),
        ("A well-", "\nman.", ("A well-", "\nman.")),
        ("", "", ("", "")),
    ],
)
def test_neighbours_get_a_space_only_where_one_belongs(
    untrained: Reflector, left: str, right: str, joined: tuple[str, str]
) -> None:
    found = untrained.rewrite("very tired", SETTINGS, left=left, right=right, contexts=1, samples=1)
    assert (found.left, found.right) == joined


def test_a_part_of_a_sentence_is_rewritten_as_one(untrained: Reflector) -> None:
    found = untrained.rewrite("She said that [[the food was good]], and left.", SETTINGS)
    assert found.candidates
    for item in found:
        assert 1 <= len(item.text.split()) <= 7
        assert item.text[-1] not in ",.;:!?"


@pytest.mark.parametrize("document", ["[[Good food]] today.", "We ate [[good food]]", "[[Good food]]"])
def test_neighbours_may_be_missing(untrained: Reflector, document: str) -> None:
    found = untrained.rewrite(document, SETTINGS)
    assert found.candidates
    assert {context.side for context in found.contexts} == {"left", "right"}


def test_constraints_hold_and_numbers_are_those_of_the_span(int8_reflector: Reflector) -> None:
    constraints = Constraints(avoid=("bus",), automatic=("numbers",))
    found = int8_reflector.rewrite(
        "We met 3 men. [[The bus left at 5:30.]] I missed it.", SETTINGS, constraints=constraints
    )
    assert found.candidates
    assert all("5:30" in item.text and "bus" not in item.text for item in found)
    assert set(found.rejected) <= {"lacks '5:30'", "says 'bus'"}


def test_neighbours_that_are_too_long_are_cut_and_the_document_is_not(untrained: Reflector) -> None:
    left = "word " * 5_000
    found = untrained.rewrite("very tired", SETTINGS, left=left, right=" now" * 300, contexts=1, samples=1)
    assert (found.left, found.right) == (left, " now" * 300)
    with pytest.raises(InputError, match=r"has \d+ tokens; with contexts of 6 it may have"):
        untrained.rewrite("word " * 200, SETTINGS)


def test_a_span_that_is_no_text_is_refused(untrained: Reflector) -> None:
    with pytest.raises(InputError, match="The text is empty"):
        untrained.rewrite(" ", SETTINGS)
    with pytest.raises(InputError, match="control character"):
        untrained.rewrite("tired", SETTINGS, left="a\x07")


def test_a_neighbour_is_not_said_again(pair: Pair) -> None:
    spot = Spot.of(pair, "It was late. ", "We were very tired.", " So we left.", RewriteSettings())
    assert spot.candidates(" We slept. So we left.", "right") == []
    assert spot.candidates(" We slept. We wanted to sleep.", "right") == ["We wanted to sleep."]
    same = Spot.of(pair, "It was late. ", "So we left.", " So we left.", RewriteSettings())
    assert same.candidates(" We slept. So we left.", "right") == ["So we left."]
