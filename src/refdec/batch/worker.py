"""A worker: holds one loaded pair and computes the rows it is given. Every engine has one or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from refdec.batch.item import Item, Outcome
from refdec.batch.job import Job
from refdec.errors import ModelError, OutOfMemory, RefdecError
from refdec.lm.device import is_out_of_memory
from refdec.reflect.schedule import run_all
from refdec.tasks.confidence import check_calibrated
from refdec.tasks.reflector import Reflector
from refdec.tasks.signature import signature

IN_A_ROW = 5
"""Rows one after the other that may fail for an unforeseen reason or for lack of memory. Then the run ends."""


class Worker:
    """Items in, outcomes out, in order and as they are made."""

    def __init__(self, job: Job, reflector: Reflector | None = None) -> None:
        """Loads the models, unless they are given."""
        self.reflector = reflector or job.models.load()
        self._full = job.full
        pair = self.reflector.pair
        if job.wanted.confidence is not None:
            check_calibrated(pair.name)
        self._task = job.kind(pair, job.settings, job.wanted, job.constraints, job.fingerprint)
        self.signature = signature(job.task, pair, job.settings, job.constraints)

    def outcomes(self, items: Iterable[Item], batch_size: int | None = None) -> Iterator[Outcome]:
        """The outcome of each item. An item that cannot be worked on has an error; the others are not affected.

        A GPU computes `batch_size` rows together; a CPU takes them one by one, so that digits never depend on it.
        """
        results = run_all(
            self.reflector.pair, (self._outcome(item) for item in items), self.reflector.inputs_at_once(batch_size)
        )
        held: list[Outcome] = []  # until it is clear whether the rows are at fault, or the machine
        for outcome, problem in results:
            if problem is not None:
                held.append(outcome)
                if len(held) == IN_A_ROW:
                    raise (OutOfMemory if outcome.retry else ModelError)(
                        f"{IN_A_ROW} rows one after the other failed, the last with {outcome.error} This is not due to "
                        "the rows."
                    ) from problem
                continue
            yield from held
            held.clear()
            yield outcome
        yield from held

    async def _outcome(self, item: Item) -> tuple[Outcome, Exception | None]:
        """The outcome of an item, and the error that may be due to the machine instead of the row."""
        if item.error:
            return Outcome.failed(item, item.error), None
        try:
            cells = await self._task.cells(item.texts, self._full)
        except Exception as error:
            if is_out_of_memory(error):
                reason = str(error).partition("\n")[0] or "Out of memory."
                return Outcome.failed(item, reason, retry=True), error
            if isinstance(error, RefdecError):
                return Outcome.failed(item, str(error)), None
            return Outcome.failed(item, f"{type(error).__name__}: {error}."), error
        return Outcome(item.number, item.line, item.digest, cells, signature=self.signature), None
