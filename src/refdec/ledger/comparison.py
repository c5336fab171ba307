"""Two texts, word by word: what was kept, swapped, lost and new, and what that costs.

Plain rules and a lexicon, no model. It knows English; of other languages it compares words and stems, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment, align, is_title, name_runs
from refdec.ledger.change import Change, Place, change
from refdec.ledger.checks import CHECKS
from refdec.ledger.comparatives import turned_comparisons
from refdec.ledger.costs import COSTS, FAITHFUL
from refdec.ledger.language import is_english
from refdec.ledger.logic import asked_noun, gives_cause, says_cause
from refdec.ledger.reading import Reading, Word, is_owner, read, sharing_names
from refdec.ledger.said_otherwise import SAID_OTHERWISE

OTHER_LANGUAGE = "This is not English: only words and stems are compared."


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two texts say in the same and in other words.

    Attributes:
        cost: 0 if nothing changed, up to 1 for a faithful rewording
        changes: every word of both texts accounted for, in the order of the source; what is new comes last
        note: what the reader must know about the comparison, or ""
    """

    cost: float
    changes: tuple[Change, ...]
    note: str = ""

    @property
    def faithful(self) -> bool:
        return self.cost <= FAITHFUL

    @property
    def reasons(self) -> tuple[str, ...]:
        """What changed, the dearest first."""
        changed = [item for item in self.changes if item.kind != "kept" and item.cost > 0]
        return tuple(str(item) for item in sorted(changed, key=lambda item: -item.cost))

    def to_dict(self) -> dict[str, Any]:
        return {
            "cost": round(self.cost, 3),
            "faithful": self.faithful,
            "reasons": list(self.reasons),
            "changes": [item.to_dict() for item in self.changes],
            **({"note": self.note} if self.note else {}),
        }


@lru_cache(maxsize=4096)
def compare(source: str, text: str) -> Comparison:
    """Account for every word of two texts: the second one should say what the first one says."""
    alignment, words = _words_compared(source, text)
    english = is_english(source)
    checked = [item for check in CHECKS for item in check(alignment)] if english else []
    changes = turned_comparisons(alignment, [*words, *checked])
    return Comparison(_total(changes), tuple(_joined(changes, source, text)), "" if english else OTHER_LANGUAGE)


def faithful_cost(source: str, text: str) -> float:
    """The cost of a faithful text; infinite for others, of which most are known by one of their words."""
    _, changes = _words_compared(source, text)
    if any(item.cost > FAITHFUL and item.kind != "opposite" for item in changes):
        return math.inf
    whole = compare(source, text)
    return whole.cost if whole.faithful else math.inf


@lru_cache(maxsize=256)
def _words_compared(source: str, text: str) -> tuple[Alignment, tuple[Change, ...]]:
    """Two texts aligned, and what became of each word by itself."""
    here, there = read(source), read(text)
    here, there = sharing_names(here, there), sharing_names(there, here)
    alignment = align(here, there)
    return alignment, (*_matched(alignment), *_left_over(alignment))


def _total(changes: list[Change]) -> float:
    """Hard changes count in full; of small ones, each further one counts less."""
    small = sorted((item.cost for item in changes if item.cost <= FAITHFUL), reverse=True)
    hard = sum(item.cost for item in changes if item.cost > FAITHFUL)
    return hard + sum(cost * COSTS.further**number for number, cost in enumerate(small))


def _matched(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    for match in alignment.matches:
        kind, cost = match.step
        if kind == "opposite" and _one_is_denied(alignment, match.source, match.text):
            kind, cost = "synonym", COSTS.negated_opposite
        elif kind == "swapped" and source.words[match.source[0]].kind in ("name", "number"):
            kind = source.words[match.source[0]].kind
        yield change(kind, source, match.source, text, match.text, cost)


def _one_is_denied(alignment: Alignment, here: tuple[int, ...], there: tuple[int, ...]) -> bool:
    """Whether exactly one of two opposites stands after a negation: "not happy", "unhappy"."""
    denied = _is_denied(alignment.source, here[0], alignment.used_source)
    return denied != _is_denied(alignment.text, there[0], alignment.used_text)


def _is_denied(reading: Reading, at: int, used: set[int]) -> bool:
    return any(reading.words[place].kind == "negation" and place not in used for place in range(max(0, at - 3), at))


def _left_over(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    for at in alignment.free_source():
        cost = lost_price(source, at, alignment.used_source)
        if is_owner(source.words[at]) and not _names_an_owner(text):
            cost = max(cost, COSTS.owner)
        if _opens_as_gerund(source, at) or _follows_question_word(source, at):
            cost = max(cost, COSTS.lost)
        if _is_said_otherwise(alignment, at, in_source=True):
            cost = COSTS.determiner
        yield change(_kind(source.words[at], "lost"), source, (at,), text, (), cost)
    for at in alignment.free_text():
        cost = new_price(text, at, alignment.used_text)
        if not {"become", "get"}.isdisjoint(text.words[at].names):  # "be president", "become president"
            cost = max(cost, COSTS.vague)
        if _is_said_otherwise(alignment, at, in_source=False):
            cost = COSTS.determiner
        yield change(_kind(text.words[at], "new"), source, (), text, (at,), cost)


def _opens_as_gerund(reading: Reading, at: int) -> bool:
    """Whether what is said is about doing a thing and not about the thing: "Making a decision is hard"."""
    return at == 0 and reading.words[0].kind == "light" and reading.words[0].lower.endswith("ing")


def _follows_question_word(reading: Reading, at: int) -> bool:
    """Whether a question asks for just this: "what ideas do you have"."""
    return reading.question and at > 0 and reading.words[at - 1].lower in ("what", "which")


def _names_an_owner(reading: Reading) -> bool:
    """Whether a pronoun may stand for an owner."""
    return any(word.lower in closed.POSSESSIVES for word in reading.words)


def _is_said_otherwise(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether the grammar of the other text says it: "each year" and "a year", "the reason" and "why"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    if any(says(alignment, at, in_source) for says in SAID_OTHERWISE):
        return True
    if says_cause(reading.words[at]) and gives_cause(other):
        return True
    if not reading.question:
        return False
    named = _follows_question_word(reading, at) and reading.words[at].is_part("n")
    named = named and reading.words[min(at + 1, len(reading.words) - 1)].lower in closed.BE  # not "which books do you"
    if named and any(word.lower in ("what", "which") for word in other.words):  # "which city", "what"
        return True
    small = {word.lower for word in other.words if word.kind == "link"}
    return any(asked_noun(word, "what", reading) == at for word in small)


def lost_price(source: Reading, at: int, used: set[int]) -> float:
    """What a word of the source costs that was not said again."""
    return _price(source, at, used, COSTS.lost, COSTS.name_part)


def new_price(text: Reading, at: int, used: set[int]) -> float:
    """What a word costs that does not come from the source."""
    return _price(text, at, used, COSTS.new, COSTS.pronoun)


def _kind(word: Word, kind: str) -> str:
    return word.kind if word.kind in ("name", "number") else kind


def _price(reading: Reading, at: int, used: set[int], content: float, name_part: float) -> float:
    """What it costs that a word has no counterpart."""
    word = reading.words[at]
    if word.kind == "number":
        return _price_alone(word, False, content)
    again = any(
        reading.words[place].lower == word.lower or bool(word.bases and word.bases == reading.words[place].bases)
        for place in used
    )
    if again:
        return COSTS.again
    if word.kind == "name" and used:
        run = next((run for run in name_runs(reading, ("of", "the")) if at in run), [])
        if any(place in used for place in run) and len(run) > 1:
            return name_part
    return _price_alone(word, stands_by_name(reading.words, at), content)


def new_word_price(word: Word, by_name: bool) -> float:
    """What a new word costs in a text that says nothing of the source; by_name: it is a title that stands by a name."""
    return _price_alone(word, by_name, COSTS.new)


def stands_by_name(words: Sequence[Word], at: int) -> bool:
    """Whether a title stands by a name."""
    return is_title(words[at]) and any(other.kind == "name" for other in words[max(0, at - 1) : at + 3])


def _price_alone(word: Word, by_name: bool, content: float) -> float:
    if word.kind == "number":
        return COSTS.one if word.lower == "one" else COSTS.number
    if word.kind == "name":
        return COSTS.light if is_title(word) else COSTS.name
    if word.kind == "light" or by_name:
        return COSTS.light if len(word.lower) > 1 else content
    return COSTS.strict if word.kind == "strict" else content


def _joined(changes: list[Change], source: str, text: str) -> list[Change]:
    """The changes in order, with words lost or new side by side as one: "two weeks ago"."""
    lost = [item for item in changes if item.kind in _ONE_SIDED and not item.text]
    new = [item for item in changes if item.kind in _ONE_SIDED and not item.source]
    rest = [item for item in changes if item.kind not in _ONE_SIDED or (item.source and item.text)]
    return sorted([*rest, *_runs("lost", lost, source), *_runs("new", new, text)], key=_order)


_ONE_SIDED = ("lost", "new", "name", "number")


def _order(item: Change) -> tuple[bool, Place]:
    return item.source_place is None, item.source_place or item.text_place or (0, 0)


def _runs(kind: str, changes: list[Change], said: str) -> Iterator[Change]:
    """Changes of one side; those with nothing but a space between them are put together."""
    run: Change | None = None
    for item in sorted(changes, key=_order):
        place, start = (run.source_place or run.text_place if run else None), item.source_place or item.text_place
        if run is None or place is None or start is None or said[place[1] : start[0]].strip():
            if run is not None:
                yield run
            run = item
            continue
        place = place[0], start[1]
        words, cost = said[slice(*place)], run.cost + item.cost
        run = (
            Change(kind, words, "", place, None, cost) if kind == "lost" else Change(kind, "", words, None, place, cost)
        )
    if run is not None:
        yield run
