"""Tense, voice and number of the words of one text, as far as forms and neighbours tell; unsure is an allowed answer.

A small set of rules, no parser: it looks at endings, at irregular forms and at the auxiliaries before a verb.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from refdec.ledger import function_words as closed
from refdec.ledger.lexicon import entry, lemmas
from refdec.ledger.reading import Reading, Word

_SKIPPED = frozenset({"negation", "strict"})
_BEFORE_VERBS = closed.words("just now longer first last")
_NOMINAL = frozenset({"determiner", "number", "preposition"})


class Verb(NamedTuple):
    """A verb in its sentence: the tenses it may have ("" is none), and whether it is passive or goes on."""

    tenses: frozenset[str]
    passive: bool
    first: int  # place of its first auxiliary, or its own
    ongoing: bool = False  # "is filming"


@lru_cache(maxsize=4096)
def verb_forms(lower: str) -> frozenset[str]:
    """Which forms of a verb a word may be: base, s, past, participle, ing."""
    forms = set()
    irregular = entry(lower)
    bases = {base for base, part in (irregular.bases if irregular else ()) if part == "v"}
    for base, part in lemmas(lower):
        if part != "v":
            continue
        if base == lower:
            forms.add("base")
            if lower in _UNCHANGED:
                forms |= {"past", "participle"}
            elif lower in _UNCHANGED_PARTICIPLE:
                forms.add("participle")
        elif lower.endswith("ing"):
            forms.add("ing")
        elif base in bases:
            if lower.endswith("s") and not lower.endswith("ss"):
                forms.add("s")
            elif lower in _ONLY_PAST or _PREFIX.sub("", lower) in _ONLY_PAST:
                forms.add("past")
            elif lower in _ONLY_PARTICIPLE or (lower.endswith("n") and lower not in _PAST_IN_N):
                forms.add("participle")
            else:
                forms |= {"past", "participle"}
        elif lower.endswith("s"):
            forms.add("s")
        elif lower.endswith("ed"):
            forms |= {"past", "participle"}
    return frozenset(forms)


_PREFIX = re.compile(r"^(over|under|mis|re|fore|with|out)")
_UNCHANGED = closed.words("put set cut let hit hurt shut cost quit spread bet burst cast split read beat")
_UNCHANGED_PARTICIPLE = closed.words("come become overcome run")
_ONLY_PARTICIPLE = closed.words(
    "begun drunk sung swum rung sunk shrunk sprung gone done known grown thrown shown flown drawn blown worn torn "
    "born sworn been become overcome"
)
_ONLY_PAST = closed.words(
    "went did began drank sang swam rang sank shrank sprang knew grew threw flew drew blew wore tore bore swore came "
    "became ran ate broke chose drove fell forgot forgave froze gave hid lay rode rose saw shook spoke stole took "
    "woke wrote was were overcame undertook mistook withdrew arose awoke beat bit overthrew"
)
_PAST_IN_N = closed.words("ran began won spun shone overran")


@lru_cache(maxsize=1024)
def verbs(reading: Reading) -> Mapping[int, Verb]:
    """What is known of each word that may be a verb; a clause without another verb tells that a word is one."""
    words = reading.words
    found = verbs_by_neighbours(words)
    for clause in clauses(words):
        _settle(words, clause, found)
    return found


def verbs_by_neighbours(words: Sequence[Word]) -> dict[int, Verb]:
    """What the words next to it tell of each word that may be a verb; be, have and do where they stand alone."""
    found: dict[int, Verb] = {}
    helping: set[int] = set()
    for at, word in enumerate(words):
        if word.kind in ("content", "light") and "v" in word.parts:
            chain = _chain(words, at)
            helping.update(chain)
            found[at] = _verb(words, at, chain)
    for at, word in enumerate(words):
        if word.kind == "auxiliary" and at not in helping and closed.AUXILIARIES[word.lower]:
            chain = _chain(words, at)
            if not helping.isdisjoint(chain):
                continue
            tense = _chain_tense(words, chain)[0] if chain else closed.AUXILIARIES[word.lower]
            found[at] = Verb(frozenset({tense}), False, min([*chain, at]))
    return found


def clauses(words: Sequence[Word]) -> list[range]:
    """The pieces between marks and linking words, which belong to the piece that they open."""
    starts = [
        at
        for at, word in enumerate(words)
        if at == 0
        or word.kind in ("mark", "condition")
        or (word.kind == "link" and word.lower != "there")
        or word.lower in _TIME_LINKS
        or (word.lower == "that" and words[at - 1].kind in ("content", "name", "light"))
    ]
    return [range(start, end) for start, end in pairwise([*starts, len(words)])]


_TIME_LINKS = closed.words("before after until till once since as than")


def _settle(words: Sequence[Word], clause: range, found: dict[int, Verb]) -> None:
    """A clause that has a subject and one word that may be its verb, and no other verb: that word is it."""
    inside = [at for at in clause if at in found]
    if any("" not in found[at].tenses for at in inside):
        return
    unsure = [
        at for at in inside if len(found[at].tenses) > 1 and not found[at].passive and _has_subject(words, clause, at)
    ]
    if unsure:
        verb = found[unsure[0]]
        found[unsure[0]] = verb._replace(tenses=verb.tenses - {""})


def _has_subject(words: Sequence[Word], clause: range, at: int) -> bool:
    """Whether a noun stands before a word with no preposition at its head, or a relative pronoun does."""
    before = words[at - 1] if at else None
    if before is None or at == clause.start:
        return False
    if before.lower in ("that", "which", "who"):
        return True
    if before.kind == "name" and words[at].lower.endswith("ed"):
        return True  # "In 1923 Ann Roth moved to"
    if before.kind in _NOMINAL or _is_adjective(before) or before.lower in closed.POSSESSIVES:
        return False
    if verb_forms(words[at].lower) == {"base"} and not any(map(is_plural, words[clause.start : at])):
        return False
    first = words[clause.start]
    if first.kind in ("mark", "link", "condition") or first.lower == "that" or first.lower in _TIME_LINKS:
        first = words[clause.start + 1]
    return first.kind in ("determiner", "name", "content", "number", "person") and any(
        word.kind in ("name", "person") or word.is_part("n") for word in words[clause.start : at]
    )


def _chain(words: Sequence[Word], at: int) -> list[int]:
    """The auxiliaries that belong to the verb here, in order."""
    chain: list[int] = []
    forms = verb_forms(words[at].lower) or frozenset({"base"})
    place = at - 1
    skipped = 0
    while place >= 0 and skipped < 3:
        word = words[place]
        if word.kind in ("auxiliary", "modal") or word.lower == "to":
            chain.insert(0, place)
            if word.lower == "to" or word.kind == "modal":
                break
        elif word.kind in _SKIPPED or word.lower.endswith("ly") or word.lower in _BEFORE_VERBS:
            skipped += 1
        elif not chain and words[at].kind != "auxiliary" and forms & {"base", "participle", "ing"}:
            return _inverted(words, at, forms)
        else:
            break
        place -= 1
    owns = bool(chain) and words[at].kind != "auxiliary" and "participle" not in forms
    if owns and words[chain[-1]].kind == "auxiliary" and words[chain[-1]].lower in closed.HAVE:
        return []  # "has no plans"
    return chain


def _inverted(words: Sequence[Word], at: int, forms: frozenset[str]) -> list[int]:
    """The auxiliary of a question, which stands before the subject: "Did Anna see it?"."""
    for place in range(at - 1, max(-1, at - 7), -1):
        word = words[place]
        if word.kind in ("mark", "link") or word.lower == "to":
            return []
        if word.kind in ("auxiliary", "modal"):
            opening = place == 0 or words[place].opens or _is_asked(words, place)
            fits = (
                word.kind == "modal" or word.lower in closed.DO
                if "base" in forms
                else word.lower in closed.BE or word.lower in closed.HAVE
            )
            return [place] if opening and fits else []
    return []


def _is_asked(words: Sequence[Word], auxiliary: int) -> bool:
    """Whether a question word stands before an auxiliary, with its noun at most: "how many countries did"."""
    for place in range(auxiliary - 1, max(-1, auxiliary - 5), -1):
        if words[place].lower in closed.QUESTION_WORDS:
            return True
        if words[place].kind not in ("content", "strict", "light") or place + 3 < auxiliary:
            return False
    return False


def _chain_tense(words: Sequence[Word], chain: Sequence[int]) -> tuple[str, bool]:
    """The tense that auxiliaries give, and whether the last one is a form of be."""
    first, last = words[chain[0]].lower, words[chain[-1]].lower
    passive = last in closed.BE
    if first == "to":
        before = chain[0] - 1
        if before >= 0 and words[before].lower == "going":
            return "future", passive
        return "", passive
    if first in closed.MODALS:
        modal = closed.MODALS[first]
        return {"will": "future", "would": "future"}.get(modal, "modal"), passive
    if first in closed.HAVE:
        return {"present": "perfect", "past": "pluperfect", "": ""}[closed.HAVE[first]], passive
    return closed.AUXILIARIES[first], passive


def _verb(words: Sequence[Word], at: int, chain: Sequence[int]) -> Verb:
    word = words[at]
    forms = verb_forms(word.lower)
    if chain:
        tense, after_be = _chain_tense(words, chain)
        return Verb(frozenset({tense}), after_be and "participle" in forms, chain[0], after_be and "ing" in forms)
    before = words[at - 1] if at else None
    after = words[at + 1] if at + 1 < len(words) else None
    if word.lower.endswith("ing") or forms == {"participle"}:
        return Verb(frozenset({""}), _has_agent(words, at), at)
    nominal = (
        before is None
        or before.kind in _NOMINAL
        or _is_adjective(before)
        or before.lower in ("his", "her", "its", "their", "my", "our", "your", "whose")
    )
    if "past" in forms and "participle" in forms:
        loose = (after is None or after.kind in ("preposition", "mark")) or nominal
        unchanged = {"present"} if "base" in forms else set()
        return Verb(frozenset({"past", *unchanged, *([""] if loose else [])}), _has_agent(words, at), at)
    if "past" in forms:
        return Verb(frozenset({"past"}), False, at)
    if "s" in forms:
        owner = before is not None and before.lower in closed.POSSESSIVES and before.lower != "her"
        doer = before is not None and (before.kind in ("person", "name") or before.lower in ("who", "which"))
        verbal = (doer and not owner) or (
            after is not None and (after.kind in ("determiner", "person", "name", "number") or after.lower == "that")
        )
        noun = word.is_part("n") and not verbal and not _is_mostly_verb(word)
        return Verb(frozenset({"present", *([""] if noun else [])}), False, at)
    if before is not None and (before.kind == "person" or before.lower == "who" or is_plural(before)) and not nominal:
        return Verb(frozenset({"present"}), False, at)
    return Verb(frozenset({"present", ""}), False, at)


def _has_agent(words: Sequence[Word], at: int) -> bool:
    """Whether "by" and somebody come next, but no amount: "fell by 12 percent"."""
    by = [word.lower for word in words[at + 1 : at + 2]] == ["by"]
    return by and not any(word.kind == "number" for word in words[at + 2 : at + 4])


def _is_adjective(word: Word) -> bool:
    return word.is_part("a") and not word.is_part("n")


def _is_mostly_verb(word: Word) -> bool:
    """Whether a word has far more senses as a verb than as a noun, as "says" has."""
    senses = {"n": 0, "v": 0}
    for base, part in word.bases:
        known = entry(base)
        if known and part in senses:
            senses[part] += len(known.common.get(part, ())) + len(known.rare.get(part, ()))
    return senses["v"] >= 3 * senses["n"]


def is_plural(word: Word) -> bool | None:
    """Whether a noun is plural; None where the form does not tell, or it may be a verb."""
    if word.kind not in ("content", "light") or not word.is_part("n"):
        return None
    return any(part == "n" and base != word.lower for base, part in word.bases)


def is_date(reading: Reading, at: int) -> bool:
    """Whether a number is a year or a day of a month."""
    value = reading.words[at].value
    before = reading.words[at - 1].lower if at else ""
    return (value.isdigit() and 1000 <= int(value) <= 2100) or before in closed.MONTHS
