"""The sentences for one event: word order, tense, voice, questions and subordinate clauses.

A sentence is a tree of choices. The writer picks one path through it, the reader looks for the path that makes a given
text; so every written sentence can be parsed. Knows no stories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random

from benchmarks.german.topics import GROWN_UP, TOPICS, YOUNG
from benchmarks.german.words import (
    MODALS,
    OLD_PEOPLE,
    OLDER_PEOPLE,
    PAST_ALONE,
    YOUNG_PEOPLE,
    Noun,
    Person,
    Verb,
    nouns,
    parse_nouns,
    people,
    pronoun_of,
    reflexive,
)


@dataclass(frozen=True)
class Row:
    """Trees that follow each other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Choice:
    """Trees of which one is chosen."""

    options: tuple[Tree, ...]


@dataclass(frozen=True)
class Named:
    """The choice for a name: which person, or which city."""

    name: str
    value: str
    tree: Tree


Tree = str | Row | Choice | Named


def row(*parts: Tree) -> Tree:
    return Row(tuple(part for part in parts if part != ""))


def write(tree: Tree, random: Random) -> str:
    """The words of one path, with spaces between them."""
    if isinstance(tree, Choice):
        return write(random.choice(tree.options), random)
    if isinstance(tree, Row):
        return " ".join(write(part, random) for part in tree.parts)
    return write(tree.tree, random) if isinstance(tree, Named) else tree


def read(tree: Tree, words: list[str], place: int = 0) -> Iterator[tuple[int, dict[str, str]]]:
    """Where the paths end that match these words from some place on, with their choices."""
    if isinstance(tree, Choice):
        for option in tree.options:
            yield from read(option, words, place)
    elif isinstance(tree, Named):
        for end, chosen in read(tree.tree, words, place):
            yield end, chosen | {tree.name: tree.value}
    elif isinstance(tree, Row):
        yield from _read_row(tree.parts, words, place)
    else:
        mine = _words_of_leaf(tree)
        if words[place : place + len(mine)] == mine:
            yield place + len(mine), {}


def _read_row(parts: tuple[Tree, ...], words: list[str], place: int) -> Iterator[tuple[int, dict[str, str]]]:
    if not parts:
        yield place, {}
        return
    for middle, chosen in read(parts[0], words, place):
        for end, more in _read_row(parts[1:], words, middle):
            yield end, chosen | more


CONTRACTIONS = {
    "in dem": "im", "in das": "ins", "an dem": "am", "an das": "ans", "zu dem": "zum", "zu der": "zur",
    "bei dem": "beim", "von dem": "vom",
}  # fmt: skip
_CONTRACTED = {short: long.split() for long, short in CONTRACTIONS.items()}
_LONG = re.compile(rf"\b({'|'.join(CONTRACTIONS)})\b")


def finish(text: str) -> str:
    """Words as they are printed: im instead of in dem, no space before a comma, a capital at the beginning."""
    text = _LONG.sub(lambda found: CONTRACTIONS[found.group()], re.sub(r" (?=[,.?])", "", text))
    return text[0].upper() + text[1:]


@cache
def _words_of_leaf(text: str) -> list[str]:
    return words_of(text)


def words_of(text: str) -> list[str]:
    """The words of a text in one form: in dem instead of im."""
    return [word for short in re.findall(r"\w+|[^\w\s]", text) for word in _CONTRACTED.get(short, [short])]


@dataclass(frozen=True)
class Way:
    """One way to say an event, as the table has it."""

    subject: str
    parts: tuple[str, ...]
    verb: Verb
    infinitive: str = ""  # with a modal verb
    passive: bool = False

    @classmethod
    def parse(cls, line: str) -> Way:
        subject, *parts, last = (part.strip() for part in line.split("|"))
        *before, written = last.split()
        verb, infinitive = Verb.of(written), ""
        if written in MODALS and before:
            infinitive = Verb.of(before.pop()).joined
        return cls(subject, (*parts, *([" ".join(before)] if before else [])), verb, infinitive)

    @property
    def is_personal(self) -> bool:
        return self.subject == "WER"

    def turned(self) -> Way | None:
        """The passive, if there is an object to be its subject, and nothing refers to the old subject."""
        objects = [part for part in self.parts if part.startswith("+")]
        if not objects or self.infinitive or any("{sein" in part or "{sich" in part for part in self.parts):
            return None
        subject = objects[0][1:].replace("{WEN}", "WER").replace("{den ", "{der ").replace("{einen ", "{ein ")
        agent = "von {WEM}" if self.is_personal else "von " + self.subject.replace("{der ", "{dem ")
        rest = (part for part in self.parts if part is not objects[0])
        return replace(self, subject=subject, parts=(agent, *rest), passive=True)


@dataclass(frozen=True)
class Event:
    """Something that happens in a topic, and the ways to say it."""

    topic: str
    name: str
    reason: str  # the event because of which it happens, or nothing
    ways: tuple[Way, ...]

    @property
    def key(self) -> str:
        return f"{self.topic}/{self.name}"


Slots = Mapping[str, tuple[tuple[Noun, ...], ...]]


@dataclass(frozen=True)
class Topic:
    name: str
    slots: Slots  # what differs from story to story: for each the things it can be, and the words for each of these
    events: tuple[Event, ...]
    people: tuple[Person, ...]

    def event(self, name: str) -> Event:
        return next(event for event in self.events if event.name == name)


@cache
def topics() -> dict[str, Topic]:
    """The parsed tables."""
    return {topic.name: topic for topic in map(_topic, TOPICS.split("\n# ")[1:])}


def _topic(text: str) -> Topic:
    head, *blocks = text.split("\n> ")
    name, *lines = head.splitlines()
    slots = {}
    for line in filter(None, lines):
        slot, _, values = line.partition(": ")
        slots[slot] = tuple(_things(value) for value in values.split(" | "))
    events = []
    for block in blocks:
        title, *ways = filter(None, block.splitlines())
        event, _, reason = title.partition(" < ")
        events.append(Event(name, event, reason, tuple(Way.parse(way) for way in ways)))
    groups = {YOUNG: [YOUNG_PEOPLE], GROWN_UP: [YOUNG_PEOPLE, OLDER_PEOPLE]}
    mine = next((found for names, found in groups.items() if name in names.split()), None)
    allowed = people(", ".join(mine or [YOUNG_PEOPLE, OLDER_PEOPLE, OLD_PEOPLE]))
    if name == GROWN_UP:
        allowed = tuple(person for person in allowed if person.name != "die Kinder")
    return Topic(name, slots, tuple(events), allowed)


def _things(text: str) -> tuple[Noun, ...]:
    return parse_nouns(text) if re.search(r" [mfnpw]$", text) else (Noun(text, ""),)


@dataclass(frozen=True)
class Scene:
    """The person of a sentence, and what its nouns stand for: one of each to write, all possible ones to read."""

    people: tuple[Person, ...]  # all of one kind
    slots: Slots = field(default_factory=dict)
    pronoun: bool = False  # whether the person is said to be he, she or they

    @property
    def kind(self) -> str:
        return self.people[0].kind

    def person(self, case: str) -> Tree:
        if self.is_light:
            return Named("kind", self.kind, self.people[0].pronoun(case))
        return Named("kind", self.kind, Choice(tuple(Named("WER", one.name, one.named(case)) for one in self.people)))

    @property
    def is_light(self) -> bool:
        """Whether the person is a pronoun, or the speaker."""
        return self.pronoun or self.people[0].is_speaker

    def noun(self, name: str) -> list[tuple[str, Noun]]:
        """The words for a noun of the tables, each with what it stands for."""
        if name in self.slots:
            return [(things[0].word, noun) for things in self.slots[name] for noun in things]
        return [("", noun) for noun in nouns()[name]]

    def kinds(self, subject: str) -> list[tuple[str, Tree]]:
        """A subject and its agreement with the verb: one entry per possible gender and number."""
        if subject == "WER":
            return [(self.kind, self.person("nominative"))]
        if subject == "es":
            return [("n", "es")]
        name = subject.partition("}")[0].split()[-1]
        found: dict[str, list[Noun]] = {}
        for _, noun in self.noun(name):
            found.setdefault("m" if noun.gender == "w" else noun.gender, []).append(noun)
        return [(gender, self.phrase(subject, gender, only=gender)) for gender in found]

    def phrase(self, text: str, subject: str, only: str = "") -> Tree:
        """A part of a way. `subject` is the kind of the subject; `only` limits the first noun to one gender."""
        parts: list[Tree] = []
        for number, piece in enumerate(re.split(r"\{(.*?)\}", text)):
            if number % 2 == 0:
                parts.append(piece.strip())
            else:
                parts.append(self._brace(piece, subject, only if number == 1 else ""))
        kept = [part for part in parts if part != ""]
        return kept[0] if len(kept) == 1 else row(*kept)

    def _brace(self, content: str, subject: str, only: str) -> Tree:
        if content == "sich":
            return reflexive(subject)
        if content in ("WEN", "WEM"):
            return self.person("accusative" if content == "WEN" else "dative")
        *before, name = content.split()
        options: list[Tree] = []
        for value, noun in self.noun(name):
            if only and only != ("m" if noun.gender == "w" else noun.gender):
                continue
            said = noun.phrase(before[0], " ".join(before[1:]), subject) if before else noun.word
            options.append(Named(name, value, said) if value else said)
        return options[0] if len(options) == 1 else Choice(tuple(options))


@dataclass(frozen=True)
class Clause:
    """A way in a scene, for one kind of subject; word order is not decided yet."""

    subject: Tree
    kind: str
    light: tuple[Tree, ...]  # pronouns, which stand before everything else
    parts: tuple[Tree, ...]
    fronts: tuple[int, ...]  # parts that may stand before the verb
    way: Way

    def verb(self, tense: str) -> tuple[str, str, str]:
        """The finite verb of a main clause, the verb forms at its end, and all of them for a subordinate clause."""
        way, verb = self.way, self.way.verb
        perfect = tense == "perfect" and not way.passive and verb.infinitive not in PAST_ALONE
        simple = "past" if tense != "present" else "present"
        if way.passive:
            finite, tail = Verb.of("werden").finite(simple, self.kind), verb.perfect
        elif way.infinitive:
            finite, tail = verb.finite(simple, self.kind), way.infinitive
        elif perfect:
            finite, tail = Verb.of(verb.auxiliary).finite("present", self.kind), verb.perfect
        else:
            finite = verb.finite(simple, self.kind)
            return finite, verb.particle, verb.particle + finite
        return finite, tail, f"{tail} {finite}"

    def by_pronoun(self) -> Clause:
        """For a clause whose subject was named just before."""
        return replace(self, subject=pronoun_of(self.kind))

    def main(self, tense: str, time: Tree = "") -> Tree:
        finite, tail, _ = self.verb(tense)
        return row(self.subject, finite, *self.light, time, *self.parts, tail)

    def verb_first(self, tense: str, front: Tree = "") -> Tree:
        """The order after something in front, or in a question."""
        finite, tail, _ = self.verb(tense)
        return row(front, finite, self.subject, *self.light, *self.parts, tail)

    def fronted(self, tense: str) -> list[Tree]:
        finite, tail, _ = self.verb(tense)
        found = []
        for index in self.fronts:
            rest = (part for place, part in enumerate(self.parts) if place != index)
            found.append(row(self.parts[index], finite, self.subject, *self.light, *rest, tail))
        return found

    def subordinate(self, tense: str) -> Tree:
        return row(self.subject, *self.light, *self.parts, self.verb(tense)[2])

    def bare(self, tense: str) -> Tree:
        """Without its subject, to be joined with another clause that has the same one."""
        finite, tail, _ = self.verb(tense)
        return row(finite, *self.light, *self.parts, tail)


def clauses(way: Way, scene: Scene) -> list[Clause]:
    """One clause per kind of subject that the scene allows."""
    found = []
    for kind, subject in scene.kinds(way.subject):
        light: list[Tree] = []
        parts: list[Tree] = []
        fronts: list[int] = []
        for part in way.parts:
            text = part.lstrip("^+")
            said = scene.phrase(text, kind)
            if text == "{sich}" or (text in ("{WEN}", "{WEM}") and scene.is_light):
                light.append(said)
            else:
                if part.startswith("^"):
                    fronts.append(len(parts))
                parts.append(said)
        found.append(Clause(subject, kind, tuple(light), tuple(parts), tuple(fronts), way))
    return found


def with_passives(event: Event) -> list[Way]:
    return [way for known in event.ways for way in (known, known.turned()) if way is not None]


def one_of(options: str) -> Tree:
    return Choice(tuple(options.split("; ")))


BEGINNINGS = one_of(
    "heute; gestern; am Montag; am Dienstag; am Mittwoch; am Donnerstag; am Freitag; am Samstag; am Sonntag; "
    "am Wochenende; am Morgen; am Vormittag; am Nachmittag; am Abend; letzte Woche; vor ein paar Tagen"
)
PRESENT_BEGINNINGS = one_of("heute; am Morgen; am Vormittag; am Nachmittag; am Abend; gerade; im Moment")
LATER = one_of("dann; danach; später; anschließend; kurz darauf; nun; bald darauf; schließlich; etwas später")
THEREFORE = one_of("deshalb; deswegen; darum")
BECAUSE = one_of("weil; da")
ASKED = one_of("weißt du , ob; stimmt es , dass; ist es wahr , dass")
