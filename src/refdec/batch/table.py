"""The table that a batch reads: a file that can be read as often as needed, and that must not change meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from refdec.errors import InputError
from refdec.files import formats
from refdec.files.row import Row

Stamp = tuple[int, int, int]
EVERY = 1_000
"""Rows between two looks at whether the file has changed."""


@dataclass(frozen=True, slots=True)
class Table:
    path: Path
    format: str
    stamp: Stamp  # of the file as it was when the run began
    limit: int | None = None  # only so many rows

    @classmethod
    def at(cls, path: Path, format: str, limit: int | None = None) -> Table:
        return cls(path, format, _stamp(path), limit)

    def rows(self) -> Iterator[Row]:
        """From the first to the last, or as many as are wanted."""
        found = formats.read(self.path, self.format)
        for place, row in enumerate(itertools.islice(found, self.limit)):
            if place % EVERY == 0:
                self.check()
            yield row
        self.check()

    def check(self) -> None:
        """Refuse a file that is no longer what it was when the run began."""
        if _stamp(self.path) != self.stamp:
            raise InputError(
                f"{self.path} changed while it was read. What is done is kept: give the same command again. It goes on "
                "where it stopped if the rows that are done are still the same."
            )


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    return found.st_size, found.st_mtime_ns, found.st_ino
