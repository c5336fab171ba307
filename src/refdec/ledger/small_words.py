"""Prepositions, auxiliaries and determiners between the same neighbours of two aligned readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment, counted
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import is_date, is_plural
from refdec.ledger.reading import Reading

_LIKE = [
    frozenset(group.split())
    for group in (
        "in at on within inside during into throughout",
        "by through via with",
        "to into toward towards onto",
        "about on over regarding",
        "about of",
        "of from in",
        "for to",
        "above over",
        "under below beneath underneath",
        "among between amongst",
        "as like",
        "since from",
        "near at by",
    )
]


_SAME_PLACE = [
    frozenset(group.split())
    for group in (
        "in at on within inside",
        "by through via",
        "to into toward towards onto",
        "about on over regarding",
        "above over",
        "under below beneath underneath",
        "among between amongst",
        "near at by",
        "of in",
        "of from",
        "with of",
        "of about",
    )
]
"""Prepositions that a noun may exchange: "a house on the coast", "a house at the coast"."""


def small_words(alignment: Alignment) -> Iterator[Change]:
    """Prepositions, auxiliaries and determiners between the same neighbours; elsewhere they may change freely."""
    source, text = alignment.source, alignment.text
    order = [-1, *(at for at in counted(source)), len(source.words)]
    other_order = [-1, *(at for at in counted(text)), len(text.words)]
    rank = {at: number for number, at in enumerate(other_order)}
    to_text = {-1: -1, len(source.words): len(text.words), **alignment.to_text}
    kept = {match.source[0] for match in alignment.matches if match.step.kind == "kept" and len(match.source) == 1}
    kept |= {-1, len(source.words)}
    auxiliaries: list[Change] = []
    prepositions: list[Change] = []
    for left, right in pairwise(order):
        other_left, other_right = to_text.get(left), to_text.get(right)
        if other_left not in rank or other_right not in rank or rank[other_right] != rank[other_left] + 1:
            continue
        gap = [at for at in range(left + 1, right) if at not in alignment.used_source]
        other_gap = [at for at in range(other_left + 1, other_right) if at not in alignment.used_text]
        number = any(
            0 <= at < len(source.words) and source.words[at].kind == "number" and not is_date(source, at)
            for at in (left, right)
        )
        same = left in kept and right in kept
        prepositions += _prepositions(alignment, gap, other_gap, number, same)
        yield from _determiners(alignment, gap, other_gap, _is_any(source, right))
        if same:
            auxiliaries += _auxiliaries(alignment, gap, other_gap)
    lost, new = (Counter(getattr(item, side).lower() for item in auxiliaries) for side in ("source", "text"))
    for item in prepositions:
        if not _opens_sentence(item, prepositions, alignment):
            yield item
    for item in auxiliaries:
        moved = item.source.lower() in new if item.source else item.text.lower() in lost
        if not moved:
            yield item


def _opens_sentence(item: Change, others: Sequence[Change], alignment: Alignment) -> bool:
    """Whether a preposition only joins what two sentences say: "Since it burst, people", "It burst. Since then"."""
    word = (item.source or item.text).lower()
    both = {word} == {(other.source or other.text).lower() for other in others if other.kind == item.kind}
    sides = {bool(other.source) for other in others}
    return (
        both
        and len(sides) == 2
        and any(
            one.lower == word and two.lower in ("then", "that")
            for reading in (alignment.source, alignment.text)
            for one, two in pairwise(reading.words)
        )
    )


def _of_kind(reading: Reading, places: Sequence[int], kind: str) -> list[int]:
    return [at for at in places if reading.words[at].kind == kind]


def _prepositions(
    alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int], number: bool, same: bool
) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = _of_kind(source, gap, "preposition"), _of_kind(text, other_gap, "preposition")
    names, others = [source.words[at].lower for at in here], [text.words[at].lower for at in there]
    if sorted(names) == sorted(others):
        return
    changed = {*names} ^ {*others}
    if not changed:
        return
    lost = tuple(at for at in here if source.words[at].lower in changed)
    new = tuple(at for at in there if text.words[at].lower in changed)
    alike = any(changed <= group for group in _LIKE) and lost and new
    day = (*lost, *new) and any(
        reading.words[at + 1].lower in closed.DAYS
        for reading, places in ((source, lost), (text, new))
        for at in places
        if at + 1 < len(reading.words)
    )
    share = changed == {"by"} and any(
        reading.words[at + 1].value.endswith("percent")
        for reading, places in ((source, lost), (text, new))
        for at in places
        if at + 1 < len(reading.words)
    )
    span = number and changed <= {"between", "from", "to"} and _is_span(source) and _is_span(text)
    odds = number and {"out", "in"} <= changed <= {"out", "of", "in"}  # "four out of five", "four in five"
    if odds or share or span or changed == {"of"} or (changed == {"per"} and not lost) or (changed == {"on"} and day):
        cost = COSTS.determiner
    elif number and changed & (closed.DIRECTIONS | {"of", "about", "around"}):
        cost = COSTS.number_preposition
    elif same and lost and new and _after_noun(alignment, gap, other_gap):
        cost = COSTS.noun_preposition
    elif alike or not same:
        cost = COSTS.pronoun
    elif changed & closed.DIRECTIONS and ((lost and new) or _governs_alone(source, lost) or _governs_alone(text, new)):
        cost = COSTS.direction
    else:
        cost = COSTS.preposition
    yield change("preposition", source, lost, text, new, cost)


def _governs_alone(reading: Reading, places: Sequence[int]) -> bool:
    """Whether one of these prepositions, in a list, is not the one before: "to the town or over the hill"."""
    for at in places:
        if at and reading.words[at - 1].lower in ("and", "or"):
            earlier = [word.lower for word in reading.words[: at - 1] if word.kind == "preposition"]
            if earlier and earlier[-1] != reading.words[at].lower:
                return True
    return False


def _after_noun(alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int]) -> bool:
    """Whether nothing but one preposition stands in both gaps, right after the same noun."""
    if not gap or not other_gap or gap[0] == 0:
        return False
    noun = alignment.source.words[gap[0] - 1]
    at, other = gap[0], other_gap[0]
    first = alignment.source.words[at].lower, alignment.text.words[other].lower
    before = alignment.source.words[at - 2] if at > 1 else noun
    pointed = before.kind in ("determiner", "number") or before.lower in closed.POSSESSIVES
    plain = noun.kind == "content" and noun.is_part("n") and (pointed or not (noun.is_part("v") or noun.is_part("a")))
    return plain and not any(set(first) <= group for group in _SAME_PLACE)


def _is_span(reading: Reading) -> bool:
    """Whether two numbers are the ends of a span: "5 to 10", "between 5 and 10"."""
    return any(
        one.kind == other.kind == "number"
        and (link.lower == "to" or (link.lower == "and" and at and reading.words[at - 1].lower == "between"))
        for at, (one, link, other) in enumerate(zip(reading.words, reading.words[1:], reading.words[2:], strict=False))
    )


def _is_any(reading: Reading, at: int) -> bool:
    """Whether what begins here is any of its kind without an article: "three men", "car doors"."""
    words = reading.words
    if at >= len(words):
        return False
    if words[at].value.isdigit():
        return not is_date(reading, at)
    nouns = takewhile(lambda word: word.kind == "content" and (word.is_part("n") or word.is_part("a")), words[at:])
    return any(map(is_plural, nouns))


_THESE = closed.words("this these those")


def _determiners(alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int], is_any: bool) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = _of_kind(source, gap, "determiner"), _of_kind(text, other_gap, "determiner")
    names, others = {source.words[at].lower for at in here}, {text.words[at].lower for at in there}
    if (names ^ others) - {"a", "an"}:
        one_is_known = ("the" in names) != ("the" in others)
        other_is_some = bool({"a", "an", "some"} & (names | others))
        some_is_lost = names == {"some"} and not others and not source.question
        cost = COSTS.determiner
        changed = (names ^ others) - {"a", "an"}
        pointed = changed <= _THESE and names - changed <= {"a", "an"} and others - changed <= {"a", "an"}
        degree = "such" in names ^ others
        some_is_lost |= "some" in names - others and not source.question
        if (one_is_known and other_is_some) or some_is_lost or pointed or degree:
            cost = COSTS.article
        elif one_is_known and is_any and not names:
            cost = COSTS.article if source.question else COSTS.general
        yield change("determiner", source, tuple(here), text, tuple(there), cost)


def _auxiliaries(alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int]) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = _of_kind(source, gap, "auxiliary"), _of_kind(text, other_gap, "auxiliary")
    others = [at for at in gap if at not in here and source.words[at].kind != "mark"]
    text_others = [at for at in other_gap if at not in there and text.words[at].kind != "mark"]
    unchanged = [source.words[at].lower for at in others] == [text.words[at].lower for at in text_others]
    if bool(here) != bool(there) and unchanged:
        yield change("auxiliary", source, tuple(here), text, tuple(there), COSTS.auxiliary)
