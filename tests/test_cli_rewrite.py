"""`refdec rewrite` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refdec import InputError, Pair, Reflector
from refdec.tasks.choice import Wanted, choose
from tests.conftest import Run, refusal

BEFORE, SPAN, AFTER = "It was late. ", "We were very tired.", " So we left.\nNobody saw us.\n"
MARKED = f"{BEFORE}[[{SPAN}]]{AFTER}"


@pytest.fixture
def document(tmp_path: Path) -> str:
    file = tmp_path / "document.txt"
    file.write_text(BEFORE + SPAN + AFTER)
    return str(file)


WAYS: list[list[str]] = [
    [MARKED],
    ["--file", "MARKED"],
    ["--document", "DOCUMENT", SPAN],
    ["--left", BEFORE, "--right", AFTER, SPAN],
    [],
]


@pytest.mark.parametrize("way", WAYS, ids=["argument", "file", "document", "neighbours", "standard input"])
def test_every_way_to_give_a_span_is_the_same(
    run: Run, document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: list[str]
) -> None:
    def asked(_: Pair, left: str, span: str, right: str, *__: Any, **___: Any) -> None:
        raise InputError(f"{left}|{span}|{right}")

    monkeypatch.setattr("refdec.tasks.reflector.rewrite", asked)
    files = {"MARKED": str(tmp_path / "marked.txt"), "DOCUMENT": document}
    Path(files["MARKED"]).write_text(MARKED)
    code, out, _ = run("rewrite", "--json", *(files.get(argument, argument) for argument in way), stdin=MARKED)
    assert code == 2
    assert json.loads(out) == {
        "source": SPAN, "left": BEFORE, "right": AFTER, "error": f"{BEFORE}|{SPAN}|{AFTER}"
    }  # fmt: skip


def test_the_command_and_python_give_the_same(run_embedded: Run, int8_reflector: Reflector) -> None:
    code, out, err = run_embedded("rewrite", "--json", "--preset", "fast", "--top", "100", MARKED)
    assert (code, err) == (0, "")
    line = json.loads(out)
    line.pop("note", None)
    result = int8_reflector.rewrite(MARKED, "fast")
    assert line == result.to_dict(result.top(100))
    assert (line["left"], line["right"]) == (BEFORE, AFTER)


def test_lines_show_candidates_and_the_best_in_its_place(run_embedded: Run) -> None:
    code, out, _ = run_embedded("rewrite", "--samples", "8", MARKED)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == SPAN
    assert lines[-1].startswith("  in its place: It was late. ")
    assert lines[-1].endswith("So we left. Nobody saw us.")


def test_apply_prints_the_document_and_nothing_else(run_embedded: Run, int8_reflector: Reflector) -> None:
    result = int8_reflector.rewrite(SPAN, "fast", left=BEFORE, right=AFTER, samples=8)
    assert result.best is not None
    code, out, err = run_embedded("rewrite", "--apply", "--preset", "fast", "--samples", "8", MARKED)
    assert (code, out) == (0, f"{BEFORE}{result.best}{AFTER}")
    note = choose(result, Wanted(top=1))[1]
    assert err == (f"refdec: {note}\n" if note else "")


def test_several_documents_are_rewritten_one_per_line(run_embedded: Run, tmp_path: Path) -> None:
    file = tmp_path / "documents.txt"
    file.write_text("It was late. [[We were tired.]]\nno span here\n[[It rained.]] We left.\n")
    for arguments, place in ((["--file", str(file)], "documents.txt"), (["-"], "standard input")):
        code, out, _ = run_embedded("rewrite", "--json", *arguments, stdin=file.read_text())
        first, second, third = map(json.loads, out.splitlines())
        assert code == 2
        assert (first["source"], first["left"], first["right"]) == ("We were tired.", "It was late. ", "")
        assert (second["line"], second["document"]) == (2, "no span here")
        assert (third["source"], third["left"], third["right"]) == ("It rained.", "", " We left.")
        code, out, err = run_embedded("rewrite", "--apply", "--samples", "8", *arguments, stdin=file.read_text())
        assert code == 2
        assert len(out.splitlines()) == 2
        assert f"refdec: line 2 of {place}: There is no span in [[ ]]" in err


def test_apply_says_where_there_is_nothing_to_apply(run_embedded: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refdec.tasks.constraints.Constraints.failures", lambda *_: ["says 'late'"])
    code, out, err = run_embedded("rewrite", "--apply", "--avoid", "late", MARKED)
    assert (code, out) == (1, "")
    assert err.startswith("refdec: None of ")
    assert err.count("\n") == 1


def test_explanations_are_shown(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run("rewrite", "--explain", "--top", "1", "--html", str(page), MARKED)
    assert code == 0
    assert "held  It was late. … So we left." in out
    assert SPAN in page.read_text()


BAD = {
    "There is no span in [[ ]] in the document": ["It rained."],
    "There is more than one span": ["It [[rained]] and [[snowed]]."],
    "The span has no end: there is [[ without ]]": ["It [[rained."],
    "The span has no beginning: there is ]] without [[": ["It rained]]."],
    "There is nothing between [[ and ]]": ["It [[ ]] rained."],
    "is not in the document": ["--document", "DOCUMENT", "It snowed."],
    "is in the document 3 times": ["--document", "DOCUMENT", "we"],
    "[[ ]] marks a span in a document": ["--left", "It was late.", "[[We]] left."],
    "Give the span that is to be rewritten": ["--left", "It was late."],
    "there is a file with one, too": ["--left", "It was late.", "--document", "DOCUMENT", "We"],
    "There are two documents": ["--document", "DOCUMENT", "--file", "DOCUMENT", SPAN],
    "no-such-file cannot be read": ["--file", "no-such-file"],
    "no-such-document cannot be read": ["--document", "no-such-document", SPAN],
    "is a control character": ["It\x07 [[rained]]."],
    "Choose one": ["--apply", "--json", MARKED],
    "must be kept, and 'Rain' in it must be avoided": ["--keep", "rain", "--avoid", "Rain", MARKED],
    "The words to keep have": ["--keep", "a very long phrase " * 10, MARKED],
    "novelty is 101.0": ["--novelty", "101", MARKED],
    "place is -1.0": ["--place", "-1", MARKED],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_one_clear_line(run: Run, document: str, message: str) -> None:
    if "3 times" in message:
        Path(document).write_text("we and we and we")
    arguments = [document if argument == "DOCUMENT" else argument for argument in BAD[message]]
    assert message in refusal(run, "rewrite", *arguments)
