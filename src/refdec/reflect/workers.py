"""Who answers what tasks ask: threads on a CPU, streams on a GPU.

On a CPU each model has a thread and half of the cores. On a GPU launching kernels is what takes the time of the
processor, and threads would only fight over the interpreter: one thread serves both models, each in a stream of its
own. An answer is a generator that yields where it would wait for the device; there another one goes on.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import torch

from refdec.errors import ModelError
from refdec.lm.cost import Work
from refdec.lm.direction import Direction
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel

Result = TypeVar("Result")

Answering = Generator[None, None, Result]
"""Yields whenever it has given the device enough to do; returns the answers."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One batch that a model answered."""

    phase: str
    direction: Direction
    questions: int
    seconds: float
    work: Work


observers: list[Callable[[Observation], None]] = []
"""Called after every batch; this is how benchmarks measure."""


@dataclass(eq=False)
class Batch:
    """Questions of one kind to one model, and once it is done, the answers or what went wrong."""

    phase: str
    model: LanguageModel
    answer: Callable[[LanguageModel, Sequence[Any]], Answering[Sequence[Any]]]
    questions: list[Any]
    answers: Sequence[Any] = ()
    error: BaseException | None = None

    def run(self) -> Iterator[None]:
        """Answer everything, step by step."""
        began, before = time.perf_counter(), self.model.work
        try:
            self.answers = yield from self._answered(self.questions)
        except Exception as error:
            self.error = error
        seconds, work = time.perf_counter() - began, self.model.work - before
        for observe in observers:
            observe(Observation(self.phase, self.model.direction, len(self.questions), seconds, work))

    def _answered(self, questions: Sequence[Any]) -> Answering[Sequence[Any]]:
        """Answers to questions; where the memory of a GPU falls short, to one half after the other."""
        try:
            return (yield from self.answer(self.model, questions))
        except torch.cuda.OutOfMemoryError as error:
            shortage = error
        self.model.release()
        if len(questions) == 1:
            raise ModelError(
                f"The memory of {self.model.device} does not hold the {self.phase} of one text with these settings. "
                "Use fewer or shorter contexts, fewer samples, a smaller pair, or device cpu."
            ) from shortage
        half = len(questions) // 2
        first = yield from self._answered(questions[:half])
        return [*first, *(yield from self._answered(questions[half:]))]


def complete(answering: Answering[Result]) -> Result:
    """The answer of a generator, waiting for the device wherever it does."""
    try:
        while True:
            next(answering)
    except StopIteration as stop:
        result: Result = stop.value
        return result


class Workers(Protocol):
    def is_busy(self, model: LanguageModel) -> bool: ...

    def begin(self, batch: Batch) -> None:
        """Begin to answer; the model must not be busy."""

    def finished(self, may_wait: bool) -> list[Batch]:
        """Batches that are done by now; if it may wait and something is under way, at least one step further."""

    def close(self) -> None:
        """Come to an end; what is under way is finished or left."""


class Threads:
    """One thread a model. Each has half of torch's threads, whatever the other does."""

    active = 0
    usual = 0  # torch's threads while none is active

    def __init__(self, pair: Pair) -> None:
        if not Threads.active:
            Threads.usual = torch.get_num_threads()
            torch.set_num_threads(max(1, Threads.usual // 2))
        Threads.active += 1
        models = (pair.forward, pair.backward)
        self._pools = {id(model): ThreadPoolExecutor(1) for model in models}
        self._running: dict[int, tuple[Future[Any], Batch]] = {}

    def is_busy(self, model: LanguageModel) -> bool:
        return id(model) in self._running

    def begin(self, batch: Batch) -> None:
        self._running[id(batch.model)] = (self._pools[id(batch.model)].submit(deque, batch.run(), 0), batch)

    def finished(self, may_wait: bool) -> list[Batch]:
        if may_wait and self._running:
            wait([future for future, _ in self._running.values()], return_when=FIRST_COMPLETED)
        done = [model for model, (future, _) in self._running.items() if future.done()]
        return [self._running.pop(model)[1] for model in done]

    def close(self) -> None:
        if not self._pools:
            return
        for pool in self._pools.values():
            pool.shutdown()
        self._pools.clear()
        Threads.active -= 1
        if not Threads.active:
            torch.set_num_threads(Threads.usual)


class Streams:
    """One stream a model, all in one thread."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[Batch, Iterator[None], torch.cuda.Event]] = {}
        self._done: list[Batch] = []

    def is_busy(self, model: LanguageModel) -> bool:
        return id(model) in self._running

    def begin(self, batch: Batch) -> None:
        self._step(batch, batch.run(), torch.cuda.Event())  # type: ignore[no-untyped-call]

    def finished(self, may_wait: bool) -> list[Batch]:
        ready = [key for key, (_, _, event) in self._running.items() if event.query()]  # type: ignore[no-untyped-call]
        if may_wait and not ready and not self._done:
            ready = list(self._running)[:1]
        for key in ready:
            self._step(*self._running.pop(key))  # what has had its turn goes to the end
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        self._running.clear()

    def _step(self, batch: Batch, steps: Iterator[None], event: torch.cuda.Event) -> None:
        """Go on until the batch waits for the device again."""
        stream = _stream(batch.model)
        with torch.cuda.stream(stream):
            for _ in steps:
                event.record()
                self._running[id(batch.model)] = (batch, steps, event)
                return
            stream.synchronize()
            self._done.append(batch)


_STREAMS: WeakKeyDictionary[LanguageModel, torch.cuda.Stream] = WeakKeyDictionary()


def _stream(model: LanguageModel) -> torch.cuda.Stream:
    """The stream of a model; what it allocates there is used there."""
    if model not in _STREAMS:
        _STREAMS[model] = torch.cuda.Stream(model.device)  # type: ignore[no-untyped-call]
    return _STREAMS[model]


@contextlib.contextmanager
def workers(pair: Pair) -> Iterator[Workers]:
    """Those that suit the device of a pair."""
    found: Workers = Streams() if pair.forward.device.type == "cuda" else Threads(pair)
    try:
        yield found
    finally:
        found.close()
