"""The engine of a server: whose turn it is, what is computed together, what is given up, and when it says no."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Queue
from typing import Any

import pytest

from refdec import InputError, Pair
from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Tokens
from refdec.reflect.schedule import WAVES, Ask, Task
from refdec.reflect.workers import Answering
from refdec.serve.engine import Engine, Event, Order, Stage
from refdec.serve.errors import Busy, Closed
from tests.table_model import TableModel, random_table

SOON = 60.0
"""Seconds after which a test gives up waiting: far more than anything here takes."""


@pytest.fixture
def tables(tokens: Tokens) -> Pair:
    """Two tables, which answer nothing here: the answers are functions of the tests."""
    forward, backward = (TableModel(random_table(5, seed=0), direction) for direction in Direction)
    return Pair(forward, backward, tokens, "tables")


class Model:
    """Answers when it is allowed to, and remembers which questions came together."""

    def __init__(self, model: LanguageModel) -> None:
        self.batches: list[list[str]] = []
        self.asked = threading.Semaphore(0)  # a batch has begun
        self.allowed = threading.Semaphore(0)  # a batch may be answered
        self.ask: Callable[[LanguageModel, Sequence[str]], Answering[list[str]]] = self._answer
        self._model = model

    def _answer(self, _: LanguageModel, questions: Sequence[str]) -> Answering[list[str]]:
        self.batches.append(list(questions))
        self.asked.release()
        assert self.allowed.acquire(timeout=SOON)
        yield
        return list(questions)

    def piece(self, name: str, phases: int = 1) -> Callable[[Stage], Task[str]]:
        async def work(stage: Stage) -> str:
            for number in range(phases):
                stage(f"phase {number}")
                await Ask("phase", self._model, self.ask, name)
            return name.upper()

        return work

    def wait_until_asked(self) -> None:
        assert self.asked.acquire(timeout=SOON)

    def allow(self, batches: int = 1_000) -> None:
        self.allowed.release(batches)


@pytest.fixture
def model(tables: Pair) -> Model:
    return Model(tables.forward)


Start = Callable[..., Engine]


@pytest.fixture
def start(tables: Pair, model: Model) -> Iterator[Start]:
    engines: list[Engine] = []

    def begin(at_once: int = 1, most_waiting: int = 100) -> Engine:
        engines.append(Engine(tables, at_once, most_waiting))
        engines[-1].start()
        return engines[-1]

    yield begin
    model.allow()
    for engine in engines:
        engine.close()


def order(engine: Engine, *pieces: Callable[[Stage], Task[Any]]) -> tuple[Order, Queue[Event]]:
    events: Queue[Event] = Queue()
    made = Order(pieces, events.put)
    engine.submit(made)
    return made, events


def outcomes(events: Queue[Event], count: int) -> dict[int | None, Any]:
    """The results and errors of so many texts, by index."""
    result: dict[int | None, Any] = {}
    while len(result) < count:
        event = events.get(timeout=SOON)
        if not event.stage:
            result[event.index] = event.error or event.result
    return result


@pytest.mark.parametrize("at_once", [1, 4])
def test_every_text_of_every_order_gets_its_own_result(start: Start, model: Model, at_once: int) -> None:
    engine = start(at_once)
    model.allow()
    orders = [order(engine, *(model.piece(f"{name}{number}") for number in range(5)))[1] for name in "abcdef"]
    for name, events in zip("abcdef", orders, strict=True):
        assert outcomes(events, 5) == {number: f"{name}{number}".upper() for number in range(5)}
    assert (engine.waiting, engine.under_way, engine.finished) == (0, 0, 30)


def test_texts_that_wait_go_together_in_the_next_wave(start: Start, model: Model) -> None:
    engine = start(at_once=48)
    first = [order(engine, model.piece(f"first {number}")) for number in range(WAVES)]  # fill the waves
    model.wait_until_asked()
    later = [order(engine, model.piece(f"later {number}")) for number in range(10)]
    model.allow()
    for _, events in [*first, *later]:
        outcomes(events, 1)
    assert [f"later {number}" for number in range(10)] in model.batches


def test_on_a_cpu_every_text_is_computed_by_itself(start: Start, model: Model) -> None:
    engine = start(at_once=1)
    model.allow()
    _, events = order(engine, *(model.piece(str(number)) for number in range(10)))
    outcomes(events, 10)
    assert sorted(model.batches) == sorted([str(number)] for number in range(10))


def test_requests_take_turns_so_that_a_large_one_does_not_hold_up_a_small_one(start: Start, model: Model) -> None:
    engine = start(at_once=1)
    _, large = order(engine, *(model.piece(f"large {number}") for number in range(20)))
    model.wait_until_asked()
    _, small = order(engine, model.piece("small"))
    model.allow()
    outcomes(small, 1)
    outcomes(large, 20)
    assert model.batches.index(["small"]) <= WAVES + 1


def test_what_waits_too_long_is_refused_at_once(start: Start, model: Model) -> None:
    engine = start(at_once=1, most_waiting=2)
    orders = [order(engine, model.piece(str(number))) for number in range(WAVES + 2)]
    with pytest.raises(Busy) as refused:
        order(engine, model.piece("one too many"))
    assert 1 <= refused.value.seconds <= 600
    model.allow()
    assert [outcomes(events, 1) for _, events in orders] == [{0: str(number)} for number in range(WAVES + 2)]
    _, events = order(engine, model.piece("again"))
    assert outcomes(events, 1) == {0: "AGAIN"}


def test_an_order_that_is_cancelled_asks_nothing_more_and_others_go_on(start: Start, model: Model) -> None:
    engine = start(at_once=1)
    left, left_events = order(engine, *(model.piece(f"left {number}", phases=3) for number in range(6)))
    model.wait_until_asked()
    _, events = order(engine, model.piece("stays"))
    engine.cancel(left)
    model.allow()
    assert outcomes(events, 1) == {0: "STAYS"}
    asked = [name for batch in model.batches for name in batch]
    assert sum(name.startswith("left") for name in asked) <= 1  # the one that a model was working on
    assert (engine.given_up, engine.waiting, engine.under_way) == (6, 0, 0)
    assert all(event.stage for event in list(left_events.queue))
    engine.cancel(left)  # again, as its delivery does
    assert engine.given_up == 6


def test_an_error_belongs_to_its_text_alone(start: Start, model: Model) -> None:
    engine = start(at_once=4)

    async def fails(_: Stage) -> str:
        raise InputError("too long")

    model.allow()
    _, events = order(engine, model.piece("one"), fails, model.piece("two"))
    result = outcomes(events, 3)
    assert (result[0], str(result[1]), result[2]) == ("ONE", "too long", "TWO")


def test_stages_are_told_as_they_begin(start: Start, model: Model) -> None:
    engine = start()
    model.allow()
    _, events = order(engine, model.piece("one", phases=2))
    told = [events.get(timeout=SOON) for _ in range(3)]
    assert told == [Event(0, stage="phase 0"), Event(0, stage="phase 1"), Event(0, result="ONE")]


def test_an_engine_that_closes_tells_those_who_wait(start: Start, model: Model) -> None:
    engine = start()
    waiting = [order(engine, model.piece(str(number)))[1] for number in range(WAVES + 3)]
    model.wait_until_asked()
    closing = threading.Thread(target=engine.close)
    closing.start()
    for events in waiting:
        assert isinstance(outcomes(events, 1)[None], Closed)
    model.allow()
    closing.join(SOON)
    assert not engine.is_running
    with pytest.raises(Closed):
        order(engine, model.piece("late"))


def test_an_engine_whose_desk_breaks_down_fails_its_texts_and_works_on(
    start: Start, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = start()
    broken = threading.Event()

    class BreakdownError(Exception):
        pass

    def breaks(stage: Stage) -> Task[str]:
        work = model.piece("breaks")(stage)

        def turn(_: Any) -> None:
            monkeypatch.undo()
            broken.set()
            raise BreakdownError("the device is gone")

        monkeypatch.setattr("refdec.reflect.schedule.Desk._turn", turn)
        return work

    _, events = order(engine, breaks)
    assert isinstance(outcomes(events, 1)[None], BreakdownError)
    assert broken.is_set()
    model.allow()
    _, events = order(engine, model.piece("next"))
    assert outcomes(events, 1) == {0: "NEXT"}
