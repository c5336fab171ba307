"""The rows that a method learns from: pairs of texts that say the same, or plain sentences; some are held out.

A bad row is refused with its file and line. Knows nothing of models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from refdec.errors import InputError
from refdec.files import formats
from refdec.files.row import Row
from refdec.settings import did_you_mean
from refdec.text.sentences import split_sentences
from refdec.train.corpus import Corpus

HELD_OUT, MOST_HELD_OUT = 0.02, 200
"""Share of the rows that are measured on and never learned, and how many of them are measured on at most."""

LEAST_WORDS, MOST_WORDS = 3, 40
"""Words of a sentence to learn from."""

Item = TypeVar("Item")
TextPair = tuple[str, str]


@dataclass(frozen=True)
class Parts(Generic[Item]):
    """Rows to learn, and rows held out."""

    learned: list[Item]
    held_out: list[Item]


@dataclass(frozen=True, slots=True)
class Excluded:
    """Ids of rows that must not be learned, such as those that share a text with a test set."""

    ids: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: Path | None) -> Excluded:
        """One id per line."""
        if path is None:
            return cls()
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'}).") from error
        return cls(frozenset(filter(None, map(str.strip, lines))))


def read_pairs(paths: Sequence[Path], excluded: Excluded | None = None) -> list[TextPair]:
    """All pairs of tables whose rows have "source" and "references", a text or a list of texts."""
    pairs = [
        (source, reference)
        for path, row in _rows(paths, excluded or Excluded())
        for source, references in [_pair(path, row)]
        for reference in references
        if source.split() != reference.split()
    ]
    if not pairs:
        raise InputError(f"There are no pairs in {', '.join(map(str, paths))}. Rows need a source and references.")
    return pairs


def read_sentences(paths: Sequence[Path], excluded: Excluded | None = None) -> list[str]:
    """Different sentences of plain text, of tables with a column "text", or of pairs, whose texts stand alone then."""
    sentences: dict[str, None] = {}
    for path, row in _rows(paths, excluded or Excluded()):
        if "source" in row.fields:
            source, references = _pair(path, row)
            texts = [source, *references]
        else:
            texts = split_sentences(_text(path, row, row.fields.get("text"), '"text" or "source"'))
        for text in texts:
            if LEAST_WORDS <= len(text.split()) <= MOST_WORDS:
                sentences[" ".join(text.split())] = None
    if not sentences:
        raise InputError(
            f"There are no sentences of {LEAST_WORDS} to {MOST_WORDS} words in {', '.join(map(str, paths))}."
        )
    return list(sentences)


def read_passages(places: Sequence[Path], characters: int, words: int) -> Iterator[list[str]]:
    """Sentences that follow each other in a corpus, together about so many words, until enough characters are read."""
    corpus = Corpus.at(places)
    left = characters
    for document in corpus.sample(characters):
        for paragraph in document.split("\n"):
            passage: list[str] = []
            count = 0
            for sentence in split_sentences(paragraph):
                length = len(sentence.split())
                if passage and count + length > words:
                    yield passage
                    passage, count = [], 0
                if length <= words:
                    passage.append(" ".join(sentence.split()))
                    count += length
            if count >= LEAST_WORDS:
                yield passage
        left -= len(document)
        if left <= 0:
            return


def parted(items: Sequence[Item], keys: Sequence[str], most: int = MOST_HELD_OUT) -> Parts[Item]:
    """Hold out a share of the rows, decided by their keys alone: rows with one key stay together."""
    marks = [int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) for key in keys]
    if len(set(marks)) < 2:
        raise InputError("There is only one text to learn from, and another is needed to measure on. Give more rows.")
    limit = max(int(HELD_OUT * 2**64), min(marks))
    held_out = [(mark, number) for number, mark in enumerate(marks) if mark <= limit]
    learned = [item for item, mark in zip(items, marks, strict=True) if mark > limit]
    return Parts(learned, [items[number] for _, number in sorted(held_out)[:most]])


def _rows(paths: Sequence[Path], excluded: Excluded) -> Iterator[tuple[Path, Row]]:
    for path in paths:
        if not path.is_file():
            raise InputError(f"There is no file {path}.")
        for row in formats.read(path, formats.format_of(path, None)):
            if row.error:
                raise InputError(f"{path}, line {row.line}: {row.error}")
            if str(row.fields.get("id")) not in excluded.ids:
                yield path, row


def _pair(path: Path, row: Row) -> tuple[str, list[str]]:
    source = _text(path, row, row.fields.get("source"), '"source"')
    references = row.fields.get("references")
    if isinstance(references, list) and references:
        return source, [_text(path, row, item, '"references"') for item in references]
    return source, [_text(path, row, references, '"references"')]


def _text(path: Path, row: Row, value: object, name: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    first = name.split('"')[1]
    hint = did_you_mean(first, row.fields) if first not in row.fields else ""
    raise InputError(f"{path}, line {row.line}: there is no text in {name}{hint}. Rows need a source and references.")
