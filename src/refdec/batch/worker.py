"""A loaded pair that works rows off. Every engine has some; none knows how the others do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from refdec.batch.item import Item, Outcome
from refdec.batch.job import Job
from refdec.errors import ModelError, RefdecError
from refdec.reflect.schedule import run_all
from refdec.tasks.confidence import check_calibrated
from refdec.tasks.reflector import Reflector
from refdec.tasks.signature import signature

IN_A_ROW = 5
"""Rows one after the other that may fail for a reason that nobody foresaw. Then it is not the rows."""


class Worker:
    """Rows in, outcomes out, in order and as they are made."""

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
        """What becomes of each item. One that cannot be worked on has an error; the others do not notice.

        A GPU computes `batch_size` rows together; a CPU takes them one by one, so that digits never depend on it.
        """
        results = run_all(
            self.reflector.pair, (self._outcome(item) for item in items), self.reflector.inputs_at_once(batch_size)
        )
        unforeseen: list[Outcome] = []
        for outcome, problem in results:
            if problem is not None:
                unforeseen.append(outcome)
                if len(unforeseen) == IN_A_ROW:
                    raise ModelError(
                        f"{IN_A_ROW} rows one after the other failed, the last with {outcome.error} This is not due to "
                        "the rows."
                    ) from problem
                continue
            yield from unforeseen
            unforeseen.clear()
            yield outcome
        yield from unforeseen

    async def _outcome(self, item: Item) -> tuple[Outcome, Exception | None]:
        """What becomes of an item, and what went wrong in a way that nobody foresaw."""
        if item.error:
            return Outcome.failed(item, item.error), None
        try:
            cells = await self._task.cells(item.texts, self._full)
        except RefdecError as error:
            return Outcome.failed(item, str(error)), None
        except Exception as error:
            return Outcome.failed(item, f"{type(error).__name__}: {error}."), error
        return Outcome(item.number, item.line, item.digest, cells, signature=self.signature), None
