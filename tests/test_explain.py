"""Explanations on a terminal and in a pipe."""

from __future__ import annotations

import io
import re
from typing import Literal

import pytest
from rich.console import Console

from refdec.cli.explain import show_explanation
from refdec.results import Context, Explanation, Reason, Token
from tests.test_page import explanation


def shown(item: Explanation, width: int = 80, terminal: bool = False, colour: bool = False) -> str:
    output = io.StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    show_explanation(
        Console(file=output, width=width, force_terminal=terminal, color_system=system, legacy_windows=False), item
    )
    return output.getvalue()


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 1), (2, 3), (3, 3), (8, 8), (20, 16)])
@pytest.mark.parametrize("width", [80, 132])
def test_tables_fit_the_terminal_with_every_fit_in_them(left: int, right: int, width: int) -> None:
    item = explanation(left=left, right=right)
    out = shown(item, width, terminal=True)
    assert max(len(line) for line in out.splitlines()) <= width
    for reason in item.reasons:
        assert f"{reason.score:+z.2f}" in out
        assert all(f"{fit:+z.1f}" in out for fit in reason.fits)
    assert "".join(item.signature.split()) in "".join(out.split())


@pytest.mark.parametrize(("left", "right"), [(0, 0), (3, 3), (16, 16)])
def test_a_pipe_gets_lines_that_do_not_wrap(left: int, right: int) -> None:
    item = explanation(left=left, right=right)
    lines = shown(item).splitlines()
    assert "\x1b" not in "".join(lines)
    assert len([line for line in lines if line.startswith("context  ")]) == left + right
    texts = [line for line in lines if line.startswith("text  ")]
    assert texts[0] == "text  0  score +0.00  Is it worth learning a second language?  (source)"
    assert texts[1] == "text  1  score +1.25  Should one learn it 0?"
    if left:
        assert lines[0] == "context  #1  right  weight 0.80  … after 0, she said, and it was so."
        assert f"context  #{right + 1}  left  weight 0.80  before 0 they asked each other, …" in lines
        fits = next(line for line in lines if line.startswith("  fits  #1 +1.7"))
        assert len(re.findall(r"#\d+ [+-]\d+\.\d", fits)) == left + right
    assert lines[-1] == f"signature: {item.signature}"


def test_without_colour_the_most_surprising_tokens_are_named() -> None:
    words = (Token("It", 0.0), Token(" rained", 25.0), Token(" fro", 4.25), Token("gs", 0.5), Token(".", 7.0))
    item = Explanation("score", "", "", (), (Reason("It rained frogs.", "reference", 0.0, (), words),), "s")
    named = "most surprising  rained 25.0  fro 4.2  . 7.0"
    assert named in shown(item)
    assert named in shown(item, terminal=True)
    assert "most surprising" not in shown(item, terminal=True, colour=True)


def test_on_a_terminal_tokens_are_shaded_by_surprise() -> None:
    words = (Token("It", 0.0), Token(" rained", 4.0), Token(" fro", 8.0), Token("gs", 25.0))
    item = Explanation("score", "", "", (), (Reason("It rained frogs", "reference", 0.0, (), words),), "s")
    out = shown(item, terminal=True, colour=True)
    assert "It \x1b[35mrained\x1b[0m \x1b[1;35mfro\x1b[0m\x1b[1;7;35mgs\x1b[0m" in out


def test_infill_shows_what_was_held_and_calls_the_empty_hypothesis_nothing() -> None:
    item = explanation(source="")
    item = Explanation("infill", "We went", "and slept.", item.contexts, item.reasons, item.signature)
    for terminal in (False, True):
        out = shown(item, terminal=terminal)
        assert "We went … and slept." in out
        assert "(nothing)" in out
        assert "nats against nothing" in out


def test_line_breaks_and_terminal_commands_in_texts_are_not_obeyed() -> None:
    evil = "one\ntwo\x1b[2J\rthree [bold]four[/bold]"
    contexts = (Context(evil, "left", 1.0),)
    reasons = (Reason(evil, "source", 0.0, (0.0,), (Token("one", 1.0), Token("\n", 9.0), Token("two\x1b[2J", 3.0))),)
    item = Explanation("paraphrase", evil, evil, contexts, reasons, "s")
    for terminal in (False, True):
        out = shown(item, terminal=terminal)
        assert "\x1b[2J" not in out
        assert "\r" not in out
    assert len(shown(item).splitlines()) == 7
    assert "[bold]four[/bold]" in shown(item)


def test_emoji_and_wide_scripts_keep_the_tables_in_width() -> None:
    out = shown(explanation(text="这是一个很长的句子" * 12 + " 👩‍👩‍👧‍👦 " + "Donaudampfschiff" * 9), terminal=True)
    assert max(len(line) for line in out.splitlines()) <= 80
