"""One run of `refdec batch`: what was asked for becomes a job, and people are told how it goes."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from refdec.batch import local_engine
from refdec.batch.estimate import Estimate, estimate
from refdec.batch.item import Outcome
from refdec.batch.job import BEST, Job, Models
from refdec.batch.parts import Done, Parts, discard
from refdec.batch.run import Output, Summary, begin, finish, finished, work
from refdec.batch.spool import spool
from refdec.batch.stream import stream
from refdec.batch.table import Table
from refdec.batch.todo import Todo
from refdec.batch.worker import Worker
from refdec.cli.options import constraints_from, given
from refdec.cli.progress import Bar, time_text
from refdec.cli.selection import wanted
from refdec.errors import InputError
from refdec.files import formats
from refdec.files.columns import Column
from refdec.files.formats import Look
from refdec.files.row import Row
from refdec.files.whole import check_writable
from refdec.lm.device import choose_device
from refdec.settings import FingerprintSettings, ScoreSettings
from refdec.tasks.constraints import NONE
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.reflector import INPUTS_AT_ONCE

STANDARD = "-"
SHOWN = 3
"""Bad rows that are told of one by one."""


UNITS = (("GB", 1e9), ("MB", 1e6))


def to_file(
    kind: type[FingerprintSettings],
    known: Fingerprint | None,
    input: str,
    path: Path,
    options: dict[str, Any],
    bar: Bar,
) -> int:
    """A table into a file, which is there when it is whole."""
    output = Output(path, formats.format_of(path, options["output_format"]), (), options["formulas"])
    check_writable(path)
    table = _table(input, output, options)
    bar.begin("reading the input")
    look = formats.columns(table.path, table.format, bar.at)
    rows = look.rows if options["limit"] is None else min(look.rows, options["limit"])
    if not rows:
        raise InputError(f"{table.path} has no rows in it. Give a table with some.")
    if look.first_bad is not None and options["strict"]:
        raise InputError(f"{table.path}, line {look.first_bad.line}: {look.first_bad.error}")
    output = replace(output, carried=look.columns)
    with _engine(options, bar) as (device, engine):
        job = _job(kind, known, look.columns, options, device)
        job.table(look.columns)  # refused before anything is made
        if options["dry_run"]:
            _tell_cost(table, job, output, look, rows, options, bar)
            return 0
        made = finished(table, job, output) if options["resume"] else None
        if made is not None:
            bar.tell(f"{path} is finished already: {_counted(made)}.")
            return 0
        with begin(table, job, output, options["resume"]) as parts:
            together = (options["batch_size"] or INPUTS_AT_ONCE) if device == "cuda" else 1
            made = _make(table, job, output, parts, engine, rows, together, options, bar)
    bar.tell(f"{path}: {_counted(made)}. What made them is in {output.manifest.name}.")
    if made.guarded:
        bar.tell(
            f"{made.guarded:,} cells begin with ' so that no spreadsheet takes them for formulas. --formulas leaves "
            "them as they are."
        )
    return 0


def _make(
    table: Table,
    job: Job,
    output: Output,
    parts: Parts,
    engine: Callable[[Job, Todo], Iterator[Outcome]],
    rows: int,
    together: int,
    options: dict[str, Any],
    bar: Bar,
) -> Summary:
    """The rows that are not done yet, and then the output; where that ends early, people are told what is kept."""
    manifest = parts.manifest
    if manifest.rows:
        bar.tell(f"going on: {manifest.rows:,} of {rows:,} rows are done.")
    seen, told = itertools.count(), itertools.count()

    def watch(outcome: Outcome) -> None:
        if next(seen):
            bar.row(bool(outcome.error))
        else:  # the rate is that of the rows, not of the models' loading
            bar.begin("rows", manifest.rows, rows, manifest.failed)
        if outcome.error and next(told) < SHOWN:
            bar.tell(f"{table.path}, line {outcome.line}: {outcome.error}")

    try:
        bar.begin("loading the models")
        todo = Todo(table, job, parts.done, together)
        work(todo, engine(job, todo), parts, watch, options["strict"])
        bar.begin("writing the output")
        return finish(table, job, output, parts)
    except (Exception, KeyboardInterrupt):
        bar.tell(f"{manifest.rows:,} of {rows:,} rows are done and kept in {parts.home}. The same command goes on.")
        raise


def to_standard_output(
    kind: type[FingerprintSettings], known: Fingerprint | None, input: str, options: dict[str, Any], bar: Bar
) -> int:
    """A table onto standard output, row by row; nothing is kept."""
    read_as = formats.format_of(Path(input), options["format"])
    written_as = options["output_format"] or read_as
    rows, columns = _opened(input, read_as, written_as)
    job = _job(kind, known, columns, options, choose_device(options["device"]).type)
    best = job.prefix + job.kind.best
    with formats.writer(
        sys.stdout.buffer, written_as, job.table(columns), formulas=options["formulas"], best=best
    ) as writer:
        bar.begin("loading the models")
        worker = Worker(job)
        bar.begin("rows")
        for row, outcome in stream(worker, job, itertools.islice(rows, options["limit"]), options["batch_size"]):
            if outcome.error and options["strict"]:
                raise InputError(f"{input}, line {outcome.line}: {outcome.error}")
            writer.write(row.fields | job.cells(outcome.fields, outcome.error))
            writer.flush()
            bar.row(bool(outcome.error))
    return 0


@contextmanager
def _engine(options: dict[str, Any], bar: Bar) -> Iterator[tuple[str, Callable[[Job, Todo], Iterator[Outcome]]]]:
    """Where rows are worked on: what kind of device that is, and who does it."""
    if options["engine"] == "ray" and not options["dry_run"]:
        from refdec.batch import ray_engine

        bar.begin("starting Ray" if options["address"] is None else "connecting to Ray")
        with ray_engine.cluster(options["address"]) as cluster:
            sizes = {name: options[name] for name in ("workers", "cpus", "batch_size")}
            named = (options["device"] or cluster.device).partition(":")[0]
            yield named, lambda job, todo: cluster.outcomes(job, todo, **sizes)
    else:
        device = choose_device(options["device"]).type
        yield device, lambda job, todo: local_engine.outcomes(todo, lambda: Worker(job), options["batch_size"])


def _table(input: str, output: Output, options: dict[str, Any]) -> Table:
    """The input as a file; standard input is kept in one."""
    read_as = formats.format_of(Path(input), options["format"])
    if input != STANDARD:
        return Table.at(Path(input), read_as, options["limit"])
    if not options["resume"]:
        discard(output.parts)
    piped = sys.stdin is not None and not sys.stdin.isatty()
    return Table.at(spool(sys.stdin.buffer if piped else None, output.parts), read_as, options["limit"])


def _opened(input: str, read_as: str, written_as: str) -> tuple[Iterable[Row], tuple[Column, ...]]:
    """The rows of a table, and its columns: of standard input, which cannot be read twice, those of its first row."""
    if input != STANDARD:
        return formats.read(Path(input), read_as), formats.columns(Path(input), read_as).columns
    rows = formats.read(sys.stdin.buffer, read_as)
    first = next(rows, None)
    if first is None:
        raise InputError("There was no text to work on: standard input is empty.")
    if read_as == "jsonl" and written_as not in ("jsonl", "text"):
        raise InputError(
            f"The columns of JSON lines are known when all are read, and {written_as} needs them at its beginning. "
            "Write to a file, or --output-format jsonl."
        )
    return itertools.chain([first], rows), tuple(Column(name, "json") for name in first.fields)


def _job(
    kind: type[FingerprintSettings],
    known: Fingerprint | None,
    columns: Sequence[Column],
    options: dict[str, Any],
    device: str,
) -> Job:
    scores = issubclass(kind, ScoreSettings)
    forward, backward = (_everywhere(options[name]) for name in ("forward", "backward"))
    return Job.make(
        kind.task,
        options["preset"],
        there=_names(columns),
        device=device,
        column=options["column"],
        wanted=BEST if scores else wanted(options),
        constraints=NONE if scores else constraints_from(options),
        fingerprint=known,
        full=options["full"],
        prefix=options["prefix"],
        models=Models(forward, backward, options["device"], options["precision"]),
        **given(kind, options),
    )


def _everywhere(name: str | None) -> str | None:
    """The name of a model as a process in another directory finds it, too."""
    found = None if name is None else Path(name).expanduser()
    return name if found is None or not found.is_dir() else str(found.resolve())


def _tell_cost(
    table: Table, job: Job, output: Output, look: Look, rows: int, options: dict[str, Any], bar: Bar
) -> None:
    """What was found and measured, on standard output."""
    bar.begin("trying a few rows")
    found = estimate(job, Todo(table, job, Done.at(output.parts)), rows, options["batch_size"])
    bar.begin("")
    lines = [
        ("input", f"{table.path}: {look.rows:,} rows ({table.format}), columns {', '.join(_names(look.columns))}"),
        ("texts", f"in {', '.join(job.columns)}"),
    ]
    if look.first_bad is not None:
        what = f"the first on line {look.first_bad.line}: {look.first_bad.error}"
        lines.append(("bad", f"{look.bad:,} rows, {what}"))
    lines.append(("output", f"{output.path} ({output.format}), new columns {', '.join(_names(job.table(())))}"))
    lines += [("cost", "nothing: there is no row to work on")] if found is None else _costs(found, output)
    for name, words in lines:
        click.echo(f"{name:8} {words}")


def _costs(found: Estimate, output: Output) -> list[tuple[str, str]]:
    gpu = f", and {_size(found.gpu_memory)} of the GPU" if found.gpu_memory else ""
    spread = f", give or take {time_text(found.todo * found.uncertain)}" if found.uncertain else ""
    needed = _size(2 * found.todo * found.row_bytes)
    free = _size(shutil.disk_usage(output.path.resolve().parent).free)
    return [
        ("to do", f"{found.todo:,} rows"),
        ("time", f"about {time_text(found.seconds)}{spread}: {found.each:.3g} s a row, {found.measured} rows measured"),
        ("memory", f"{_size(found.memory)}{gpu}"),
        ("disk", f"about {needed} with what is kept meanwhile; {free} are free"),
        ("made by", found.signature),
    ]


def _names(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]


def _size(count: float) -> str:
    unit, size = next(((name, size) for name, size in UNITS if count >= size), ("kB", 1e3))
    return f"{count / size:,.3g} {unit}"


def _counted(made: Summary) -> str:
    return f"{made.rows:,} rows" + (f", {made.failed:,} of them failed, their error says why" if made.failed else "")
