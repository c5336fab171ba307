"""Results say plainly what changed, what is doubtful, and that none is good: on a terminal, in a pipe, on the page."""

from __future__ import annotations

import io
import re
from dataclasses import fields, is_dataclass, replace
from typing import Literal

import pytest
from rich.console import Console

from refdec import ParaphraseSettings, Reflector
from refdec.cli.render import show_results
from refdec.cli.selection import shown as explanation_shown
from refdec.ledger.comparison import compare
from refdec.page import page
from refdec.results import (
    Context,
    Explanation,
    Filling,
    Flow,
    InfillResult,
    Paraphrase,
    ParaphraseResult,
    Reason,
    RewriteResult,
    Score,
    Token,
)
from refdec.settings import PRESETS
from refdec.tasks.choice import CHANGES, Wanted, choose, remarks
from refdec.tasks.paraphrase import NOT_ENGLISH, language_note
from refdec.tasks.ranking import is_copy
from refdec.tasks.verdict import is_good, with_changes, with_doubts
from tests.conftest import TINY
from tests.test_page import Document, explanation

SOURCE = "The band released its second album on Tuesday."
COPY = "the band released its second album on Tuesday"
GOOD = "On Tuesday, the band published its second album."
LOST = "The band released its record."
NEGATED = "The band did not release its second album on Tuesday."
STEERED, PLAIN = PRESETS["paraphrase"]["faithful"], PRESETS["paraphrase"]["paper"]


def judged(
    *texts: str, sure: float | None = None, settings: object = STEERED, source: str = SOURCE
) -> ParaphraseResult:
    """Candidates as a task returns them, best first."""
    assert isinstance(settings, ParaphraseSettings)
    items = [
        Paraphrase(text, -place, -place, 0.0, (), 20.0, is_copy(text, source), "right", (), sure)
        for place, text in enumerate(texts)
    ]
    items = with_doubts(source, with_changes(source, items), settings)
    return ParaphraseResult(source, 0.0, tuple(items), (), {}, {}, "signature")


def shown(result: ParaphraseResult, terminal: bool, colour: bool = False, width: int = 100) -> str:
    output = io.StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    show_results(
        Console(file=output, force_terminal=terminal, width=width, color_system=system),
        result,
        *choose(result, Wanted()),
    )
    return output.getvalue()


def test_every_candidate_says_what_was_swapped_lost_and_added() -> None:
    good, lost = judged(GOOD, LOST, settings=PLAIN).candidates
    assert good.changes == ("released → published",)
    assert {"lost: Tuesday", "lost: second"} <= set(lost.changes)
    assert (good.cost, lost.cost) == (compare(SOURCE, GOOD).cost, compare(SOURCE, LOST).cost)
    assert good.to_dict()["changes"] == ["released → published"]


def test_under_half_confidence_is_doubtful() -> None:
    assert [judged(GOOD, sure=sure).candidates[0].doubtful for sure in (0.49, 0.5, None)] == [True, False, False]


def test_a_high_cost_is_doubtful_only_where_the_ledger_steered() -> None:
    assert judged(NEGATED, sure=0.9).candidates[0].doubtful
    plain = judged(NEGATED, sure=0.9, settings=PLAIN).candidates[0]
    assert not plain.doubtful
    assert not is_good(plain)


def test_a_copy_is_neither_doubtful_nor_good() -> None:
    (copy,) = judged(COPY, sure=0.1).candidates
    assert not copy.doubtful
    assert not is_good(copy)


@pytest.mark.parametrize("sure", [0.3, None])
@pytest.mark.parametrize("settings", [STEERED, PLAIN])
def test_where_nothing_is_good_this_is_said_with_the_fault_of_the_nearest(sure: float | None, settings: object) -> None:
    result = judged(COPY, LOST, NEGATED, sure=sure, settings=settings)
    chosen, note = choose(result, Wanted())
    assert [item.text for item in chosen] == [LOST, NEGATED]
    costs = [item.cost or 0.0 for item in chosen]
    nearest = costs.index(min(costs))
    assert note.startswith(f"No good paraphrase was found. What is wrong with the nearest, number {nearest + 1}: ")
    assert ("confidence 30 %; " in note) == (sure is not None)
    assert chosen[nearest].changes[0] in note


def test_one_good_result_needs_no_note() -> None:
    assert choose(judged(LOST, GOOD), Wanted()) == (judged(LOST, GOOD).candidates, "")


def test_notes_call_a_rewriting_by_its_name() -> None:
    result = judged(NEGATED)
    names = {item.name: getattr(result, item.name) for item in fields(result)}
    assert choose(RewriteResult(**names), Wanted())[1].startswith("No good rewriting was found.")


def test_a_pipe_has_the_remarks_at_the_end_and_the_copy_on_a_line_of_its_own() -> None:
    lines = shown(judged(COPY, GOOD, NEGATED), terminal=False).splitlines()
    assert lines[0] == SOURCE
    assert lines[1].endswith(f"{GOOD}  (released → published)")
    assert re.search(r"  \(doubtful; .*not.*\)$", lines[2])
    assert lines[3:] == [f"  copy of the source, not counted: +0.00  {COPY}"]


def test_a_table_has_the_remarks_under_each_text_and_the_copy_below() -> None:
    same_words = "On Tuesday, the band released its second album."
    lines = [line.strip() for line in shown(judged(COPY, GOOD, NEGATED, same_words), terminal=True).splitlines()]
    places = [next(place for place, line in enumerate(lines) if line.startswith(text)) for text in (GOOD, NEGATED)]
    assert lines[places[0] + 1] == "└ released → published"
    assert lines[places[1] + 1].startswith("└ doubtful; ")
    assert lines[places[1] + 2].startswith(same_words)
    assert not lines[places[1] + 3]
    assert lines[-1] == f"copy of the source, not counted: +0.00  {COPY}"
    assert sum(COPY in line for line in lines) == 1


def test_doubtful_texts_are_dim_on_a_terminal() -> None:
    out = shown(judged(GOOD, NEGATED), terminal=True, colour=True)
    assert f"\x1b[2m{NEGATED}" in out
    assert f"\x1b[2m{GOOD}" not in out


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_table_keeps_its_width(width: int) -> None:
    out = shown(judged(COPY, LOST, NEGATED, GOOD, sure=0.7), terminal=True, width=width)
    assert max(map(len, out.splitlines())) <= width


def test_of_many_changes_people_see_the_dearest_and_their_number() -> None:
    item = replace(judged(GOOD).candidates[0], changes=tuple(f"lost: {name}" for name in "abcdef"), doubtful=True)
    assert remarks(item) == f"doubtful; lost: a; lost: b; lost: c; lost: d; and {6 - CHANGES} more"
    assert len(item.to_dict()["changes"]) == 6


@pytest.mark.parametrize(
    "source",
    ["El tren llegó tarde otra vez a la estación.", "for (i = 0; i < n; i++) { x[i] = f(y); }", "asdf qwer zxcv"],
)
def test_what_is_not_english_has_no_confidence_and_no_doubts(source: str) -> None:
    result = judged(source, source + " otra", sure=0.2, source=source)
    assert [item.confidence for item in result] == [None, None]
    assert not any(item.doubtful for item in result)
    assert choose(replace(result, note=NOT_ENGLISH), Wanted())[1] == NOT_ENGLISH
    assert choose(replace(result, note=NOT_ENGLISH), Wanted(confidence=0.9)) == ((), NOT_ENGLISH)


def test_only_of_the_embedded_models_it_is_known_that_they_read_english(small_reflector: Reflector) -> None:
    spanish = "El tren llegó tarde otra vez a la estación."
    embedded = replace(small_reflector.pair, name="pair-v1:0123")
    assert language_note(embedded, spanish) == NOT_ENGLISH
    assert language_note(embedded, SOURCE) == ""
    assert language_note(small_reflector.pair, spanish) == ""


def test_the_note_of_a_result_is_in_json() -> None:
    result = judged(GOOD)
    assert "note" not in result.to_dict()
    assert replace(result, note="Mind.").to_dict()["note"] == "Mind."


@pytest.mark.parametrize("preset", ["paper", "fast"])
def test_results_of_every_preset_have_costs_and_changes(small_reflector: Reflector, preset: str) -> None:
    for result in (
        small_reflector.paraphrase("The train was late again.", preset, **TINY),
        small_reflector.rewrite("Anna walked to the house.", preset, left="It was late.", **TINY | {"samples": 240}),
    ):
        assert result.candidates
        for item in result:
            assert item.cost == compare(result.source, item.text).cost
            assert item.changes == compare(result.source, item.text).reasons


def test_as_many_results_as_asked_for_are_explained_and_a_copy_after_them(small_reflector: Reflector) -> None:
    result = small_reflector.paraphrase("I like it here.", "fast", explain=2, **TINY)
    assert result.explanation is not None
    texts = [reason.text for reason in result.explanation.reasons[1:]]
    assert texts == [item.text for item in (*result.top(2), *result.copies[:1])]
    assert [reason.changes for reason in result.explanation.reasons[1:3]] == [item.changes for item in result.top(2)]


def test_the_page_has_the_changes_the_doubts_and_the_note_in_words() -> None:
    whole = explanation(candidates=2)
    first, second, third = whole.reasons
    doubted = replace(third, label="doubtful", changes=("lost: <album>", "new: two weeks ago"))
    whole = replace(
        whole, reasons=(first, replace(second, changes=("published → released",)), doubted), note="None & none."
    )
    document = Document(page([whole]))
    assert "changes: published → released" in document.text
    assert "changes: lost: <album>; new: two weeks ago" in document.text
    assert "None & none." in document.text
    assert len(document.by_class("changes")) == 2
    assert len(document.by_class("doubtful")) == 1
    assert document.text.count("doubtful") == 1
    assert not Document(page([explanation()])).by_class("note")


def test_the_page_of_a_command_has_its_note() -> None:
    whole = explanation(candidates=2)
    item = replace(judged(GOOD).candidates[0], text=whole.reasons[1].text)
    part = explanation_shown(whole, [item], "Mind.")
    assert part is not None
    assert part.note == "Mind."
    assert part.reasons == whole.reasons[:2]


@pytest.mark.parametrize(
    "kind",
    [
        Context,
        Token,
        Reason,
        Explanation,
        Flow,
        Paraphrase,
        ParaphraseResult,
        RewriteResult,
        Filling,
        InfillResult,
        Score,
    ],
)
def test_help_explains_every_field_of_a_result(kind: type) -> None:
    assert is_dataclass(kind)
    inherited = {item.name for base in kind.__bases__ if is_dataclass(base) for item in fields(base)}
    for item in fields(kind):
        is_explained = re.search(rf"^ {{8}}(\w+, )*{item.name}[,:]", kind.__doc__ or "", re.M)
        assert item.name in inherited or is_explained, item.name
