"""The ledger while a text is being written: what each word costs, and what is still missing.

A sampler asks it word by word, in either direction. Words that may still become part of a number, a phrase or a tense
are charged for what they are so far; the next words correct that, so a charge may be negative. What needs the whole
text (roles, moved numbers) is left to `compare`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import COUNTED
from refdec.ledger.comparison import lost_price, new_word_price, stands_by_name
from refdec.ledger.costs import COSTS
from refdec.ledger.forms import tense_cost
from refdec.ledger.grammar import Verb, verbs, verbs_by_neighbours
from refdec.ledger.logic import modal_cost
from refdec.ledger.reading import Phrase, Word, read, read_part
from refdec.ledger.relations import phrase_step, step

OPEN = 3
"""Chunks whose price may still change: a number, a phrase or a verb with its auxiliaries is rarely longer."""

CONTEXT = 2
"""Settled chunks that are read along, because they tell a tense."""

REMEMBERED = 1 << 16
"""Answers that an account keeps."""

FREE = ""
_NO_VERB = Verb(frozenset(), False, 0)
_SLOTS = COUNTED | {"negation", "modal"}


class State(NamedTuple):
    """A text as far as it is written.

    Attributes:
        slots: for each word of the source that must turn up, what was written for it, or ""
        charged: what the settled words cost
        tail: the last chunks in the order of the text
        settled: how many chunks of the tail, from its old end, are paid for good
        persons: pronouns' persons written so far
    """

    slots: tuple[str, ...]
    charged: float
    tail: tuple[str, ...]
    settled: int
    persons: frozenset[str]


class Option(NamedTuple):
    """A way to account for a word: the slots it takes, and the price."""

    cost: float
    slots: tuple[int, ...]


class Unit(NamedTuple):
    """A word or phrase of the tail, the chunks it covers counted from the old end, and what it may stand for."""

    name: str
    last_chunk: int
    options: tuple[Option, ...]
    new: float
    person: str
    is_word: bool = True


class Choice(NamedTuple):
    """A phrase that begins at a place of the tail: it is one unit only where its own words are not to be said."""

    unit: Unit
    places: tuple[int, ...]
    counts: bool
    due: tuple[Option, ...]  # each says one of its words as the source does


class Step(NamedTuple):
    """A place of the tail: the phrases that begin there, the longest first, and the word alone."""

    at: int
    choices: tuple[Choice, ...]
    unit: Unit


class Placed(NamedTuple):
    """A state with all words of its tail in their places."""

    slots: tuple[str, ...]
    cost: float
    shorter: State  # the same text with as few open chunks as there may be


class Account:
    """The account of one source.

    Args:
        source: the text that must be said again
        backward: whether words come from the last to the first
    """

    write: Callable[[State, str], tuple[float, State]]
    missing: Callable[[State], float]

    def __init__(self, source: str, backward: bool = False) -> None:
        self._backward = backward
        reading = read(source)
        self._words = reading.words
        self._verbs = verbs(reading)
        self._tenses = {tense for verb in self._verbs.values() for tense in verb.tenses}
        self._persons = {closed.PERSONS[word.lower] for word in reading.words if word.kind == "person"}
        self._places = [at for at, word in enumerate(reading.words) if word.kind in _SLOTS]
        slot = {at: number for number, at in enumerate(self._places)}
        self._phrases = [(phrase, tuple(slot[at] for at in phrase.places if at in slot)) for phrase in reading.phrases]
        self._small = {word.lower for word in reading.words if word.kind not in _SLOTS}
        self._own_slots = {
            self._words[at].lower: tuple(
                Option(0.0, (slot[other],)) for other in self._places if _is_same(self._words, at, other)
            )
            for at in self._places
        }
        self._question = reading.question
        self._lost = [
            COSTS.negation
            if self._words[at].kind == "negation"
            else COSTS.modal
            if self._words[at].kind == "modal"
            else lost_price(reading, at, set())
            for at in self._places
        ]
        self.write = lru_cache(REMEMBERED)(self._write)
        self.missing = lru_cache(REMEMBERED)(self._missing)
        self._placed = lru_cache(REMEMBERED)(self._place)
        self._steps = lru_cache(REMEMBERED)(self._find_steps)
        self._unit = lru_cache(REMEMBERED)(self._find_unit)
        self._word_options = lru_cache(REMEMBERED)(self._find_word_options)
        self._phrase_options = lru_cache(REMEMBERED)(self._find_phrase_options)
        self._named_options: dict[str, tuple[Option, ...]] = {}

    @property
    def start(self) -> State:
        return State((FREE,) * len(self._places), 0.0, (), 0, frozenset())

    def _write(self, state: State, word: str) -> tuple[float, State]:
        """What one more chunk costs, and the state after it."""
        longer = state._replace(tail=(word, *state.tail) if self._backward else (*state.tail, word))
        placed = self._place(longer)
        return placed.cost - self._placed(state).cost, placed.shorter

    def _missing(self, state: State) -> float:
        """What is still to be said if the text ends here."""
        slots = self._placed(state).slots
        said = {self._words[at].lower for slot, at in zip(slots, self._places, strict=True) if slot}
        return sum(
            COSTS.again if self._words[at].lower in said else price
            for slot, at, price in zip(slots, self._places, self._lost, strict=True)
            if slot == FREE
        )

    def _place(self, state: State) -> Placed:
        """All words of the tail in their places; where too many chunks are open, the oldest one is settled."""
        slots, cost, persons = list(state.slots), state.charged, set(state.persons)
        before = settled = state.settled
        settling = len(state.tail) - before > OPEN
        kept: tuple[tuple[str, ...], float, frozenset[str]] | None = None
        for unit in self._units(self._steps(state.tail, before), slots):
            if settling and kept is None:
                if unit.last_chunk > before and settled > before:
                    kept = tuple(slots), cost, frozenset(persons)
                else:
                    settled = max(settled, unit.last_chunk + 1)
            cost += self._put(unit, slots, persons)
        whole = tuple(slots)
        if not settling:
            return Placed(whole, cost, state)
        paid_slots, charged, said = kept or (whole, cost, frozenset(persons))
        settled = max(settled, before + 1)
        dropped = max(0, settled - CONTEXT)
        tail = state.tail[: len(state.tail) - dropped] if self._backward else state.tail[dropped:]
        return Placed(whole, cost, State(paid_slots, charged, tail, settled - dropped, said))

    def _units(self, steps: Iterable[Step], slots: list[str]) -> Iterable[Unit]:
        """Open words and phrases from the old end on; slots may change meanwhile."""
        covered: set[int] = set()
        for at, choices, word in steps:
            if at in covered:
                continue
            for unit, places, counts, due in choices:
                options = tuple(option for option in unit.options if _is_free(option, slots))
                if not options or not (counts or options[0].slots):
                    continue
                if not any(_is_free(option, slots) for option in due):
                    covered.update(places)
                    yield unit._replace(options=options)
                    break
            else:
                yield word

    def _find_steps(self, tail: tuple[str, ...], settled: int) -> tuple[Step, ...]:
        """The open places of a tail from the old end on."""
        reading = read_part(tail)
        found = verbs_by_neighbours(reading.words)
        words, last = reading.words, len(tail) - 1
        starts: dict[int, list[Choice]] = {}
        for phrase in sorted(reading.phrases, key=lambda item: -len(item.places)):
            places = phrase.places
            options = self._phrase_options(phrase.bases)
            if options and places[-1] - places[0] == len(places) - 1:
                end = words[places[0] if self._backward else places[-1]].start
                unit = Unit(phrase.bases[0][0], last - end if self._backward else end, options, 0.0, "", False)
                counts = any(words[place].kind in _SLOTS for place in places)
                due = tuple(option for place in places for option in self._own_options(words[place]))
                starts.setdefault(places[-1 if self._backward else 0], []).append(Choice(unit, places, counts, due))
        steps = []
        order = range(len(words))
        for at in reversed(order) if self._backward else order:
            word = words[at]
            chunk = last - word.start if self._backward else word.start
            if chunk >= settled and word.kind != "mark":
                verb = found.get(at, _NO_VERB)
                unit = self._unit(word, chunk, verb.tenses, verb.ongoing, stands_by_name(words, at))
                steps.append(Step(at, tuple(starts.get(at, ())), unit))
        return tuple(steps)

    def _own_options(self, word: Word) -> tuple[Option, ...]:
        """The slots of this very word, if the source has it."""
        if word.kind not in _SLOTS:
            return ()
        return tuple(option for option in self._word_options(word) if option.cost <= COSTS.form)

    def _find_unit(self, word: Word, chunk: int, tenses: frozenset[str], ongoing: bool, by_name: bool) -> Unit:
        """A word alone; of a verb its tenses are known."""
        person = closed.PERSONS[word.lower] if word.kind == "person" else ""
        verb = Verb(tenses, False, 0, ongoing) if tenses else None
        if word.kind not in _SLOTS:
            options = self._own_slots.get(word.lower, ())
            new = COSTS.tense if verb and self._is_other_tense(verb) else 0.0
        else:
            options = self._word_options(word)
            if word.kind == "negation":
                new = COSTS.negation
            elif word.kind == "modal":
                new = COSTS.modal_near if self._question else COSTS.modal
            else:
                new = 0.0 if word.lower in self._small else new_word_price(word, by_name)
            if verb:
                options = tuple(
                    Option(option.cost + self._tense(option.slots, verb), option.slots) for option in options
                )
        return Unit(word.lower, chunk, options, new, person)

    def _tense(self, slots: tuple[int, ...], verb: Verb) -> float:
        own = self._verbs.get(self._places[slots[0]]) if slots else None
        return tense_cost(own, verb) if own else 0.0

    def _is_other_tense(self, verb: Verb) -> bool:
        return (
            "" not in verb.tenses
            and bool(self._tenses)
            and not verb.tenses & self._tenses
            and "modal" not in verb.tenses
        )

    def _put(self, unit: Unit, slots: list[str], persons: set[str]) -> float:
        """Write a unit into the slots; what it costs."""
        if unit.is_word:
            self._named_options.setdefault(unit.name, unit.options)
        if unit.person:
            price = self._person_price(unit.person) if unit.person not in persons else 0.0
            persons.add(unit.person)
            return price
        price = unit.new
        if not unit.options:
            return price
        for option in unit.options:
            if _is_free(option, slots):
                if option.cost < price or not price:
                    for slot in option.slots:
                        slots[slot] = unit.name
                    price = option.cost
                break
        else:
            return self._evict(unit, slots)
        return price

    def _evict(self, unit: Unit, slots: list[str]) -> float:
        """All slots of a word are taken: one that another word holds at a higher price changes hands."""
        for option in unit.options:
            if len(option.slots) != 1:
                continue
            slot = option.slots[0]
            holder = slots[slot]
            held = next((other for other in self._named_options.get(holder, ()) if other.slots == (slot,)), None)
            if held is None or held.cost <= option.cost:
                continue
            for other in self._named_options[holder]:
                if all(slots[place] == FREE for place in other.slots):
                    slots[slot] = unit.name
                    for place in other.slots:
                        slots[place] = holder
                    return option.cost + other.cost - held.cost
        again = unit.options[0].cost <= COSTS.form
        return min(unit.new, COSTS.again) if again and unit.new < COSTS.number else unit.new

    def _person_price(self, person: str) -> float:
        if person in self._persons:
            return 0.0
        rivals = {"he": "she", "she": "he"}
        if person in closed.SPEAKERS or (rivals.get(person) in self._persons):
            return COSTS.pronoun if self._question else COSTS.person
        return COSTS.pronoun / 2

    def _find_word_options(self, word: Word) -> tuple[Option, ...]:
        options = []
        for slot, at in enumerate(self._places):
            own = self._words[at]
            if word.kind in ("negation", "modal") or own.kind in ("negation", "modal"):
                if word.kind == own.kind:
                    cost = 0.0 if word.kind == "negation" else modal_cost(own, word, self._words, self._question)
                    options.append(Option(cost, (slot,)))
                continue
            related = step(own, word)
            if related and related.cost < COSTS.new:
                options.append(Option(related.cost, (slot,)))
        for phrase, slots in self._phrases:
            related = phrase_step(phrase, word) if word.bases else None
            if related:
                options.append(Option(related.cost, slots))
        return tuple(sorted(options))

    def _find_phrase_options(self, bases: tuple[tuple[str, str], ...]) -> tuple[Option, ...]:
        written = Phrase((), bases)
        options = [
            Option(related.cost, (slot,))
            for slot, at in enumerate(self._places)
            if self._words[at].bases and (related := phrase_step(self._words[at], written))
        ]
        options += [
            Option(related.cost, slots) for phrase, slots in self._phrases if (related := phrase_step(phrase, written))
        ]
        return tuple(sorted(options))


def _is_same(words: Sequence[Word], at: int, other: int) -> bool:
    return words[at].lower == words[other].lower


def _is_free(option: Option, slots: Sequence[str]) -> bool:
    return not any(map(slots.__getitem__, option.slots))  # a free slot is empty
