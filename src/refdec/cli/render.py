"""How results look to people: a table on a terminal, plain lines in a pipe."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from refdec.results import Paraphrase, ParaphraseResult


def show_results(console: Console, result: ParaphraseResult, chosen: tuple[Paraphrase, ...], note: str) -> None:
    """The chosen candidates of one source, and a note where something must be said about them."""
    if console.is_terminal:
        console.print(f"\n[bold]{escape(result.source)}[/bold]")
        if chosen:
            console.print(_results_table(chosen))
            console.print("  score: nats against the source, comparable within this table only", style="dim")
    else:
        console.out(result.source)
        for item in chosen:
            mark = "  (copy of the source)" if item.copy else ""
            console.out(f"  {item.relative:+8.2f}  novelty {item.novelty:5.1f}  {item.side:5}  {item.text}{mark}")
    if note:
        console.print(f"  {escape(note)}", style="yellow", soft_wrap=True)


def show_reasons(console: Console, result: ParaphraseResult, chosen: tuple[Paraphrase, ...]) -> None:
    """The weighted contexts, and how each candidate fits each of them compared with the source."""
    table = Table(box=box.SIMPLE_HEAD, title="Contexts that describe the source", title_justify="left")
    table.add_column("#", justify="right")
    table.add_column("weight", justify="right")
    table.add_column("context, … standing for the source", overflow="fold")
    for number, context in enumerate(result.contexts, start=1):
        text = f"{context.text.strip()} …" if context.side == "left" else f"… {context.text.strip()}"
        table.add_row(str(number), f"{context.weight:.2f}", Text(text))
    console.print(table)
    if chosen:
        fits = Table(box=box.SIMPLE_HEAD, title="Fit with each context, nats against the source", title_justify="left")
        fits.add_column("candidate", overflow="fold", min_width=24)
        for number in range(1, len(result.contexts) + 1):
            fits.add_column(f"#{number}", justify="right", no_wrap=True)
        for item in chosen:
            fits.add_row(Text(item.text), *(Text(f"{fit:+.1f}", style=_shade(fit)) for fit in item.fits))
        console.print(fits)
    signature = f"signature: {result.signature}"
    if console.is_terminal:
        console.print(Text(signature, style="dim", overflow="fold"))
    else:
        console.out(signature)  # one line, to be copied


def _results_table(chosen: tuple[Paraphrase, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("paraphrase", overflow="fold", ratio=1)
    table.add_column("score", justify="right")
    table.add_column("novelty", justify="right")
    table.add_column("from", justify="left")
    for item in chosen:
        text = Text(item.text, style="dim" if item.copy else "")
        if item.copy:
            text.append("  copy of the source", style="italic")
        table.add_row(
            text, Text(f"{item.relative:+.2f}", style=_shade(item.relative)), f"{item.novelty:.0f}", item.side
        )
    return table


def _shade(nats: float) -> str:
    """Green for what fits nearly as well as the source, red for what does not."""
    return "green" if nats > -5 else "yellow" if nats > -15 else "red"
