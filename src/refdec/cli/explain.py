"""An explanation on a terminal: weighted contexts, the fit of each text with them, and the surprise of its words.

In a pipe it is plain lines, one fact per line, that never wrap. Knows the explanation, and nothing of tasks or
models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from refdec.page.pieces import beside, yardstick
from refdec.results import Context, Explanation, Reason

# The style of a token whose surprise is below so many nats. Bold and reverse help readers who see no colours.
SURPRISES = ((3.0, ""), (6.0, "magenta"), (10.0, "bold magenta"), (float("inf"), "bold reverse magenta"))
FIT_WIDTH = 7  # terminal columns that a fit takes with the space before it: -103.4
NUMBER_WIDTH = 5  # terminal columns that the number of a text takes, with the edges of the table
TEXT_WIDTH = 38  # terminal columns that a text needs with its number and score, to be readable
number_column = partial(Column, justify="right", no_wrap=True)
text_column = partial(Column, overflow="fold")
CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f]+")


def show_explanation(console: Console, explanation: Explanation) -> None:
    """Contexts, fits and surprises of one explanation, and its signature."""
    if console.is_terminal:
        _show_tables(console, explanation)
    else:
        for line in _lines(explanation):
            console.out(line, highlight=False)


def _show_tables(console: Console, explanation: Explanation) -> None:
    against = f"nats against {yardstick(explanation)}"
    if explanation.left or explanation.right:
        held = (Text(one_line(explanation.left), "dim"), Text("…"), Text(one_line(explanation.right), "dim"))
        console.print(Text(" ").join(part for part in held if part))
    if explanation.contexts:
        _show(console, "Contexts, … standing for the text", _contexts_table(explanation.contexts))
    alongside, *alone = _split_fits(len(explanation.contexts), console.width)
    title = f"Texts, shaded by surprise; score{' and fit with each context' if alongside else ''}, {against}"
    _show(console, title, _texts_table(explanation, alongside))
    console.print(_surprise_legend())
    if not console.color_system or console.no_color:
        for number, reason in enumerate(explanation.reasons):
            if reason.tokens:
                console.print(Text(f"   {number}: {_most_surprising(reason)}"))
    for columns in alone:
        title = f"Fit with contexts #{columns[0] + 1} to #{columns[-1] + 1}, {against}"
        _show(console, title, _fits_table(explanation, columns))
    console.print(Text(f"signature: {explanation.signature}", style="dim", overflow="fold"))


def _show(console: Console, title: str, table: Table) -> None:
    """A table below its title, which may be wider than a narrow table."""
    console.print(Text(title, style="italic"))
    console.print(table)


def _contexts_table(contexts: Sequence[Context]) -> Table:
    table = _table(
        Column("#", justify="right"), Column("side"), Column("weight", justify="right"), text_column("context")
    )
    for number, context in enumerate(contexts, start=1):
        table.add_row(
            str(number), context.side, f"{context.weight:.2f}", Text(beside(one_line(context.text), context.side))
        )
    return table


def _split_fits(count: int, width: int) -> list[range]:
    """The contexts whose fits stand beside the texts (all or none), then those of each further table."""
    if TEXT_WIDTH + FIT_WIDTH * count <= width:
        return [range(count)]
    at_once = max(1, (width - NUMBER_WIDTH) // FIT_WIDTH)
    return [range(0), *(range(first, min(first + at_once, count)) for first in range(0, count, at_once))]


def _texts_table(explanation: Explanation, columns: range) -> Table:
    table = _table(Column(justify="right"), number_column("score"), text_column("text"), *_fit_columns(columns))
    for number, reason in enumerate(explanation.reasons):
        text = _shaded(reason)
        if reason.text and reason.label:
            text.append(f"  {reason.label}", style="dim italic")
        table.add_row(str(number), nats_text(reason.score, 2), text, *_fits(reason, columns))
    return table


def _fits_table(explanation: Explanation, columns: range) -> Table:
    """Fits of the texts, by their numbers in the table above."""
    table = _table(Column(justify="right"), *_fit_columns(columns))
    for number, reason in enumerate(explanation.reasons):
        table.add_row(str(number), *_fits(reason, columns))
    return table


def _fit_columns(columns: range) -> list[Column]:
    return [number_column(f"#{index + 1}") for index in columns]


def _fits(reason: Reason, columns: range) -> list[Text]:
    return [nats_text(reason.fits[index], 1) for index in columns]


def nats_text(nats: float, digits: int = 2) -> Text:
    """A number of nats against a yardstick: green where it is nearly as good as that, red where it is bad."""
    shade = "green" if nats > -5 else "yellow" if nats > -15 else "red"
    return Text(f"{nats:+z.{digits}f}", style=shade)


def _shaded(reason: Reason) -> Text:
    if not reason.tokens:
        return Text(_name(reason))
    text = Text()
    for token in reason.tokens:
        piece = CONTROL.sub(" ", token.text)
        word = piece.lstrip(" ")
        text.append(piece.removesuffix(word) if text else "")
        text.append(word, style=next(style for bound, style in SURPRISES if token.surprise < bound))
    return text


def _surprise_legend() -> Text:
    legend = Text("   surprise in nats: ")
    low = 0.0
    for bound, style in SURPRISES:
        legend.append(f"{low:g} or more" if bound == float("inf") else f"{low:g} to {bound:g}", style=style)
        legend.append("  ")
        low = bound
    return legend


def _table(*columns: Column) -> Table:
    """A table that spends one space between columns, so that more of them fit."""
    return Table(*columns, box=box.SIMPLE_HEAD, padding=0, pad_edge=False)


def _lines(explanation: Explanation) -> list[str]:
    lines = []
    if explanation.left or explanation.right:
        lines.append(f"held  {' '.join((one_line(explanation.left), '…', one_line(explanation.right))).strip()}")
    for number, context in enumerate(explanation.contexts, start=1):
        text = beside(one_line(context.text), context.side)
        lines.append(f"context  #{number}  {context.side}  weight {context.weight:.2f}  {text}")
    for number, reason in enumerate(explanation.reasons):
        label = f"  ({reason.label})" if reason.text and reason.label else ""
        lines.append(f"text  {number}  score {reason.score:+z.2f}  {_name(reason)}{label}")
        if reason.fits:
            lines.append(
                "  fits  " + "  ".join(f"#{index} {fit:+z.1f}" for index, fit in enumerate(reason.fits, start=1))
            )
        if reason.tokens:
            lines.append(f"  {_most_surprising(reason)}")
    lines.append(f"scores and fits in nats against {yardstick(explanation)}; surprise in nats")
    lines.append(f"signature: {explanation.signature}")
    return lines


def _most_surprising(reason: Reason, count: int = 3) -> str:
    """The most surprising tokens, in words and nats, in the order of the text."""
    ranked = sorted(range(len(reason.tokens)), key=lambda index: -reason.tokens[index].surprise)
    tokens = [reason.tokens[index] for index in sorted(ranked[:count])]
    return "most surprising  " + "  ".join(f"{one_line(token.text) or '␣'} {token.surprise:.1f}" for token in tokens)


def _name(reason: Reason) -> str:
    return one_line(reason.text) or "(nothing)"


def one_line(text: str) -> str:
    """The text without line breaks and without control characters that a terminal would obey."""
    return CONTROL.sub(" ", text).strip(" ")
