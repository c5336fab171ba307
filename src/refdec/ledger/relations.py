"""How two words are related, and what it costs to put one in the place of the other. Knows nothing of sentences."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from refdec.ledger.costs import COSTS
from refdec.ledger.lexicon import Lemma, Meaning, entry, meaning
from refdec.ledger.reading import Phrase, Word


class Step(NamedTuple):
    """A relation and its cost."""

    kind: str
    cost: float


KEPT = Step("kept", 0.0)
FORM = Step("form", COSTS.form)
OPPOSITE = Step("opposite", COSTS.opposite)

_BRITISH = (
    (re.compile(r"our(?=$|s$|ed$|ing$|ful|able|ite|hood)"), "or"),
    (re.compile(r"is(?=(e|es|ed|ing|er|ers|ation|ations)$)"), "iz"),
    (re.compile(r"ys(?=(e|es|ed|ing)$)"), "yz"),
    (re.compile(r"(?<=[bt])re(?=s?$)"), "er"),
    (re.compile(r"ogue(?=s?$)"), "og"),
    (re.compile(r"ll(?=(ed|ing|er|ers)$)"), "l"),
    (re.compile(r"[ao]e(?=[dlmnpst])"), "e"),
    (re.compile(r"ence(?=s?$)"), "ense"),
    (re.compile(r"programme(?=s?$)"), "program"),
    (re.compile(r"cheque(?=s?$)"), "check"),
    (re.compile(r"grey"), "gray"),
)


@lru_cache(maxsize=4096)
def spelling(lower: str) -> str:
    """One spelling for British and American forms, without accents; not a word to show."""
    if not lower.isascii():
        lower = "".join(mark for mark in unicodedata.normalize("NFD", lower) if not unicodedata.combining(mark))
    for pattern, american in _BRITISH:
        lower = pattern.sub(american, lower)
    return lower


def step(word: Word, other: Word) -> Step | None:
    """What it costs to say `other` for `word`, if they are related at all."""
    if word.kind == "number" or other.kind == "number":
        return _numbers(word, other)
    if word.lower == other.lower or (
        word.lower[:2] == other.lower[:2] and spelling(word.lower) == spelling(other.lower)
    ):
        return KEPT
    related = _related(word.bases, other.bases, word.kind, other.kind)
    if related is not None and related.cost < COSTS.repeated and _is_repeated(word, other):
        return Step("near", COSTS.repeated)
    return related


def _is_repeated(word: Word, other: Word) -> bool:
    """Whether one word says that it happens again: "learn", "re-learn"."""
    again = {mark + name for name in (*word.names, *other.names) for mark in ("re", "re-")}
    return not again.isdisjoint(word.names | other.names)


def phrase_step(word: Word | Phrase, other: Word | Phrase) -> Step | None:
    """The same for phrases: only synonyms count."""
    related = _related(word.bases, other.bases, "content", "content")
    return related if related and related.kind == "synonym" else None


@lru_cache(maxsize=4096)
def _related(bases: tuple[Lemma, ...], others: tuple[Lemma, ...], kind: str, other_kind: str) -> Step | None:
    first, second = meaning(bases), meaning(others)
    kinds = {kind, other_kind}
    if "name" in kinds:
        if first.own & second.own:
            return Step("kept", COSTS.spelling)
        if first.names & second.names and kind == other_kind:
            return FORM
        return Step("family", COSTS.family) if _same_family(first, second) else None
    if "strict" in kinds:
        return Step("synonym", COSTS.own) if first.own & second.own else None
    if first.names & second.names:
        return FORM
    if first.own & second.own:
        return Step("synonym", COSTS.own)
    if _opposed(first, second):
        return OPPOSITE
    if _same_family(first, second):
        return Step("family", COSTS.family)
    if first.common & second.common:
        return Step("synonym", COSTS.synonym)
    if first.common & second.rare or first.rare & second.common:
        return Step("near", COSTS.vague if "light" in kinds and kind != other_kind else COSTS.rare)
    if first.common & second.above or first.above & second.common:
        return Step("near", COSTS.near)
    return _of_adverbs(first, second)


def _of_adverbs(first: Meaning, second: Meaning) -> Step | None:
    """What the adjectives of two adverbs say: "covertly", "secretly"."""
    for root in sorted(first.roots):
        for other in sorted(second.roots):
            related = _related(((root, "a"),), ((other, "a"),), "content", "content")
            if related is not None:
                return related
    return None


def _same_family(first: Meaning, second: Meaning) -> bool:
    if first.names & second.family or second.names & first.family:
        return True
    if first.names & second.roots or second.names & first.roots:
        return True
    if first.names & _american_family(second.names) or second.names & _american_family(first.names):
        return True
    return not first.stems.isdisjoint(second.stems)


def _american_family(names: frozenset[str]) -> frozenset[str]:
    """The family of words in their American spelling: "analyse" is of the family of "analysis"."""
    known = (entry(american) for name in names if (american := spelling(name)) != name)
    return frozenset(relative for item in known if item for relative in item.family)


_UNDOING = ("un", "in", "im", "ir", "il", "dis", "non", "mis")


def _opposed(first: Meaning, second: Meaning) -> bool:
    if first.against & (second.common | second.above) or second.against & (first.common | first.above):
        return True
    return any(
        mark + one in second.names or mark + other in first.names
        for mark in _UNDOING
        for one in first.names
        for other in second.names
    )


def _numbers(word: Word, other: Word) -> Step | None:
    if word.kind == other.kind == "number":
        if word.value == other.value:
            return KEPT
        value, _, unit = word.value.partition(" ")
        other_value, _, other_unit = other.value.partition(" ")
        if value == other_value and (not unit or not other_unit):
            return Step("form", COSTS.family)
        if value.rstrip(".") == other_value.rstrip(".") and not unit and not other_unit:
            return FORM
        if _is_same_hour(value, other_value) or (
            value[-1] == other_value[-1] == "s" and value[-3:] == other_value[-3:]
        ):
            return FORM
        return None
    number, noun = (word, other) if word.kind == "number" else (other, word)
    if noun.meaning.names & _SAID.get(number.value, frozenset()):
        return Step("synonym", COSTS.own)
    return Step("synonym", COSTS.own) if word.meaning.own & other.meaning.own else None


def _is_same_hour(value: str, other: str) -> bool:
    """Whether two times differ only in what is left open: 9, 9:00 and 21:00."""
    if ":" not in value + other:
        return False
    hour, _, minutes = value.partition(":")
    other_hour, _, other_minutes = other.partition(":")
    if not (hour.isdigit() and other_hour.isdigit()) or (minutes or "00") != (other_minutes or "00"):
        return False
    return int(hour) % 12 == int(other_hour) % 12 and min(int(hour), int(other_hour)) <= 12


_SAID = {
    value: frozenset(names.split())
    for value, names in {
        "25 percent": "quarter",
        "50 percent": "half",
        "1/3": "third",
        "1": "single sole",
        "1.": "debut maiden initial",
        "2.": "runner-up",
        "2": "double twofold couple pair both",
        "2 time": "double twofold",
        "3": "triple threefold trio",
        "3 time": "triple threefold",
        "4": "quadruple fourfold",
        "4 time": "quadruple fourfold",
        "10": "tenfold",
        "12": "dozen",
        "120 month": "decade",
        "1200 month": "century",
        "12000 month": "millennium",
        "1209600 second": "fortnight",
        "172800 second": "weekend",
        "0": "zero nil",
    }.items()
}
"""Words that say a number."""
