"""`refdec infill` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refdec import Filling, InfillResult, Reflector
from refdec.tasks.choice import Wanted, choose_fillings
from tests.conftest import Run, refusal

LEFT, RIGHT = "She missed the bus.", "She was late for work."


def test_two_texts_and_one_with_a_blank_are_the_same(run: Run, int8_reflector: Reflector) -> None:
    code, out, err = run("infill", "--json", "--top", "100", LEFT, RIGHT)
    assert (code, err) == (0, "")
    line = json.loads(out)
    expected = int8_reflector.infill(LEFT, RIGHT, "fast")
    assert line == expected.to_dict() | {"filled": expected.filled} | ({"note": line["note"]} if "note" in line else {})
    assert run("infill", "--json", "--top", "100", f"{LEFT} ___ {RIGHT}")[1] == out


def test_lines_show_the_gap_and_what_each_filling_adds(run: Run) -> None:
    code, out, _ = run("infill", "--top", "2", LEFT, RIGHT)
    gap, *lines = out.splitlines()
    assert code == 0
    assert gap == f"{LEFT} ___ {RIGHT}"
    assert 1 <= len(lines) <= 3
    assert all("before" in line and "after" in line for line in lines if "filling" not in line)


def test_several_blanks_give_a_line_each_and_the_whole_text(run: Run) -> None:
    text = "We went to ___ and bought ___ for dinner."
    code, out, _ = run("infill", "--json", "--most-words", "2", text)
    first, second = (json.loads(line) for line in out.splitlines())
    assert code == 0
    assert [(line["blank"], line["blanks"]) for line in (first, second)] == [(1, 2), (2, 2)]
    assert "filled" not in first
    assert first["left"] == "We went to"
    assert second["left"].startswith("We went to")
    assert second["filled"].endswith("for dinner.")
    assert f"  filled: {second['filled']}" in run("infill", "--most-words", "2", text)[1]


def test_a_bad_line_is_reported_and_the_others_go_on(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("It rained. ___ We got wet.\nno gap here\n___\nIt was dark. ___\n")
    code, out, _ = run("infill", "--json", "--file", str(file))
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert ["error" in line for line in lines] == [False, True, True, False]
    assert lines[1]["text"] == "no gap here"


def test_explanations_are_shown(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run("infill", "--explain", "--top", "1", "--html", str(page), LEFT, RIGHT)
    assert code == 0
    assert f"held  {LEFT} … {RIGHT}" in out
    assert "nats against nothing" in out
    assert LEFT in page.read_text()


@pytest.mark.parametrize(
    ("right", "top", "note"),
    [
        (RIGHT, 1, "No filling makes both texts more probable than no filling would; this is the best of 2."),
        (RIGHT, 5, "No filling makes both texts more probable than no filling would; these are the best of 2."),
        ("", 1, "No filling makes the text more probable than no filling would; this is the best of 2."),
    ],
)
def test_fillings_that_explain_nothing_are_shown_with_a_note(right: str, top: int, note: str) -> None:
    fillings = tuple(Filling(text, -1.0, False, 1.0, -2.0, "left") for text in ("It rained.", "It snowed."))
    result = InfillResult(LEFT, right, fillings, (), "signature")
    assert choose_fillings(result, Wanted(top=top)) == (fillings[:top], note)


BAD = {
    "There is no ___ in the text.": ["It rained."],
    "There is nothing but ___ in the text.": [" ___ "],
    "Two ___ stand next to each other.": ["It rained. ___ ___ We left."],
    "Two texts stand before and after a gap": ["It ___ rained.", "We left."],
    "Give one text with ___, or two texts": ["One.", "Two.", "Three."],
    "is a control character": ["It\x07 rained. ___"],
    "both as arguments and as a file": ["--file", "texts.txt", LEFT, RIGHT],
    "no-such-file cannot be read": ["--file", "no-such-file"],
    "the input is empty": [],
    "must be kept, and 'Rain' in it must be avoided": ["--keep", "rain", "--avoid", "Rain", LEFT, RIGHT],
    "The words to keep have": ["--keep", "a very long phrase " * 10, LEFT, RIGHT],
    "The texts around the gap have 600 tokens": ["word " * 600 + "___"],
    "least_words is 9; it cannot be above most_words, 3": ["--least-words", "9", "--most-words", "3", LEFT, RIGHT],
    "samples is 0; it must be": ["--samples", "0", LEFT, RIGHT],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_one_clear_line(run: Run, message: str) -> None:
    assert message in refusal(run, "infill", *BAD[message])
