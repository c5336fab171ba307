"""An order and the client that waits for it: all results in one piece, or each as a server-sent event as it comes.

A client that leaves, and one whose time is over, takes its texts out of the engine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from refdec.serve.engine import Engine, Event, Order
from refdec.serve.failures import Failure, failure_of, json_bytes, log_unexpected
from refdec.serve.pieces import Piece

ALIVE_SECONDS = 15.0
"""A stream with nothing to say says so after this time: proxies close what is silent."""


class Gone(Exception):  # noqa: N818
    """The client has left; there is nobody to answer."""


class Delivery:
    """The events of one order. `close` must be called at the end; it gives up what is left."""

    def __init__(self, engine: Engine, pieces: Sequence[Piece], seconds: float) -> None:
        """Raises `Busy` where the engine takes no more."""
        loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._engine, self._count, self._seconds = engine, len(pieces), seconds
        self._until = time.monotonic() + seconds

        def report(event: Event) -> None:
            with suppress(RuntimeError):  # the loop has come to its end, and with it the client
                loop.call_soon_threadsafe(self._events.put_nowait, event)

        self._order = Order([piece.begin for piece in pieces], report)
        engine.submit(self._order)

    def close(self) -> None:
        self._engine.cancel(self._order)

    async def results(self, receive: Receive) -> list[Any]:
        """All results in their order. The first error ends the order; where the client leaves, `Gone` is raised."""
        collecting = asyncio.ensure_future(self._collected())
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({collecting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if collecting.done():
                return collecting.result()
            raise Gone
        finally:
            collecting.cancel()
            leaving.cancel()
            self.close()

    async def _collected(self) -> list[Any]:
        results: dict[int, Any] = {}
        while len(results) < self._count:
            event = await self._next()
            if event.error is not None:
                raise self._failure(event)
            if event.index is not None and not event.stage:
                results[event.index] = event.result
        return [results[index] for index in range(self._count)]

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events: `progress`, `result` and `error` for each text, and `done` at the end."""
        done: set[int] = set()
        try:
            while len(done) < self._count:
                try:
                    event = await asyncio.wait_for(self._next(), ALIVE_SECONDS)
                except TimeoutError:
                    yield b": still working\n\n"
                    continue
                if event.error is not None:
                    yield _sent("error", {"index": event.index, "error": self._failure(event).to_dict()})
                elif event.stage:
                    yield _sent("progress", {"index": event.index, "stage": event.stage})
                else:
                    yield _sent("result", {"index": event.index, "result": event.result})
                if event.index is None:
                    break
                if not event.stage:
                    done.add(event.index)
            yield _sent("done", {})
        finally:
            self.close()

    async def _next(self) -> Event:
        """The next event; when the time is over, an error of the whole order."""
        try:
            async with asyncio.timeout(max(0.0, self._until - time.monotonic())):
                return await self._events.get()
        except TimeoutError:
            words = f"The request took more than {self._seconds:g} s and was given up."
            return Event(error=Failure(504, "time", words, "Ask for fewer texts, contexts or samples at a time."))

    def _failure(self, event: Event) -> Failure:
        assert event.error is not None
        failure = failure_of(event.error)
        if failure.status_code == 500:
            log_unexpected(event.error)
        if event.index is not None and self._count > 1:
            failure.detail = f"Text {event.index + 1} of {self._count}: {failure.detail}"
        return failure


class EventStream(Response):
    """The response that sends a delivery as server-sent events, until all is said or the client has left."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__()
        self._delivery = delivery

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            leaving.cancel()
            self._delivery.close()

    async def _send(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for chunk in self._delivery.stream():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _sent(name: str, content: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(content) + b"\n\n"
