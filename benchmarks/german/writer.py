"""Stories: a person, a topic, some of its events in order, each said in one of many ways. Equal seeds give equal texts.

Some pairs of a person and an event never occur in a corpus. A model is tried with sentences about them: it has seen
all of their words, but never together.

    python -m benchmarks.german.writer stories.txt --megabytes 8 --seed 0
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.german.grammar import (
    ASKED,
    BECAUSE,
    BEGINNINGS,
    LATER,
    PRESENT_BEGINNINGS,
    THEREFORE,
    Clause,
    Event,
    Scene,
    Slots,
    Topic,
    Tree,
    Way,
    clauses,
    finish,
    row,
    topics,
    with_passives,
    write,
)
from benchmarks.german.words import Person, Verb

HELD_OUT = 12
"""One in so many pairs of person and event is left out of the corpus."""

SAYING = ("sagen", "erzählen", "meinen", "berichten")
LEAST, MOST = 3, 8
"""Sentences per story."""


def is_held_out(person: Person, event: Event) -> bool:
    """Never for "ich" and "wir", which stand for everybody."""
    personal = not person.is_speaker and any(way.is_personal for way in event.ways)
    return personal and zlib.crc32(f"{person.name} {event.key}".encode()) % HELD_OUT == 0


def corpus(size: int, seed: int = 0, only: tuple[str, ...] = ()) -> Iterator[str]:
    """Different stories of all or some topics, up to so many bytes."""
    random = Random(seed)
    chosen = [topic for topic in topics().values() if not only or topic.name in only]
    known: set[str] = set()
    while size > 0:
        sentences = Story.begin(random.choice(chosen), random).sentences()
        text = " ".join(sentences)
        if len(sentences) >= LEAST and text not in known:
            known.add(text)
            size -= len(text.encode()) + 2
            yield text


@dataclass(frozen=True)
class Meaning:
    """An event and its person, to be said in any of the ways of the event."""

    event: Event
    scene: Scene

    def statement(self, random: Random, tense: str = "present", without: str = "") -> str:
        """One way to say it, other than the text `without`."""
        while True:
            clause = pick(random.choice(self.event.ways), self.scene, random)
            text = finish(write(row(clause.main(tense), "."), random))
            if text != without:
                return text


def held_out_meanings(random: Random, only: tuple[str, ...] = ()) -> Iterator[Meaning]:
    """Pairs of a person and an event that no corpus has, in random order."""
    pairs = [
        (topic, person, event)
        for topic in topics().values()
        if not only or topic.name in only
        for person in topic.people
        for event in topic.events
        if is_held_out(person, event) and all(way.is_personal for way in event.ways)
    ]
    random.shuffle(pairs)
    for topic, person, event in pairs:
        yield Meaning(event, Scene((person,), bound(topic, random)))


def bound(topic: Topic, random: Random) -> Slots:
    """One choice per name of a topic."""
    return {name: (random.choice(things),) for name, things in topic.slots.items()}


def pick(way: Way, scene: Scene, random: Random) -> Clause:
    return random.choice(clauses(way, scene))


@dataclass
class Story:
    """A story that is being written."""

    topic: Topic
    scene: Scene
    other: Person  # who also says something
    events: list[Event]
    past: bool
    spoken: float  # how often the past is the perfect
    random: Random
    known: bool = False  # whether the person was named

    @classmethod
    def begin(cls, topic: Topic, random: Random) -> Story:
        person = random.choice(topic.people)
        other = random.choice([one for one in topic.people if one != person and not one.is_speaker])
        free = [event for event in topic.events if not is_held_out(person, event)]
        count = min(len(free), random.randint(LEAST, MOST))
        first = random.randrange(len(free) - count + 1)
        span = free[first : first + count + 3]  # what is near in time, with gaps
        chosen = sorted(random.sample(range(len(span)), count))
        return cls(
            topic, Scene((person,), bound(topic, random)), other, [span[index] for index in chosen],
            past=random.random() < 0.7, spoken=random.choice((0.15, 0.6)), random=random,
        )  # fmt: skip

    def sentences(self) -> list[str]:
        found: list[str] = []
        index = 0
        while index < len(self.events):
            event, after = self.events[index], self.events[index + 1 : index + 2]
            pair = after[0] if after else None
            if pair is not None and pair.reason == event.name and self.random.random() < 0.6:
                found += self._because(event, pair)
                index += 2
            elif pair is not None and self.random.random() < 0.12 and (joined := self._joined(event, pair)):
                found.append(joined)
                index += 2
            else:
                found.append(self._alone(event, is_first=index == 0))
                index += 1
        return found

    def _alone(self, event: Event, is_first: bool) -> str:
        chance = self.random.random()
        if chance < 0.2:
            return self._said(event)
        if chance < 0.27:
            return self._reported(event)
        if chance < 0.32:
            return self._asked(event)
        return self._statement(self._way(event), is_first)

    def _statement(self, way: Way, is_first: bool) -> str:
        clause, tense = self._clause(way), self._tense()
        time = self._time(is_first) if is_first or way.is_personal else ""
        chance = self.random.random()
        fronted = clause.fronted(tense)
        if time and chance < 0.65:
            tree = clause.verb_first(tense, time)
        elif time:
            tree = clause.main(tense, time)
        elif fronted and chance < 0.3:
            tree = self.random.choice(fronted)
        else:
            tree = clause.main(tense)
        return self._end(tree)

    def _because(self, reason: Event, event: Event) -> list[str]:
        """A reason and its consequence, in either order, in one sentence or two."""
        ways = self.random.choice(reason.ways), self.random.choice(event.ways)
        tense = self._tense()
        how = self.random.choice(("because first", "therefore", "because last", "for"))
        if how in ("because last", "for"):
            effect, cause = self._both(ways[1], ways[0])
            if how == "for":
                return [self._end(row(effect.main(tense), ", denn", cause.main(tense)))]
            return [self._end(row(effect.main(tense), ",", BECAUSE, cause.subordinate(tense)))]
        cause, effect = self._both(*ways)
        if how == "therefore":
            return [self._end(cause.main(tense)), self._end(effect.verb_first(tense, THEREFORE))]
        return [self._end(row(BECAUSE, cause.subordinate(tense), ",", effect.verb_first(tense)))]

    def _both(self, way: Way, other: Way) -> tuple[Clause, Clause]:
        """Two clauses in a row; a shared subject is a pronoun in the second."""
        first = self._clause(way)
        if way.subject != other.subject:
            return first, self._clause(other)
        second = self.random.choice([clause for clause in clauses(other, self.scene) if clause.kind == first.kind])
        return first, second if way.subject == "es" else second.by_pronoun()

    def _joined(self, event: Event, pair: Event) -> str:
        """Two things that one person does."""
        ways = [[way for way in one.ways if way.is_personal] for one in (event, pair)]
        if not all(ways):
            return ""
        tense = "past" if self.past else "present"
        first = self._clause(self.random.choice(ways[0]))
        second = pick(self.random.choice(ways[1]), self.scene, self.random)
        return self._end(row(first.main(tense), "und", second.bare(tense)))

    def _said(self, event: Event) -> str:
        """Direct speech: by the person, or by somebody about the person."""
        way = self._way(event)
        person = self.scene.people[0]
        tense = self.random.choice(("present", "present", "perfect"))
        own = not person.is_speaker and self.random.random() < 0.5
        if own:
            speaker = self._subject(way)
            kind = "wir" if person.kind == "p" else "ich"
            scene = replace(self.scene, people=(Person(kind, kind),), pronoun=False)
        else:
            speaker, scene = self.other.named("nominative"), replace(self.scene, pronoun=False)
            self.known = False
        text = finish(write(row(pick(way, scene, self.random).main(tense), "."), self.random))
        return f'{self._saying(speaker, self.random.choice(SAYING))}: "{text}"'

    def _asked(self, event: Event) -> str:
        """A question, in quotes."""
        clause = pick(self._way(event), replace(self.scene, pronoun=False), self.random)
        tense = self.random.choice(("present", "perfect"))
        tree = clause.verb_first(tense) if self.random.random() < 0.5 else row(ASKED, clause.subordinate(tense))
        self.known = False
        question = finish(write(row(tree, "?"), self.random))
        return f'{self._saying(self.other.named("nominative"), "fragen")}: "{question}"'

    def _reported(self, event: Event) -> str:
        verb = self.random.choice(SAYING)
        said = self._saying(self.other.named("nominative"), verb)
        clause = pick(self._way(event), replace(self.scene, pronoun=False), self.random)
        self.known = False
        return f"{said}, dass {finish_inside(write(clause.subordinate(self._tense()), self.random))}."

    def _saying(self, speaker: str, verb: str) -> str:
        kind = self.other.kind if speaker == self.other.named("nominative") else self.scene.kind
        return finish(f"{speaker} {Verb.of(verb).finite('past' if self.past else 'present', kind)}")

    def _clause(self, way: Way) -> Clause:
        """With the person by name or, after the first time, mostly by pronoun."""
        if not way.is_personal and "{WE" not in "".join(way.parts):
            self.known = self.known and self.random.random() < 0.5
            return pick(way, self.scene, self.random)
        pronoun = self.known and self.random.random() < 0.75
        self.known = way.is_personal
        return pick(way, replace(self.scene, pronoun=pronoun), self.random)

    def _subject(self, way: Way) -> str:
        pronoun = self.known and way.is_personal and self.random.random() < 0.75
        self.known = True
        person = self.scene.people[0]
        return person.pronoun("nominative") if pronoun else person.named("nominative")

    def _way(self, event: Event) -> Way:
        ways = with_passives(event) if self.random.random() < 0.3 else list(event.ways)
        return self.random.choice(ways)

    def _time(self, is_first: bool) -> Tree:
        if self.random.random() < (0.3 if is_first else 0.6):
            return ""
        return LATER if not is_first else BEGINNINGS if self.past else PRESENT_BEGINNINGS

    def _tense(self) -> str:
        if not self.past:
            return "present"
        return "perfect" if self.random.random() < self.spoken else "past"

    def _end(self, tree: Tree) -> str:
        return finish(write(row(tree, "."), self.random))


def finish_inside(text: str) -> str:
    """Like `finish`, in the middle of a sentence."""
    return finish(f". {text}")[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    texts = corpus(int(given.megabytes * 1e6), given.seed)
    given.file.write_text("".join(f"{text}\n\n" for text in texts), encoding="utf-8")


if __name__ == "__main__":
    main()
