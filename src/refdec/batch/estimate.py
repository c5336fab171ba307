"""What a batch would cost on this machine: a few rows are computed, and the rest is arithmetic."""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from dataclasses import dataclass

import torch

from refdec.batch.item import Item, Outcome
from refdec.batch.job import Job
from refdec.batch.todo import Todo
from refdec.batch.worker import Worker

ROWS = 12
"""Rows that a CPU computes at most; a GPU, which computes many at once, three times as many as that."""

SHARE = 10
"""Of so many rows, one is computed at most, so that a trial never takes as long as the run."""

SECONDS = 60.0
"""After this time, no further row is begun."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What was measured, and what follows for all rows that are still to be done."""

    todo: int
    measured: int
    each: float  # seconds per row
    uncertain: float  # half of the 95 % interval of that
    memory: int  # bytes that this process took at most
    gpu_memory: int
    row_bytes: float  # that a row adds to the output
    signature: str

    @property
    def seconds(self) -> float:
        return self.todo * self.each


def spread(todo: Todo, rows: int, count: int) -> tuple[list[Item], int]:
    """So many items from all over a table of so many rows, and how many there are in all."""
    chosen: list[Item] = []
    total = 0
    for item in todo:
        total += 1
        if not item.error and item.number >= len(chosen) * rows / count and len(chosen) < count:
            chosen.append(item)
    return chosen, total


def estimate(job: Job, todo: Todo, rows: int, batch_size: int | None) -> Estimate | None:
    """The cost of the items that are still to be done in a table of so many rows; None where there are none."""
    worker = Worker(job)
    at_once = worker.reflector.inputs_at_once(batch_size)
    most = ROWS if at_once == 1 else 3 * at_once
    chosen, total = spread(todo, rows, max(1, min(most, rows // SHARE)))
    if not chosen:
        return None
    if len(chosen) > 1:  # what is done once, such as compiling, is not measured
        list(worker.outcomes(chosen[:1], batch_size))
    outcomes: list[Outcome] = []
    times: list[float] = []
    for wave in [[item] for item in chosen] if at_once == 1 else [chosen]:
        began = time.perf_counter()
        outcomes += worker.outcomes(wave, batch_size)
        times.append((time.perf_counter() - began) / len(wave))
        if sum(times) > SECONDS:
            break
    each = statistics.fmean(times)
    uncertain = 1.96 * statistics.stdev(times) / math.sqrt(len(times)) if len(times) > 1 else 0.0
    return Estimate(
        todo=total,
        measured=len(outcomes),
        each=each,
        uncertain=uncertain,
        memory=_peak(),
        gpu_memory=torch.cuda.max_memory_reserved() if torch.cuda.is_available() else 0,
        row_bytes=statistics.fmean(len(json.dumps(outcome.fields)) for outcome in outcomes),
        signature=worker.signature,
    )


def _peak() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
