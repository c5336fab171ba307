"""A task as a Python function: for rows as they come, and for the `map` of datasets, pandas and others."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from refdec.batch.job import EMBEDDED, Job, Models
from refdec.batch.local_engine import stream
from refdec.batch.row_tasks import task_named
from refdec.batch.worker import Worker
from refdec.errors import InputError
from refdec.files.row import Column, Row
from refdec.lm.device import choose_device
from refdec.settings import FingerprintSettings
from refdec.tasks.choice import Wanted
from refdec.tasks.reflector import Reflector

_process = os.getpid()  # in which this module was imported


class Mapper:
    """Applies a task to a text, a row, columns or a data frame.

        mapper = Mapper("paraphrase", column="question")
        dataset = dataset.map(mapper, batched=True)      # datasets: new columns
        frame = frame.pipe(mapper)                       # pandas: a frame with new columns
        frame["best"] = frame["question"].map(mapper)    # pandas: the best text of each

    A mapper has the names of its models and loads them when they are first needed, once in every process. So it can be
    sent to other processes, and libraries that cache results can tell it from other mappers. With a reflector of your
    own it uses that one, and stays in this process.
    """

    def __init__(
        self,
        task: str = "paraphrase",
        settings: FingerprintSettings | str | None = None,
        *,
        models: Models = EMBEDDED,
        reflector: Reflector | None = None,
        batch_size: int | None = None,
        top: int = 1,
        novelty: float | None = None,
        confidence: float | None = None,
        **options: Any,
    ) -> None:
        """Further options are those of `Job.make`, and single settings by name."""
        self._task, self._settings, self._models, self._batch_size = task, settings, models, batch_size
        self._options = {**options, "wanted": Wanted(top, novelty, confidence)}
        self._given_reflector = self._reflector = reflector
        self._workers: dict[tuple[str, ...], tuple[Worker, Job]] = {}  # by the columns of what is handed over
        column = options.get("column") or task_named(task).reads[0]
        names = (column,) if isinstance(column, str) else tuple(column)
        self._alone = names[0] if len(names) == 1 else "text"  # the column of a text that comes by itself
        self._job(names)  # bad options are refused now, not with the first row

    def rows(self, rows: Iterable[str | Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Every row with its new cells, in order and as they are made; only rows under way are held.

        A row is a text, or a mapping from columns to cells. One that cannot be worked on has an `error`.
        """
        numbered = (_row(number, row, self._alone) for number, row in enumerate(rows, start=1))
        first = next(numbered, None)
        if first is None:
            return
        worker, job = self._worker(tuple(first.fields))
        job.table([Column(name, "json") for name in first.fields])
        for row, outcome in stream(worker, job, itertools.chain([first], numbered), self._batch_size):
            yield row.fields | job.cells(outcome.fields, outcome.error)

    def __call__(self, given: Any) -> Any:
        """A text becomes the best text; a row its new cells; columns new columns; a frame a frame with more of them."""
        if isinstance(given, str):
            (row,) = self.rows([given])
            _, job = self._worker((self._alone,))
            if row[job.prefix + "error"]:
                raise InputError(row[job.prefix + "error"])
            return row[job.prefix + job.kind.best]
        if hasattr(given, "assign"):  # a frame of pandas
            new = self._columns({name: list(given[name]) for name in given.columns})
            return given.assign(**new)
        if not isinstance(given, Mapping):
            raise InputError(f"A text, a row, columns or a data frame is needed, not {type(given).__name__}.")
        columns = dict(given)
        _, job = self._worker(tuple(columns))
        if isinstance(columns[job.columns[0]], str | None):
            (row,) = self.rows([columns])
            return {name: value for name, value in row.items() if name not in columns}
        return self._columns(columns)

    def __getstate__(self) -> dict[str, Any]:
        if self._given_reflector is not None:
            raise TypeError(
                "A mapper with a reflector of your own stays in its process. Name the models instead: "
                "Mapper(..., models=Models(forward=..., backward=...))."
            )
        return self.__dict__ | {"_workers": {}, "_reflector": None}

    def _columns(self, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        """The new columns for these columns."""
        names = list(columns)
        rows = (dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
        new = [column.name for column in self._worker(tuple(names))[1].table(())]
        made: dict[str, list[Any]] = {name: [] for name in new}
        for row in self.rows(rows):
            for name in new:
                made[name].append(row[name])
        return made

    def _worker(self, there: tuple[str, ...]) -> tuple[Worker, Job]:
        _mind_forks()
        if there not in self._workers:
            job = self._job(there)
            self._reflector = self._reflector or self._models.load()
            self._workers[there] = Worker(job, self._reflector), job
        return self._workers[there]

    def _job(self, there: tuple[str, ...]) -> Job:
        device = choose_device(self._models.device) if self._reflector is None else self._reflector.pair.forward.device
        options: dict[str, Any] = {"there": there, "device": device.type, "models": self._models, **self._options}
        if self._reflector is not None:
            options["examples"] = self._reflector.pair.examples is not None
        return Job.make(self._task, self._settings, **options)


def _mind_forks() -> None:
    """Compute with one thread in a forked process, as datasets makes them.

    A fork has none of the threads that its parent computed with, and would wait for them forever.
    """
    global _process
    if os.getpid() != _process:
        torch.set_num_threads(1)
        _process = os.getpid()


def _row(number: int, given: str | Mapping[str, Any], alone: str) -> Row:
    if isinstance(given, str):
        return Row(number, number, {alone: given})
    if not isinstance(given, Mapping):
        return Row(number, number, {}, f"A row is a text or a mapping of columns, not {type(given).__name__}.")
    return Row(number, number, dict(given))
