"""Many tasks at once: each is written as if it were alone, and what they ask of a model is answered together.

A task is a coroutine that awaits answers. When all tasks of a wave wait, their questions of one kind to one model are
put to it as one batch, and the two models work at the same time. Nothing here knows what is asked.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.reflect.side import Side, both_sides
from refdec.reflect.workers import Answering, Batch, Workers, workers

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")

Task = Coroutine[Any, Any, Result]

WAVES = 3
"""Under way at a time: while the models answer one, the others do what is done between their answers."""


@dataclass(frozen=True)
class Ask(Generic[Question, Answer]):
    """A question to a model, and what answers many of its kind at once; awaited, it gives the answer."""

    phase: str  # what it is for, in a word
    model: LanguageModel
    answer: Callable[[LanguageModel, Sequence[Question]], Answering[Sequence[Answer]]]
    question: Question

    def __await__(self) -> Generator[Any, Any, Answer]:
        found: Answer = yield self
        return found


@dataclass(frozen=True)
class _Together(Generic[Result]):
    """Several coroutines that go on side by side; awaited, it gives their results in order."""

    parts: Sequence[Task[Result]]

    def __await__(self) -> Generator[Any, Any, list[Result]]:
        found: list[Result] = yield self
        return found


@dataclass(eq=False)
class Shared(Generic[Result]):
    """Work that several tasks wait for and that is done once; awaited, it gives the result to each of them.

    What was begun by tasks that are gone is begun anew by the next.
    """

    make: Callable[[], Task[Result]]
    _job: _Job | None = None
    _loop: _Loop | None = None

    def __await__(self) -> Generator[Any, Any, Result]:
        found: Result = yield self
        return found


async def together(parts: Iterable[Task[Result]]) -> list[Result]:
    """Results of coroutines that go on side by side, in order."""
    begun = list(parts)
    return await _Together(begun) if begun else []


async def on_both_sides(
    pair: Pair, work: Callable[[Side], Task[Result]], names: Collection[str] = ("right", "left")
) -> list[Result]:
    """The same work on the right and on the left, at the same time."""
    return await together(work(side) for side in both_sides(pair) if side.name in names)


def run(pair: Pair, task: Task[Result]) -> Result:
    """The result of one task."""
    (result,) = run_all(pair, [task], at_once=1)
    return result


def run_all(pair: Pair, tasks: Iterable[Task[Result]], at_once: int) -> Generator[Result, None, None]:
    """Results of tasks in their order, taken from the iterable as they are begun, so that it may be endless.

    Tasks go in waves of so many, whose questions are answered together. Several waves are under way at a time: while
    the models answer one, the others go on with what they do by themselves. What a task raises is raised in its turn.
    """
    source = iter(tasks)
    with workers(pair) as staff:
        loop = _Loop(staff)
        waves: deque[deque[_Job]] = deque()
        try:
            while True:
                while len(waves) < WAVES and (wave := loop.begin_wave(itertools.islice(source, at_once))):
                    waves.append(deque(wave))
                if not waves:
                    return
                while waves[0]:
                    while not waves[0][0].done:
                        loop.turn()
                    first = waves[0].popleft()
                    if first.error is not None:
                        raise first.error
                    yield first.result
                waves.popleft()
        finally:
            loop.close()


@dataclass(eq=False)
class _Job:
    """A coroutine on its way: alone, or a part of a larger one."""

    task: Task[Any]
    wave: int
    parent: _Job | None = None
    parts: list[_Job] = field(default_factory=list)  # that it waits for
    waiting: list[_Job] = field(default_factory=list)  # for it, where its work is shared
    done: bool = False
    result: Any = None
    error: BaseException | None = None


class _Loop:
    """Steps jobs until they wait, and hands what they ask to the workers."""

    def __init__(self, staff: Workers) -> None:
        self._staff = staff
        self._ready: deque[tuple[_Job, Any, BaseException | None]] = deque()
        self._waiting: dict[tuple[int, int, int, str], Batch] = {}  # by wave, model, kind and phase
        self._asking: dict[Batch, list[_Job]] = {}
        self._waves = itertools.count()

    def begin_wave(self, tasks: Iterable[Task[Any]]) -> list[_Job]:
        number = next(self._waves)
        return [self._begin(_Job(task, number)) for task in tasks]

    def turn(self) -> None:
        """Hand out questions, take answers, and go on with one job; wait where there is nothing else to do."""
        self._dispatch()
        for batch in self._staff.finished(may_wait=not self._ready):
            self._deliver(batch)
        if self._ready:
            self._step(*self._ready.popleft())

    def close(self) -> None:
        """Leave what is under way, so that no coroutine is forgotten half done."""
        self._staff.close()
        for job in [job for jobs in self._asking.values() for job in jobs] + [job for job, _, _ in self._ready]:
            _close(job)

    def _begin(self, job: _Job) -> _Job:
        self._ready.append((job, None, None))
        return job

    def _step(self, job: _Job, value: Any, error: BaseException | None) -> None:
        try:
            wish = job.task.send(value) if error is None else job.task.throw(error)
        except StopIteration as stop:
            self._finish(job, stop.value, None)
        except Exception as problem:
            self._finish(job, None, problem)
        else:
            if isinstance(wish, Shared):
                self._share(job, wish)
            elif isinstance(wish, _Together):
                job.parts = [_Job(part, job.wave, job) for part in wish.parts]
                for part in job.parts:
                    self._begin(part)
            else:
                key = (job.wave, id(wish.model), id(wish.answer), wish.phase)
                batch = self._waiting.get(key) or Batch(wish.phase, wish.model, wish.answer, [])
                self._waiting[key] = batch
                batch.questions.append(wish.question)
                self._asking.setdefault(batch, []).append(job)

    def _share(self, job: _Job, wish: Shared[Any]) -> None:
        shared = wish._job
        if shared is None or (wish._loop is not self and not shared.done):
            wish._loop, wish._job = self, _Job(wish.make(), job.wave)
            shared = self._begin(wish._job)
        if shared.done:
            self._ready.append((job, shared.result, shared.error))
        else:
            shared.waiting.append(job)

    def _finish(self, job: _Job, result: Any, error: BaseException | None) -> None:
        job.done, job.result, job.error = True, result, error
        self._ready.extend((waiting, result, error) for waiting in job.waiting)
        parent = job.parent
        if parent is not None and all(part.done for part in parent.parts):
            problem = next((part.error for part in parent.parts if part.error is not None), None)
            self._ready.append((parent, [part.result for part in parent.parts], problem))

    def _dispatch(self) -> None:
        """Give each idle model the questions that have waited longest, once no job of their wave can go on."""
        moving = {job.wave for job, _, _ in self._ready}
        for key, batch in list(self._waiting.items()):
            wave, *_ = key
            if wave not in moving and not self._staff.is_busy(batch.model):
                del self._waiting[key]
                self._staff.begin(batch)

    def _deliver(self, batch: Batch) -> None:
        jobs, error = self._asking.pop(batch), batch.error
        if error is not None:
            # Each job raises it; all but the first would add to what the first has put on it.
            error = error.with_traceback(None)
        answers = [None] * len(jobs) if error is not None else batch.answers
        self._ready.extend((job, answer, error) for job, answer in zip(jobs, answers, strict=True))


def _close(job: _Job | None) -> None:
    while job is not None:
        job.task.close()
        for waiting in job.waiting:
            _close(waiting)
        job = job.parent
