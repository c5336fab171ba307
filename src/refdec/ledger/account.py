"""The ledger while a text is being written: what each word costs, and what is still missing.

A sampler asks it word by word, in either direction. Words that may still become part of a number, a phrase or a tense
are charged for what they are so far; the next words correct that, so a charge may be negative. What needs the whole
text (roles, moved numbers) is left to `compare`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import COUNTED
from refdec.ledger.comparison import lost_price, new_price
from refdec.ledger.costs import COSTS
from refdec.ledger.forms import tense_cost
from refdec.ledger.grammar import Verb, verbs
from refdec.ledger.logic import modal_cost
from refdec.ledger.reading import Phrase, Reading, Word, read
from refdec.ledger.relations import phrase_step, step

OPEN = 3
"""Chunks whose price may still change: a number, a phrase or a verb with its auxiliaries is rarely longer."""

CONTEXT = 2
"""Settled chunks that are read along, because they tell a tense."""

REMEMBERED = 1 << 16
"""Answers that an account keeps."""

FREE = ""
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
        self._word_options = lru_cache(REMEMBERED)(self._find_word_options)
        self._phrase_options = lru_cache(REMEMBERED)(self._find_phrase_options)
        self._named_options: dict[str, tuple[Option, ...]] = {}

    @property
    def start(self) -> State:
        return State((FREE,) * len(self._places), 0.0, (), 0, frozenset())

    def _write(self, state: State, word: str) -> tuple[float, State]:
        """What one more chunk costs, and the state after it."""
        longer = state._replace(tail=(word, *state.tail) if self._backward else (*state.tail, word))
        charge = self._placed(longer)[1] - self._placed(state)[1]
        return charge, self._shorter(longer)

    def _missing(self, state: State) -> float:
        """What is still to be said if the text ends here."""
        slots = self._placed(state)[0]
        said = {self._words[at].lower for slot, at in zip(slots, self._places, strict=True) if slot}
        return sum(
            COSTS.again if self._words[at].lower in said else price
            for slot, at, price in zip(slots, self._places, self._lost, strict=True)
            if slot == FREE
        )

    def _place(self, state: State) -> tuple[tuple[str, ...], float]:
        """Slots and cost with all words of the tail in their places."""
        slots, cost, persons = list(state.slots), state.charged, set(state.persons)
        for unit in self._units(state, slots):
            cost += self._put(unit, slots, persons)
        return tuple(slots), cost

    def _shorter(self, state: State) -> State:
        """The oldest open chunk is settled when there are too many; old context goes."""
        if len(state.tail) - state.settled <= OPEN:
            return state
        slots, charged, persons = list(state.slots), state.charged, set(state.persons)
        settled = state.settled
        for unit in self._units(state, slots):
            if unit.last_chunk > state.settled and settled > state.settled:
                break
            charged += self._put(unit, slots, persons)
            settled = max(settled, unit.last_chunk + 1)
        settled = max(settled, state.settled + 1)
        dropped = max(0, settled - CONTEXT)
        tail = state.tail[: len(state.tail) - dropped] if self._backward else state.tail[dropped:]
        return State(tuple(slots), charged, tail, settled - dropped, frozenset(persons))

    def _units(self, state: State, slots: list[str]) -> Iterator[Unit]:
        """Open words and phrases from the old end on; a phrase only where its own words are not to be said."""
        reading, chunk_of = _read_tail(state.tail)
        last = len(state.tail) - 1
        places = range(len(reading.words))
        found = verbs(reading, whole=False)
        starts: dict[int, list[Phrase]] = {}
        for phrase in reading.phrases:
            if phrase.places[-1] - phrase.places[0] == len(phrase.places) - 1:
                starts.setdefault(phrase.places[-1 if self._backward else 0], []).append(phrase)
        covered: set[int] = set()
        for at in reversed(places) if self._backward else places:
            chunk = last - chunk_of[at] if self._backward else chunk_of[at]
            word = reading.words[at]
            if at in covered or chunk < state.settled or word.kind == "mark":
                continue
            for phrase in sorted(starts.get(at, ()), key=lambda item: -len(item.places)):
                options = tuple(
                    option
                    for option in self._phrase_options(phrase.bases)
                    if all(slots[slot] == FREE for slot in option.slots)
                )
                counts = any(reading.words[place].kind in _SLOTS for place in phrase.places)
                if not options or not (counts or options[0].slots):
                    continue
                if not any(self._is_due(reading.words[place], slots) for place in phrase.places):
                    covered.update(phrase.places)
                    end = phrase.places[0] if self._backward else phrase.places[-1]
                    end_chunk = last - chunk_of[end] if self._backward else chunk_of[end]
                    yield Unit(phrase.bases[0][0], end_chunk, options, 0.0, "")
                    break
            else:
                yield self._unit(reading, at, chunk, found.get(at))

    def _unit(self, reading: Reading, at: int, chunk: int, verb: Verb | None) -> Unit:
        word = reading.words[at]
        person = closed.PERSONS[word.lower] if word.kind == "person" else ""
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
                new = 0.0 if word.lower in self._small else new_price(reading, at, set())
            if verb:
                options = tuple(
                    Option(option.cost + self._tense(option.slots, verb), option.slots) for option in options
                )
        self._named_options.setdefault(word.lower, options)
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

    def _is_due(self, word: Word, slots: list[str]) -> bool:
        """Whether the source has this very word and it is still to be said."""
        return word.kind in _SLOTS and any(
            option.cost <= COSTS.form and all(slots[slot] == FREE for slot in option.slots)
            for option in self._word_options(word)
        )

    def _put(self, unit: Unit, slots: list[str], persons: set[str]) -> float:
        """Write a unit into the slots; what it costs."""
        if unit.person:
            price = self._person_price(unit.person) if unit.person not in persons else 0.0
            persons.add(unit.person)
            return price
        price = unit.new
        for option in unit.options:
            if all(slots[slot] == FREE for slot in option.slots):
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
        again = bool(unit.options) and unit.options[0].cost <= COSTS.form
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


@lru_cache(maxsize=4096)
def _read_tail(tail: tuple[str, ...]) -> tuple[Reading, tuple[int, ...]]:
    """The tail as words, and for each word the chunk in which it begins."""
    reading = read(" ".join(tail))
    ends: list[int] = []
    for chunk in tail:
        ends.append((ends[-1] if ends else 0) + len(chunk) + 1)
    chunk_of = tuple(next(number for number, end in enumerate(ends) if word.start < end) for word in reading.words)
    return reading, chunk_of
