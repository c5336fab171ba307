"""`refdec serve`: what it refuses before it listens, what it says when it does, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import Run, refusal
from tests.serving import KEY, SOON


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org"])
def test_other_machines_are_served_only_with_a_key(run: Run, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFDEC_API_KEY", raising=False)
    message = refusal(run, "serve", "--host", host)
    assert f"Other machines can reach a server on {host}, so it needs an API key." in message
    assert "--api-key-file" in message


def test_a_key_that_can_be_guessed_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFDEC_API_KEY", "secret")
    message = refusal(run, "serve", "--port", "0")
    assert "at least 16 characters" in message
    assert "'secret'" not in message
    (tmp_path / "key").write_bytes(b"\xff" * 20)
    assert "cannot be read" in refusal(run, "serve", "--api-key-file", str(tmp_path / "key"))
    assert "cannot be read" in refusal(run, "serve", "--api-key-file", str(tmp_path / "nothing"))


def test_a_port_that_is_taken_is_named(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"Nothing can listen on 127.0.0.1, port {port}" in refusal(run, "serve", "--port", str(port))


def test_limits_have_ranges(run: Run) -> None:
    assert "seconds is 0.0; it must be a number from 0.01" in refusal(run, "serve", "--port", "0", "--seconds", "0")


@pytest.mark.parametrize("arguments", [("serve",), ("study", "serve", "study.db")])
def test_where_the_extra_is_missing_the_command_says_how_to_get_it(
    run: Run, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    message = refusal(run, *arguments)
    assert f"refdec {arguments[0]} needs uvicorn." in message
    assert "pip install 'refdec[serve]'" in message


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_server_says_where_it_is_and_ends_when_it_is_asked_to(
    small_pair: Path, ending: signal.Signals, code: int
) -> None:
    command = [sys.executable, "-m", "refdec", "serve", "--port", "0", "--forward", str(small_pair)]
    environment = os.environ | {"REFDEC_API_KEY": KEY}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert address is not None, said
        request = urllib.request.Request(
            f"{address.group()}v1/diff",
            json.dumps({"a": "It rained.", "b": "It was raining."}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
        )
        with urllib.request.urlopen(request, timeout=SOON) as answer:
            assert json.load(answer)["results"][0]["faithful"]
        server.send_signal(ending)
        rest = server.communicate(timeout=SOON)[1]
    assert server.returncode == code
    assert "POST /v1/diff 200" in rest
    assert "It rained" not in rest
    assert "Traceback" not in rest
    assert rest.endswith("refdec: stopped.\n")
