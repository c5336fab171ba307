"""`refdec paraphrase`: texts in, ranked paraphrases out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from refdec.cli.command_run import CommandRun
from refdec.cli.inputs import ARGUMENT, Origin, texts_from
from refdec.cli.methods import method_option, paraphrase_by
from refdec.cli.options import (
    TaskCommand,
    checked_settings,
    confidence_option,
    examples_option,
    file_option,
    fingerprint_option,
    novelty_options,
    ranked_options,
    task_options,
)
from refdec.cli.selection import wanted
from refdec.errors import InputError
from refdec.settings import ParaphraseSettings
from refdec.tasks.choice import choose
from refdec.tasks.confidence import check_calibrated
from refdec.tasks.fingerprint import Fingerprint
from refdec.text.cleaning import clean

EXAMPLE = 'refdec paraphrase "How do I learn to cook?"'


@click.command("paraphrase", cls=TaskCommand, short_help="Say texts in other words.")
@click.argument("texts", nargs=-1, metavar="[TEXT]... | -")
@file_option("texts in a file, one per line")
@ranked_options("how many paraphrases to show")
@novelty_options
@confidence_option
@fingerprint_option("text")
@task_options(ParaphraseSettings)
@examples_option
@method_option
def paraphrase_command(texts: tuple[str, ...], **options: Any) -> int:
    """Paraphrase texts given as arguments, in a file, or on standard input (-), one per line.

    \b
    Examples:
      refdec paraphrase "How do I learn to cook?"
      refdec paraphrase --novelty 30 --top 3 "How do I learn to cook?"
      refdec paraphrase --confidence 90 "How do I learn to cook?"
      refdec paraphrase --keep Tuesday --avoid boss "My boss is back on Tuesday."
      refdec paraphrase --explain "The train was late again."
      refdec paraphrase --html reasons.html "The train was late again."
      refdec paraphrase --preset paper --seed 7 "Is it safe to swim here?"
      refdec paraphrase --file questions.txt
      refdec paraphrase --method prompt "How do I learn to cook?"
      cat questions.txt | refdec paraphrase --json -

    The score says how well a paraphrase fits the contexts of its source, in nats against the source itself. It
    compares paraphrases of one text, not of different texts. The confidence compares those, too: it is the probability
    that the meaning is kept. It is calibrated for the pair that comes with refdec.

    Under each paraphrase stands what it swaps, loses or adds (see refdec diff), and whether it is doubtful. If none is
    good, a note says so. A copy of the source is shown apart and not counted.
    """
    if options["method"] is not None:
        return paraphrase_by(options["method"], texts_from(texts, options["file"], EXAMPLE), options)
    fingerprint, inputs = _inputs(texts, options)
    checked_settings(ParaphraseSettings, options, fingerprint, clean(texts[0]) if fingerprint and texts else None)
    with CommandRun(options, ParaphraseSettings) as run:
        for origin, text in inputs:
            with run.on(origin, source=text):
                clean(text)  # refused before the models are loaded for it
                if options["confidence"] is not None:
                    check_calibrated(run.reflector.pair.name)
                result = run.reflector.paraphrase(text, fingerprint=fingerprint, **run.arguments)
                run.put_ranked(result, *choose(result, wanted(options)))
        return run.exit_code()


def _inputs(texts: tuple[str, ...], options: dict[str, Any]) -> tuple[Fingerprint | None, Iterable[tuple[Origin, str]]]:
    """The fingerprint, if one is given, and the texts: with a fingerprint, that of the fingerprint only."""
    if options["fingerprint"] is None:
        return None, texts_from(texts, options["file"], EXAMPLE)
    if len(texts) > 1 or options["file"] is not None:
        raise InputError("A fingerprint is of one text. Give that text or none beside it, and no --file.")
    fingerprint = Fingerprint.load(options["fingerprint"])
    return fingerprint, [(ARGUMENT, texts[0] if texts else fingerprint.text)]
