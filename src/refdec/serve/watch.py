"""Sees every request come and go: counts and times it, and answers what nobody foresaw.

The log has one line per request, with its method, its path, how it ended and how long it took. No text of a user is
in it, neither from a body nor from the part of an address behind the question mark.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from refdec.serve.failures import LOG, failure_of, log_unexpected

LEFT = 499
"""The status in log and metrics of a request whose client left before there was an answer."""

OTHER = "other"
"""Stands in metrics and log for paths that are not the server's: a stranger cannot fill them with names."""


class Watch:
    """The watch around an application."""

    def __init__(self, app: ASGIApp, named: Callable[[str], str], count: Callable[[str, int, float], None]) -> None:
        """`named` gives the name of a path in the log, `count` takes that name, the status and the seconds."""
        self._app, self._named, self._count = app, named, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = LEFT, time.monotonic()

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        except Exception as error:
            log_unexpected(error)
            if status == LEFT:
                await failure_of(error).response()(scope, receive, seen)
        finally:
            seconds, name = time.monotonic() - began, self._named(scope["path"])
            self._count(name, status, seconds)
            LOG.info("%s %s %d %.3f s", scope["method"], name, status, seconds)
