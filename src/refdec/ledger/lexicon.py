"""Words, their groups of synonyms, families and base forms, from WordNet 3.0, `synonyms.txt`, `interchangeable.txt`.

`lexicon.txt` is sorted and searched in place, so nothing is loaded but its bytes. A line is one of

    word <tab> senses <tab> family <tab> base forms <tab> words in the longest phrase that begins with it
    #group <tab> more general groups <tab> opposite groups

Senses are group names by part of speech (n, v, a, r), common ones before the bar and rare ones after it; a relative is
the number of letters shared at the beginning and the rest. `make_lexicon.py` writes the file.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from refdec.text.stems import stem

SURE_STEM = 5
"""Words with a common stem of so many letters are of one family: success, successful."""

Lemma = tuple[str, str]
"""A base form and its part of speech."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the lexicon knows of a word or a phrase (whose words are joined by "_")."""

    common: dict[str, tuple[str, ...]]  # groups by part of speech, the most frequent first
    rare: dict[str, frozenset[str]]
    family: frozenset[str]
    bases: tuple[Lemma, ...]  # of an irregular form
    longest: int  # words in the longest phrase that begins with this word


@dataclass(frozen=True, slots=True)
class Group:
    above: frozenset[str]
    against: frozenset[str]


_NO_GROUP = Group(frozenset(), frozenset())


@cache
def _table() -> bytes:
    return files("refdec.ledger").joinpath("lexicon.txt").read_bytes()


def _place(wanted: bytes) -> int:
    """The beginning of the first line whose key is not smaller, found by bisection."""
    table = _table()
    low, high = 1, len(table)  # both are beginnings of lines
    while low < high:
        start = max(low, table.rfind(b"\n", 0, (low + high) // 2) + 1)
        end = table.find(b"\n", start)
        if table[start:end].partition(b"\t")[0] < wanted:
            low = end + 1
        else:
            high = start
    return low


def _line(key: str) -> list[str] | None:
    """The fields after the key."""
    table, wanted = _table(), key.encode("ascii", "replace")
    start = _place(wanted)
    found, *fields = table[start : table.find(b"\n", start)].split(b"\t")
    return [field.decode("ascii") for field in fields] if found == wanted else None


@lru_cache(maxsize=1 << 15)
def begins_phrase(joined: str) -> bool:
    """Whether these words, which are joined by "_", are a phrase of the lexicon, or the beginning of one."""
    beginning = joined.encode("ascii", "replace") + b"_"
    return entry(joined) is not None or _table().startswith(beginning, _place(beginning))


@lru_cache(maxsize=1 << 14)
def entry(word: str) -> Entry | None:
    """What is known of a lower-case word or phrase."""
    fields = _line(word)
    if fields is None:
        return None
    senses, family, bases, longest = (*fields, "", "", "", "")[:4]
    common, rare = {}, {}
    for part in filter(None, senses.split(";")):
        first, _, second = part[1:].partition("|")
        common[part[0]] = tuple(filter(None, first.split(",")))
        rare[part[0]] = frozenset(filter(None, second.split(",")))
    relatives = frozenset(word[: int(item[0], 36)] + item[1:] for item in family.split(",") if item)
    lemmas = tuple((item[2:], item[0]) for item in bases.split(",") if item)
    return Entry(common, rare, relatives, lemmas, int(longest or 0))


@lru_cache(maxsize=1 << 14)
def group(name: str) -> Group:
    fields = _line("#" + name)
    if fields is None:
        return _NO_GROUP
    above, against = (*fields, "")[:2]
    return Group(frozenset(filter(None, above.split(","))), frozenset(filter(None, against.split(","))))


_ENDINGS = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("ies", "y"),
        ("men", "man"),
    ),
    "v": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ied", "y"),
        ("ing", "e"),
        ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e"), ("ier", "y"), ("iest", "y")),
    "r": (),
}
"""Regular endings and what stands in their place in the base form, as in WordNet's own rules."""

_DOUBLED = ("ed", "ing", "er", "est")


@lru_cache(maxsize=1 << 14)
def lemmas(word: str) -> tuple[Lemma, ...]:
    """The base forms that a lower-case word may have; none if the word is unknown."""
    here = entry(word)
    forms: dict[Lemma, None] = {}
    irregular = {part for _, part in here.bases} if here else set()
    if here:
        forms.update(dict.fromkeys(here.bases))
        forms.update(dict.fromkeys((word, part) for part in here.common))
    for part, endings in _ENDINGS.items():
        if part in irregular:
            continue
        for ending, base_ending in endings:
            if word.endswith(ending) and len(word) > len(ending) + 1 and not (ending == "s" and word.endswith("ss")):
                stem = word[: -len(ending)]
                bases = [stem + base_ending]
                if ending in _DOUBLED and not base_ending and len(stem) > 2 and stem[-1] == stem[-2]:
                    bases.append(stem[:-1])
                for base in bases:
                    known = entry(base)
                    if known and part in known.common:
                        forms[base, part] = None
    return tuple(forms)


_ADVERBS = (("ly", ""), ("ily", "y"), ("ly", "le"), ("ally", ""), ("y", "e"))


@lru_cache(maxsize=4096)
def adjectives(adverb: str) -> tuple[str, ...]:
    """The adjectives that an adverb is made of by its ending: "safely" of "safe", "easily" of "easy"."""
    if not adverb.endswith("ly"):
        return ()
    made = [adverb[: -len(ending)] + rest for ending, rest in _ADVERBS if adverb.endswith(ending)]
    return tuple(word for word in made if (known := entry(word)) is not None and "a" in known.common)


OWNER = "one's"
"""In a phrase of synonyms.txt: my, your, his and so on."""


@cache
def own_groups() -> tuple[dict[str, frozenset[int]], dict[str, list[tuple[str, ...]]]]:
    """The groups of each word or phrase in both lists, and the phrases by their first word, the longest first."""
    groups: dict[str, set[int]] = defaultdict(set)
    phrases: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    room = files("refdec.ledger")
    lines = room.joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines()
    listed = room.joinpath("interchangeable.txt").read_text(encoding="utf-8").replace(">", "=").splitlines()
    lines += [line.partition(":")[2] for line in listed]
    for number, line in enumerate(lines):
        for item in line.partition("#")[0].split("="):
            words = tuple(item.split())
            if len(words) > 1:
                phrases[words[0]].add(words)
            for name in {"_".join(words), *(base for base, _ in lemmas("_".join(words)))} if words else ():
                groups[name].add(number)
    return (
        {word: frozenset(numbers) for word, numbers in groups.items()},
        {first: sorted(items, key=lambda item: (-len(item), item)) for first, items in phrases.items()},
    )


class Meaning:
    """All groups that a word or phrase may stand for."""

    __slots__ = ("above", "against", "common", "family", "names", "own", "rare", "roots", "stems")

    def __init__(self, bases: tuple[Lemma, ...]) -> None:
        common: set[str] = set()
        rare: set[str] = set()
        family: set[str] = set()
        own: set[int] = set()
        main: set[str] = set()
        groups, _ = own_groups()
        for word, part in bases:
            known = entry(word)
            if known:
                senses = known.common.get(part, ())
                common.update(senses)
                main.update(senses[:1] if part == "n" else senses)
                rare |= known.rare.get(part, frozenset())
                family |= known.family
            own |= groups.get(word, frozenset())
        self.names = frozenset(word for word, _ in bases)
        self.roots = frozenset(root for word in self.names for root in adjectives(word))
        self.stems = frozenset(short for word in self.names if len(short := stem(word)) >= SURE_STEM)
        self.common, self.rare = frozenset(common), frozenset(rare - common)
        self.family, self.own = frozenset(family), frozenset(own)
        self.above = frozenset(other for name in main for other in group(name).above)
        both = common | self.above
        self.against = frozenset(other for name in both for other in group(name).against)


@lru_cache(maxsize=1 << 14)
def meaning(bases: tuple[Lemma, ...]) -> Meaning:
    return Meaning(bases)
