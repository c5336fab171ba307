"""Rows through a worker as they come, with nothing kept on disk: for pipes, and for those who write Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from refdec.batch.item import Item, Outcome
from refdec.batch.job import Job
from refdec.batch.worker import Worker
from refdec.files.row import Row


def stream(
    worker: Worker, job: Job, rows: Iterable[Row], batch_size: int | None = None
) -> Iterator[tuple[Row, Outcome]]:
    """Each row with what became of it, in order. Only rows that are under way are held."""
    under_way: deque[Row] = deque()

    def items() -> Iterator[Item]:
        for row in rows:
            under_way.append(row)
            yield job.item(row)

    for outcome in worker.outcomes(items(), batch_size):
        yield under_way.popleft(), outcome
