"""Rating studies on their own: a small server that loads no language model.

`refdec study serve` runs it. An app that has other pages too includes `router` instead.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI, Request, Response

from refdec.errors import InputError
from refdec.serve.studies.router import not_found, router
from refdec.serve.studies.store import Study

CONNECTIONS = 512
"""Connections at a time; one more is refused at once."""


def app(studies: Sequence[Study]) -> FastAPI:
    """The app of these studies alone."""
    own = FastAPI(title="refdec rating studies", docs_url=None, redoc_url=None, openapi_url=None)
    own.include_router(router(studies))

    @own.exception_handler(404)
    def nowhere(request: Request, _: Exception) -> Response:
        return not_found(request)

    return own


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 is any that is free."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{host}:{port} cannot be served ({reason}). Choose another --port or --host.") from error


def run(studies: Sequence[Study], listening: socket.socket) -> None:
    """Serve until the process is stopped. Nothing is logged but faults: addresses carry tokens."""
    config = uvicorn.Config(
        app(studies),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listening])
