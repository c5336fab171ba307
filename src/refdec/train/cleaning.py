"""What becomes of a document before it is learned from: cleaned, without texts of evaluations, and only once.

All of it is optional, works on one document at a time, and is counted. Knows nothing of where documents come from.
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

FIRST_BAD = 5  # rows that are none and are told; the others are counted
LEAST_BYTES = 16  # of an evaluation's text that is looked for: labels and "Yes." are everybody's

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+")  # all but a single plain space
_AROUND_BREAKS = re.compile(r" ?\n ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_SENTENCE_END = re.compile(r"""[.!?…]+["'”’)\]]*\s+|[。！？]+["'”’」』）)\]]*\s*""")

Digests = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was read, and what became of it: `documents` are those kept, the duplicates and the dropped."""

    documents: int = 0
    kept: int = 0
    duplicates: int = 0
    dropped: int = 0  # empty or too short, perhaps only once lines were removed
    removed_lines: int = 0  # and sentences, that occur in evaluation files
    characters: int = 0  # of the documents kept
    bytes: int = 0  # of the same as UTF-8
    bad_rows: int = 0  # that are no documents
    first_bad: tuple[str, ...] = ()  # where the first few of them are, and what is wrong

    def __add__(self, other: Counts) -> Counts:
        names = [item.name for item in dataclasses.fields(self)]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Counts(**sums | {"first_bad": sums["first_bad"][:FIRST_BAD]})

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def clean_document(text: str, least: int = 1) -> str | None:
    """A text in NFC, without control characters, with single spaces; none where fewer characters than `least` remain.

    Paragraphs stay apart: of several blank lines, one is left.
    """
    if not _is_clean(text):
        text = unicodedata.normalize("NFC", text)
        text = _CONTROL.sub("", _BREAKS.sub("\n", text))
        text = _AROUND_BREAKS.sub("\n", _SPACES.sub(" ", text))
        text = _BLANK_LINES.sub("\n\n", text)
    text = text.strip()
    return text if len(text) >= max(least, 1) else None


def _is_clean(text: str) -> bool:
    """Seen quickly, as most are: but for spaces at the ends, nothing would change."""
    return (
        text.isascii()
        and text.replace("\n", "").isprintable()
        and not any(pattern in text for pattern in ("  ", " \n", "\n ", "\n\n\n"))
    )


def digests_of(contents: Iterable[bytes]) -> Digests:
    """Eight bytes for each: of a hundred million documents, the odds are 1 in 4,000 that any two share them."""
    joined = b"".join(hashlib.blake2b(content, digest_size=8).digest() for content in contents)
    return np.frombuffer(joined, "<u8")


class Seen:
    """Digests that came before: 8 bytes each, twice that for a moment. A million documents take 8 MB."""

    def __init__(self) -> None:
        self._runs: list[Digests] = []  # each sorted, and each more than twice as long as the next

    def add(self, digests: Digests) -> NDArray[np.bool_]:
        """Which of them are new: each only where it stands first."""
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
    """Texts that no document may have as a line or as a sentence, whatever their case and spaces.

    A text of several sentences is found as well, on one line or on many.
    """

    texts: frozenset[str]
    starts: Mapping[str, tuple[int, ...]]  # of their first sentences: how many sentences a text has that begins so

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Exclusion:
        """All texts of these files: lines of text, cells, and whatever in JSON is a string."""
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
        place = whole = 0  # the sentence looked at; the first that was not copied
        while place < len(ends) - 1:
            count = self._found(text, ends, place)
            if count:
                pieces.append(text[ends[whole] : ends[place]])
                whole = place + count
                removed += 1
            place += count or 1
        return "".join(pieces) + text[ends[whole] :] if pieces else text, removed

    def _found(self, text: str, ends: list[int], place: int) -> int:
        """How many sentences from here on are a text of an evaluation: as many as possible, or none."""
        counts = self.starts.get(_normalise(text[ends[place] : ends[place + 1]]), ())
        for count in reversed(counts):
            if place + count < len(ends) and _normalise(text[ends[place] : ends[place + count]]) in self.texts:
                return count
        return 0


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _sentences(text: str) -> Iterator[int]:
    """Where sentences end, and abbreviations: a text is cut alike wherever it stands, which is all that matters."""
    end = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        yield end
    if end < len(text):
        yield len(text)


def _texts(path: Path) -> Iterator[str]:
    kind = formats.format_of(path, None)
    if kind == "tsv":  # many have no header and lone quotation marks
        for row in formats.read(path, "text"):
            yield from _strings([cell.strip(' "') for cell in row.fields["text"].split("\t")])
    else:
        for row in formats.read(path, kind):
            yield from _strings(row.fields)


def _strings(value: Any) -> Iterator[str]:
    """The texts in a value; of one with several lines, each line too."""
    if isinstance(value, str):
        yield value
        if "\n" in value:
            yield from value.split("\n")
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
