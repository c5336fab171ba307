"""How results look to people: a table on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from refdec.baselines.method import Proposal
from refdec.cli.explain import nats_text, number_column, one_line, text_column
from refdec.results import Filling, InfillResult, Paraphrase, ParaphraseResult, RewriteResult, Score
from refdec.tasks.choice import percent, remarks
from refdec.tasks.confidence import GOOD

NEIGHBOUR = 240
"""Characters of a document that are shown on each side of a rewritten span."""

IN_PLACE = "bold green"
REMARKS = "└"  # before what is said about the text above
SURE = 0.9  # confidence that is shown in green
SCORE_LEGEND = (
    "100: as good as the reference itself, 0: no better than an unrelated text; "
    "intervals: 95 %, bootstrap over contexts"
)


def show_results(console: Console, result: ParaphraseResult, chosen: tuple[Paraphrase, ...], note: str) -> None:
    """The chosen candidates of one source, its copy apart from them, and the note about them if there is one."""
    _heading(console, result.source)
    if not console.is_terminal:
        for item in chosen:
            sure = "" if item.confidence is None else f"confidence {percent(item.confidence):>5}  "
            said = f"  ({remarks(item)})" if remarks(item) else ""
            _line(
                console, f"{item.relative:+8.2f}  {sure}novelty {item.novelty:5.1f}  {item.side:5}  {item.text}{said}"
            )
    elif chosen:
        calibrated = any(item.confidence is not None for item in chosen)
        name = "rewriting" if isinstance(result, RewriteResult) else "paraphrase"
        table = _table(name, "score", *(["confidence"] if calibrated else []), "novelty", from_side=True)
        for item in chosen:
            confidence = [_confidence_text(item.confidence)] if calibrated else []
            table.add_row(_with_remarks(item), nats_text(item.relative), *confidence, f"{item.novelty:.0f}", item.side)
        console.print(table)
        _legend(console, "score: nats against the source, comparable within this table only")
        if calibrated:
            _legend(console, "confidence: how likely the meaning is kept")
    _show_copy(console, result)
    _note(console, note)
    if chosen and isinstance(result, RewriteResult):
        _show_in_place(console, result, chosen[0])


def _with_remarks(item: Paraphrase) -> Group:
    """A candidate, dim if it is doubtful, and below it what its reader must know."""
    below = Table.grid(Column(width=2), text_column())
    if remarks(item):
        below.add_row(Text(REMARKS, "dim"), Text(remarks(item), "dim"))
    return Group(Text(item.text, "dim" if item.doubtful else ""), below)


def _show_copy(console: Console, result: ParaphraseResult) -> None:
    """The best copy of the source, which does not count as a result."""
    for copy in result.copies[:1]:
        words = f"copy of the source, not counted: {copy.relative:+z.2f}  {one_line(copy.text)}"
        if console.is_terminal:
            console.print(Text(f"  {words}", "dim"), no_wrap=True, overflow="ellipsis")
        else:
            _line(console, words)


def _show_in_place(console: Console, result: RewriteResult, item: Paraphrase) -> None:
    """A candidate in place of the span, with the nearest part of the document."""
    left, right = result.left, result.right
    if len(left) > NEIGHBOUR:
        left = "… " + left[-NEIGHBOUR:].partition(" ")[2]
    if len(right) > NEIGHBOUR:
        right = right[:NEIGHBOUR].rpartition(" ")[0] + " …"
    if console.is_terminal:
        _legend(console, "in its place:")
        console.print(Text.assemble(left, (item.text, IN_PLACE), right.rstrip()))
    else:
        _line(console, f"in its place: {one_line(f'{left}{item.text}{right}')}")


def show_fillings(console: Console, result: InfillResult, chosen: tuple[Filling, ...], note: str) -> None:
    """The texts around the gap, the chosen fillings with what they add to both, and the note about them."""
    _heading(console, " ".join(part for part in (result.left, "___", result.right) if part))
    if not console.is_terminal:
        for item in chosen:
            mark = "passes" if item.passes else "fails "
            gains = f"before {item.left_gain:+7.2f}  after {item.right_gain:+7.2f}"
            _line(console, f"{item.score:+8.2f}  {gains}  {mark}  {item.side:5}  {item.text}")
    elif chosen:
        table = _table("filling", "score", "before", "after", "passes", from_side=True)
        for item in chosen:
            both = (item.left_gain, item.right_gain)
            gains_text = [Text(f"{gain:+z.2f}", "green" if gain > 0 else "red") for gain in both]
            score = Text(f"{item.score:+z.2f}", "green" if item.passes else "yellow")
            table.add_row(Text(item.text), score, *gains_text, "yes" if item.passes else "no", item.side)
        console.print(table)
        _legend(console, "score: nats added to the log-probability of the text before and after")
    _note(console, note)


def show_proposals(console: Console, heading: str, method: str, proposals: Sequence[Proposal], note: str) -> None:
    """What a competing system proposes; the meaning of its scores is its own."""
    _heading(console, heading)
    if not console.is_terminal:
        for item in proposals:
            _line(console, f"{item.score:+10.3f}  {item.text}")
    elif proposals:
        table = _table(method, "its score")
        for item in proposals:
            table.add_row(Text(item.text), f"{item.score:+.3f}")
        console.print(table)
    _note(console, note)


def show_filled(console: Console, parts: Sequence[str], results: Sequence[InfillResult]) -> None:
    """A text with all its blanks filled."""
    if console.is_terminal:
        pieces = [Text(parts[0])]
        for part, result in zip(parts[1:], results, strict=True):
            pieces += [Text(str(result), IN_PLACE), Text(part)]
        _legend(console, "filled:")
        console.print(Text(" ").join(piece for piece in pieces if piece))
    else:
        _line(console, f"filled: {results[-1].filled}")


def show_scores(console: Console, scores: Sequence[Score], legend: bool) -> None:
    """Candidates of one reference, in the order given."""
    _heading(console, scores[0].reference)
    if console.is_terminal:
        table = _table("candidate", "scaled", "95 %", "relative", "95 %")
        for score in scores:
            table.add_row(
                Text(score.candidate),
                f"{score.scaled:.0f}",
                Text(f"{score.scaled_low:.0f} to {score.scaled_high:.0f}", "dim"),
                nats_text(score.relative),
                Text(f"{score.relative_low:+.1f} to {score.relative_high:+.1f}", "dim"),
            )
        console.print(table)
        if legend:
            _legend(console, SCORE_LEGEND)
    else:
        for score in scores:
            scaled = f"{score.scaled:5.1f} [{score.scaled_low:5.1f}, {score.scaled_high:5.1f}]"
            relative = f"{score.relative:+8.2f} [{score.relative_low:+8.2f}, {score.relative_high:+8.2f}]"
            _line(console, f"{scaled}  relative {relative}  {score.candidate}")


def _confidence_text(confidence: float | None) -> Text:
    if confidence is None:
        return Text("")
    return Text(percent(confidence), "green" if confidence >= SURE else "yellow" if confidence >= GOOD else "red")


def _table(text: str, *numbers: str, from_side: bool = False) -> Table:
    """A table of texts with numbers beside them."""
    side = [Column("from")] if from_side else []
    return Table(text_column(text, ratio=1), *map(number_column, numbers), *side, box=box.SIMPLE_HEAD)


def _heading(console: Console, text: str) -> None:
    if console.is_terminal:
        console.print()
        console.print(Text(text, "bold"))
    else:
        console.out(text, highlight=False)


def _legend(console: Console, words: str) -> None:
    console.print(Padding(Text(words, "dim"), (0, 0, 0, 2), expand=False))


def _line(console: Console, words: str) -> None:
    console.out(f"  {words}", highlight=False)


def _note(console: Console, note: str) -> None:
    if note:
        console.print(Text(f"  {note}"), style="yellow", soft_wrap=True)
