"""Which word of a text stands for which word of the source.

Equal words first, neighbours of equal words before others, then phrases, then relatives from the cheapest to the
dearest, and last words that stand in each other's place. What is left over is lost or new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from refdec.ledger import function_words as closed
from refdec.ledger.compounds import compounds
from refdec.ledger.costs import COSTS
from refdec.ledger.frames import in_other_frames
from refdec.ledger.reading import Phrase, Reading, Word
from refdec.ledger.relations import KEPT, Step, phrase_step, step

COUNTED = frozenset({"content", "name", "number", "strict", "light"})
"""Kinds of words that must turn up again one by one; the others are compared as a whole."""


@dataclass(frozen=True, slots=True)
class Match:
    """Words of the source and the words of the text that stand for them."""

    source: tuple[int, ...]
    text: tuple[int, ...]
    step: Step


@dataclass(slots=True)
class Alignment:
    source: Reading
    text: Reading
    matches: list[Match] = field(default_factory=list)
    to_text: dict[int, int] = field(default_factory=dict)  # a phrase by its first word
    to_source: dict[int, int] = field(default_factory=dict)
    used_source: set[int] = field(default_factory=set)
    used_text: set[int] = field(default_factory=set)

    def match(self, source: tuple[int, ...], text: tuple[int, ...], step: Step) -> None:
        self.matches.append(Match(source, text, step))
        self.used_source.update(source)
        self.used_text.update(text)
        self.to_text[source[0]], self.to_source[text[0]] = text[0], source[0]

    def free_source(self) -> list[int]:
        return [at for at in counted(self.source) if at not in self.used_source]

    def free_text(self) -> list[int]:
        return [at for at in counted(self.text) if at not in self.used_text]


def counted(reading: Reading) -> list[int]:
    return [at for at, word in enumerate(reading.words) if word.kind in COUNTED]


def align(source: Reading, text: Reading) -> Alignment:
    alignment = Alignment(source, text)
    _match_frames(alignment)
    _match_own_phrases(alignment)
    _match_equal(alignment)
    _match_by(alignment, lambda related: related.kind in ("kept", "form"))
    _match_phrases(alignment)
    _match_compounds(alignment)
    _match_initials(alignment)
    _match_by(alignment, lambda related: related.cost < 1)
    _match_places(alignment)
    return alignment


def _match_frames(alignment: Alignment) -> None:
    """Words far apart that say the same: "unless", "if … not"."""
    for here, there in in_other_frames(alignment.source.text, alignment.text.text):
        if alignment.used_source.isdisjoint(here) and alignment.used_text.isdisjoint(there):
            alignment.match(here, there, Step("synonym", COSTS.own))


def _match_own_phrases(alignment: Alignment) -> None:
    """Phrases of synonyms.txt and others of their group that share a word: "keep pace with", "keep up with"."""
    for forward in (True, False):
        reading, other = (alignment.source, alignment.text) if forward else (alignment.text, alignment.source)
        said = {phrase.bases for phrase in other.phrases}
        for phrase in sorted(reading.phrases, key=lambda phrase: -len(phrase.places)):
            own = phrase.meaning.own
            if not own or phrase.bases in said:
                continue
            inside = {reading.words[at].lower for at in phrase.places}
            words = [
                Phrase((at,), word.bases) for at, word in enumerate(other.words) if word.lower in inside and word.bases
            ]
            for mate in [*other.phrases, *words]:
                here, there = (phrase.places, mate.places) if forward else (mate.places, phrase.places)
                if (
                    own & mate.meaning.own
                    and phrase.bases != mate.bases
                    and alignment.used_source.isdisjoint(here)
                    and alignment.used_text.isdisjoint(there)
                ):
                    alignment.match(here, there, Step("synonym", COSTS.own))
                    break


def _match_equal(alignment: Alignment) -> None:
    """Equal words, those with equal neighbours first."""
    words, others = alignment.source.words, alignment.text.words
    places: dict[str, list[int]] = defaultdict(list)
    for at in counted(alignment.text):
        places[others[at].value or others[at].lower].append(at)
    candidates = []
    for at in counted(alignment.source):
        for other in places.get(words[at].value or words[at].lower, ()):
            candidates.append((-_company(words, at, others, other), _apart(words, at, others, other), at, other))
    for _, _, at, other in sorted(candidates):
        if at not in alignment.used_source and other not in alignment.used_text:
            alignment.match((at,), (other,), KEPT)


def _company(words: Sequence[Word], at: int, others: Sequence[Word], other: int) -> int:
    """How many of the two neighbours on each side are the same."""
    return sum(_lower(words, at + shift) == _lower(others, other + shift) for shift in (-2, -1, 1, 2))


def _lower(words: Sequence[Word], at: int) -> str:
    return words[at].lower if 0 <= at < len(words) else ""


def _apart(words: Sequence[Word], at: int, others: Sequence[Word], other: int) -> float:
    return abs(at / len(words) - other / len(others))


def _match_by(alignment: Alignment, wanted: Callable[[Step], bool]) -> None:
    """Related words among those left, from the cheapest relation to the dearest."""
    words, others = alignment.source.words, alignment.text.words
    candidates = []
    free = alignment.free_text()
    for at in alignment.free_source():
        for other in free:
            related = step(words[at], others[other])
            if related and wanted(related):
                key = related.cost, -_company(words, at, others, other), _apart(words, at, others, other)
                candidates.append((*key, at, other, related))
    for *_, at, other, related in sorted(candidates, key=lambda item: item[:5]):
        if at not in alignment.used_source and other not in alignment.used_text:
            alignment.match((at,), (other,), related)


def _match_phrases(alignment: Alignment) -> None:
    """Phrases whose words did not turn up, and what says the same on the other side."""
    for phrase in [
        *_open(alignment.source, alignment.text, alignment.used_source),
        *_linking(alignment.source, alignment.text),
    ]:
        others = _open(alignment.text, alignment.source, alignment.used_text, words=True)
        _match_phrase(alignment, phrase, others, forward=True)
    for phrase in [
        *_open(alignment.text, alignment.source, alignment.used_text),
        *_linking(alignment.text, alignment.source),
    ]:
        words = _open(alignment.source, alignment.text, alignment.used_source, words=True)
        _match_phrase(alignment, phrase, words, forward=False)


def _linking(reading: Reading, other: Reading) -> list[Phrase]:
    """Small words that mean something and that the other text does not have: "must" may be "require" there."""
    present = {word.lower for word in other.words}
    return [
        Phrase((at,), word.bases)
        for at, word in enumerate(reading.words)
        if (word.kind in ("modal", "condition") or word.lower in closed.CONNECTIVES) and word.lower not in present
    ]


def _open(reading: Reading, other: Reading, used: set[int], words: bool = False) -> list[Phrase]:
    """Phrases, and single words if asked for, of which no counted word is matched yet.

    A phrase that both texts have is left out: its words speak for themselves.
    """
    shared = {phrase.bases for phrase in other.phrases}
    units = [
        phrase
        for phrase in reading.phrases
        if used.isdisjoint(phrase.places) and phrase.bases not in shared and _says_something(reading, phrase)
    ]
    units.sort(key=lambda phrase: -len(phrase.places))
    if words:
        units += [Phrase((at,), word.bases) for at, word in enumerate(reading.words) if at not in used and word.bases]
    return units


def _says_something(reading: Reading, phrase: Phrase) -> bool:
    return any(reading.words[at].kind not in ("determiner", "mark") for at in phrase.places)


def _match_phrase(alignment: Alignment, phrase: Phrase, others: Iterable[Phrase], forward: bool) -> None:
    used = alignment.used_source if forward else alignment.used_text
    if not used.isdisjoint(phrase.places):
        return
    steps = [
        (related.cost, -len(other.places), other, related)
        for other in others
        if (related := phrase_step(phrase, other))
    ]
    if steps:
        *_, other, related = min(steps, key=lambda item: item[:2])
        here, there = (phrase.places, other.places) if forward else (other.places, phrase.places)
        named = any(alignment.source.words[at].kind == "name" for at in here)
        named = named and any(alignment.text.words[at].kind == "name" for at in there)
        alignment.match(here, there, KEPT if named else related)


def _match_compounds(alignment: Alignment) -> None:
    words, others = alignment.source.words, alignment.text.words
    for two, one in list(compounds(words, alignment.used_source, others, alignment.used_text)):
        alignment.match(two, (one,), KEPT)
    for two, one in list(compounds(others, alignment.used_text, words, alignment.used_source)):
        alignment.match((one,), two, KEPT)


def _match_initials(alignment: Alignment) -> None:
    """ "WHO" for "World Health Organization", "SUV" for "sport utility vehicle", and back."""
    for forward in (True, False):
        reading, other = (alignment.source, alignment.text) if forward else (alignment.text, alignment.source)
        used, free = (
            (alignment.used_source, alignment.free_text())
            if forward
            else (alignment.used_text, alignment.free_source())
        )
        for at in free:
            short = other.words[at].text.replace(".", "")
            if not (short.isupper() and len(short) > 1):
                continue
            for run in [*name_runs(reading), *_content_runs(reading, len(short))]:
                initials = "".join(
                    reading.words[place].text[0] for place in run if reading.words[place].kind in ("name", "content")
                )
                if initials.upper() == short and used.isdisjoint(run):
                    here, there = (tuple(run), (at,)) if forward else ((at,), tuple(run))
                    alignment.match(here, there, KEPT)
                    break


def _content_runs(reading: Reading, length: int) -> list[list[int]]:
    """So many neighbouring words that mean something."""
    return [
        list(range(at, at + length))
        for at in range(len(reading.words) - length + 1)
        if all(word.kind == "content" for word in reading.words[at : at + length])
    ]


def name_runs(reading: Reading, inside: Sequence[str] = ("of", "the", "and", "for")) -> list[list[int]]:
    """Names of several words, with the small words that may stand inside them."""
    runs: list[list[int]] = []
    for at, word in enumerate(reading.words):
        if word.kind != "name":
            continue
        if runs and all(other.lower in inside for other in reading.words[runs[-1][-1] + 1 : at]):
            runs[-1].extend(range(runs[-1][-1] + 1, at + 1))
        else:
            runs.append([at])
    return runs


def _match_places(alignment: Alignment) -> None:
    """Words that stand between the same neighbours: one was put in the place of the other. Opposites need no place."""
    words, others = alignment.source.words, alignment.text.words
    _match_by(alignment, lambda related: related.kind == "opposite")
    order, other_order = counted(alignment.source), counted(alignment.text)
    rank, other_rank = {at: n for n, at in enumerate(order)}, {at: n for n, at in enumerate(other_order)}
    for at in alignment.free_source():
        for other in alignment.free_text():
            if not _exchangeable(words[at], others[other]):
                continue
            for shift in (-1, 1):
                near, other_near = rank[at] + shift, other_rank[other] + shift
                inside, other_inside = 0 <= near < len(order), 0 <= other_near < len(other_order)
                if inside != other_inside or (inside and alignment.to_text.get(order[near]) != other_order[other_near]):
                    break
            else:
                alignment.match((at,), (other,), Step("swapped", _swap_cost(words[at], others[other])))
                break


def _exchangeable(word: Word, other: Word) -> bool:
    return word.kind == other.kind or {word.kind, other.kind} <= {"content", "name", "light"}


def _swap_cost(word: Word, other: Word) -> float:
    if word.kind == other.kind == "light":
        return COSTS.light
    if word.kind == "number":
        return COSTS.number
    return COSTS.name if "name" in (word.kind, other.kind) else COSTS.swapped


def is_title(word: Word) -> bool:
    return word.lower in closed.TITLES
