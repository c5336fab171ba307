"""More than, less than, not as much as: two sides of a comparison, and which one has more.

Turned round, a comparison says the same with the opposite word: "Ann is older than Bo", "Bo is younger than Ann", "Bo
is not as old as Ann". Looks at two aligned readings and at the changes that were found so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.inflection import tags
from refdec.ledger.reading import Reading, Word

Side = frozenset["int | str"]
"""Places in the source, and persons by their names."""

_LESS = closed.words("less fewer")
_MORE = closed.words("more")


class _Comparison(NamedTuple):
    """The place of "than", whether the first side has less, and whether "not as" says so."""

    place: int
    less: bool
    denied: bool = False


def turned_comparisons(alignment: Alignment, changes: list[Change]) -> list[Change]:
    """The changes, with what a comparison says when both texts have one, or when one event has two sides."""
    source, text = alignment.source, alignment.text
    here, there = _comparison(source.words), _comparison(text.words)
    opposites = [item for item in changes if item.kind == "opposite"]
    if here is None or there is None:
        return _converse(changes, opposites)
    left, right = _sides(source, here.place, lambda at: at)
    other_left, other_right = _sides(text, there.place, alignment.to_source.get)
    exchanged = bool(right & other_left and not right & other_right and left & other_right)
    kept = bool(right & other_right) and not right & other_left
    if not exchanged and not kept:
        return changes
    flips = exchanged + (here.less != there.less) + len(opposites)
    roles = [item for item in changes if item.kind == "roles"]
    if flips % 2:
        if exchanged and not roles:
            than = change("roles", source, (here.place,), text, (there.place,), COSTS.roles)
            return [*changes, than]
        return changes
    degree = _LESS | _MORE | {"than", "as", "so"} | ({"not"} if here.denied or there.denied else set())
    sides = {source.words[at].lower for at in left | right if isinstance(at, int)}
    rest = [
        item
        for item in changes
        if not (item in roles and _named(item.source) <= sides) and not (exchanged and _is_about(item, degree))
    ]
    return [replace(item, kind="converse", cost=COSTS.own) if item in opposites else item for item in rest]


def degrees(alignment: Alignment) -> Iterator[Change]:
    """Old, older, oldest: another degree of the same word, where no comparison is turned round."""
    source, text = alignment.source, alignment.text
    turned = _is_comparing(source.words) and _is_comparing(text.words)
    for at, other in sorted(() if turned else alignment.to_text.items()):
        word, mate = source.words[at], text.words[other]
        bases, others = ({base for base, part in item.bases if part in "ar"} for item in (word, mate))
        if bases.isdisjoint(others) or word.lower == mate.lower:
            continue
        degree = _degree(source.words, at, bases & others)
        other_degree = _degree(text.words, other, bases & others)
        if degree and other_degree and degree != other_degree:
            yield change("degree", source, (at,), text, (other,), COSTS.degree)


def _is_comparing(words: Sequence[Word]) -> bool:
    """Whether there are two sides: "older than", "as old as"."""
    said = [word.lower for word in words]
    return "than" in said or said.count("as") > 1 or ("so" in said and "as" in said)


_ADVERBS = {"well": "JJ", "badly": "JJ", "better": "JJR", "worse": "JJR", "best": "JJS", "worst": "JJS"}
_PERIPHRASES = {"more": "JJR", "less": "JJR", "most": "JJS", "least": "JJS"}


def _degree(words: Sequence[Word], at: int, bases: Set[str]) -> str:
    """The degree of an adjective or adverb with one of these bases, as a tag; "" where the form does not tell."""
    said = _PERIPHRASES.get(words[at - 1].lower) if at else None
    found = {tag for base in bases for tag in tags(words[at].lower, base, "a")}
    return said or _ADVERBS.get(words[at].lower) or (found.pop() if len(found) == 1 else "")


def _converse(changes: list[Change], opposites: Sequence[Change]) -> list[Change]:
    """Two exchanged words and one opposite say the same again: "Ann sold it to Bo", "Bo bought it from Ann"."""
    exchanged = [item for item in changes if item.kind == "roles"]
    if len(exchanged) != 1 or len(opposites) != 1:
        return changes
    rest = [item for item in changes if item not in (*exchanged, *opposites)]
    return [*rest, replace(opposites[0], kind="converse", cost=COSTS.near)]


def _named(said: str) -> set[str]:
    """The words of a change that has gaps."""
    return {word for word in said.lower().split() if word != "…"}


def _is_about(item: Change, words: Set[str]) -> bool:
    """Whether a change is about nothing but these words."""
    return _named(item.source) | _named(item.text) <= words


def _comparison(words: Sequence[Word]) -> _Comparison | None:
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else None
        if word.lower == "than" and after is not None and after.kind != "number":
            before = {item.lower for item in words[max(0, at - 6) : at]}
            return _Comparison(at, bool(before & _LESS)) if "rather" not in before else None
        if word.kind == "negation" and after is not None and after.lower in ("as", "so"):
            second = next(
                (place for place in range(at + 3, min(at + 6, len(words))) if words[place].lower == "as"), None
            )
            if second is not None:
                return _Comparison(second, True, True)
    return None


def _sides(reading: Reading, than: int, origin: Callable[[int], int | None]) -> tuple[Side, Side]:
    """What stands before and after "than" in its sentence."""
    words = reading.words
    start = next((at + 1 for at in range(than, -1, -1) if words[at].text in ".;:!?"), 0)
    end = next((at for at in range(than, len(words)) if words[at].kind == "mark"), len(words))
    ranges = range(start, than), range(than + 1, end)
    sides: list[set[int | str]] = []
    for places in ranges:
        side: set[int | str] = set()
        for at in places:
            word = words[at]
            if word.kind == "person":
                side.add(closed.PERSONS[word.lower])
            elif word.kind == "name" or (word.kind == "content" and word.is_part("n")):
                place = origin(at)
                side |= {place} if place is not None else set()
        sides.append(side)
    for side, places in zip(sides, ranges, strict=True):
        owners = {closed.PERSONS[words[at].lower] for at in places if words[at].lower in closed.POSSESSIVES}
        plain = {closed.PERSONS[words[at].lower] for at in places if words[at].kind == "person"} - owners
        side -= (owners - plain) & sides[0] & sides[1]  # "my brother is older than I"
    return frozenset(sides[0]), frozenset(sides[1])
