"""The engine of one machine: a worker in this process."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from refdec.batch.item import Item, Outcome
from refdec.batch.job import Job
from refdec.batch.todo import Todo
from refdec.batch.worker import Worker
from refdec.files.row import Row


def outcomes(todo: Todo, load: Callable[[], Worker], batch_size: int | None = None) -> Iterator[Outcome]:
    """The outcome of each item, in order. The models are loaded when the first item needs them."""
    items = iter(todo)
    for item in items:
        if not item.error:
            yield from load().outcomes(itertools.chain([item], items), batch_size)
            return
        yield Outcome.failed(item, item.error)


def stream(
    worker: Worker, job: Job, rows: Iterable[Row], batch_size: int | None = None
) -> Iterator[tuple[Row, Outcome]]:
    """Each row with its outcome, in order. Nothing is kept on disk, and only rows under way are held in memory."""
    under_way: deque[Row] = deque()

    def items() -> Iterator[Item]:
        for row in rows:
            under_way.append(row)
            yield job.item(row)

    for outcome in worker.outcomes(items(), batch_size):
        yield under_way.popleft(), outcome
