"""One run of `refdec batch`: turns options into a job, and reports how it goes."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from refdec.batch import local_engine
from refdec.batch.estimate import Estimate, estimate
from refdec.batch.input_table import InputTable
from refdec.batch.item import Outcome
from refdec.batch.job import BEST, Job, Models
from refdec.batch.parts import Done, Parts
from refdec.batch.run import Output, Run, Summary, cell_options, keep
from refdec.batch.todo import Todo
from refdec.batch.worker import Worker
from refdec.cli.inputs import STANDARD
from refdec.cli.options import constraints_from, given
from refdec.cli.progress import Bar, time_text
from refdec.cli.selection import wanted
from refdec.errors import InputError, OutOfMemory
from refdec.files import formats
from refdec.files.formats import Look
from refdec.files.row import Column, Row
from refdec.files.whole import check_writable
from refdec.lm.device import choose_device
from refdec.settings import FingerprintSettings, ScoreSettings
from refdec.tasks.constraints import NONE
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.reflector import INPUTS_AT_ONCE

SHOWN = 3
"""Bad rows that are reported one by one."""

UNITS = (("GB", 1e9), ("MB", 1e6))

Kind = type[FingerprintSettings]
Options = dict[str, Any]
Engine = Callable[[Job, Todo, Callable[[], None]], Iterator[Outcome]]
"""Computes the items of a job; calls the function when it begins to, after the models are loaded."""


def to_file(kind: Kind, known: Fingerprint | None, input: str, path: Path, options: Options, bar: Bar) -> int:
    """A table into a file, which takes its place when it is complete."""
    output = Output(path, formats.format_of(path, options["output_format"]), options["formulas"])
    check_writable(path)
    read_as = formats.format_of(Path(input), options["format"])
    with ExitStack() as held:
        if options["dry_run"]:
            run = None
        else:
            run = held.enter_context(Run(output, resume=options["resume"], retry_errors=options["retry_errors"]))
        piped = None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer
        source = run.spool(piped) if run is not None and input == STANDARD else Path(input)
        table = InputTable.at(source, read_as, options["limit"])
        bar.begin("reading the input")
        look = formats.columns(table.path, table.format, bar.at)
        rows = look.rows if options["limit"] is None else min(look.rows, options["limit"])
        if not rows:
            raise InputError(f"{table.path} has no rows. Give a table with at least one.")
        if look.first_bad is not None and options["strict"]:
            raise InputError(f"{table.path}, line {look.first_bad.line}: {look.first_bad.error}")
        device, engine = held.enter_context(_engine(options, bar))
        job = _job(kind, known, look.columns, options, device)
        job.table(look.columns)  # refused before anything is made
        if run is None:
            _tell_cost(table, job, output, look, rows, options, bar)
            return 0
        parts = run.begin(table, job)
        if isinstance(parts, Summary):
            bar.tell(f"{path} is finished already: {_counted(parts)}.")
            return 0
        together = (options["batch_size"] or INPUTS_AT_ONCE) if device == "cuda" else 1
        with parts:
            try:
                _compute(table, job, parts, engine, rows, together, options["strict"], bar)
                bar.begin("writing the output")
                summary = run.finish(table, job, parts, look.columns)
            except (Exception, KeyboardInterrupt):
                done = f"{parts.manifest.rows:,} of {rows:,} rows are done and kept in {parts.home}"
                bar.tell(f"{done}. The same command goes on.")
                raise
    bar.tell(f"{path}: {_counted(summary)}. What made them is in {output.manifest.name}.")
    if summary.guarded:
        cells, they = (
            ("cell begins", "it for a formula") if summary.guarded == 1 else ("cells begin", "them for formulas")
        )
        bar.tell(
            f"{summary.guarded:,} new {cells} with ' so that no spreadsheet takes {they}. --formulas leaves new cells "
            "as they are."
        )
    return 0


def _compute(
    table: InputTable, job: Job, parts: Parts, engine: Engine, rows: int, together: int, strict: bool, bar: Bar
) -> None:
    """Compute the rows that are not done yet. Those that ran out of memory are left for another time."""
    manifest = parts.manifest
    if manifest.rows:
        bar.tell(f"going on: {manifest.rows:,} of {rows:,} rows are done.")
    errors = itertools.count()

    def begin() -> None:
        bar.begin("rows", manifest.rows, rows, manifest.failed)

    def watch(outcome: Outcome) -> None:
        bar.row(bool(outcome.error))
        if outcome.error and next(errors) < SHOWN:
            bar.tell(f"{table.path}, line {outcome.line}: {outcome.error}")

    begin()
    todo = Todo(table, job, parts.done, together)
    retries = keep(table, engine(job, todo, begin), parts, watch, strict)
    if retries:
        raise OutOfMemory(f"{retries:,} of {rows:,} rows ran out of memory. The same command tries them again.")


def to_standard_output(kind: Kind, known: Fingerprint | None, input: str, options: Options, bar: Bar) -> int:
    """A table onto standard output, row by row; nothing is kept."""
    read_as = formats.format_of(Path(input), options["format"])
    written_as = options["output_format"] or read_as
    rows, columns = _opened(input, read_as, written_as)
    job = _job(kind, known, columns, options, choose_device(options["device"]).type)
    retries = 0
    with formats.writer(
        sys.stdout.buffer, written_as, job.table(columns), **cell_options(job, options["formulas"])
    ) as writer:
        bar.begin("loading the models")
        worker = Worker(job)
        bar.begin("rows")
        limited = itertools.islice(rows, options["limit"])
        for row, outcome in local_engine.stream(worker, job, limited, options["batch_size"]):
            if outcome.error and options["strict"]:
                raise InputError(f"{input}, line {outcome.line}: {outcome.error}")
            writer.write(row.fields | job.cells(outcome.fields, outcome.error))
            writer.flush()
            bar.row(bool(outcome.error))
            retries += outcome.retry
    if retries:
        raise OutOfMemory(
            f"{retries:,} rows ran out of memory; the column {job.prefix}error says which. Try them again."
        )
    return 0


@contextmanager
def _engine(options: Options, bar: Bar) -> Iterator[tuple[str, Engine]]:
    """The kind of device that rows are computed on, and the engine that does it."""
    if options["engine"] == "ray" and not options["dry_run"]:
        from refdec.batch import ray_engine

        bar.begin("starting Ray" if options["address"] is None else "connecting to Ray")
        with ray_engine.cluster(options["address"]) as cluster:
            sizes = {name: options[name] for name in ("workers", "cpus", "gpus", "batch_size")}
            named = (options["device"] or cluster.device).partition(":")[0]
            yield named, lambda job, todo, _: cluster.outcomes(job, todo, **sizes)
        return

    def compute(job: Job, todo: Todo, begin: Callable[[], None]) -> Iterator[Outcome]:
        def load() -> Worker:
            bar.begin("loading the models")
            worker = Worker(job)
            begin()
            return worker

        return local_engine.outcomes(todo, load, options["batch_size"])

    yield choose_device(options["device"]).type, compute


def _opened(input: str, read_as: str, written_as: str) -> tuple[Iterable[Row], tuple[Column, ...]]:
    """The rows and the columns of a table. Standard input cannot be read twice: its first row tells the columns."""
    if input != STANDARD:
        return formats.read(Path(input), read_as), formats.columns(Path(input), read_as).columns
    rows = formats.read(sys.stdin.buffer, read_as)
    first = next(rows, None)
    if first is None:
        raise InputError("There is no text to work on: standard input is empty.")
    if read_as == "jsonl" and written_as not in ("jsonl", "text"):
        raise InputError(
            f"The columns of JSON lines are known at their end, and {written_as} needs them at its beginning. Name an "
            "output file, or give --output-format jsonl."
        )
    return itertools.chain([first], rows), tuple(Column(name, "json") for name in first.fields)


def _job(kind: Kind, known: Fingerprint | None, columns: Sequence[Column], options: Options, device: str) -> Job:
    scores = issubclass(kind, ScoreSettings)
    forward, backward = (_everywhere(options[name]) for name in ("forward", "backward"))
    examples = options.get("examples") and str(options["examples"].resolve())
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
        models=Models(forward, backward, options["device"], options["precision"], examples),
        **given(kind, options),
    )


def _everywhere(name: str | None) -> str | None:
    """The name of a model; of a directory the whole path, so that processes in other directories can load it."""
    path = None if name is None else Path(name).expanduser()
    return name if path is None or not path.is_dir() else str(path.resolve())


def _tell_cost(table: InputTable, job: Job, output: Output, look: Look, rows: int, options: Options, bar: Bar) -> None:
    """Print what the table holds, and what its rows would cost."""
    bar.begin("computing a few rows")
    done = Done.at(output.parts) if options["resume"] else Done(output.parts, {})
    costs = estimate(job, Todo(table, job, done), rows, options["batch_size"])
    bar.begin("")
    lines = [
        ("input", f"{table.path}: {look.rows:,} rows ({table.format}), columns {', '.join(_names(look.columns))}"),
        ("texts", f"in {', '.join(job.columns)}"),
    ]
    if look.first_bad is not None:
        first = f"the first on line {look.first_bad.line}: {look.first_bad.error}"
        lines.append(("bad", f"{look.bad:,} row{'s' * (look.bad > 1)}, {first}"))
    lines.append(("output", f"{output.path} ({output.format}), new columns {', '.join(_names(job.table(())))}"))
    lines += [("cost", "nothing: there is no row to work on")] if costs is None else _costs(costs, output)
    for name, words in lines:
        click.echo(f"{name:8} {words}")


def _costs(costs: Estimate, output: Output) -> list[tuple[str, str]]:
    gpu = f", and {_size(costs.gpu_memory)} of the GPU" if costs.gpu_memory else ""
    spread = f", give or take {time_text(costs.todo * costs.uncertain)}" if costs.uncertain else ""
    measured = f"{costs.measured} row{'s' * (costs.measured > 1)} measured"
    needed = _size(2 * costs.todo * costs.row_bytes)
    free = _size(shutil.disk_usage(output.path.resolve().parent).free)
    return [
        ("to do", f"{costs.todo:,} rows"),
        ("time", f"about {time_text(costs.seconds)}{spread}: {costs.each:.3g} s per row, {measured}"),
        ("memory", f"{_size(costs.memory)}{gpu}"),
        ("disk", f"about {needed} with the parts; {free} are free"),
        ("made by", costs.signature),
    ]


def _names(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]


def _size(count: float) -> str:
    unit, size = next(((name, size) for name, size in UNITS if count >= size), ("kB", 1e3))
    return f"{count / size:,.3g} {unit}"


def _counted(summary: Summary) -> str:
    failed = f", {summary.failed:,} of them failed, their error says why" if summary.failed else ""
    return f"{summary.rows:,} rows{failed}"
