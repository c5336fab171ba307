"""The command as its users meet it: output, errors, exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from refdec import Reflector
from refdec.cli import progress
from refdec.cli.batch import batch_command
from refdec.cli.main import commands
from refdec.cli.study import study_command
from refdec.tasks.choice import nothing_left
from refdec.tasks.paraphrase import paraphrase
from tests.conftest import TINY_OPTIONS, Run, lend_calibration, let_servers_end, refdec_process, refusal
from tests.example_files import in_a_second, write_example_files


def test_text_as_an_argument_prints_ranked_lines(run: Run) -> None:
    code, out, err = run("paraphrase", "--top", "2", "How do I learn to cook?")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "How do I learn to cook?"
    results = [line for line in lines[1:] if not line.startswith(("  No good", "  copy of the source, not counted"))]
    assert 1 <= len(results) <= 3
    assert all("novelty" in line for line in results)
    assert err == ""


def test_json_is_one_object_a_line(run_embedded: Run) -> None:
    code, out, _ = run_embedded(
        "paraphrase", "--json", "--preset", "fast", "How do I learn to cook?", "Grüße 🙂 an alle."
    )
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
    assert lines[1] == {"line": 2, "source": "", "error": "The text is empty. Give a sentence to work on."}
    assert "surrogate" in lines[2]["error"]
    assert lines[3]["source"] == "I like it here."


def test_an_error_names_its_line(run: Run, tmp_path: Path) -> None:
    empty = "The text is empty. Give a sentence to work on."
    for arguments in ([], ["-"], ["--file", "-"]):
        code, _, err = run("paraphrase", *arguments, stdin="I like it here.\n\n")
        assert (code, err) == (2, f"refdec: line 2 of standard input: {empty}\n")
    (tmp_path / "gaps.txt").write_text("\nIt rained. ___\n")
    code, _, err = run("infill", "--file", str(tmp_path / "gaps.txt"))
    assert (code, err.partition(": There is no ___")[0]) == (2, "refdec: line 1 of gaps.txt")
    assert run("paraphrase", " ")[2] == f"refdec: {empty}\n"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_standard_input_is_read_line_by_line_until_it_is_stopped(small_pair: Path, tmp_path: Path, stop: int) -> None:
    page = tmp_path / "page.html"
    options = ["--json", "--html", str(page), "--forward", str(small_pair), "--device", "cpu", *TINY_OPTIONS]
    process = subprocess.Popen(
        [sys.executable, "-m", "refdec", "paraphrase", *options, "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    print("Anna walked to the house.", file=process.stdin, flush=True)
    assert json.loads(process.stdout.readline())["source"] == "Anna walked to the house."
    process.send_signal(stop)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (128 + stop, "")
    assert err.split("\n") == [
        f"refdec: the explanations are in {page}", "refdec: the results printed so far are complete",
        "", "refdec: stopped.", "",
    ]  # fmt: skip
    assert "Anna walked to the house." in page.read_text()


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
    monkeypatch.setattr("refdec.tasks.ranking.novelty", lambda *_: 12.5)
    code, out, _ = run("paraphrase", "--json", "--novelty", "30", "How do I learn to cook?")
    line = json.loads(out)
    assert code == 0
    assert line["results"] == []
    assert "No paraphrase reaches Novelty 30; the highest is 12.5" in line["note"]
    _, out, _ = run("paraphrase", "--novelty", "30", "How do I learn to cook?")
    assert "No paraphrase reaches Novelty 30" in out


def test_the_front_rises_in_novelty_and_falls_in_score(run_embedded: Run) -> None:
    _, out, _ = run_embedded(
        "paraphrase", "--json", "--front", "--preset", "fast", "--samples", "12", "How do I learn to cook?"
    )
    found = json.loads(out)["results"]
    assert [item["novelty"] for item in found] == sorted(item["novelty"] for item in found)
    assert [item["score"] for item in found] == sorted((item["score"] for item in found), reverse=True)


def test_explain_shows_contexts_weights_and_signature(run: Run) -> None:
    code, out, _ = run("paraphrase", "--explain", "How do I learn to cook?")
    assert code == 0
    assert out.count("context  #") >= 2
    assert "text  0  score +0.00  How do I learn to cook?  (source)" in out
    assert "most surprising" in out
    assert "signature: refdec:" in out


def test_explained_are_those_that_are_shown(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["--json", "--explain", "--html", str(page), "--novelty", "20", "--top", "2"]
    code, out, err = run("paraphrase", *arguments, "How do I learn to cook?")
    line = json.loads(out)
    assert code == 0
    assert err == f"refdec: the explanations are in {page}\n"
    source, *reasons = line["reasons"]
    assert source["label"] == "source"
    assert "".join(token["text"] for token in source["tokens"]).strip() == line["source"]
    assert [reason["text"] for reason in reasons] == [found["text"] for found in line["results"]]
    assert "How do I learn to cook?" in page.read_text()


def test_a_page_of_what_was_done_is_written_when_stopped_by_hand(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    def stopped(pair: Any, text: str, *rest: Any, **options: Any) -> Any:
        if text == "We left.":
            raise KeyboardInterrupt
        return paraphrase(pair, text, *rest, **options)

    monkeypatch.setattr("refdec.tasks.reflector.paraphrase", stopped)
    page = tmp_path / "page.html"
    code, out, err = run("paraphrase", "--top", "1", "--html", str(page), "It rained.", "We left.", "It was late.")
    assert code == 130
    assert out.startswith("It rained.\n")
    kept = "refdec: the results printed so far are complete\n"
    assert err == f"refdec: the explanations are in {page}\n{kept}\nrefdec: stopped.\n"
    assert "It rained." in page.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_kept_and_avoided_words(run_embedded: Run) -> None:
    constraints = ["--keep", "Tuesday", "--avoid", "boss", "--keep-numbers"]
    code, out, _ = run_embedded(
        "paraphrase", "--json", *constraints, "--samples", "8", "My boss came back on Tuesday with 3 cakes."
    )
    line = json.loads(out)
    assert code == 0
    for found in line["results"]:
        assert "Tuesday" in found["text"]
        assert "3" in found["text"]
        assert not re.search(r"\bboss\b", found["text"].lower())
    assert line["results"] or "satisfies the constraints" in line["note"]


def test_nothing_that_satisfies_the_constraints_is_said_with_the_reason(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refdec.tasks.constraints.Constraints.failures", lambda *_: ["lacks 'iPhone'"])
    arguments = ["paraphrase", "--keep", "iPhone", "The iPhone is new."]
    code, out, _ = run(*arguments, "--json")
    line = json.loads(out)
    assert code == 0
    assert line["results"] == []
    assert re.fullmatch(r"No.* satisfies the constraints: \d+ lacks? 'iPhone'\.", line["note"])
    assert line["note"] in run(*arguments)[1]


def test_the_reasons_of_rejection_read_like_a_sentence() -> None:
    assert nothing_left("paraphrase", {"lacks 'x'": 1}) == "No candidate satisfies the constraints: 1 lacks 'x'."
    one = nothing_left("filling", {"lacks 'x'": 12})
    assert one == "None of 12 candidates satisfies the constraints: 12 lack 'x'."
    several = nothing_left("filling", {"says 'b'": 3, "lacks 'a b'": 9})
    assert several == "No candidate satisfies the constraints: 9 lack 'a b', 3 say 'b'."
    assert nothing_left("filling", {}).startswith("No filling was generated.")


def test_python_the_command_and_a_fingerprint_give_the_same(
    run_embedded: Run, int8_reflector: Reflector, tmp_path: Path
) -> None:
    text, file = "The train was late again.", str(tmp_path / "train.json")
    result = int8_reflector.paraphrase(text, "fast", seed=3)
    expected = result.to_dict(result.top(100))
    code, out, _ = run_embedded("paraphrase", "--json", "--preset", "fast", "--seed", "3", "--top", "100", text)
    assert code == 0
    assert without_note(out) == expected
    assert run_embedded("fingerprint", "--preset", "fast", "--seed", "3", "-o", file, text)[0] == 0
    chosen = ["--json", "--preset", "fast", "--seed", "3", "--top", "100", "--fingerprint", file]
    for arguments in ([], [text]):
        code, out, _ = run_embedded("paraphrase", *chosen, *arguments)
        assert code == 0
        assert without_note(out) == expected


def without_note(out: str) -> dict[str, Any]:
    """What a command printed as JSON, but for what it says about it."""
    return {name: value for name, value in json.loads(out).items() if name != "note"}


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
    "confidence over the top": ["paraphrase", "--confidence", "101", "text here"],
    "novelty that is no number": ["paraphrase", "--novelty", "nan", "text here"],
    "no such preset": ["paraphrase", "--preset", "slow", "text here"],
    "no such option": ["paraphrase", "--loud", "text here"],
    "no such command": ["paraphrse", "text here"],
    "top of zero": ["paraphrase", "--top", "0", "text here"],
    "seed below zero": ["paraphrase", "--seed", "-1", "text here"],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_line_and_exit_code_two(run_embedded: Run, name: str) -> None:
    refusal(run_embedded, *BAD[name])


def test_constraints_that_cannot_be_met_are_refused(run: Run) -> None:
    refused = refusal(run, "paraphrase", "--keep", "red car", "--avoid", "Car", "My red car is fast.")
    assert refused == "refdec: 'red car' must be kept, and 'Car' in it must be avoided. Drop one of them."
    refused = refusal(run, "paraphrase", "--keep", "a very long phrase " * 5, "It rained.")
    assert "The words to keep have" in refused
    assert "cannot be used: The text is empty" in refusal(run, "paraphrase", "--keep", " ", "It rained.")


def test_a_page_that_cannot_be_written_is_told_before_the_work(run: Run, tmp_path: Path) -> None:
    refused = refusal(run, "paraphrase", "--html", str(tmp_path / "no" / "page.html"), "It rained.")
    assert "cannot be written (there is no directory" in refused
    assert "(it is a directory)" in refusal(run, "paraphrase", "--html", str(tmp_path), "It rained.")


@pytest.mark.parametrize(
    "arguments",
    [
        ["paraphrase", "--html", "FILE", "It rained."],
        ["infill", "--html", "FILE", "It rained. ___"],
        ["rewrite", "--html", "FILE", "It [[rained]]."],
        ["score", "--html", "FILE", "It rained.", "It was raining."],
        ["fingerprint", "-o", "FILE", "It rained."],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_file_that_is_there_is_overwritten_by_force_only(run: Run, tmp_path: Path, arguments: list[str]) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    arguments = [str(file) if argument == "FILE" else argument for argument in arguments]
    message = f"refdec: {file} exists. Name another file, or overwrite it with --force."
    assert refusal(run, *arguments) == message
    assert file.read_text() == "mine"
    assert run(*arguments, "--force")[0] == 0
    assert len(file.read_text()) > 100
    assert refusal(run, *arguments) == message


def test_an_input_is_not_overwritten_by_force_either(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("It rained.\n")
    for arguments in (["paraphrase", "--html", str(file)], ["fingerprint", "-o", str(file)]):
        message = refusal(run, *arguments, "--force", "--file", str(file))
        assert message == f"refdec: {file} is an input, too. Name another file to write to."
    assert file.read_text() == "It rained.\n"


def test_a_pipe_or_device_can_be_written_to(run: Run) -> None:
    assert run("fingerprint", "-o", os.devnull, "It rained.")[0] == 0


@pytest.mark.parametrize("name", ["paraphrase", "infill", "rewrite", "score", "fingerprint"])
def test_the_name_of_a_file_is_not_taken_for_a_text(
    run: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("It rained.\n")
    message = refusal(run, name, "notes.txt")
    assert message.startswith("refdec: notes.txt is the name of a file. Did you mean --file notes.txt?")
    if name == "paraphrase":
        assert "Did you mean --file notes.txt?" in refusal(run, name, "notes.txt", "notes.txt")
        assert run(name, "notes.txt", "It rained.")[0] == 0
        assert run(name, "-", stdin="notes.txt\n")[0] == 0


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
    assert run("paraphrase", "Hello there.") == (130, "", "\nrefdec: stopped.\n")


def test_a_rate_does_not_count_the_loading_of_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    shown = progress.Progress()
    for seconds in (100.0, 102.0, 104.0):  # after the beginning, when each text is done
        monkeypatch.setattr("time.monotonic", lambda now=seconds: now)
        shown.done()
    assert capsys.readouterr().err.splitlines() == [
        "refdec: texts: 1",
        "refdec: texts: 2, 0.50 per second",
        "refdec: texts: 3, 0.50 per second",
    ]


def test_help_does_not_wait_for_torch() -> None:
    script = "import sys; from refdec.cli.main import commands; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], env=os.environ).returncode == 0


HELPFUL = {
    **commands.commands,
    **{f"batch {name}": command for name, command in batch_command.commands.items()},
    **{f"study {name}": command for name, command in study_command.commands.items()},
}


def examples(command: click.Command) -> list[str]:
    return re.findall(r"^ {2,}(.*\brefdec [a-z]+ .*)$", (command.help or "").partition("Examples:")[2], re.M)


@pytest.mark.long
@pytest.mark.parametrize("name", HELPFUL)
def test_the_examples_in_the_help_text_run(
    run: Run, name: str, small_reflector: Reflector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lend_calibration(monkeypatch)
    let_servers_end(monkeypatch)
    found = examples(HELPFUL[name])
    write_example_files(tmp_path, found, small_reflector)
    assert len(found) >= 2
    for example in found:
        piped, _, command = example.rpartition("| ")
        program, text = shlex.split(piped) if piped else ("echo", "")
        stdin = Path(text).read_text() if program == "cat" else text.encode().decode("unicode_escape").strip() + "\n"
        code, out, err = run(*shlex.split(in_a_second(command))[1:], stdin=stdin)
        if "--data DIR" in command:  # all options are right, and only the data is missing
            assert (code, err[:32]) == (2, "refdec: There is no folder DIR. ")
            continue
        assert code == 0, err
        assert out or "the fingerprint is in" in err or "What made them is in" in err or "serving on" in err


GROUPS = ("batch", "evaluate", "diff", "study", "method")
SECTIONED = [name for name in HELPFUL if name not in GROUPS and not name.startswith("study ")]


@pytest.mark.parametrize("name", SECTIONED)
def test_the_help_has_common_options_first_and_settings_by_themselves(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*name.split(), "--help")
    assert code == 0
    titles = re.findall(r"^(\S.*):$", out, re.M)
    assert titles[0] == "Options"
    assert any(title.startswith("Settings") for title in titles[1:])
    if name in ("paraphrase", "infill", "rewrite", "score", "fingerprint"):
        options = out[out.index("\nOptions:\n") :].splitlines()
        assert [line for line in options if line.startswith("   ") or len(line) > 80] == []  # one line each
        words = out.partition("\nWords:\n")[2]
        assert re.findall(r"^  (\w+) ", words, re.M) == ["context", "nats", "Novelty", "nucleus"]


def test_the_examples_of_the_group_are_those_of_its_commands() -> None:
    own = {example for command in commands.commands.values() for example in examples(command)}
    assert len(examples(commands)) == len(commands.commands)
    assert own.issuperset(examples(commands))


def test_every_command_is_listed_with_what_it_does(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for name, command in commands.commands.items():
        assert re.search(rf"^  {name} +{re.escape(command.short_help or '?')}$", out, re.M)
