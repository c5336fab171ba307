"""What answers the questions of tasks: threads on a CPU, streams on a GPU.

On a CPU each model has a thread and half of the cores. On a GPU the processor is busy launching kernels, and threads
would only fight over the interpreter: one thread serves both models, each in a stream of its own. The function that
answers is a generator: it yields where it would wait for the device, and there the other model's batch goes on.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import torch

from refdec.errors import OutOfMemory
from refdec.lm.cost import Work
from refdec.lm.device import is_out_of_memory
from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel
from refdec.reflect.memory import measure_again

Result = TypeVar("Result")

Answering = Generator[None, None, Result]
"""Yields whenever it has given the device enough to do; returns the answers."""


WAITS = (0, 1, 4)
"""Seconds before each try to answer one question in memory that falls short: another program may give some back."""


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


@dataclass(frozen=True)
class Failed:
    """Stands for the answer to a question that could not be answered."""

    error: BaseException


@dataclass(eq=False)
class Batch:
    """Questions of one kind to one model, and once it is done, an answer or a failure for each."""

    phase: str
    model: LanguageModel
    answer: Callable[[LanguageModel, Sequence[Any]], Answering[Sequence[Any]]]
    questions: list[Any]
    answers: Sequence[Any] = ()

    def run(self) -> Iterator[None]:
        """Answer everything, step by step."""
        began, before = time.perf_counter(), self.model.work
        try:
            self.answers = yield from self._answered(self.questions)
        except BaseException as error:
            # Each walk raises it: one that had the traceback of another would grow with every text.
            self.answers = [Failed(error.with_traceback(None))] * len(self.questions)
            if not isinstance(error, Exception):
                raise
        seconds, work = time.perf_counter() - began, self.model.work - before
        for observe in observers:
            observe(Observation(self.phase, self.model.direction, len(self.questions), seconds, work))

    def _answered(self, questions: Sequence[Any]) -> Answering[Sequence[Any]]:
        """Answers to questions; where memory falls short, to one half after the other, and alone after some waiting."""
        for seconds in WAITS if len(questions) == 1 else WAITS[:1]:
            time.sleep(seconds)
            try:
                return (yield from self.answer(self.model, questions))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            self.model.release()
            measure_again(self.model.device)
        if len(questions) == 1:
            shortage = OutOfMemory(
                f"The memory of {self.model.device} does not hold the {self.phase} of one text with these settings. "
                "Use fewer or shorter contexts, fewer samples, a smaller pair, or device cpu; or wait until other "
                "programs need less of it."
            )
            return [Failed(shortage)]
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
    """One thread per model, each with half of torch's threads, whatever the other does."""

    counting = threading.Lock()
    active = 0  # staffs of threads in this process
    usual = 0  # torch's threads while there is none

    def __init__(self) -> None:
        with Threads.counting:
            if not Threads.active:
                Threads.usual = torch.get_num_threads()
                torch.set_num_threads(max(1, Threads.usual // 2))
            Threads.active += 1
        self._pools: dict[int, ThreadPoolExecutor] = {}  # by model
        self._running: dict[int, tuple[Future[Any], Batch]] = {}

    def is_busy(self, model: LanguageModel) -> bool:
        return id(model) in self._running

    def begin(self, batch: Batch) -> None:
        model = id(batch.model)
        if model not in self._pools:
            self._pools[model] = ThreadPoolExecutor(1)
        self._running[model] = (self._pools[model].submit(deque, batch.run(), 0), batch)

    def finished(self, may_wait: bool) -> list[Batch]:
        if may_wait and self._running:
            wait([future for future, _ in self._running.values()], return_when=FIRST_COMPLETED)
        done = [model for model, (future, _) in self._running.items() if future.done()]
        return [self._running.pop(model)[1] for model in done]

    def close(self) -> None:
        for pool in self._pools.values():
            pool.shutdown()
        with Threads.counting:
            Threads.active -= 1
            if not Threads.active:
                torch.set_num_threads(Threads.usual)


class Streams:
    """One stream per model, all driven by one thread."""

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
            try:
                for _ in steps:
                    event.record()
                    self._running[id(batch.model)] = (batch, steps, event)
                    return
                stream.synchronize()
            finally:
                if id(batch.model) not in self._running:
                    self._done.append(batch)


_STREAMS: WeakKeyDictionary[LanguageModel, torch.cuda.Stream] = WeakKeyDictionary()


def _stream(model: LanguageModel) -> torch.cuda.Stream:
    """The stream of a model; what it allocates there is used there."""
    if model not in _STREAMS:
        _STREAMS[model] = torch.cuda.Stream(model.device)  # type: ignore[no-untyped-call]
    return _STREAMS[model]


def workers_for(device_type: str) -> Workers:
    """The workers that suit a device."""
    return Streams() if device_type == "cuda" else Threads()
