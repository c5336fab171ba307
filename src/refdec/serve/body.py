"""The body of a request, read before anybody parses it: at most so many bytes, in at most so many seconds, as JSON.

A wrapper around the application. Chunks are counted as they come, so a body without a length is bounded too. The JSON
is checked for depth and for numbers that are none before it becomes objects.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from refdec.serve.failures import Failure
from refdec.serve.limits import Limits

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.S)
_BRACKET = re.compile(rb"[\[\]{}]")


class BoundedBody:
    """Refuses bodies that are too large, too slow or not JSON; hands on those that are whole."""

    def __init__(self, app: ASGIApp, limits: Limits, forms: tuple[str, ...]) -> None:
        """Below `forms`, paths of pages with forms, other bodies than JSON are taken."""
        self._app, self._limits, self._forms = app, limits, forms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._whole(scope, receive)
        except Failure as failure:
            # The rest of the body is not read, so nothing else can come over this connection.
            response = failure.response()
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replay(body, receive), send)

    async def _whole(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None where the client has gone."""
        headers, limits = Headers(scope=scope), self._limits
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > limits.body_bytes:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > limits.body_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Failure(
                408, "slow", f"The request did not arrive within {limits.body_seconds:g} s.", "Send it in one go."
            ) from None
        if body and not scope["path"].startswith(self._forms):
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Failure(415, "type", "The request is not JSON.", "Send it with Content-Type: application/json.")
        return bytes(body)

    def _too_large(self) -> Failure:
        return Failure(
            413, "size", f"The request has more than {self._limits.body_bytes:,} bytes.", "Send fewer texts at a time."
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body once, and then whatever else comes."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed


def strict_json(body: bytes, depth: int) -> Any:
    """The value of a JSON text; refused are deep ones, numbers that are not finite, and bytes that are not UTF-8."""
    _check_depth(body, depth)
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise Failure(422, "json", f"The request is not JSON ({reason}).", "Send one JSON object.") from None


def _check_depth(body: bytes, most: int) -> None:
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        if depth > most:
            raise Failure(
                422, "depth", f"The request has more than {most} brackets inside brackets.", "Send a flat object."
            )


def _no_number(name: str) -> float:
    raise Failure(422, "number", f"{name} is not a number in JSON.", "Give a number, or leave the field out.")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Failure(422, "number", "A number is too large for a computer.", "Give a smaller number.")
    return value


def strict_route(depth: int) -> type[APIRoute]:
    """Routes whose requests are parsed by `strict_json`."""

    class StrictRequest(Request):
        async def json(self) -> Any:
            return strict_json(await self.body(), depth)

    class StrictRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Any]:
            handler = super().get_route_handler()

            async def strict(request: Request) -> Any:
                return await handler(StrictRequest(request.scope, request.receive))

            return strict

    return StrictRoute
