"""A batch from a table to a table: rows that are not done are computed, kept as they come, and joined at the end.

Knows where things are kept, and in which order; not how rows are computed, nor who watches.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from refdec.batch.input_table import InputTable, spool
from refdec.batch.item import Outcome
from refdec.batch.job import ERROR, Job
from refdec.batch.manifest import Manifest
from refdec.batch.parts import Parts, discard, forget, is_begun
from refdec.batch.todo import changed
from refdec.errors import InputError
from refdec.files import formats
from refdec.files.lock import locked
from refdec.files.row import Column
from refdec.files.whole import check_writable, replace_synced, write_whole, writing


@dataclass(frozen=True, slots=True)
class Output:
    """The table that is made: its file, and how it is written."""

    path: Path
    format: str
    formulas: bool = False  # whether new cells that a spreadsheet would run stay as they are

    @property
    def parts(self) -> Path:
        """The directory in which an unfinished run keeps its rows."""
        return self.path.with_name(self.path.name + ".parts")

    @property
    def manifest(self) -> Path:
        """The record that a finished run leaves beside its output."""
        return self.path.with_name(self.path.name + ".manifest.json")


@dataclass(frozen=True, slots=True)
class Summary:
    """What a finished run made."""

    rows: int
    failed: int
    guarded: int  # cells with a ' in front of them, so that a spreadsheet does not run them


class Run:
    """The one owner of an output and its parts: takes the lock first, then decides what becomes of what is there."""

    def __init__(self, output: Output, *, resume: bool = True, retry_errors: bool = False) -> None:
        self._output, self._resume, self._retry_errors = output, resume, retry_errors
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        check_writable(self._output.path)
        self._lock.enter_context(locked(self._output.path))
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if not is_begun(self._output.parts):
                discard(self._output.parts)

    def spool(self, stream: BinaryIO | None) -> Path:
        """Standard input as a file."""
        return spool(stream, self._output.parts, self._resume and is_begun(self._output.parts))

    def begin(self, table: InputTable, job: Job) -> Parts | Summary:
        """The parts to go on with, or to begin with; the summary of the same run where it is finished.

        An output that another run or another program made is refused, unless it may be replaced.
        """
        output, manifest = self._output, Manifest(job.describe(), {"name": table.path.name, "format": table.format})
        if not self._resume:
            forget(output.parts)
        elif output.path.exists() and not is_begun(output.parts):
            finished = _finished(table, job, output)
            summary = Summary(*(finished.finished[name] for name in ("rows", "failed", "guarded")))
            return _reopened(table, job, output, finished) if self._retry_errors and summary.failed else summary
        return Parts(output.parts, manifest, self._retry_errors)

    def finish(self, table: InputTable, job: Job, parts: Parts, carried: tuple[Column, ...]) -> Summary:
        """Join the rows of the input with their outcomes, in their order, and replace the output by that."""
        output, whole = self._output, parts.home / f"whole-{self._output.path.name}"
        texts = hashlib.sha256()
        rows = failed = 0
        done = parts.done
        with writing(output.path):
            with formats.writer(
                whole, output.format, job.table(carried), **cell_options(job, output.formulas)
            ) as writer:
                for row in table.rows():
                    item, entry = job.item(row), done.entry(row.number)
                    if entry is None or entry["input"] != item.digest:
                        raise changed(table, item)
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
            replace_synced(whole, output.path)
        parts.close()
        discard(parts.home)
        return Summary(rows, failed, writer.guarded)


def keep(
    table: InputTable, outcomes: Iterable[Outcome], parts: Parts, watch: Callable[[Outcome], None], strict: bool
) -> int:
    """Keep every outcome as it comes, except those that are worth another try. How many these are."""
    retries = 0
    for outcome in outcomes:
        if outcome.error and strict:
            raise InputError(f"{table.path}, line {outcome.line}: {outcome.error}")
        retries += outcome.retry
        if outcome.retry or parts.add(outcome):
            watch(outcome)
    return retries


def cell_options(job: Job, formulas: bool) -> dict[str, Any]:
    """How the cells of a job are written: new ones are made safe, and a text file has the best one only."""
    added = [column.name for column in job.table(())]
    return {"guard": () if formulas else added, "best": job.prefix + job.kind.best}


def _finished(table: InputTable, job: Job, output: Output) -> Manifest:
    """The manifest of an output that the same run made earlier; any other output is refused."""
    advice = "Name another output, or replace it with --no-resume."
    if not output.manifest.exists():
        raise InputError(f"{output.path} exists, and nothing tells what made it. {advice}")
    manifest = Manifest.read(output.manifest)
    manifest.check(Manifest(job.describe(), {}), output.path)
    if manifest.finished.get("sha256") != _checksum(output.path):
        raise InputError(f"{output.path} exists, and was changed since it was made. {advice}")
    if manifest.finished.get("texts") != _texts(table, job):
        raise InputError(f"{output.path} was made of other rows than {table.path} has now. {advice}")
    return manifest


def _reopened(table: InputTable, job: Job, output: Output, finished: Manifest) -> Parts:
    """The parts of a finished run, made from its output, without the rows that have an error."""
    if output.format == "text":
        raise InputError(
            f"{output.path} is plain text, which does not say which rows failed. Begin anew with --no-resume, in "
            "another format."
        )
    parts = Parts(output.parts, replace(finished, done=[], failed=0, finished={}))
    rows = formats.read(output.path, output.format)
    for item, row in zip(map(job.item, table.rows()), rows, strict=True):
        if not row.fields[job.prefix + ERROR.name]:
            cells = {column.name: _value(column, row.fields[job.prefix + column.name]) for column in job.adds}
            parts.add(Outcome(item.number, item.line, item.digest, cells))
    return parts


def _value(column: Column, cell: Any) -> Any:
    """A cell of an output as it was before it was written. JSON is text in formats that do not have it."""
    return json.loads(cell) if column.kind == "json" and isinstance(cell, str) and cell else cell


def _texts(table: InputTable, job: Job) -> str:
    """A checksum over the texts of all rows."""
    texts = hashlib.sha256()
    for row in table.rows():
        texts.update(job.item(row).digest.encode())
    return texts.hexdigest()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
