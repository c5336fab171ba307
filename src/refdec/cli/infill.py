"""`refdec infill`: texts with gaps in, ranked fillings out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.choose import explained, shown, wanted
from refdec.cli.inputs import texts_from
from refdec.cli.options import (
    checked_settings,
    constraint_options,
    constraints_from,
    file_option,
    task_options,
    top_option,
)
from refdec.cli.work import Work
from refdec.errors import InputError
from refdec.results import InfillResult
from refdec.settings import InfillSettings
from refdec.tasks.choice import choose_fillings
from refdec.text.cleaning import clean

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = 'refdec infill "She missed the bus. ___ She was late for work."'


@click.command("infill", short_help="Fill the gaps in texts.")
@click.argument("texts", nargs=-1, metavar="[TEXT | LEFT RIGHT]")
@file_option("read texts from a file, one with ___ a line")
@top_option("fillings")
@constraint_options
@task_options(InfillSettings)
def infill_command(texts: tuple[str, ...], **options: Any) -> int:
    """Fill the gap between two texts, or every ___ of one text, from left to right.

    \b
    Examples:
      refdec infill "She missed the bus." "She was late for work."
      refdec infill "She missed the bus. ___ She was late for work."
      refdec infill --most-words 3 "We went to ___ and bought ___ for dinner."
      refdec infill --keep rain --most-words 12 "It was dark. ___ We got wet."
      refdec infill --explain "Tom was hungry." "He felt much better."
      echo "The lamp broke. ___ It was dark." | refdec infill --json

    The score tells by how many nats a filling makes the text before it and the text after it more probable than no
    filling would. One passes if both gain.
    """
    constraints = constraints_from(options)
    checked_settings(InfillSettings, options)
    with Work(options) as work:
        for names in _inputs(texts, options):
            with work.on(**names):
                parts = _parts(names)
                results = work.reflector.fill(
                    " ___ ".join(parts),
                    constraints=constraints,
                    explain=explained(options),
                    **work.arguments(InfillSettings),
                )
                _put(work, parts, results, options)
        return work.exit_code()


def _inputs(texts: tuple[str, ...], options: dict[str, Any]) -> Iterable[dict[str, str]]:
    """Each input by the names that its results and errors have."""
    if len(texts) < 2:
        return ({"text": text} for text in texts_from(texts, options["file"], EXAMPLE))
    if len(texts) > 2:
        raise InputError("Give one text with ___, or two texts: the one before the gap and the one after it.")
    if options["file"] is not None:
        raise InputError("Texts were given both as arguments and as a file. Choose one.")
    if any("___" in text for text in texts):
        raise InputError("Two texts stand before and after a gap, and one of them has ___. Join them, or take it out.")
    return [{"left": texts[0], "right": texts[1]}]


def _parts(names: dict[str, str]) -> list[str]:
    """The texts around the gaps, refused before models are loaded for them."""
    from refdec.tasks.infill import split_blanks

    parts = split_blanks(names["text"] if "text" in names else f"{names['left']} ___ {names['right']}")
    for part in filter(None, parts):
        clean(part)
    return parts


def _put(work: Work, parts: Sequence[str], results: Sequence[InfillResult], options: dict[str, Any]) -> None:
    from refdec.cli.render import show_filled, show_fillings

    chosen = [choose_fillings(result, wanted(options)) for result in results]
    explanations = [shown(result.explanation, items) for result, (items, _) in zip(results, chosen, strict=True)]
    contents = []
    for number, (result, (items, note)) in enumerate(zip(results, chosen, strict=True), start=1):
        place = {"blank": number, "blanks": len(results)} if len(results) > 1 else {}
        filled = {"filled": result.filled} if number == len(results) else {}
        contents.append(work.content(result.to_dict(items) | place | filled, explanations[number - 1], note))

    def show(console: Console) -> None:
        for result, (items, note) in zip(results, chosen, strict=True):
            show_fillings(console, result, items, note)
        if len(results) > 1:
            show_filled(console, parts, results)

    work.put(contents, explanations, show)
