"""One thread that works off the texts of all requests, so that they share the models of a pair.

Texts go to the desk of the pair in waves, as those of `Reflector` do: what waits when a wave has room goes together,
many texts on a GPU and one on a CPU, which one text fills. Requests that wait take turns, text by text. More than a
fixed number of texts never wait; and when nobody wants a text any more, it is given up before its next phase.

Knows coroutines and the order of work; nothing of HTTP, and nothing of what a text is.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from refdec.lm.pair import Pair
from refdec.reflect.schedule import WAVES, Task, Visit, Walk, desk_of
from refdec.serve.errors import Busy, Closed

Stage = Callable[[str], None]

SMOOTHING = 0.1
"""Weight of the latest text in the mean time between two that are done."""

LONGEST_WAIT = 600
"""Seconds after which, at the latest, a client that was refused may ask again."""


CLOSING = "The server is closing. Ask again when it is back."


@dataclass(frozen=True)
class Event:
    """What happened to a text of an order: it began a stage, has its result, or failed.

    An error without an index ends the whole order.
    """

    index: int | None = None
    stage: str = ""
    result: Any = None
    error: Exception | None = None


@dataclass(eq=False)
class Order:
    """The texts of one request: for each, what makes its coroutine, given a function that is told of its stages.

    `report` is called with each event, in the thread of the engine.
    """

    pieces: Sequence[Callable[[Stage], Task[Any]]]
    report: Callable[[Event], None]
    begun: int = 0  # pieces that were handed to the desk
    cancelled: bool = False


@dataclass(eq=False)
class Engine:
    """The thread of a pair. Started by `start`; `close` gives up whatever is left."""

    pair: Pair
    at_once: int  # texts in a wave
    most_waiting: int
    finished: int = 0  # texts that were done since the start
    given_up: int = 0  # texts that nobody wanted any more
    _changed: threading.Condition = field(default_factory=threading.Condition)  # its lock is reentrant
    _orders: list[Order] = field(default_factory=list)  # with pieces that wait; the first one is next
    _under_way: dict[Walk[Any], tuple[Order, int, int]] = field(default_factory=dict)  # order, piece, wave
    _waves: itertools.count[int] = field(default_factory=itertools.count)
    _visit: Visit | None = None
    _closing: bool = False
    _thread: threading.Thread | None = None
    _pace: float = 1.0  # seconds between two texts that are done
    _last: float = 0.0  # when the latest was done, or the first of a busy time began

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="refdec engine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Give up all texts and end the thread; what a model computes at this moment is finished first."""
        with self._changed:
            self._closing = True
            for order in {*self._orders, *self._owners()}:
                self._fail(order, Closed(CLOSING))
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self._closing

    @property
    def waiting(self) -> int:
        """Texts that wait for the models."""
        with self._changed:
            return self._count_waiting()

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    def check_room(self, texts: int = 1) -> None:
        """Raise `Busy` where so many more texts may not wait; an order that is alone may have any number."""
        with self._changed:
            if self._closing:
                raise Closed(CLOSING)
            waiting = self._count_waiting()
            if waiting and waiting + texts > self.most_waiting:
                raise Busy(min(LONGEST_WAIT, max(1, math.ceil(self._pace * waiting))))

    def submit(self, order: Order) -> None:
        """Take an order, or refuse it at once with `Busy`."""
        with self._changed:
            self.check_room(len(order.pieces))
            if not self._under_way:
                self._last = time.monotonic()
            self._orders.append(order)
            self._admit()
            self._changed.notify_all()

    def cancel(self, order: Order) -> None:
        """Nobody waits for this order any more."""
        with self._changed:
            if not order.cancelled:
                self.given_up += self._drop(order)
                self._admit()

    def _count_waiting(self) -> int:
        return sum(len(order.pieces) - order.begun for order in self._orders)

    def _drop(self, order: Order) -> int:
        """Take an order out; the number of texts that it had left."""
        order.cancelled = True
        left = len(order.pieces) - order.begun if order in self._orders else 0
        self._orders = [other for other in self._orders if other is not order]
        for walk in [walk for walk, (owner, _, _) in self._under_way.items() if owner is order]:
            del self._under_way[walk]
            left += 1
            if self._visit is not None:
                self._visit.give_up(walk)
        return left

    def _fail(self, order: Order, error: Exception) -> None:
        """Take an order out and tell it why."""
        self._drop(order)
        order.report(Event(error=error))

    def _admit(self) -> None:
        """Hand waiting texts to the desk while there is room for a wave, one of each order in turn."""
        while self._visit is not None and self._orders and len(self._live_waves()) < WAVES:
            chosen: list[tuple[Order, int]] = []
            while self._orders and len(chosen) < self.at_once:
                order = self._orders.pop(0)
                chosen.append((order, order.begun))
                order.begun += 1
                if order.begun < len(order.pieces):
                    self._orders.append(order)
            wave = next(self._waves)
            walks = self._visit.begin_wave([_task(order, index) for order, index in chosen])
            self._under_way |= {walk: (*piece, wave) for walk, piece in zip(walks, chosen, strict=True)}

    def _owners(self) -> set[Order]:
        """The orders that have texts under way."""
        return {order for order, _, _ in self._under_way.values()}

    def _live_waves(self) -> set[int]:
        return {wave for _, _, wave in self._under_way.values()}

    def _run(self) -> None:
        while not self._closing:
            try:
                with desk_of(self.pair).visit() as visit:
                    self._drive(visit)
            except Exception as error:  # of the desk itself, not of a text: the texts under way are lost
                with self._changed:
                    self._visit = None
                    for order in self._owners():
                        self._fail(order, error)

    def _drive(self, visit: Visit) -> None:
        with self._changed:
            self._visit = visit
            self._admit()
        while True:
            walk = visit.next_done()
            with self._changed:
                if walk is not None:
                    self._finish(walk)
                    self._admit()
                    continue
                while not self._under_way and not self._closing:
                    self._changed.wait()
                if self._closing:
                    self._visit = None
                    return

    def _finish(self, walk: Walk[Any]) -> None:
        """Tell the order of a walk what came of it, unless nobody waits for it."""
        order, index, _ = self._under_way.pop(walk, (None, 0, 0))
        if order is None:
            return
        now = time.monotonic()
        self._pace += SMOOTHING * (now - self._last - self._pace)
        self._last = now
        self.finished += 1
        try:
            event = Event(index, result=walk.outcome())
        except Exception as error:
            event = Event(index, error=error)
        order.report(event)


def _task(order: Order, index: int) -> Task[Any]:
    return order.pieces[index](lambda stage: order.report(Event(index, stage=stage)))
