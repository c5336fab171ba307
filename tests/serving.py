"""What tests of the server share: small settings, a server that listens in a thread, and raw connections to it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from refdec.serve import run
from tests.conftest import TINY

DESCRIBED = {name: value for name, value in TINY.items() if name != "samples"}
"""The tiny settings of tasks that generate nothing."""

QUICK: dict[str, Any] = {"preset": "fast", "settings": TINY}
"""What a request adds so that a text takes milliseconds."""

KEY = "a key of more than sixteen characters"

REQUESTS: dict[str, dict[str, Any]] = {
    "paraphrase": {"text": "Anna walked to the house in the morning.", **QUICK},
    "infill": {"text": "Anna walked to the house. ___ Why do people like the house?", **QUICK},
    "rewrite": {"document": "It was late. [[A friend was late for the market.]] Why?", **QUICK},
    "score": {"reference": "Anna walked to the house.", "candidates": ["Anna walked."], "settings": DESCRIBED},
    "diff": {"a": "Anna walked to the house.", "b": "Anna walked to the garden."},
    "fingerprint": {"text": "Anna walked to the house.", "preset": "fast", "settings": DESCRIBED},
}
"""A good request for each task."""

SOON = 120.0
"""Seconds after which a test gives up waiting: far more than anything here takes."""


def client_of(app: FastAPI, **options: Any) -> TestClient:
    return TestClient(app, base_url="http://localhost", **options)


def events_in(stream: str) -> list[tuple[str, dict[str, Any]]]:
    """The name and content of each server-sent event."""
    events = []
    for block in stream.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events


@contextmanager
def listening(app: FastAPI) -> Iterator[tuple[str, int]]:
    """The address of a server that runs in a thread."""
    with run.listen("127.0.0.1", 0) as socket_:
        server = run.server_for(app)
        thread = threading.Thread(target=server.run, args=([socket_],), daemon=True)
        thread.start()
        try:
            yield socket_.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join(SOON)


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=SOON) as connection:
        yield connection


def head(path: str, length: int | str, method: str = "POST", more: str = "") -> bytes:
    """The head of a request with a JSON body; its length is a number, or "chunked"."""
    size = "Transfer-Encoding: chunked" if length == "chunked" else f"Content-Length: {length}"
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{size}\r\n{more}\r\n"
    ).encode()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """The status and the body of an answer whose connection the server closes."""
    received = bytearray()
    try:
        while chunk := connection.recv(65_536):
            received += chunk
    except ConnectionResetError:  # the server closed while we were still sending
        pass
    start, _, body = bytes(received).partition(b"\r\n\r\n")
    return (int(start.split()[1]), body) if start else (0, b"")
