"""The process of a server: the address it listens on, how long clients may take, its log, and its end.

At the end, whoever still waits is told that the server is closing, and what a model computes is finished.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from refdec.errors import InputError
from refdec.serve.access import is_local
from refdec.serve.failures import LOG
from refdec.serve.limits import Limits

GRACE_SECONDS = 10
"""Seconds that answers under way may take at the end."""


def check_address(host: str, key: str | None) -> None:
    """Refuse to serve other machines without a key."""
    if key is None and not is_local(host):
        raise InputError(
            f"Other machines can reach a server on {host}, so it needs an API key. Put one into a file and name it "
            "with --api-key-file, or into REFDEC_API_KEY; or leave --host out, and it answers only to this machine."
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an `InputError` that says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(f"Nothing can listen on {host}, port {port} ({error.strerror}). Choose another one.") from None


def server_for(app: FastAPI) -> uvicorn.Server:
    """The server of an application; `run` serves until Ctrl-C or SIGTERM, which is raised again at the end.

    The state of the application has its limits, and its engine if it has one.
    """
    limits: Limits = app.state.limits
    config = uvicorn.Config(
        app,
        http=_impatient(limits),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return _Server(config, app)


def address_of(listening: socket.socket) -> str:
    """The address of the page, for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    """A server whose engine, if it has one, gives up its texts before the connections are closed."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._engine = getattr(app.state, "engine", None)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        LOG.info("closing")
        if self._engine is None:
            await super().shutdown(sockets)
            return
        closing = asyncio.ensure_future(asyncio.to_thread(self._engine.close))
        await super().shutdown(sockets)
        await closing


def _impatient(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol of a connection, which ends where headers do not arrive in time, or an answer is not read.

    uvicorn bounds the time between requests, but neither that of headers that come byte by byte, nor that of an answer
    whose reader has stopped.
    """

    class Impatient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            self._arriving = _Timer(limits.header_seconds, transport.abort)
            self._leaving = _Timer(limits.body_seconds, transport.abort)
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            self._arriving.stop()
            super().on_response_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._leaving.start()

        def resume_writing(self) -> None:
            self._leaving.stop()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._arriving.stop()
            self._leaving.stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Wait for headers as long as no request is being answered."""
            if self.cycle is None or self.cycle.response_complete:
                self._arriving.start()
            else:
                self._arriving.stop()

    return Impatient


class _Timer:
    """Calls a function some time after it was started, unless it is stopped before."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self._seconds, self._call = seconds, call
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """A timer that runs already goes on."""
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_later(self._seconds, self._call)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def set_up_log(quiet: bool) -> None:
    """One line per request on standard error, or nothing but faults."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    for name, level in (("refdec.serve", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(logging.ERROR if quiet else level)
        logger.handlers = [handler]
