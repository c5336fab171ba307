"""The training text: which files, which documents they contain, and which documents are held out.

Documents are streamed, a few chunks at a time. Files are read side by side, a chunk of one, then of the next, in an
order that depends on the files alone. Knows nothing of tokens.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from refdec.errors import InputError
from refdec.files import formats
from refdec.files.packed import PACKED
from refdec.files.row import Row
from refdec.settings import Settings, did_you_mean, setting
from refdec.train.cleaning import FIRST_BAD, Digests, Exclusion, clean_document, digests_of

LANES = 4
"""Files that are read side by side. This sets the order of documents, so it must not depend on the machine."""

CHUNK = 1 << 19  # characters per chunk of documents
LONGEST = 1 << 20  # characters after which a paragraph is cut at the next line


@dataclass(frozen=True, slots=True)
class CorpusSettings(Settings):
    """What is done to the documents of a corpus."""

    task: ClassVar[str] = "train"

    clean: bool = setting(True, "remove control characters, runs of spaces and very short documents")
    least_characters: int = setting(16, "characters of a document that cleaning keeps, at least", low=1, high=1 << 30)
    deduplicate: bool = setting(True, "keep only the first of documents that are equal")
    held_out: float = setting(0.005, "share of the documents to measure on, never learned from", low=1e-6, high=0.5)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some documents as they were read, and the rows among them that are not documents."""

    texts: list[str] = field(default_factory=list)
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()


Item = tuple[str, str]
"""A document, or nothing and why a row is none."""


@dataclass(frozen=True)
class Corpus:
    """Files of documents, and how to read them."""

    paths: tuple[Path, ...]
    settings: CorpusSettings = CorpusSettings()
    column: str = "text"  # of tables
    exclusion: Exclusion | None = None

    @classmethod
    def at(
        cls,
        places: Sequence[Path],
        settings: CorpusSettings | None = None,
        *,
        column: str = "text",
        exclusion: Exclusion | None = None,
    ) -> Corpus:
        """The named files, and all files of readable formats below the named directories, except hidden ones.

        The order in which they are named does not matter.
        """
        chosen: dict[str, Path] = {}
        for place in places:
            inside = list(_files(place)) if place.is_dir() else [place]
            if not inside:
                endings = f"{', '.join(formats.BY_ENDING)}, compressed also in {', '.join(PACKED)}"
                raise InputError(f"There are no text files in {place}. Their names end in {endings}.")
            for path in inside:
                if not path.is_file():
                    raise InputError(f"There is no file {path}.")
                formats.format_of(path, None)  # refuses unknown formats
                chosen.setdefault(os.path.realpath(path), path)
        if not chosen:
            raise InputError("No text was named. Name files or directories.")
        paths = tuple(sorted(chosen.values(), key=lambda path: path.parts))
        return cls(paths, settings or CorpusSettings(), column, exclusion)

    @property
    def bytes(self) -> int:
        """The size of the files, compressed or not."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def digest(self) -> str:
        """Equal for files of the same names and sizes that are read in the same way."""
        parts = [
            [[path.name, path.stat().st_size] for path in self.paths],
            self.settings.items(),
            self.column,
            self.exclusion and self.exclusion.digest,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def sample(self, characters: int) -> Iterator[str]:
        """About so many characters of documents that are not held out, evenly from the beginning of every file."""
        left, files = characters, len(self.paths)
        for path in sorted(self.paths, key=lambda path: path.stat().st_size):  # large files make up for small ones
            share = left // files
            files -= 1
            for text in self._learned(path):
                if share <= 0:
                    break
                share -= len(text)
                left -= len(text)
                yield text

    def prepare(self, text: str) -> tuple[str, int]:
        """What is kept of a document (perhaps nothing), and how many lines of evaluations were removed."""
        text, removed = self._cleaned(text), 0
        if self.exclusion is not None:
            text, removed = self.exclusion.without(text)
            if removed:
                text = self._cleaned(text)
        return text, removed

    def is_held_out(self, digests: Digests) -> NDArray[np.bool_]:
        """Decided by the text alone: the same for every tokenizer, and copies are never learned from."""
        return digests < np.uint64(self.settings.held_out * 2.0**64)

    @property
    def lanes(self) -> list[tuple[Path, ...]]:
        """Groups of files: each group is read one file after the other, the groups side by side."""
        return [self.paths[lane::LANES] for lane in range(min(LANES, len(self.paths)))]

    def chunks(self) -> Iterator[Chunk]:
        """All documents, as they are in the files."""
        return in_turn([self.read(lane) for lane in self.lanes])

    def read(self, paths: Iterable[Path]) -> Iterator[Chunk]:
        """The documents of files, one after the other."""
        texts: list[str] = []
        troubles: list[str] = []
        size = 0
        for text, trouble in chain.from_iterable(map(self._rows, paths)):
            if trouble:
                troubles.append(trouble)
            else:
                texts.append(text)
                size += len(text)
            if size >= CHUNK or len(texts) + len(troubles) >= CHUNK:
                yield Chunk(texts, len(troubles), tuple(troubles[:FIRST_BAD]))
                texts, troubles, size = [], [], 0
        if texts or troubles:
            yield Chunk(texts, len(troubles), tuple(troubles[:FIRST_BAD]))

    def _learned(self, path: Path) -> Iterator[str]:
        for document, _ in self._rows(path):
            text, _ = self.prepare(document)
            if text and not self.is_held_out(digests_of([text.encode()]))[0]:
                yield text

    def _cleaned(self, text: str) -> str:
        if self.settings.clean:
            return clean_document(text, self.settings.least_characters) or ""
        return text if text.strip() else ""

    def _rows(self, path: Path) -> Iterator[Item]:
        kind = formats.format_of(path, None)
        rows = formats.read(path, kind)
        return _paragraphs(path, rows) if kind == "text" else self._cells(path, rows)

    def _cells(self, path: Path, rows: Iterator[Row]) -> Iterator[Item]:
        is_first = True
        for row in rows:
            value = row.fields.get(self.column)
            if row.error:
                yield _trouble(path, row, row.error)
            elif isinstance(value, str):
                yield value, ""
            elif self.column in row.fields:
                if value is not None:
                    yield _trouble(path, row, f'Its "{self.column}" is not text.')
            elif is_first:
                raise InputError(
                    f"{path} has no column {self.column!r}{did_you_mean(self.column, row.fields)}. Its columns: "
                    f"{', '.join(row.fields) or 'none'}. Name the one with the text in --column."
                )
            else:
                yield _trouble(path, row, f'It has no "{self.column}".')
            is_first = is_first and bool(row.error)


def in_turn(lanes: Sequence[Iterator[Chunk]]) -> Iterator[Chunk]:
    """A chunk of each lane in turn, until all have ended."""
    return filter(None, chain.from_iterable(zip_longest(*lanes)))


def _paragraphs(path: Path, rows: Iterator[Row]) -> Iterator[Item]:
    """Join lines up to the next blank one."""
    lines: list[str] = []
    size = 0
    for row in rows:
        if row.error:
            yield _trouble(path, row, row.error)
            continue
        line: str = row.fields["text"]
        is_blank = not line or line.isspace()
        if lines and (is_blank or size >= LONGEST):
            yield "\n".join(lines), ""
            lines, size = [], 0
        if not is_blank:
            lines.append(line)
            size += len(line) + 1
    if lines:
        yield "\n".join(lines), ""


def _trouble(path: Path, row: Row, what: str) -> Item:
    return "", f"{path}, line {row.line:,}: {what}"


def _files(folder: Path) -> Iterator[Path]:
    for home, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and formats.ending_of(Path(name)) in formats.BY_ENDING:
                yield Path(home, name)


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename} cannot be read ({error.strerror}).") from error
