"""`refdec paraphrase`: texts in, ranked paraphrases out."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.options import given, setting_options
from refdec.errors import InputError, SettingsError
from refdec.settings import PRESETS, preset
from refdec.tasks.text import clean

if TYPE_CHECKING:
    from refdec.results import Paraphrase, ParaphraseResult


@click.command("paraphrase")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("-f", "--file", type=click.Path(path_type=Path), help="read texts from a file, one a line")
@click.option("-n", "--top", type=click.IntRange(1), default=5, show_default=True, help="how many paraphrases to show")
@click.option("--novelty", type=float, help="only paraphrases of at least this Novelty (0 to 100)")
@click.option("--front", is_flag=True, help="show the whole trade-off between quality and Novelty")
@click.option("--explain", is_flag=True, help="show the weighted contexts and the fit with each")
@click.option("--json", "as_json", is_flag=True, help="one JSON object a line for each text")
@click.option("-q", "--quiet", is_flag=True, help="no progress on standard error")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="settings [default: fast on a CPU, wide on a GPU]")
@click.option("--forward", help="forward model, or a directory of a pair: a path or hub id")
@click.option("--backward", help="backward model with the same tokenizer: a path or hub id")
@click.option("--device", help="where to compute: cpu, cuda, cuda:1 [default: a GPU where there is one]")
@setting_options
def paraphrase_command(texts: tuple[str, ...], **options: Any) -> int:
    """Paraphrase texts given as arguments, in a file, or on standard input (one a line).

    \b
    Examples:
      refdec paraphrase "How do I learn to cook?"
      refdec paraphrase --novelty 30 --top 3 "How do I learn to cook?"
      refdec paraphrase --explain "The train was late again."
      refdec paraphrase --preset paper --seed 7 "Is it safe to swim here?"
      echo "The shop is closed on Sundays." | refdec paraphrase --json

    The score tells how well a paraphrase fits the contexts of its source, in nats against the source itself. It
    compares paraphrases of one text, not of different texts.
    """
    from refdec.cli.inputs import texts_from
    from refdec.cli.progress import Progress

    _check_novelty(options["novelty"])
    preset(options["preset"] or "fast").replace(**given(options))  # a wrong setting is told before models load
    inputs = texts_from(texts, options["file"])
    failed, text = False, None
    with Progress(options["quiet"]) as progress:
        reflector = None
        for text in inputs:
            try:
                clean(text)  # refused before the models are loaded for it
                if reflector is None:
                    from refdec.lm.pair import load_pair
                    from refdec.tasks.reflector import Reflector

                    reflector = Reflector(load_pair(options["forward"], options["backward"], device=options["device"]))
                result = reflector.paraphrase(text, options["preset"], stage=progress.stage, **given(options))
            except InputError as error:
                failed = True
                progress.pause()
                _report_error(text, error, options["as_json"])
                progress.resume()
                continue
            progress.pause()
            _print(result, options)
            progress.resume()
            progress.done()
    if text is None:
        raise InputError("There was no text to work on: the input is empty.")
    return 2 if failed else 0


def _check_novelty(least: float | None) -> None:
    if least is not None and not (math.isfinite(least) and 0 <= least <= 100):
        raise SettingsError(f"novelty is {least}; it must be a number from 0 to 100.")


def _choose(result: ParaphraseResult, options: dict[str, Any]) -> tuple[tuple[Paraphrase, ...], str]:
    """The candidates that were asked for, and what must be said about them."""
    least = options["novelty"]
    if options["front"]:
        chosen = tuple(item for item in result.front() if item.novelty >= (least or 0))
    elif least is not None:
        chosen = result.at_novelty(least)[: options["top"]]
    else:
        chosen = result.top(options["top"])
    if chosen:
        only_copies = all(item.copy for item in chosen)
        return chosen, "Only copies of the source were generated. Try more --samples." if only_copies else ""
    if not result.candidates:
        return chosen, "No paraphrase was generated. Try another --seed, more --samples or --preset paper."
    most = max(item.novelty for item in result.candidates)
    return chosen, f"No paraphrase reaches Novelty {least:g}; the highest is {most:.1f}. Try more --samples."


def _print(result: ParaphraseResult, options: dict[str, Any]) -> None:
    chosen, note = _choose(result, options)
    if options["as_json"]:
        line = result.to_dict(chosen) | ({"note": note} if note else {})
        click.echo(_json_line(line))
    else:
        from rich.console import Console

        from refdec.cli.render import show_reasons, show_results

        console = Console(highlight=False)
        show_results(console, result, chosen, note)
        if options["explain"]:
            show_reasons(console, result, chosen)
    sys.stdout.flush()


def _report_error(text: str, error: InputError, as_json: bool) -> None:
    if as_json:
        click.echo(_json_line({"source": text, "error": str(error)}))
    else:
        click.echo(f"refdec: {error}", err=True)


def _json_line(content: dict[str, Any]) -> str:
    line = json.dumps(content, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # bytes that were no text: escape them
        return json.dumps(content)
    return line
