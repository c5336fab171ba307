"""Parses a sentence with the grammar: its possible meanings, none if it is not a sentence of this language."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

from benchmarks.german.grammar import (
    ASKED,
    BECAUSE,
    BEGINNINGS,
    LATER,
    PRESENT_BEGINNINGS,
    THEREFORE,
    Choice,
    Clause,
    Named,
    Row,
    Scene,
    Topic,
    Tree,
    clauses,
    read,
    topics,
    with_passives,
    words_of,
)
from benchmarks.german.words import Person, Verb
from benchmarks.german.writer import SAYING

TIMES: Tree = Choice((BEGINNINGS, PRESENT_BEGINNINGS, LATER, THEREFORE))


@dataclass(frozen=True)
class Reading:
    """One possible meaning of a sentence."""

    events: frozenset[str]  # topic/event
    chosen: frozenset[tuple[str, str]]  # who, and what the names of the topic stand for

    @property
    def topics(self) -> set[str]:
        return {event.partition("/")[0] for event in self.events}

    def __or__(self, other: Reading) -> Reading:
        return Reading(self.events | other.events, self.chosen | other.chosen)


def readings(text: str) -> set[Reading]:
    """All possible meanings of a sentence; empty if it is not a sentence of this language."""
    inner = re.fullmatch(r'([^":]+): "([^"]+)"', text)
    if inner:
        speaking = any(_is_saying(words, "fragen", *SAYING) for words in _either_case(inner[1]))
        return readings(inner[2]) if speaking else set()
    mark = text[-1:]
    if mark not in (".", "?") or not text[:1].isupper() or '"' in text:
        return set()
    kinds = _questions if mark == "?" else _statements
    return set(chain.from_iterable(map(kinds, _either_case(text[:-1]))))


def _either_case(text: str) -> list[list[str]]:
    """The words with and without the capital that begins the sentence."""
    return [words_of(text), words_of(text[:1].lower() + text[1:])]


def _statements(words: list[str]) -> Iterator[Reading]:
    yield from _clauses("main", words)
    for place, word in enumerate(words):
        before, after = words[:place], words[place + 1 :]
        if word == "und":
            yield from _both(_clauses("main", before), "bare", after)
        elif word == "," and after[:1] == ["denn"]:
            yield from _both(_clauses("main", before), "main", after[1:])
        elif word == "," and after[:1] == ["dass"] and _is_saying(before, *SAYING):
            yield from _clauses("subordinate", after[1:])
        elif word == "," and _begins(BECAUSE, after):
            yield from _both(_clauses("main", before), "subordinate", after[1:])
        elif word == "," and _begins(BECAUSE, before):
            yield from _both(_clauses("subordinate", before[1:]), "verb first", after)


def _questions(words: list[str]) -> Iterator[Reading]:
    yield from _clauses("verb first", words)
    for end, _ in read(ASKED, words):
        yield from _clauses("subordinate", words[end:])


def _both(first: Iterable[Reading], kind: str, words: list[str]) -> Iterator[Reading]:
    found = list(first)
    if found:
        yield from (one | other for one in found for other in _clauses(kind, words))


def _clauses(kind: str, words: list[str]) -> Iterator[Reading]:
    if words:
        for event, tree in _trees()[kind, words[-1]]:
            for end, chosen in read(tree, words):
                if end == len(words):
                    yield Reading(frozenset([event]), frozenset(chosen.items()))


def _begins(tree: Tree, words: list[str]) -> bool:
    return any(True for _ in read(tree, words))


def _is_saying(words: list[str], *verbs: str) -> bool:
    """Direct speech."""
    forms = {Verb.of(verb).finite(tense, kind) for verb in verbs for tense in ("present", "past") for kind in KINDS}
    if not words or words[-1] not in forms:
        return False
    return " ".join(words[:-1]) in _speakers()


KINDS = ("m", "f", "p", "ich", "wir")


@cache
def _speakers() -> frozenset[str]:
    everybody = {person for topic in topics().values() for person in topic.people}
    return frozenset({form for one in everybody for form in (one.named("nominative"), one.pronoun("nominative"))})


@cache
def _trees() -> dict[tuple[str, str], list[tuple[str, Tree]]]:
    """All clauses, by their kind and last word."""
    found: dict[tuple[str, str], list[tuple[str, Tree]]] = defaultdict(list)
    for topic in topics().values():
        for event in topic.events:
            for way in with_passives(event):
                personal = "WER" in (way.subject, *way.parts) or any("{WE" in part for part in way.parts)
                scenes = _scenes(topic) if personal else _scenes(topic)[:1]
                for clause in chain.from_iterable(clauses(way, scene) for scene in scenes):
                    subjects = [clause] if way.is_personal or way.subject == "es" else [clause, clause.by_pronoun()]
                    for kind, tree in chain.from_iterable(map(_orders, subjects)):
                        for last in _last_words(tree):
                            found[kind, last].append((event.key, tree))
    return found


def _orders(clause: Clause) -> Iterator[tuple[str, Tree]]:
    for tense in ("present", "past", "perfect"):
        yield "main", clause.main(tense)
        yield "main", clause.main(tense, TIMES)
        yield "main", clause.verb_first(tense, TIMES)
        yield from (("main", tree) for tree in clause.fronted(tense))
        yield "subordinate", clause.subordinate(tense)
        yield "verb first", clause.verb_first(tense)
        yield "bare", clause.bare(tense)


def _scenes(topic: Topic) -> list[Scene]:
    kinds: dict[str, list[Person]] = defaultdict(list)
    for person in topic.people:
        kinds[person.kind].append(person)
    return [Scene(tuple(some), topic.slots, pronoun) for some in kinds.values() for pronoun in (False, True)]


def _last_words(tree: Tree) -> set[str]:
    if isinstance(tree, Choice):
        return set().union(*map(_last_words, tree.options))
    if isinstance(tree, Row):
        return _last_words(tree.parts[-1])
    return _last_words(tree.tree) if isinstance(tree, Named) else set(words_of(tree)[-1:])
