"""Cleaning of documents, removal of evaluation texts, and removal of duplicates.

Each is optional, works on one document at a time, and is counted. Knows nothing of where documents come from.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refdec.files import formats

FIRST_BAD = 5  # bad rows that are shown; the others are only counted
LEAST_BYTES = 16  # evaluation texts shorter than this are kept: labels and "Yes." occur everywhere

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+")  # all but a single plain space
_AROUND_BREAKS = re.compile(r" ?\n ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_SENTENCE_END = re.compile(r"""[.!?…]+["'”’)\]]*\s+|[。！？]+["'”’」』）)\]]*\s*""")

Digests = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was read, and what became of it: `documents` = kept + duplicates + dropped."""

    documents: int = 0
    kept: int = 0
    duplicates: int = 0
    dropped: int = 0  # empty or too short, perhaps because lines were removed
    removed_lines: int = 0  # lines and sentences that occur in evaluation files
    characters: int = 0  # of kept documents
    bytes: int = 0  # of kept documents as UTF-8
    bad_rows: int = 0  # rows that are not documents
    first_bad: tuple[str, ...] = ()  # place and fault of the first of them

    def __add__(self, other: Counts) -> Counts:
        names = [item.name for item in dataclasses.fields(self)]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Counts(**sums | {"first_bad": sums["first_bad"][:FIRST_BAD]})


def clean_document(text: str, least: int = 1) -> str | None:
    """A text in NFC, without control characters, with single spaces; None where fewer than `least` characters remain.

    Of several blank lines, one is left, so that paragraphs stay apart.
    """
    if not _is_clean(text):
        text = unicodedata.normalize("NFC", text)
        text = _CONTROL.sub("", _BREAKS.sub("\n", text))
        text = _AROUND_BREAKS.sub("\n", _SPACES.sub(" ", text))
        text = _BLANK_LINES.sub("\n\n", text)
    text = text.strip()
    return text if len(text) >= max(least, 1) else None


def _is_clean(text: str) -> bool:
    """A quick check for the usual case: cleaning would change nothing but spaces at the ends."""
    return (
        text.isascii()
        and text.replace("\n", "").isprintable()
        and not any(pattern in text for pattern in ("  ", " \n", "\n ", "\n\n\n"))
    )


def digests_of(contents: Iterable[bytes]) -> Digests:
    """Eight bytes per content: among a hundred million documents, the odds of a collision are 1 in 4,000."""
    joined = b"".join(hashlib.blake2b(content, digest_size=8).digest() for content in contents)
    return np.frombuffer(joined, "<u8")


class Seen:
    """The digests seen so far: 8 bytes each, twice that for a moment. A million documents take 8 MB."""

    def __init__(self) -> None:
        self._runs: list[Digests] = []  # each sorted, and each more than twice as long as the next

    def add(self, digests: Digests) -> NDArray[np.bool_]:
        """Which digests are new: of equal ones, only the first."""
        new = np.zeros(len(digests), bool)
        new[np.unique(digests, return_index=True)[1]] = True
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, digests), len(run) - 1)
            new &= run[places] != digests
        added = np.sort(digests[new])
        while self._runs and len(self._runs[-1]) <= 2 * len(added):
            added = np.sort(np.concatenate([self._runs.pop(), added]), kind="stable")
        if len(added):
            self._runs.append(added)
        return new


@dataclass(frozen=True)
class Exclusion:
    """Texts to remove from documents, as lines or sentences, whatever their case and spaces.

    A text of several sentences is removed too, on one line or on many.
    """

    texts: frozenset[str]
    starts: Mapping[str, tuple[int, ...]]  # first sentence -> how many sentences the texts have that begin with it

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Exclusion:
        """All texts of these files: lines, cells, and every string in JSON."""
        texts: set[str] = set()
        starts: dict[str, set[int]] = {}
        for text in (text for path in paths for text in _texts(path)):
            normal = _normalise(text)
            if len(normal.encode()) >= LEAST_BYTES and normal not in texts:
                texts.add(normal)
                sentences = list(_sentences(normal))
                starts.setdefault(_normalise(normal[: sentences[0]]), set()).add(len(sentences))
        return cls(frozenset(texts), {first: tuple(sorted(counts)) for first, counts in starts.items()})

    @property
    def digest(self) -> str:
        """Equal for the same texts."""
        return hashlib.sha256("\n".join(sorted(self.texts)).encode()).hexdigest()[:16]

    def without(self, text: str) -> tuple[str, int]:
        """What is left of a document, and how many lines and sentences were removed."""
        removed = 0
        if "\n" in text:
            lines = text.split("\n")
            kept = [line for line in lines if _normalise(line) not in self.texts]
            removed = len(lines) - len(kept)
            text = "\n".join(kept)
        ends = [0, *_sentences(text)]
        pieces: list[str] = []
        place = whole = 0  # the current sentence; the first that is not copied yet
        while place < len(ends) - 1:
            count = self._matching(text, ends, place)
            if count:
                pieces.append(text[ends[whole] : ends[place]])
                whole = place + count
                removed += 1
            place += count or 1
        return "".join(pieces) + text[ends[whole] :] if pieces else text, removed

    def _matching(self, text: str, ends: list[int], place: int) -> int:
        """How many sentences from here on are an evaluation text: as many as possible, or 0."""
        counts = self.starts.get(_normalise(text[ends[place] : ends[place + 1]]), ())
        for count in reversed(counts):
            if place + count < len(ends) and _normalise(text[ends[place] : ends[place + count]]) in self.texts:
                return count
        return 0


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _sentences(text: str) -> Iterator[int]:
    """Where sentences end (or abbreviations: it only matters that a text is cut the same way wherever it stands)."""
    end = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        yield end
    if end < len(text):
        yield len(text)


def _texts(path: Path) -> Iterator[str]:
    kind = formats.format_of(path, None)
    if kind == "tsv":  # many have no header, and unbalanced quotation marks
        for row in formats.read(path, "text"):
            yield from _strings([cell.strip(' "') for cell in row.fields["text"].split("\t")])
    else:
        for row in formats.read(path, kind):
            yield from _strings(row.fields)


def _strings(value: Any) -> Iterator[str]:
    """The texts in a JSON value; of a text with several lines, each line too."""
    if isinstance(value, str):
        yield value
        if "\n" in value:
            yield from value.split("\n")
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
