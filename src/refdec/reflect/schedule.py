"""Many texts under way at once: each task is written for one text, and the models answer for many.

A task is a coroutine that awaits `Ask`: a question to a model and the function that answers many questions of its
kind. When every text of a wave waits for an answer, the questions of one kind to one model are answered as one batch.
Each pair has one `Desk`, which is the only way to its models: callers in several threads share it, so a model never
works on two batches at a time. docs/architecture.md shows a text on its way through it.

Knows the order of work, and nothing of what is asked.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.reflect.side import Side, both_sides
from refdec.reflect.workers import Answering, Batch, Failed, Workers, workers_for

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")

Task = Coroutine[Any, Any, Result]

WAVES = 3
"""Waves that one caller has under way: while the models answer one, the others do what is done between answers."""


@dataclass(frozen=True)
class Ask(Generic[Question, Answer]):
    """A question to a model, and the function that answers many of its kind at once; awaiting it gives the answer."""

    phase: str  # what the answer is for, in a word: errors and benchmarks name it
    model: LanguageModel
    answer: Callable[[LanguageModel, Sequence[Question]], Answering[Sequence[Answer]]]
    question: Question

    def __await__(self) -> Generator[Any, Any, Answer]:
        answer: Answer = yield self
        return answer


@dataclass(frozen=True)
class _Together(Generic[Result]):
    """Several coroutines that go on side by side; awaiting it gives their results in order."""

    parts: Sequence[Task[Result]]

    def __await__(self) -> Generator[Any, Any, list[Result]]:
        results: list[Result] = yield self
        return results


@dataclass(eq=False)
class Shared(Generic[Result]):
    """Work that several texts wait for and that is done once; awaiting it gives the result to each of them.

    Only a result is remembered: work that failed, or that was given up half done, is begun again by the next who asks.
    """

    make: Callable[[], Task[Result]]
    _walk: Walk[Result] | None = None

    def __await__(self) -> Generator[Any, Any, Result]:
        result: Result = yield self
        return result


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

    Tasks go in waves of `at_once`, whose questions are answered together. What a task raises is raised in its turn.
    """
    source = iter(tasks)
    with desk_of(pair).visit() as visit:
        waves: deque[deque[Walk[Result]]] = deque()
        most = WAVES if at_once > 1 else 1  # a single text goes alone first, so that somebody sees a result soon
        while True:
            while len(waves) < most and (wave := visit.begin_wave(itertools.islice(source, at_once))):
                waves.append(deque(wave))
            if not waves:
                return
            while waves[0]:
                visit.wait_for(waves[0][0])
                yield waves[0].popleft().outcome()
            waves.popleft()
            most = WAVES


class Wave(NamedTuple):
    """Texts that are asked together. In a line of waves the first goes before the others; lines take turns."""

    line: int
    number: int


@dataclass(eq=False)
class Walk(Generic[Result]):
    """A coroutine on its way through the phases: the task of a text, or a part of it."""

    task: Task[Result]
    wave: Wave
    parent: Walk[Any] | None = None
    parts: list[Walk[Any]] = field(default_factory=list)  # that it waits for
    waiting: list[Walk[Any]] = field(default_factory=list)  # for it, where its work is shared
    done: bool = False
    given_up: bool = False
    result: Any = None
    error: BaseException | None = None

    @property
    def root(self) -> Walk[Any]:
        """The walk that this is a part of, however deep."""
        return self if self.parent is None else self.parent.root

    def outcome(self) -> Result:
        """The result of a walk that is done; what went wrong is raised."""
        if self.error is not None:
            raise self.error
        result: Result = self.result
        return result

    def close(self) -> None:
        """End the coroutine and its parts where they stand."""
        for part in self.parts:
            part.close()
        self.task.close()
        self.given_up = True


_DESKS: WeakKeyDictionary[LanguageModel, Desk] = WeakKeyDictionary()
_FINDING = threading.Lock()


def desk_of(pair: Pair) -> Desk:
    """The desk of a pair. Pairs that share a model share the desk."""
    with _FINDING:
        desk = _DESKS.get(pair.forward) or _DESKS.get(pair.backward) or Desk(pair.forward.device.type)
        _DESKS[pair.forward] = _DESKS[pair.backward] = desk
        return desk


class Visit:
    """The texts of one caller at a desk; used in a `with` statement, whose end gives up what is still under way."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._line = desk.new_number()
        self._walks: set[Walk[Any]] = set()

    def __enter__(self) -> Visit:
        self._desk.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._desk.leave([walk for walk in list(self._walks) if not walk.done])  # others may join meanwhile

    def begin_wave(self, tasks: Iterable[Task[Result]]) -> list[Walk[Result]]:
        """Texts whose questions are answered together, and together with no others."""
        wave = Wave(self._line, self._desk.new_number())
        return self._join([Walk(task, wave) for task in tasks])

    def join(self, task: Task[Result]) -> Walk[Result]:
        """A text that may come at any time: it goes with the others that join before the next phase begins."""
        (walk,) = self._join([Walk(task, self._desk.open_wave)])
        return walk

    def give_up(self, walk: Walk[Any]) -> None:
        """Nobody waits for this text any more: it is dropped before the next phase."""
        self._walks.discard(walk)
        self._desk.departures.append(walk)

    def wait_for(self, walk: Walk[Any]) -> None:
        """Go on until a walk is done."""
        self._desk.go_on(lambda: walk.done)
        self._walks.discard(walk)

    def next_done(self) -> Walk[Any] | None:
        """Go on until any walk is done, and hand it out; None where none is under way."""
        self._desk.go_on(lambda: not self._walks or any(walk.done for walk in list(self._walks)))
        walk = next((walk for walk in list(self._walks) if walk.done), None)
        if walk is not None:
            self._walks.discard(walk)
        return walk

    def _join(self, walks: list[Walk[Result]]) -> list[Walk[Result]]:
        self._walks.update(walks)
        self._desk.arrivals.extend(walks)
        return walks


class Desk:
    """Where texts wait for the models of a pair: steps walks until they wait, and hands what they ask to the workers.

    Callers in several threads share it. One of them drives at a time, and drives everybody's texts; the others wait.
    """

    def __init__(self, device_type: str) -> None:
        self.arrivals: deque[Walk[Any]] = deque()  # joined since the last turn, by any thread
        self.departures: deque[Walk[Any]] = deque()  # given up since the last turn, by any thread
        self._device_type = device_type
        self._staff: Workers | None = None
        self._visits = 0
        self._driver: int | None = None  # the thread that drives
        self._changed = threading.Condition()  # a walk is done, or nobody drives
        self._numbers = itertools.count()
        self.open_wave = self._new_line()  # of those who join before the next turn
        self._ready: deque[tuple[Walk[Any], Any, BaseException | None]] = deque()
        self._waiting: dict[tuple[Wave, int, int, str], Batch] = {}  # by wave, model, kind and phase
        self._asking: dict[Batch, list[Walk[Any]]] = {}

    def visit(self) -> Visit:
        return Visit(self)

    def new_number(self) -> int:
        return next(self._numbers)

    def _new_line(self) -> Wave:
        """A wave in a line of its own."""
        return Wave(self.new_number(), self.new_number())

    def open(self) -> None:
        with self._changed:
            self._visits += 1
            if self._staff is None:
                self._staff = workers_for(self._device_type)

    def leave(self, walks: Iterable[Walk[Any]]) -> None:
        """The end of a visit; whoever drives then clears up after it."""
        self.departures.extend(walks)
        with self._changed:
            self._visits -= 1
            if self._driver is not None:
                return
            self._driver = threading.get_ident()
        self._hand_over()

    def go_on(self, until: Callable[[], bool]) -> None:
        """Drive, or wait for the thread that does, until a condition holds."""
        with self._changed:
            if self._driver == threading.get_ident():
                raise RuntimeError("A task, or what it calls, used the models of the pair that is running it.")
            while not until() and self._driver is not None:
                self._changed.wait()
            if until():
                return
            self._driver = threading.get_ident()
        try:
            while not until():
                self._turn()
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        """The end of driving: what was given up is dropped, and where no visit is open, everything."""
        with self._changed:
            try:
                self._drop_departures()
                if not self._visits:
                    self._close()
            finally:
                self._driver = None
                self._changed.notify_all()

    def _close(self) -> None:
        """Leave what is under way, so that no coroutine is forgotten half done."""
        if self._staff is not None:
            self._staff.close()
        for walk in [*self.arrivals, *itertools.chain(*self._asking.values()), *(walk for walk, _, _ in self._ready)]:
            walk.root.close()
        self._staff = None
        for store in (self.arrivals, self._ready, self._waiting, self._asking):
            store.clear()

    def _turn(self) -> None:
        """Let texts in and out, hand out questions, take answers, and go on with one walk; wait only if all wait."""
        assert self._staff is not None
        if self.arrivals:
            self.open_wave = self._new_line()
            while self.arrivals:
                self._begin(self.arrivals.popleft())
        self._drop_departures()
        self._dispatch(self._staff)
        for batch in self._staff.finished(may_wait=not self._ready):
            self._deliver(batch)
        if self._ready:
            self._step(*self._ready.popleft())

    def _drop_departures(self) -> None:
        while self.departures:
            self.departures.popleft().close()

    def _begin(self, walk: Walk[Any]) -> Walk[Any]:
        self._ready.append((walk, None, None))
        return walk

    def _step(self, walk: Walk[Any], value: Any, error: BaseException | None) -> None:
        if walk.given_up:
            return
        try:
            wish = walk.task.send(value) if error is None else walk.task.throw(error)
        except StopIteration as stop:
            self._finish(walk, stop.value, None)
        except Exception as problem:
            self._finish(walk, None, problem)
        except BaseException as problem:  # Ctrl-C is for whoever drives, and for whoever waits for this text
            self._finish(walk, None, problem)
            raise
        else:
            if isinstance(wish, Shared):
                self._share(walk, wish)
            elif isinstance(wish, _Together):
                walk.parts = [self._begin(Walk(part, walk.wave, walk)) for part in wish.parts]
            else:
                key = (walk.wave, id(wish.model), id(wish.answer), wish.phase)
                batch = self._waiting.setdefault(key, Batch(wish.phase, wish.model, wish.answer, []))
                batch.questions.append(wish.question)
                self._asking.setdefault(batch, []).append(walk)

    def _share(self, walk: Walk[Any], wish: Shared[Any]) -> None:
        shared = wish._walk
        if shared is None or shared.given_up or shared.error is not None:
            shared = wish._walk = self._begin(Walk(wish.make(), walk.wave))
        if shared.done:
            self._ready.append((walk, shared.result, None))
        else:
            shared.waiting.append(walk)

    def _finish(self, walk: Walk[Any], result: Any, error: BaseException | None) -> None:
        walk.result, walk.error, walk.done = result, error, True
        self._ready.extend((waiting, result, error) for waiting in walk.waiting)
        parent = walk.parent
        if parent is None:
            with self._changed:
                self._changed.notify_all()
        elif all(part.done for part in parent.parts):
            problem = next((part.error for part in parent.parts if part.error is not None), None)
            self._ready.append((parent, [part.result for part in parent.parts], problem))

    def _dispatch(self, staff: Workers) -> None:
        """Give each idle model questions to answer, once no walk of their wave can go on.

        The line that has waited longest comes first, and in a line the first wave, so that its results come first.
        """
        moving = {walk.wave for walk, _, _ in self._ready if not walk.given_up}
        turns: dict[int, int] = {}
        for wave, *_ in self._waiting:
            turns.setdefault(wave.line, len(turns))
        for key, batch in sorted(self._waiting.items(), key=lambda item: (turns[item[0][0].line], item[0][0].number)):
            if key[0] in moving or staff.is_busy(batch.model):
                continue
            del self._waiting[key]
            asked = [
                (walk, question)
                for walk, question in zip(self._asking[batch], batch.questions, strict=True)
                if not walk.given_up
            ]
            self._asking[batch] = [walk for walk, _ in asked]
            batch.questions = [question for _, question in asked]
            if asked:
                staff.begin(batch)
            else:
                del self._asking[batch]

    def _deliver(self, batch: Batch) -> None:
        for walk, answer in zip(self._asking.pop(batch), batch.answers, strict=True):
            failed = isinstance(answer, Failed)
            self._ready.append((walk, None if failed else answer, answer.error if failed else None))
