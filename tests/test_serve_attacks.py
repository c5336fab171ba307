"""What a stranger may send: each attack is refused, or served safely, and the next request is answered as before."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse
from starlette.testclient import TestClient

from refdec import Reflector
from refdec.serve.app import create_app
from refdec.serve.limits import Limits
from tests.serving import DESCRIBED, QUICK, REQUESTS, SOON, answer, client_of, connected, head, listening
from tests.small_pair import small_texts

SMALL = Limits(body_bytes=100_000)
IMPATIENT = Limits(body_seconds=1.0, header_seconds=1.0)


@pytest.fixture(scope="module")
def client(small_reflector: Reflector) -> Iterator[TestClient]:
    with client_of(create_app(small_reflector)) as client:
        yield client


@pytest.fixture(scope="module")
def app(small_reflector: Reflector) -> FastAPI:
    return create_app(small_reflector, SMALL)


@pytest.fixture(scope="module")
def address(app: FastAPI) -> Iterator[tuple[str, int]]:
    """A server that listens."""
    with listening(app) as address:
        yield address


@pytest.fixture(scope="module")
def impatient(small_reflector: Reflector) -> Iterator[tuple[str, int]]:
    """A server with little patience; on a busy machine, a good request could lose it too."""
    with listening(create_app(small_reflector, IMPATIENT)) as address:
        yield address


def post(address: tuple[str, int], task: str, request: dict[str, Any]) -> tuple[int, bytes]:
    body = json.dumps(request).encode()
    with connected(address) as connection:
        connection.sendall(head(f"/v1/{task}", len(body), more="Connection: close\r\n") + body)
        return answer(connection)


@pytest.fixture(autouse=True)
def unharmed(request: pytest.FixtureRequest) -> Iterator[None]:
    """After an attack the server does what it did before."""
    yield
    good = REQUESTS["diff"]
    if "address" in request.fixturenames:
        assert post(request.getfixturevalue("address"), "diff", good)[0] == 200
    if "client" in request.fixturenames:
        assert request.getfixturevalue("client").post("/v1/diff", json=good).status_code == 200


HUGE = 5_000_000


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("paraphrase", ["contexts", "context_tokens", "kept_contexts", "samples", "populations", "rounds"]),
        ("paraphrase", ["extra_tokens", "echo_contexts", "entropy"]),
        ("infill", ["tokens", "sentences", "most_words", "least_words", "no_repeat"]),
        ("score", ["resamples", "contexts"]),
        ("fingerprint", ["contexts", "context_tokens"]),
    ],
)
@pytest.mark.parametrize("count", [HUGE, -HUGE, 10**400])
def test_huge_counts_are_refused(client: TestClient, task: str, names: list[str], count: int) -> None:
    for name in names:
        changed = REQUESTS[task] | {"settings": DESCRIBED | {name: count}}
        refused = client.post(f"/v1/{task}", json=changed)
        assert refused.status_code == 422
        assert f"settings.{name}: Input should be" in refused.json()["error"]["message"]
    if task in ("paraphrase", "infill"):
        for name in ("top", "explain"):
            refused = client.post(f"/v1/{task}", json=REQUESTS[task] | {name: count})
            assert refused.status_code == 422


def test_settings_that_are_each_allowed_may_not_multiply(client: TestClient) -> None:
    settings = {"contexts": 2000, "context_tokens": 100, "kept_contexts": 64, "samples": 500, "rounds": 4}
    texts = small_texts(50)
    tight = client_of(create_app(Reflector(_pair(client)), Limits(teraflops=1.0)))
    with tight:
        refused = tight.post("/v1/paraphrase", json={"texts": texts, "preset": "fast", "settings": settings})
    assert refused.status_code == 422
    assert "TFLOP" in refused.json()["error"]["message"]


def _pair(client: TestClient) -> Any:
    app: Any = client.app
    return app.state.engine.pair


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000, "0x10", "1_000", "٣", '"NaN"', '"1"']
)
def test_numbers_that_are_none_are_refused(client: TestClient, number: str) -> None:
    for field in ('"novelty": %s', '"confidence": %s', '"settings": {"entropy": %s}', '"settings": {"contexts": %s}'):
        body = '{"text": "Why?", ' + field % number + "}"
        refused = client.post("/v1/paraphrase", content=body.encode(), headers={"Content-Type": "application/json"})
        assert refused.status_code == 422, body[:80]
        assert len(refused.text) < 1000


def test_half_a_million_words_to_avoid_are_refused(client: TestClient) -> None:
    words = [f"w{number}" for number in range(120_000)]  # what fits into a body
    for name in ("keep", "avoid", "automatic"):
        refused = client.post("/v1/paraphrase", json=REQUESTS["paraphrase"] | {"constraints": {name: words}})
        assert refused.status_code in (413, 422)
        assert len(refused.text) < 1000
    everything = {"avoid": ["the"] * 500_000}
    assert client.post("/v1/paraphrase", json={"text": "Why?", "constraints": everything}).status_code == 413


def test_many_texts_and_long_ones_are_refused(client: TestClient) -> None:
    for task, request in (
        ("paraphrase", {"texts": ["Why?"] * 51}),
        ("paraphrase", {"text": "a" * 5001}),
        ("score", {"reference": "Why?", "candidates": ["Why?"] * 51}),
        ("diff", {"pairs": [["a", "b"]] * 51}),
    ):
        assert client.post(f"/v1/{task}", json=request).status_code == 422


def test_texts_that_take_long_to_compare_are_refused(client: TestClient) -> None:
    for text in ("5 " * 2500, "1," * 2500, "%(" * 2500, "$1." * 1600):
        refused = client.post("/v1/diff", json={"a": text, "b": f"a{text[2:]}"})
        assert refused.status_code == 422
        assert "too many to be compared" in refused.json()["error"]["message"]


@pytest.mark.parametrize("length", ["announced", "chunked"])
def test_a_body_of_100_mb_is_refused_before_it_is_read(address: tuple[str, int], length: str) -> None:
    size = 100_000_000
    with connected(address) as connection:
        connection.sendall(head("/v1/diff", size if length == "announced" else "chunked"))
        block = b"x" * 65_536
        sent = 0
        try:
            while sent < size:
                connection.sendall(b"%x\r\n%s\r\n" % (len(block), block) if length == "chunked" else block)
                sent += len(block)
        except (BrokenPipeError, ConnectionResetError):  # the server has answered and closed
            pass
        status, body = answer(connection)
    assert sent < size / 2  # what the kernel takes before it tells
    assert status in (413, 0)  # the answer itself can be lost where data come after the end
    assert not body or json.loads(body)["error"]["kind"] == "size"
    with connected(address) as connection:  # without more data, it arrives
        connection.sendall(head("/v1/diff", size))
        assert answer(connection)[0] == 413


@pytest.mark.parametrize("length", ["announced", "chunked"])
def test_a_body_that_trickles_in_is_given_up(impatient: tuple[str, int], length: str) -> None:
    with connected(impatient) as connection:
        connection.sendall(head("/v1/diff", 1000 if length == "announced" else "chunked"))
        began = time.monotonic()
        connection.sendall(b"1\r\n{\r\n" if length == "chunked" else b"{")
        status, body = answer(connection)
    assert (status, json.loads(body)["error"]["kind"]) == (408, "slow")
    assert time.monotonic() - began >= IMPATIENT.body_seconds


def test_slow_bodies_do_not_hold_up_others(address: tuple[str, int]) -> None:
    slow = [socket.create_connection(address, timeout=SOON) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(head("/v1/diff", 1000) + b"{")
        assert post(address, "diff", REQUESTS["diff"])[0] == 200
    finally:
        for connection in slow:
            connection.close()


def test_headers_that_trickle_in_are_given_up(impatient: tuple[str, int]) -> None:
    with connected(impatient) as connection:
        connection.sendall(b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\n")
        assert answer(connection) == (0, b"")
    with connected(impatient) as connection:  # also those of a second request
        body = json.dumps(REQUESTS["diff"]).encode()
        connection.sendall(head("/v1/diff", len(body)) + body)
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.sendall(b"POST /v1/diff HTTP/1.1\r\nX: ")
        while connection.recv(65_536):  # the rest of the first answer, and then the end
            pass


def test_a_connection_that_says_nothing_is_closed(impatient: tuple[str, int]) -> None:
    with connected(impatient) as connection:
        assert answer(connection) == (0, b"")


def test_a_client_that_stops_reading_is_let_go() -> None:
    endless = FastAPI()
    endless.state.limits = IMPATIENT
    ended = threading.Event()

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1_000_000
            await asyncio.sleep(0)

    @endless.get("/")
    async def stream() -> StreamingResponse:
        return StreamingResponse(chunks(), background=BackgroundTask(ended.set))

    with listening(endless) as address, connected(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert ended.wait(SOON)


@pytest.mark.parametrize("flood", ["one long", "many", "long path", "no end"])
def test_floods_of_headers_are_refused(address: tuple[str, int], flood: str) -> None:
    many = {
        "one long": b"GET /health HTTP/1.1\r\nX: " + b"a" * 3_000_000,
        "many": b"GET /health HTTP/1.1\r\n" + b"X-A: b\r\n" * 400_000,
        "long path": b"GET /" + b"a" * 3_000_000 + b" HTTP/1.1\r\n",
        "no end": b"a" * 3_000_000,
    }
    with connected(address) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(many[flood])
        assert answer(connection)[0] in (0, 400)


@pytest.mark.parametrize(
    "junk",
    [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET /\x00 HTTP/1.1\r\n\r\n", b"\r\n" * 1000, b"\x00" * 100],
)
def test_what_is_not_http_is_refused(address: tuple[str, int], junk: bytes) -> None:
    with connected(address) as connection:
        connection.sendall(junk)
        assert answer(connection)[0] in (0, 400)


@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_deep_json_is_refused(client: TestClient, brackets: str) -> None:
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")
    for depth in (20, 1_000, 100_000):
        for body in (opening * depth + "1" + closing * depth, '{"fingerprint": ' + opening * depth):
            refused = client.post("/v1/paraphrase", content=body.encode(), headers={"Content-Type": "application/json"})
            assert (refused.status_code, refused.json()["error"]["kind"]) == (422, "depth")
    brackets_in_a_text = {"a": "[" * 1000 + '\\"' + "{" * 1000, "b": "Why?"}
    assert client.post("/v1/diff", json=brackets_in_a_text).status_code == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b'"text"', b"5", b"\xff\xfe", b"{}" * 2, b'{"a": "\xff"}', b'{"a": 1, "a": "x"}'],
)
def test_what_is_not_a_json_object_is_refused(client: TestClient, body: bytes) -> None:
    refused = client.post("/v1/diff", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_page_elsewhere_cannot_send_a_form(client: TestClient, kind: str) -> None:
    body = json.dumps(REQUESTS["diff"]).encode()
    assert client.post("/v1/diff", content=body, headers={"Content-Type": kind}).status_code == 415


SCRIPT = '<script>alert("a")</script><img src=x onerror=alert(1)>'


@pytest.mark.parametrize("task", ["paraphrase", "diff", "score"])
def test_a_script_in_a_text_is_sent_back_as_data(client: TestClient, task: str) -> None:
    texts = {
        "paraphrase": {"text": f"Anna walked. {SCRIPT}", **QUICK},
        "diff": {"a": SCRIPT, "b": f"Why {SCRIPT}"},
        "score": {"reference": SCRIPT, "candidates": [f"Why {SCRIPT}"], "settings": DESCRIBED},
    }
    found = client.post(f"/v1/{task}", json=texts[task])
    assert found.status_code == 200
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-content-type-options"] == "nosniff"
    for field in (SCRIPT, "</script>"):
        refused = client.post("/v1/diff", json={field: "Why?"})
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/json")


PATHS = ["../../etc/passwd", "/etc/passwd", "..\\..\\x", "file:///etc/passwd", "\x00", "~/.ssh/id_rsa", "models/other"]


@pytest.mark.parametrize("path", PATHS)
def test_no_name_in_a_request_reaches_the_file_system(
    client: TestClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("open", "read_text", "read_bytes", "stat", "exists", "is_file"):
        monkeypatch.setattr(Path, place, _refuse)
    for task in ("paraphrase", "score"):
        for field in ("preset", "fingerprint", "model", "forward", "file"):
            assert client.post(f"/v1/{task}", json=REQUESTS[task] | {field: path}).status_code == 422
    for field in ("frame", "solver", "examples"):
        changed = REQUESTS["paraphrase"] | {"settings": {field: path}}
        assert client.post("/v1/paraphrase", json=changed).status_code == 422


def _refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("a file was touched")


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fapp.py"]
)
def test_no_path_leads_out_of_the_files_of_the_page(address: tuple[str, int], path: str) -> None:
    with connected(address) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        status, body = answer(connection)
    assert status == 404
    assert b"create_app" not in body


def test_a_forged_fingerprint_is_refused(client: TestClient) -> None:
    made = client.post("/v1/fingerprint", json=REQUESTS["fingerprint"]).json()["results"][0]

    def sent(change: Any) -> int:
        forged = json.loads(json.dumps(made))
        change(forged)
        forged.pop("sha256")
        content = json.dumps(forged, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
        forged["sha256"] = hashlib.sha256(content).hexdigest()
        settings = {name: value for name, value in forged["settings"].items() if name != "seed"} | {"samples": 2}
        request = {"fingerprint": forged, "preset": "fast", "settings": settings}
        return client.post("/v1/paraphrase", json=request).status_code

    right = made["sides"]["right"]
    assert sent(lambda _: None) == 200
    for token in (10**9, -1, 10**30):
        assert (
            sent(lambda forged, token=token: forged["sides"]["right"]["contexts"][0]["ids"].__setitem__(0, token))
            == 422
        )
    for weight in (-1, 2, "inf", "nan", None, [1]):
        assert sent(lambda forged, weight=weight: forged["sides"]["left"]["contexts"][0].update(weight=weight)) == 422
    top_p: Any
    for top_p in (-1, 2, "nan", {}):
        assert sent(lambda forged, top_p=top_p: forged["sides"]["left"].update(top_p=top_p)) == 422
    for kept in (0, -1, 10**6, "x"):
        assert sent(lambda forged, kept=kept: forged["sides"]["left"].update(kept=kept)) == 422
    assert sent(lambda forged: forged["sides"]["right"].update(contexts=right["contexts"] * 1000)) == 422
    assert sent(lambda forged: forged["sides"].pop("left")) == 422
    assert sent(lambda forged: forged.update(sides=[])) == 422
    assert sent(lambda forged: forged.update(text=5)) in (200, 422)
    damaged = made | {"text": "Another text."}
    assert client.post("/v1/paraphrase", json={"fingerprint": damaged}).status_code == 422


@pytest.mark.parametrize(
    "text",
    ["\ud800", "a\udfff", "\x00", "\u202e\u2066Why?", "\U0001f600" * 20, "Ａ ﬁ ẞ", "a\u0301" * 200, "%s{name}<b>"],
)
def test_odd_characters_are_served_or_refused(client: TestClient, text: str) -> None:
    body = json.dumps({"a": text, "b": f"{text} b", "stream": False}).encode()
    found = client.post("/v1/diff", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code in (200, 422)
    found.json()
    body = json.dumps({text: 1}).encode()
    refused = client.post("/v1/diff", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
    refused.json()
    found = client.post(
        "/v1/paraphrase", content=json.dumps({"text": text, **QUICK}), headers={"Content-Type": "application/json"}
    )
    assert found.status_code in (200, 422)


def test_clients_that_are_killed_in_the_middle_of_a_stream_leave_nothing_behind(
    address: tuple[str, int], app: FastAPI
) -> None:
    request = json.dumps({"texts": small_texts(30), **QUICK, "stream": True}).encode()
    for _ in range(5):
        with connected(address) as connection:
            connection.sendall(head("/v1/paraphrase", len(request)) + request)
            assert b"200" in connection.recv(20)
            # a reset, as of a client that was killed with data unread
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    waited = threading.Event()
    while app.state.engine.waiting or app.state.engine.under_way:
        waited.wait(0.01)
    assert post(address, "paraphrase", REQUESTS["paraphrase"])[0] == 200
