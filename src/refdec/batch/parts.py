"""The rows of a run that are done, on disk beside the output: outcomes in files that only grow, and a manifest.

A part holds the outcomes of a range of rows as JSON lines, in the order in which they came. A line that was written
outlives the process; half a line, at the end of a part, is cut off when the run goes on. Knows rows by number only.
Who opens the parts holds the lock of the output.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from refdec.batch.item import Outcome
from refdec.batch.manifest import NAME, Manifest
from refdec.errors import InputError
from refdec.files.growing import GrowingFile
from refdec.files.whole import write_whole

ROWS = 10_000
"""Of a part. One at a time is held in memory."""

OPEN = 8
"""Parts that are written to at the same time: those of rows that workers have under way."""

Entry = dict[str, Any]


class Parts:
    """The directory of a run that is not finished."""

    def __init__(self, home: Path, manifest: Manifest, retry_errors: bool = False) -> None:
        """Begin, or go on where a run of the same job stopped; another job is refused.

        With `retry_errors`, rows whose outcome is an error count as not done.
        """
        self.home = home
        self._open: dict[int, GrowingFile] = {}
        try:
            home.mkdir(exist_ok=True)
            if not is_begun(home):
                for number in _numbers(home):
                    _path(home, number).unlink()
        except OSError as error:
            raise InputError(f"{home} cannot be written ({error.strerror}).") from error
        self.manifest = Manifest.read(home / NAME) if is_begun(home) else manifest
        self.manifest.check(manifest, home)
        self._mend(retry_errors)
        self.manifest.save(home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def done(self) -> Done:
        """The rows that are done at this moment; what is added later does not change it."""
        return Done.at(self.home)

    def add(self, outcome: Outcome) -> bool:
        """Keep an outcome; when this returns, it outlives the process. Whether its row was not done before."""
        if outcome.signature and self.manifest.made_by(outcome.signature):
            self.manifest.save(self.home)
        number = (outcome.number - 1) // ROWS
        part = self._open.pop(number, None) or GrowingFile(_path(self.home, number), lock=False)
        self._open[number] = part  # the last one used is the last to be closed
        if len(self._open) > OPEN:
            self._open.pop(next(iter(self._open))).close()
        entry: Entry = {"row": outcome.number, "input": outcome.digest}
        entry |= {"error": outcome.error} if outcome.error else {"cells": outcome.fields}
        part.add(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
        is_new = self.manifest.count(outcome.number, bool(outcome.error))
        if self.manifest.is_old:
            self.manifest.save(self.home)
        return is_new

    def close(self) -> None:
        for part in self._open.values():
            part.close()
        self._open.clear()
        if is_begun(self.home):
            self.manifest.save(self.home)

    def _mend(self, retry_errors: bool) -> None:
        """Make every part end in a whole line, and count its rows."""
        self.manifest.done, self.manifest.failed = [], 0
        for number in _numbers(self.home):
            path = _path(self.home, number)
            with closing(GrowingFile(path, lock=False)) as part:
                content = part.content()
                whole = content.rfind(b"\n") + 1
                if whole < len(content):
                    part.cut(whole)
            entries = list(_entries(path, content[:whole]))
            if retry_errors:
                entries = [entry for entry in entries if "error" not in entry]
                write_whole(path, "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))
            for entry in entries:
                self.manifest.count(entry["row"], "error" in entry)


@dataclass
class Done:
    """Rows that were done at some moment. Can be read in another process while the parts go on growing."""

    home: Path
    sizes: dict[int, int]  # of each part, in bytes
    _part: int = -1
    _entries: dict[int, Entry] = field(default_factory=dict)

    @classmethod
    def at(cls, home: Path) -> Done:
        numbers = _numbers(home) if is_begun(home) else []
        return cls(home, {number: _path(home, number).stat().st_size for number in numbers})

    def entry(self, row: int) -> Entry | None:
        """The outcome of a row; quick for rows that are asked for in their order."""
        number = (row - 1) // ROWS
        if number != self._part:
            self._part, self._entries = number, {}
            if number in self.sizes:
                path = _path(self.home, number)
                with path.open("rb") as file:
                    content = file.read(self.sizes[number])
                whole = content[: content.rfind(b"\n") + 1]
                self._entries = {entry["row"]: entry for entry in _entries(path, whole)}
        return self._entries.get(row)

    def __getstate__(self) -> dict[str, Any]:
        return {"home": self.home, "sizes": self.sizes, "_part": -1, "_entries": {}}


def is_begun(home: Path) -> bool:
    """Whether a run has rows here. A directory of parts without a manifest is a remainder that nobody needs."""
    return (home / NAME).exists()


def forget(home: Path) -> None:
    """Give up the rows of a run, in one step."""
    try:
        (home / NAME).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{home} cannot be removed ({error.strerror}).") from error


def discard(home: Path) -> None:
    """Remove a directory of parts."""
    forget(home)
    shutil.rmtree(home, ignore_errors=True)


def _path(home: Path, number: int) -> Path:
    return home / f"part-{number:07d}.jsonl"


def _numbers(home: Path) -> list[int]:
    return sorted(int(path.stem.removeprefix("part-")) for path in home.glob("part-*.jsonl"))


def _entries(path: Path, content: bytes) -> Iterator[Entry]:
    if not content:
        return
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            entry = json.loads(line)
            yield {"row": int(entry["row"]), "input": str(entry["input"]), **entry}
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path}, line {number} is damaged. Remove that file to have its rows made again, or begin anew with "
                "--no-resume."
            ) from None
