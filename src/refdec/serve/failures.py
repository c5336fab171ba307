"""What a client is told when a request fails: a kind, a message, a hint, and the status code that belongs to them.

Nothing else ever leaves the server: no traceback, and of an unexpected error not even its message, which may hold a
text of somebody. Knows errors and JSON.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from refdec.errors import InputError, OutOfMemory, RefdecError, SettingsError
from refdec.serve.errors import Busy, Closed

LOG = logging.getLogger("refdec.serve")

MOST_FAULTS = 3
"""Faults of a request that are named; a request can have thousands."""

LONGEST = 200
"""Characters of a name from a request that are repeated in a message."""


class Fault(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    message: str
    hint: str


class Refusal(BaseModel):
    """The answer to a request that failed."""

    model_config = ConfigDict(extra="forbid")

    error: Fault


STATUSES = {
    400: "not HTTP that this server understands, or for another host",
    401: "the key is missing or wrong",
    404: "nothing is there",
    405: "the address takes other methods",
    408: "the request came too slowly",
    413: "the request is too large",
    415: "the request is not JSON",
    422: "something in the request is wrong",
    429: "too many texts wait; Retry-After says when to come again",
    500: "a fault of the server",
    503: "the server is closing, or the machine is short of memory",
    504: "the request took too long and was given up",
}


class Failure(HTTPException):
    """A request that is refused with a status code."""

    def __init__(
        self, status: int, kind: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.kind, self.hint = kind, hint

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "message": self.detail, "hint": self.hint}

    def response(self) -> Response:
        return JsonResponse({"error": self.to_dict()}, self.status_code, self.headers)


class JsonResponse(JSONResponse):
    """JSON; halves of surrogate pairs, which are not UTF-8, are escaped."""

    def render(self, content: Any) -> bytes:
        return json_bytes(content)


def json_bytes(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def failure_of(error: Exception) -> Failure:
    """What a client is told of an error."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, HTTPException):
        return Failure(error.status_code, "http", f"{error.detail}.", "GET /openapi.json lists every address.")
    if isinstance(error, Busy):
        return Failure(429, "busy", str(error), "Wait, then send it again.", {"Retry-After": str(error.seconds)})
    if isinstance(error, Closed):
        return Failure(503, "closing", str(error), "Wait, then send it again.", {"Retry-After": "5"})
    if isinstance(error, OutOfMemory):
        return Failure(503, "memory", str(error), "Ask for less, or wait.", {"Retry-After": "30"})
    if isinstance(error, InputError):
        return Failure(422, "input", str(error), "Change the text and send it again.")
    if isinstance(error, SettingsError):
        return Failure(422, "settings", str(error), "GET /v1/models says which settings this server takes.")
    if isinstance(error, RefdecError):
        return Failure(422, "refused", str(error))
    return Failure(
        500, "internal", "Something went wrong on the server.", "Its log says where; the request is in order."
    )


def misshapen(faults: Sequence[Mapping[str, Any]]) -> Failure:
    """A request that does not have the form that its task asks for: where, and what is wrong there."""
    named = []
    for fault in faults[:MOST_FAULTS]:
        place = ".".join(str(part)[:LONGEST] for part in fault["loc"][1:]) or "the request"
        named.append(f"{place}: {str(fault['msg'])[:LONGEST]}")
    more = len(faults) - MOST_FAULTS
    message = "; ".join([*named, *([f"and {more} more"] if more > 0 else [])])
    return Failure(422, "form", f"{message}.", "GET /openapi.json has the form of every request.")


def log_unexpected(error: BaseException) -> None:
    """The kind of an unexpected error and where it came from. Its message may hold a text of a user: not that."""
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-3:]))
    LOG.error("unexpected %s at %s", type(error).__name__, place or "an unknown place")
