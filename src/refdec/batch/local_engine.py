"""The engine of one machine: a worker in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from refdec.batch.item import Outcome
from refdec.batch.todo import Todo
from refdec.batch.worker import Worker


def outcomes(todo: Todo, worker: Callable[[], Worker], batch_size: int | None = None) -> Iterator[Outcome]:
    """What becomes of each item, in order. The models are loaded when there is something to do for them."""
    items = iter(todo)
    for item in items:
        if not item.error:
            yield from worker().outcomes(itertools.chain([item], items), batch_size)
            return
        yield Outcome.failed(item, item.error)
