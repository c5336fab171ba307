"""Words and phrases that may replace one another wherever they stand, in the form of the word that they replace.

`interchangeable.txt` has the groups. They are far fewer and stricter than the synonyms that the ledger accepts: those
say that two texts may mean the same, these that a swap keeps what is said. Whether it reads well, models decide.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from refdec.ledger import function_words as closed
from refdec.ledger.inflection import article, head, inflected, tags
from refdec.ledger.lexicon import lemmas

MOST = 8
"""Replacements of one expression that are offered."""

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A small change of a text: the characters from start to end are replaced."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """An expression, and what may stand for it."""

    phrase: Phrase
    part: str  # n, v, a, r; f: as it stands; #: before a number; q: at the beginning of a question
    others: tuple[Phrase, ...]


@cache
def _entries() -> dict[str, list[_Entry]]:
    """The expressions by their first word, in base form."""
    table: dict[tuple[str, Phrase], dict[Phrase, None]] = defaultdict(dict)
    text = files("refdec.ledger").joinpath("interchangeable.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        mark, colon, rest = line.partition(":")
        if not colon or line.startswith("#"):
            continue
        part = "#" if mark == "r#" else mark.strip()
        groups = [[tuple(item.split()) for item in group.split("=")] for group in rest.split(">")]
        for place, group in enumerate(groups):
            later = [item for other in groups[place:] for item in other]
            for item in group:
                table[part, item].update(dict.fromkeys(other for other in later if other != item and _is_plain(other)))
    entries: dict[str, list[_Entry]] = defaultdict(list)
    for (part, phrase), others in table.items():
        entries[phrase[0]].append(_Entry(phrase, part, tuple(others)))
    return dict(entries)


def _is_plain(phrase: Phrase) -> bool:
    """Whether a replacement brings no name, abbreviation or figure with it: these stay as the source has them."""
    return not any(word[0].isupper() or not word.replace("-", "").replace("'", "").islower() for word in phrase)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")


_TOKEN = re.compile(r"\w+(?:['’.-]\w+)*")


def swaps(source: str) -> list[Step]:
    """Every replacement of a word or phrase of a text by one that says the same; the longest expressions first."""
    tokens = [_Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(source)]
    said = {token.lower for token in tokens}
    found: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
    for at, token in enumerate(tokens):
        spelled = len(token.text) > 1 and token.text.isupper()
        if spelled or (token.text[0].isupper() and not _opens(source, token)):
            continue  # a name
        if token.lower in closed.NUMBER_WORDS or token.lower in closed.SCALES:
            continue
        bases = dict.fromkeys((token.lower, *(base for base, _ in lemmas(token.lower))))
        for base in bases:
            for entry in _entries().get(base, ()):
                for last, replacement in _replacements(entry, tokens, at, source):
                    new = set(replacement.split()) - set(source[token.start : tokens[last].end].lower().split())
                    if not any(len(word) > 3 and word in said for word in new):
                        found[at, last][replacement] = None
    steps = [
        _step(source, tokens, at, last, text)
        for (at, last), texts in sorted(found.items(), key=lambda item: (item[0][0] - item[0][1], item[0]))
        for text in list(texts)[:MOST]
    ]
    return [step for step in steps if source[step.start : step.end] != step.text]


def _opens(source: str, token: _Token) -> bool:
    before = source[: token.start].rstrip(" \"'“‘(")
    return not before or before[-1] in ".!?:"


def _replacements(entry: _Entry, tokens: list[_Token], at: int, source: str) -> Iterator[tuple[int, str]]:
    """Where an expression stands at this token: its last token, and each replacement in its form."""
    last = at + len(entry.phrase) - 1
    if last >= len(tokens) or not _is_run(tokens, at, last, source):
        return
    changing = head(entry.phrase, entry.part) if entry.part in ("n", "v", "a") else -1
    for number, word in enumerate(entry.phrase):
        if number != changing and tokens[at + number].lower != word:
            return
    if entry.part == "q" and tokens[at].start > 1:
        return
    if entry.part == "#" and not (last + 1 < len(tokens) and _is_number(source, tokens, last + 1)):
        return
    if changing < 0:
        for other in entry.others:
            yield last, " ".join(other)
        return
    before = tokens[at - 1].lower if at and _is_run(tokens, at - 1, at, source) else ""
    after = tokens[last + 1].lower if last + 1 < len(tokens) and _is_run(tokens, last, last + 1, source) else ""
    for tag in tags(tokens[at + changing].lower, entry.phrase[changing], entry.part):
        if _is_other_part(tag, before, after, len(entry.phrase)):
            continue
        for other in entry.others:
            text = inflected(other, entry.part, tag)
            if text is not None and not (after == "by" and tag in ("VBN", "VBD") and other[-1] in closed.PREPOSITIONS):
                yield last, text


def _is_other_part(tag: str, before: str, after: str, length: int) -> bool:
    """Whether the neighbours say that it is no verb, or a noun that has its meaning from another one.

    "The function of", "attorney general", "exam results".
    """
    if tag.startswith("V"):
        return before in _BEFORE_NOUNS
    if tag == "NN" and length == 1 and _is_noun(after):
        return True
    return tag.startswith("NN") and length == 1 and {part for _, part in lemmas(before)} == {"n"}


_BEFORE_NOUNS = closed.POSSESSIVES | closed.words("the a an this these those no every each")


def _is_noun(lower: str) -> bool:
    """Whether a word after a noun is one, too: "cost", not "left" or "claims"."""
    if lower in closed.PREPOSITIONS or lower in closed.AUXILIARIES or lower in closed.MODALS or lower in closed.LINKS:
        return False
    bases = lemmas(lower)
    return any(part == "n" for _, part in bases) and not any(part == "v" and base != lower for base, part in bases)


def _is_run(tokens: list[_Token], at: int, last: int, source: str) -> bool:
    """Whether these tokens stand together, with single spaces between and no hyphen at their ends."""
    together = all(tokens[place].end + 1 == tokens[place + 1].start for place in range(at, last))
    inside = all(source[tokens[place].end] == " " for place in range(at, last))
    edges = source[tokens[at].start - 1 : tokens[at].start], source[tokens[last].end : tokens[last].end + 1]
    return together and inside and "-" not in edges


def _is_number(source: str, tokens: list[_Token], at: int) -> bool:
    return tokens[at].text[0].isdigit() or source[tokens[at].start - 1] in "$€£¥" or tokens[at].lower in _COUNTS


_COUNTS = closed.words(
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty half"
)


_I = re.compile(r"\bi\b(?!\.)")


def _step(source: str, tokens: list[_Token], at: int, last: int, text: str) -> Step:
    """The step from these tokens to a text, with the first letter of the source and the article before it."""
    start, end = tokens[at].start, tokens[last].end
    names = {token.lower: token.text for token in tokens[at : last + 1] if not _opens(source, token)}
    text = " ".join(names.get(word, word) for word in _I.sub("I", text).split(" "))  # "of African descent"
    if source[start].isupper():
        text = text[0].upper() + text[1:]
    before = tokens[at - 1] if at else None
    if before is not None and before.lower in ("a", "an") and before.end + 1 == start:
        needed = article(text)
        if needed != before.lower:
            needed = needed.capitalize() if before.text[0].isupper() else needed
            return Step(before.start, end, f"{needed} {text}")
    return Step(start, end, text)
