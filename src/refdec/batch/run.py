"""A batch from a table to a table: what is not done yet is done, kept as it comes, and put together at the end.

Knows where things are kept, and in which order; not how rows are worked on, nor who watches.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.batch.item import Item, Outcome
from refdec.batch.job import Job
from refdec.batch.manifest import Manifest
from refdec.batch.parts import Done, Parts, discard
from refdec.batch.table import Table
from refdec.batch.todo import Todo, changed
from refdec.errors import InputError
from refdec.files import formats
from refdec.files.columns import Column
from refdec.files.row import Row
from refdec.files.whole import check_writable, write_whole

Watch = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class Output:
    """The table that is made, and how."""

    path: Path
    format: str
    carried: tuple[Column, ...]  # of the input
    formulas: bool = False  # whether cells that a spreadsheet would run stay as they are

    @property
    def parts(self) -> Path:
        """Where a run that is not finished keeps what it has."""
        return self.path.with_name(self.path.name + ".parts")

    @property
    def manifest(self) -> Path:
        """What a finished run leaves beside its output."""
        return self.path.with_name(self.path.name + ".manifest.json")


@dataclass(frozen=True, slots=True)
class Summary:
    """What a finished run made."""

    rows: int
    failed: int
    guarded: int  # cells with a ' in front of them, so that a spreadsheet does not run them


def finished(table: Table, job: Job, output: Output) -> Summary | None:
    """What the same run made earlier, where it is finished; an output of anything else is refused."""
    if output.parts.exists() or not output.path.exists():
        return None
    replaced = "Name another output, or replace it with --no-resume."
    if not output.manifest.exists():
        raise InputError(f"{output.path} exists, and nothing tells what made it. {replaced}")
    manifest = Manifest.read(output.manifest)
    manifest.check(Manifest(job.describe(), {}), output.path)
    made = manifest.finished or {}
    if made.get("sha256") != _checksum(output.path):
        raise InputError(f"{output.path} exists, and was changed since it was made. {replaced}")
    if made.get("texts") != _texts(table, job):
        raise InputError(f"{output.path} was made of other rows than {table.path} has now. {replaced}")
    return Summary(made["rows"], made["failed"], made["guarded"])


def begin(table: Table, job: Job, output: Output, resume: bool) -> Parts:
    """The parts of a run: those that are there, unless it must not go on with them."""
    check_writable(output.path)
    if not resume:
        discard(output.parts)
    return Parts(output.parts, Manifest(job.describe(), {"name": table.path.name, "format": table.format}))


def work(todo: Todo, outcomes: Iterable[Outcome], parts: Parts, watch: Watch, strict: bool) -> None:
    """Keep every outcome as it comes."""
    for outcome in outcomes:
        if outcome.error and strict:
            raise InputError(f"{todo.table.path}, line {outcome.line}: {outcome.error}")
        if parts.add(outcome):
            watch(outcome)


def finish(table: Table, job: Job, output: Output, parts: Parts) -> Summary:
    """Put the rows and what became of them together, in their order, and let that take the output's place."""
    whole = parts.home / output.path.name
    texts = hashlib.sha256()
    rows = failed = 0
    try:
        with formats.writer(
            whole,
            output.format,
            job.table(output.carried),
            formulas=output.formulas,
            best=job.prefix + job.kind.best,
        ) as writer:
            for row, item, entry in _joined(table, job, parts.done):
                error = entry.get("error", "")
                writer.write(row.fields | job.cells(entry.get("cells", {}), error))
                texts.update(item.digest.encode())
                rows, failed = rows + 1, failed + bool(error)
        with whole.open("rb+") as file:
            os.fsync(file.fileno())
        parts.manifest.finished = {
            "rows": rows,
            "failed": failed,
            "guarded": writer.guarded,
            "texts": texts.hexdigest(),
            "sha256": _checksum(whole),
        }
        write_whole(output.manifest, parts.manifest.text())
        os.replace(whole, output.path)
    except OSError as error:
        raise InputError(f"{output.path} cannot be written ({error.strerror or error}).") from error
    parts.remove()
    return Summary(rows, failed, writer.guarded)


def _joined(table: Table, job: Job, done: Done) -> Iterator[tuple[Row, Item, dict[str, Any]]]:
    for row in table.rows():
        item, entry = job.item(row), done.entry(row.number)
        if entry is None or entry["input"] != item.digest:
            raise changed(table, item)
        yield row, item, entry


def _texts(table: Table, job: Job) -> str:
    """A checksum over the texts of all rows."""
    found = hashlib.sha256()
    for row in table.rows():
        found.update(job.item(row).digest.encode())
    return found.hexdigest()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
