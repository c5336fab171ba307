"""`refdec score` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refdec import Reflector, Score
from tests.conftest import Run, refusal

REFERENCE, CANDIDATES = "The train was late.", ["The train came late.", "Add the flour slowly."]


def test_python_the_command_and_a_fingerprint_give_the_same(
    run: Run, small_reflector: Reflector, tmp_path: Path
) -> None:
    file = str(tmp_path / "train.json")
    code, out, err = run("score", "--json", "--seed", "3", REFERENCE, *CANDIDATES)
    assert (code, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines == [score.to_dict() for score in small_reflector.score(REFERENCE, CANDIDATES, "fast", seed=3)]
    assert run("fingerprint", "--for", "score", "--seed", "3", "-o", file, REFERENCE)[0] == 0
    assert run("score", "--json", "--fingerprint", file, *CANDIDATES)[1] == out


def test_lines_show_scores_with_their_intervals(run: Run) -> None:
    code, out, _ = run("score", REFERENCE, REFERENCE, *CANDIDATES)
    reference, same, *others = out.splitlines()
    assert code == 0
    assert reference == REFERENCE
    assert " ".join(same.split()) == f"100.0 [100.0, 100.0] relative +0.00 [ +0.00, +0.00] {REFERENCE}"
    assert len(others) == 2


PAIRS = {
    "pairs.tsv": (
        "reference\tcandidate\nA dog.\tA cat.\nA dog.\tThe dog.\nno tab here\nA dog.\t\nIt rained.\tIt snowed.\n"
    ),
    "pairs.jsonl": (
        '{"reference": "A dog.", "candidate": "A cat."}\n{"reference": "A dog.", "candidate": "The dog."}\n'
        '{"reference": "A dog."}\n{"reference": 1, "candidate": 2}\n'
        '{"reference": "It rained.", "candidate": "It snowed."}\n'
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_broken_line_is_reported_and_the_others_go_on(run: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(PAIRS[name])
    first = 4 if name.endswith("tsv") else 3
    code, out, _ = run("score", "--json", "--file", "-", stdin=PAIRS[name])
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert [line.get("candidate") for line in lines] == ["A cat.", "The dog.", None, None, "It snowed."]
    assert [line["line"] for line in lines if "error" in line] == [first, first + 1]
    code, out, err = run("score", "--file", str(file))
    assert code == 2
    assert err.startswith(f"refdec: line {first} of {name}: ")
    assert err.count("\n") == 2


def test_neighbouring_lines_with_one_reference_share_its_contexts(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []
    real = Reflector.score

    def counted(self: Reflector, reference: str, candidates: list[str], **options: Any) -> list[Score]:
        calls.append((reference, candidates))
        return real(self, reference, candidates, **options)

    monkeypatch.setattr(Reflector, "score", counted)
    file = tmp_path / "pairs.tsv"
    file.write_text("A dog.\tA cat.\nA dog.\tThe dog.\nIt rained.\tIt snowed.\n")
    assert run("score", "--file", str(file))[0] == 0
    assert calls == [("A dog.", ["A cat.", "The dog."]), ("It rained.", ["It snowed."])]


def test_explanations_of_one_reference_are_one(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run("score", "--explain", "--html", str(page), REFERENCE, *CANDIDATES)
    assert code == 0
    assert [line.split("  ")[1] for line in out.splitlines() if line.startswith("text  ")] == ["0", "1", "2"]
    assert all(text in page.read_text() for text in CANDIDATES)
    line = json.loads(run("score", "--json", "--explain", REFERENCE, CANDIDATES[0])[1])
    assert [reason["label"] for reason in line["reasons"]] == ["reference", ""]
    assert line["contexts"]


BAD = {
    "There is a reference and no candidate": ["It rained."],
    "both as arguments and as a file": ["--file", "pairs.tsv", "It rained.", "It snowed."],
    "no-such-file cannot be read": ["--file", "no-such-file"],
    "refdec: the candidate: The text is empty": ["It rained.", " "],
    "refdec: the reference: Character 3 of the text is a control character": ["It\x07 rained.", "It snowed."],
    "The text has": ["It rained.", "word " * 600],
    "the input is empty": [],
    "resamples is -1": ["--resamples", "-1", "It rained.", "It snowed."],
    "With a fingerprint, give candidates": ["--fingerprint", "train.json"],
    "train.json cannot be read": ["--fingerprint", "train.json", "It snowed."],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_one_clear_line(run: Run, message: str) -> None:
    assert message in refusal(run, "score", *BAD[message])
