"""Plain English sentences broken by small edits, so that something can learn what broken grammar looks like.

An edit loses, adds, moves, bends or exchanges a word or a few, as language models do when they write badly. It knows
the words at which the fault can be seen. Harmless edits put another noun or name in the place of one: such sentences
say odd things in good grammar. No edit is certain: a few sentences survive one unbroken. Random numbers are handed in.
Knows nothing of tokens and models.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FEWEST, MOST = 8, 30
"""Words of a sentence that is broken."""

TABLES = tomllib.loads(Path(__file__).with_name("breaks.toml").read_text(encoding="utf-8"))
WORDS: dict[str, tuple[str, ...]] = {kind: tuple(listed.split()) for kind, listed in TABLES["words"].items()}
DISAGREEING: dict[str, tuple[str, ...]] = {word: tuple(to.split()) for word, to in TABLES["disagreeing"].items()}
AUXILIARIES = tuple(word for kind in ("be", "have", "do", "modals", "parts_of_be") for word in WORDS[kind])
DETERMINERS = frozenset(WORDS["articles"] + WORDS["possessives"])
FUNCTION_WORDS = frozenset(word for listed in WORDS.values() for word in listed)
LONE_CONTRACTIONS = ("won't", "can't", "ain't")
"""Contractions that are more than their parts."""

_PARTS = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_PLAIN = re.compile(r"[A-Z][A-Za-z0-9 ,;:'()$%-]*[A-Za-z0-9%)][.?]")


@dataclass(frozen=True, slots=True)
class Broken:
    """A sentence after an edit, which kind of edit, and the words (first, last) at which the fault can be seen."""

    words: tuple[str, ...]
    kind: str
    first: int
    last: int

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def span(self) -> tuple[int, int]:
        """The characters of the text at which the fault can be seen."""
        begin = len(" ".join(self.words[: self.first])) + bool(self.first)
        return begin, len(" ".join(self.words[: self.last + 1]))


def is_plain(sentence: str) -> bool:
    """Whether a sentence is of ordinary length, begins and ends like one, and has nothing but words in it."""
    count = sentence.count(" ") + 1
    if not FEWEST <= count <= MOST or not _PLAIN.fullmatch(sentence) or "  " in sentence:
        return False
    words = [plain(word) for word in sentence.split(" ")]
    shouted = sum(word.isupper() and len(word) > 1 for word in sentence.split(" "))
    return all(words) and shouted <= 2 and sum(word in FUNCTION_WORDS for word in words) >= count / 4


def core(word: str) -> str:
    """A word without the marks around it."""
    return parts(word)[1]


def plain(word: str) -> str:
    """A word without the marks around it and in lower case, except for "I": as the tables have it."""
    bare = core(word)
    return bare if bare == "I" else bare.lower()


def parts(word: str) -> tuple[str, str, str]:
    """The marks before a word, the word, the marks after it."""
    match = _PARTS.fullmatch(word)
    assert match is not None
    return match[1], match[2], match[3]


@dataclass(frozen=True)
class Lexicon:
    """What plain sentences tell of English words: which there are, and which stand where nouns and names stand."""

    counts: Counter[str]
    nouns: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> Lexicon:
        counts: Counter[str] = Counter()
        nouns: Counter[str] = Counter()
        names: Counter[str] = Counter()
        for sentence in sentences:
            words = sentence.split(" ")
            counts.update(core(word) for word in words[1:])
            nouns.update(core(words[place]).lower() for place in noun_places(words))
            names.update(core(words[place]) for place in name_places(words))
        known = [name for name, _ in names.most_common() if counts[name.lower()] * 4 < counts[name]]
        often = [noun for noun, count in nouns.most_common() if count >= 2]
        return cls(counts, tuple(often[:3000]), tuple(known[:1000]))

    def knows(self, word: str) -> bool:
        return self.counts[word] >= 2

    def forms(self, word: str) -> dict[str, str] | None:
        """The forms of a verb by name (base, s, ed, en, ing), if this is one of them; None for other words."""
        if word in self._irregular:
            return self._irregular[word]
        for base in _bases(word):
            found = regular_forms(base)
            if word in found.values() and all(map(self.knows, (base, found["ed"], found["ing"]))):
                return found
        return None

    @cached_property
    def _irregular(self) -> dict[str, dict[str, str]]:
        table: dict[str, dict[str, str]] = {}
        for verb in TABLES["irregular"]["verbs"].split(","):
            base, past, participle = verb.split()
            forms = regular_forms(base) | {"ed": past, "en": participle}
            table |= dict.fromkeys(forms.values(), forms)
        return table


def regular_forms(base: str) -> dict[str, str]:
    ends_in_y = base.endswith("y") and base[-2:-1] not in "aeiou"
    with_s = base[:-1] + "ies" if ends_in_y else base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")
    short = base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    doubles = re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprt]", base) is not None
    stem = base + base[-1] if doubles else short
    past = base[:-1] + "ied" if ends_in_y else stem + "ed"
    return {"base": base, "s": with_s, "ed": past, "en": past, "ing": stem + "ing"}


def _bases(word: str) -> Iterator[str]:
    """What a form could be a form of."""
    yield word
    for ending in ("s", "es", "ed", "d", "ing"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            yield from (stem, stem + "e")
            if stem[-1] == stem[-2]:
                yield stem[:-1]
            if stem.endswith("i"):
                yield stem[:-1] + "y"


def noun_places(words: Sequence[str]) -> list[int]:
    """Where a noun must stand: between an article and a preposition or the end of a clause."""
    lowered = [plain(word) for word in words]
    return [
        place
        for place in range(1, len(words))
        if lowered[place - 1] in DETERMINERS - {"her"}
        and words[place].rstrip(".,?").isalpha()
        and words[place][0].islower()
        and lowered[place] not in FUNCTION_WORDS
        and (words[place][-1] in ".,?" or lowered[place + 1] in {"of", "in", "on", "at", "from", "with", "is", "was"})
    ]


def name_places(words: Sequence[str]) -> list[int]:
    """Where a name of one word stands."""
    return [
        place
        for place in range(1, len(words) - 1)
        if words[place].isalpha()
        and words[place].istitle()
        and len(words[place]) > 2
        and not words[place - 1][:1].isupper()
        and not words[place + 1][:1].isupper()
    ]


Edit = Callable[[list[str], random.Random, Lexicon], tuple[list[str], int, int] | None]
"""Words to other words and the first and last one where the fault can be seen; None where there is nothing to edit."""


def broken(sentence: str, numbers: random.Random, lexicon: Lexicon) -> Broken | None:
    """A sentence after one edit; None if no edit could be made."""
    kinds = list(EDITS)
    for _ in range(12):
        kind = numbers.choices(kinds, [EDITS[name][1] for name in kinds])[0]
        edited = EDITS[kind][0](sentence.split(" "), numbers, lexicon)
        if edited is not None and " ".join(edited[0]) != sentence:
            words, first, last = edited
            return Broken(tuple(words), kind, max(0, first), min(len(words) - 1, last))
    return None


def harmless(sentence: str, numbers: random.Random, lexicon: Lexicon) -> str:
    """A sentence in the same good grammar with other nouns and names, and without contractions; perhaps the same."""
    words = sentence.split(" ")
    for place in noun_places(words):
        noun = core(words[place]).lower()
        alike = [
            other
            for other in numbers.choices(lexicon.nouns or (noun,), k=12)
            if other.endswith("s") == noun.endswith("s") and (other[0] in "aeiou") == (noun[0] in "aeiou")
        ]
        if alike and numbers.random() < 0.6:
            words[place] = words[place].replace(noun, alike[0])
    for place in name_places(words):
        if lexicon.names and words[place] in lexicon.names and numbers.random() < 0.6:
            words[place] = numbers.choice(lexicon.names)
    for place, word in enumerate(words):
        for ending, whole in TABLES["contracted"].items():
            if place and word.endswith(ending) and word not in LONE_CONTRACTIONS:
                words[place] = word[: -len(ending)] + whole
    return " ".join(words)


def _some(places: Iterable[int], numbers: random.Random) -> int | None:
    found = list(places)
    return numbers.choice(found) if found else None


def _inner(words: Sequence[str], wanted: Iterable[str]) -> list[int]:
    """Places of some words, lower-cased and without marks; never the first or the last."""
    among = frozenset(wanted)
    return [place for place in range(1, len(words) - 1) if plain(words[place]) in among and words[place].isalpha()]


def _removed(words: list[str], place: int, count: int = 1) -> tuple[list[str], int, int]:
    return [*words[:place], *words[place + count :]], place - 1, place


def _replaced(words: list[str], place: int, new: str) -> tuple[list[str], int, int]:
    before, _, after = parts(words[place])
    return [*words[:place], before + new + after, *words[place + 1 :]], place - 1, place + 1


def _lose(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """An auxiliary, preposition, article, relative pronoun or "to" is lost."""
    groups = (AUXILIARIES, WORDS["prepositions"], ("to", "of"), WORDS["articles"], ("which", "who", "what", "as"))
    place = _some(_inner(words, numbers.choice(groups)), numbers)
    return None if place is None else _removed(words, place)


def _double(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """A function word comes in where there is no room for it, or stands twice."""
    place = numbers.randrange(1, len(words) - 1)
    if numbers.random() < 0.7:  # next to another one, where generated text has them
        place = _some(_inner(words, FUNCTION_WORDS), numbers) or place
    twice = plain(words[place]) in FUNCTION_WORDS and numbers.random() < 0.25
    group = numbers.choice(
        [AUXILIARIES, *map(WORDS.__getitem__, ("prepositions", "articles", "relatives", "subjects"))]
    )
    new = plain(words[place]) if twice else numbers.choice(group)
    place += numbers.random() < 0.5
    return [*words[:place], new, *words[place:]], place - 1, place + 1


def _move(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """A word moves by one to four places; a function word changes places with its neighbour."""
    bare = [place for place in range(1, len(words) - 1) if words[place].isalpha()]
    place = _some(bare, numbers)
    if place is None:
        return None
    by = 1 if plain(words[place]) in FUNCTION_WORDS else numbers.choice((1, 2, 3, 4))
    target = place + by * numbers.choice((-1, 1))
    if not 1 <= target < len(words) - 1:
        return None
    rest = [*words[:place], *words[place + 1 :]]
    return [*rest[:target], words[place], *rest[target:]], min(place, target) - 1, max(place, target) + 1


def _bend(words: list[str], numbers: random.Random, lexicon: Lexicon) -> tuple[list[str], int, int] | None:
    """A verb gets a form that cannot stand after the words before it."""
    options = []
    for place in range(1, len(words)):
        word, before = core(words[place]), plain(words[place - 1])
        if before in WORDS["between"] and place > 1:
            before = plain(words[place - 2])
        forms = None if word in FUNCTION_WORDS else lexicon.forms(word)
        if forms is None:
            continue
        wrong: tuple[str, ...] = ()
        if before == "to" or before in WORDS["modals"] + WORDS["do"] or before.endswith("n't"):
            wrong = ("ed", "ing", "s") if word == forms["base"] else ()
        elif before in WORDS["have"]:
            wrong = ("base", "ing", "s") if word == forms["en"] else ()
        elif before in WORDS["be"] + WORDS["parts_of_be"]:
            by = place + 1 < len(words) and plain(words[place + 1]) == "by"
            wrong = ("base", "s", "ing" if by else "base") if word in (forms["en"], forms["ing"]) else ()
        elif before in WORDS["subjects"]:
            wrong = ("ing", "base" if before in WORDS["singular"] else "s")
        elif before in WORDS["prepositions"]:
            wrong = ("base", "ed", "s") if word == forms["ing"] else ()
        elif word in (forms["ed"], forms["s"]) and word != forms["base"]:
            wrong = ("ing", "base")
        options += [(place, forms[name]) for name in wrong if forms[name] != word]
    return _replaced(words, *numbers.choice(options)) if options else None


def _disagree(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """A word becomes a relative of it that cannot take its place."""
    place = _some(_inner(words, DISAGREEING), numbers)
    return None if place is None else _replaced(words, place, numbers.choice(DISAGREEING[plain(words[place])]))


def _miscount(words: list[str], numbers: random.Random, lexicon: Lexicon) -> tuple[list[str], int, int] | None:
    """A noun is plural after "a" or singular after "two"."""
    options = []
    for place in range(1, len(words)):
        before, word = plain(words[place - 1]), core(words[place])
        if before in ("a", "an") and place in noun_places(words) and lexicon.knows(word + "s"):
            options.append((place, word + "s"))
        if before in WORDS["counting"] and word.endswith("s") and lexicon.knows(word[:-1]):
            options.append((place, word[:-1]))
    return _replaced(words, *numbers.choice(options)) if options else None


def _exchange(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """A function word stands in the place of another one: a wrong preposition, or a word of another kind."""
    place = _some(_inner(words, FUNCTION_WORDS), numbers)
    if place is None:
        return None
    old, prepositions = plain(words[place]), WORDS["prepositions"]
    kinds = (AUXILIARIES, prepositions, WORDS["articles"], WORDS["relatives"], WORDS["conjunctions"])
    group = numbers.choice([group for group in kinds if old not in group])
    if old in prepositions and numbers.random() < 0.5:
        group = prepositions
    return _replaced(words, place, numbers.choice(group))


def _drop(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """A subject, an object or a noun is lost."""
    pronouns = _inner(words, WORDS["subjects"] + WORDS["objects"])
    nouns = [place for place in noun_places(words) if words[place].isalpha()]
    place = _some((*pronouns, *nouns), numbers)
    return None if place is None else _removed(words, place)


def _skip(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """Two to four words are lost, so that two clauses run together."""
    count = numbers.choice((2, 2, 3, 4))
    place = numbers.randrange(1, len(words) - count)
    return _removed(words, place, count)


def _repeat(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """Two to five words are said twice."""
    count = numbers.choice((2, 2, 3, 4, 5))
    place = numbers.randrange(1, len(words) - count)
    end = place + count
    return [*words[:end], *words[place:]], end - 1, end


def _misplace(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """The end of the sentence, from a preposition or a relative pronoun on, comes in the middle of something."""
    start = _some([place for place in _inner(words, WORDS["prepositions"] + WORDS["relatives"]) if place > 3], numbers)
    if start is None:
        return None
    awaiting = DETERMINERS.union(WORDS["prepositions"], WORDS["modals"], WORDS["be"])
    target = _some([place for place in range(1, start) if plain(words[place - 1]) in awaiting], numbers)
    if target is None:
        return None
    mark = parts(words[-1])[2]
    tail = [*words[start:-1], words[-1].removesuffix(mark)]
    result = [*words[:target], *tail, *words[target:start]]
    result[-1] = result[-1].rstrip(",;:") + mark
    return result, target - 1, target


def _cut_off(words: list[str], numbers: random.Random, _: Lexicon) -> tuple[list[str], int, int] | None:
    """The sentence ends after a word that cannot end one."""
    place = _some([place for place in _inner(words, WORDS["open"]) if place >= FEWEST // 2], numbers)
    if place is None:
        return None
    return [*words[:place], words[place] + parts(words[-1])[2]], place - 1, place


EDITS: dict[str, tuple[Edit, float]] = {
    "lose": (_lose, 3.5),
    "double": (_double, 3.0),
    "move": (_move, 2.5),
    "bend": (_bend, 4.0),
    "disagree": (_disagree, 2.0),
    "miscount": (_miscount, 1.0),
    "exchange": (_exchange, 2.0),
    "drop": (_drop, 1.2),
    "skip": (_skip, 1.2),
    "repeat": (_repeat, 1.0),
    "misplace": (_misplace, 1.0),
    "cut off": (_cut_off, 0.4),
}
"""The edits, and how often each is made: about as often as generated text has such faults."""
