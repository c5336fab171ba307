"""`refdec infill`: texts with gaps in, ranked fillings out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.command_run import CommandRun
from refdec.cli.inputs import ARGUMENT, Origin, texts_from
from refdec.cli.methods import infill_by, method_option
from refdec.cli.options import TaskCommand, checked_settings, file_option, ranked_options, task_options
from refdec.cli.selection import shown, wanted
from refdec.errors import InputError
from refdec.results import InfillResult
from refdec.settings import InfillSettings
from refdec.tasks.choice import choose_fillings
from refdec.text.cleaning import clean

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = 'refdec infill "She missed the bus. ___ She was late for work."'


@click.command("infill", cls=TaskCommand, short_help="Fill the gaps in texts.")
@click.argument("texts", nargs=-1, metavar="[TEXT | LEFT RIGHT | -]")
@file_option("texts with ___ in a file, one per line")
@ranked_options("how many fillings to show")
@task_options(InfillSettings)
@method_option
def infill_command(texts: tuple[str, ...], **options: Any) -> int:
    """Fill the gap between two texts, or every ___ of one text, from left to right.

    Texts with ___ can also stand in a file, or on standard input (-), one per line.

    \b
    Examples:
      refdec infill "She missed the bus." "She was late for work."
      refdec infill "She missed the bus. ___ She was late for work."
      refdec infill --most-words 3 "We went to ___ and bought ___ for dinner."
      refdec infill --keep rain --most-words 12 "It was dark. ___ We got wet."
      refdec infill --explain "Tom was hungry." "He felt much better."
      refdec infill --method delorean "Tom was hungry." "He felt much better."
      refdec infill --file gaps.txt
      echo "The lamp broke. ___ It was dark." | refdec infill --json -

    The score says by how many nats a filling makes the text before it and the text after it more probable than no
    filling would. A filling passes if both gain.
    """
    if options["method"] is not None:
        return infill_by(options["method"], _inputs(texts, options), options)
    from refdec.tasks.infill import split_blanks

    checked_settings(InfillSettings, options)
    with CommandRun(options, InfillSettings) as run:
        for origin, names in _inputs(texts, options):
            with run.on(origin, **names):
                parts = split_blanks(" ___ ".join(names.values()))
                for part in filter(None, parts):
                    clean(part)  # refused before the models are loaded for it
                results = run.reflector.fill(" ___ ".join(parts), **run.arguments)
                _put(run, parts, results, options)
        return run.exit_code()


def _inputs(texts: tuple[str, ...], options: dict[str, Any]) -> Iterator[tuple[Origin, dict[str, str]]]:
    """Each input by the names that its results and errors have."""
    inputs = texts_from(texts, options["file"], EXAMPLE)
    if len(texts) < 2:
        yield from ((origin, {"text": text}) for origin, text in inputs)
        return
    (_, left), (_, right), *others = inputs
    if others:
        raise InputError("Give one text with ___, or two texts: the one before the gap and the one after it.")
    if "___" in left or "___" in right:
        raise InputError("Two texts stand before and after a gap, and one of them has ___. Join them, or take it out.")
    yield ARGUMENT, {"left": left, "right": right}


def _put(run: CommandRun, parts: Sequence[str], results: Sequence[InfillResult], options: dict[str, Any]) -> None:
    from refdec.cli.render import show_filled, show_fillings

    chosen = [choose_fillings(result, wanted(options)) for result in results]
    explanations = [shown(result.explanation, *items) for result, items in zip(results, chosen, strict=True)]
    contents = []
    for number, (result, (items, note)) in enumerate(zip(results, chosen, strict=True), start=1):
        place = {"blank": number, "blanks": len(results)} if len(results) > 1 else {}
        filled = {"filled": result.filled} if number == len(results) else {}
        contents.append(run.content(result.to_dict(items) | place | filled, explanations[number - 1], note))

    def show(console: Console) -> None:
        for result, (items, note) in zip(results, chosen, strict=True):
            show_fillings(console, result, items, note)
        if len(results) > 1:
            show_filled(console, parts, results)

    run.put(contents, explanations, show)
