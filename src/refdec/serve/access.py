"""Who may come in: the key of the server, in a header or in the cookie that the page gets for it.

A server without a key answers only to names of this machine, so that a page elsewhere cannot reach it by a name that it
controls. Knows keys and addresses; nothing of tasks.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from refdec.errors import InputError
from refdec.serve.failures import Failure
from refdec.serve.signatures import signed, unsigned

LEAST_CHARACTERS = 16
"""Characters of a key, at least: a shorter one can be guessed."""

COOKIE = "refdec_session"
SESSION = "refdec session"
SESSION_SECONDS = 12 * 3600

OPEN = ("/", "/health", "/openapi.json", "/v1/session")
"""Paths that need no key: they show and do nothing."""

STUDIES = "/studies/"
"""Every address of a study begins with it."""

OPEN_BELOW = ("/static/", STUDIES)
"""Paths below these need no key: files of the page, and studies, whose links carry a token of their own."""


@dataclass(frozen=True)
class Key:
    """The key of a server. It is compared in constant time, and never written anywhere."""

    secret: str

    def __post_init__(self) -> None:
        if len(self.secret) < LEAST_CHARACTERS or not self.secret.isascii() or not self.secret.isprintable():
            raise InputError(
                f"The API key must have at least {LEAST_CHARACTERS} characters, ASCII and no control characters. "
                "Make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )

    def __repr__(self) -> str:
        return "Key(...)"

    def is_right(self, given: str) -> bool:
        return hmac.compare_digest(_digest(given), _digest(self.secret))

    def session(self, now: float) -> str:
        """What the cookie of a browser holds: until when it is good, signed with the key. It is not the key."""
        return signed(str(int(now) + SESSION_SECONDS), self.secret, SESSION)

    def is_session(self, given: str, now: float) -> bool:
        until = unsigned(given, self.secret, SESSION)
        return until is not None and now < int(until)


def _digest(text: str) -> bytes:
    """Of one length, so that comparing says nothing of the length of a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_local(host: str) -> bool:
    """Whether an address is one of this machine that no other machine reaches."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Gate:
    """Lets requests through that may come in: with the key where there is one, else by a name of this machine."""

    def __init__(self, app: ASGIApp, key: Key | None, now: Callable[[], float] = time.time) -> None:
        self._app, self._key, self._now = app, key, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            failure = self._refusal(scope["path"], Headers(scope=scope))
            if failure is not None:
                await failure.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> Failure | None:
        if self._key is None:
            host = headers.get("host", "localhost")
            if is_local(host if host.endswith("]") else host.rpartition(":")[0] or host):
                return None
            hint = "Call it by localhost, or start it with an API key."
            return Failure(400, "host", "This server has no key and answers only to this machine.", hint)
        if path in OPEN or path.startswith(OPEN_BELOW):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._key.is_right(given.strip()):
            return None
        if self._key.is_session(_cookie(headers), self._now()):
            return None
        hint = "Send the header Authorization: Bearer KEY."
        return Failure(401, "key", "The API key is missing or wrong.", hint, {"WWW-Authenticate": "Bearer"})


def _cookie(headers: Headers) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""
