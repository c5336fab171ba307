"""The command as its users meet it: output, errors, exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refdec.cli.paraphrase
import refdec.lm.pair
import refdec.settings
from refdec import Pair
from refdec.cli.main import commands, main
from tests.conftest import TINY

TINY_OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(pair: Pair, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Call the command in this process, with the pair that is loaded already and settings that take a second."""
    monkeypatch.setattr(refdec.lm.pair, "load_pair", lambda *_, **__: pair)
    for name, settings in refdec.settings.PRESETS.items():
        monkeypatch.setitem(refdec.settings.PRESETS, name, settings.replace(**TINY))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["refdec", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(stop.value.code or 0), out, err

    return call


def refdec_process(*arguments: str, stdin: bytes | None = None, timeout: float = 120) -> tuple[int, str, str]:
    """The installed command in a process of its own."""
    command = [sys.executable, "-m", "refdec", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_text_as_an_argument_prints_ranked_lines(run: Run) -> None:
    code, out, err = run("paraphrase", "--top", "2", "How do I learn to cook?")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "How do I learn to cook?"
    assert 2 <= len(lines) <= 4
    assert all("novelty" in line for line in lines[1:])
    assert err == ""


def test_json_is_one_object_a_line(run: Run) -> None:
    code, out, _ = run("paraphrase", "--json", "How do I learn to cook?", "Grüße 🙂 an alle.")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["source"] for line in lines] == ["How do I learn to cook?", "Grüße 🙂 an alle."]
    for line in lines:
        assert isinstance(line["signature"], str)
        scores = [result["score"] for result in line["results"]]
        assert scores == sorted(scores, reverse=True)
        for found in line["results"]:
            assert {"text", "score", "novelty", "copy", "side"} <= found.keys()


def test_a_bad_line_is_reported_and_the_others_go_on(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes(b"The train was late.\n\nbad \xff byte\nI like it here.\r\n")
    code, out, _ = run("paraphrase", "--json", "--file", str(file))
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert ["error" in line for line in lines] == [False, True, True, False]
    assert lines[1] == {"source": "", "error": "The text is empty. Give a sentence to work on."}
    assert "surrogate" in lines[2]["error"]
    assert lines[3]["source"] == "I like it here."


def test_standard_input_is_read_line_by_line() -> None:
    code, out, err = refdec_process("paraphrase", "--json", *TINY_OPTIONS, stdin=b"I like it here.\n")
    assert code == 0, err
    assert json.loads(out)["source"] == "I like it here."


def test_an_empty_input_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    code, out, err = run("paraphrase", "--file", str(tmp_path / "empty"))
    assert (code, out) == (2, "")
    assert "the input is empty" in err


def test_the_novelty_dial_never_returns_less(run: Run) -> None:
    code, out, _ = run("paraphrase", "--json", "--novelty", "30", "How do I learn to cook?")
    assert code == 0
    assert all(found["novelty"] >= 30 for found in json.loads(out)["results"])


def test_an_unreachable_novelty_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refdec.tasks.paraphrase.novelty", lambda *_: 12.5)
    code, out, _ = run("paraphrase", "--json", "--novelty", "30", "How do I learn to cook?")
    line = json.loads(out)
    assert code == 0
    assert line["results"] == []
    assert "No paraphrase reaches Novelty 30; the highest is 12.5" in line["note"]
    _, out, _ = run("paraphrase", "--novelty", "30", "How do I learn to cook?")
    assert "No paraphrase reaches Novelty 30" in out


def test_the_front_rises_in_novelty_and_falls_in_score(run: Run) -> None:
    _, out, _ = run("paraphrase", "--json", "--front", "--samples", "12", "How do I learn to cook?")
    found = json.loads(out)["results"]
    assert [item["novelty"] for item in found] == sorted(item["novelty"] for item in found)
    assert [item["score"] for item in found] == sorted((item["score"] for item in found), reverse=True)


def test_explain_shows_contexts_weights_and_signature(run: Run) -> None:
    code, out, _ = run("paraphrase", "--explain", "How do I learn to cook?")
    assert code == 0
    assert "Contexts that describe the source" in out
    assert "Fit with each context" in out
    assert "signature: refdec:" in out


BAD = {
    "blank text": ["paraphrase", "  "],
    "control character": ["paraphrase", "a\x07b"],
    "nothing but a mark": ["paraphrase", "?"],
    "too long": ["paraphrase", "word " * 600],
    "text twice": ["paraphrase", "--file", "x", "text"],
    "file that is not there": ["paraphrase", "--file", "no-such-file"],
    "file that is a directory": ["paraphrase", "--file", "."],
    "setting of zero": ["paraphrase", "--contexts", "0", "text here"],
    "setting that is huge": ["paraphrase", "--contexts", "9" * 30, "text here"],
    "setting that is no number": ["paraphrase", "--entropy", "nan", "text here"],
    "setting that is infinite": ["paraphrase", "--entropy", "inf", "text here"],
    "setting that is no word": ["paraphrase", "--contexts", "many", "text here"],
    "novelty over the top": ["paraphrase", "--novelty", "101", "text here"],
    "novelty that is no number": ["paraphrase", "--novelty", "nan", "text here"],
    "no such preset": ["paraphrase", "--preset", "slow", "text here"],
    "no such option": ["paraphrase", "--loud", "text here"],
    "no such command": ["paraphrse", "text here"],
    "top of zero": ["paraphrase", "--top", "0", "text here"],
    "seed below zero": ["paraphrase", "--seed", "-1", "text here"],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_line_and_exit_code_two(run: Run, name: str) -> None:
    code, out, err = run(*BAD[name])
    assert code == 2
    assert out == ""
    message = [line for line in err.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(message) == 1, err


@pytest.mark.parametrize("damage", ["missing", "empty", "no config"])
def test_a_bad_model_directory_gets_one_line_and_exit_code_two(tmp_path: Path, damage: str) -> None:
    directory = tmp_path / "pair"
    if damage != "missing":
        directory.mkdir()
    if damage == "no config":
        (directory / "forward").mkdir()
        (directory / "backward").mkdir()
    code, out, err = refdec_process("paraphrase", "--forward", str(directory), "Hello there.")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("refdec: ")


def test_anything_else_is_exit_code_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr("refdec.tasks.reflector.paraphrase", broken)
    code, out, err = run("paraphrase", "Hello there.")
    assert (code, out) == (1, "")
    assert err.strip() == "refdec: RuntimeError: the disk is on fire (REFDEC_DEBUG=1 shows where)"


def test_stopping_by_hand_is_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("refdec.tasks.reflector.paraphrase", interrupted)
    assert run("paraphrase", "Hello there.")[0] == 1


def test_help_does_not_wait_for_torch() -> None:
    script = "import sys; from refdec.cli.main import commands; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], env=os.environ).returncode == 0


def examples() -> list[str]:
    help_text = commands.commands["paraphrase"].help or ""
    return re.findall(r"^ +(.*refdec paraphrase .*)$", help_text, re.M)


@pytest.mark.parametrize("example", examples())
def test_the_examples_in_the_help_text_run(run: Run, example: str, tmp_path: Path) -> None:
    piped, _, command = example.rpartition("| ")
    if piped:
        text = tmp_path / "piped"
        text.write_text(shlex.split(piped)[1] + "\n")
        command += f" --file {text}"
    code, out, err = run(*shlex.split(command)[1:])
    assert code == 0, err
    assert out


def test_there_are_examples_in_the_help_text() -> None:
    assert len(examples()) >= 4
