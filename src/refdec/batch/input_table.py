"""The table that a batch reads: a file that is read several times, and that must not change meanwhile."""

from __future__ import annotations

import filecmp
import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from refdec.errors import InputError
from refdec.files import formats
from refdec.files.row import Row

Stamp = tuple[int, int, int]
EVERY = 1_000
"""Rows between two looks at whether the file has changed."""

SPOOLED = "input"
"""The name of the file that keeps standard input."""


@dataclass(frozen=True, slots=True)
class InputTable:
    path: Path
    format: str
    stamp: Stamp  # of the file as it was when the run began
    limit: int | None = None  # only so many rows

    @classmethod
    def at(cls, path: Path, format: str, limit: int | None = None) -> InputTable:
        return cls(path, format, _stamp(path), limit)

    def rows(self) -> Iterator[Row]:
        """From the first row to the last, or to the limit."""
        for place, row in enumerate(itertools.islice(formats.read(self.path, self.format), self.limit)):
            if place % EVERY == 0:
                self.check()
            yield row
        self.check()

    def check(self) -> None:
        """Refuse a file that is no longer what it was when the run began."""
        if _stamp(self.path) != self.stamp:
            raise InputError(
                f"{self.path} changed while it was read. The rows that are done are kept: give the same command again. "
                "It goes on where it stopped if these rows are still the same in the input."
            )


def spool(stream: BinaryIO | None, home: Path, is_begun: bool) -> Path:
    """Standard input as a file in the directory of a run, so that it can be read again, also after a crash.

    A run that was begun earlier keeps its file: the stream must be empty then, or have the same content.
    """
    kept, new = home / SPOOLED, home / f"{SPOOLED}.new"
    try:
        home.mkdir(exist_ok=True)
        with new.open("wb") as file:
            if stream is not None:
                shutil.copyfileobj(stream, file)
            file.flush()
            os.fsync(file.fileno())
        if not is_begun or not kept.exists():
            os.replace(new, kept)
        elif new.stat().st_size and not filecmp.cmp(new, kept, shallow=False):
            raise InputError(
                f"Standard input is not what it was when the run in {home} began. Give the same again, name another "
                "output, or begin anew with --no-resume."
            )
        new.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"Standard input cannot be kept in {home} ({error.strerror}).") from error
    return kept


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    return status.st_size, status.st_mtime_ns, status.st_ino
