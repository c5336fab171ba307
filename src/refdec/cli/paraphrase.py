"""`refdec paraphrase`: texts in, ranked paraphrases out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from refdec.cli.choose import explained, shown, wanted
from refdec.cli.inputs import texts_from
from refdec.cli.options import (
    checked_settings,
    confidence_option,
    constraint_options,
    constraints_from,
    file_option,
    fingerprint_option,
    novelty_options,
    task_options,
    top_option,
)
from refdec.cli.work import Work
from refdec.errors import InputError
from refdec.results import ParaphraseResult
from refdec.settings import ParaphraseSettings
from refdec.tasks.choice import choose
from refdec.tasks.confidence import check_calibrated
from refdec.tasks.fingerprint import Fingerprint
from refdec.text.cleaning import clean

EXAMPLE = 'refdec paraphrase "How do I learn to cook?"'


@click.command("paraphrase", short_help="Say texts in other words.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@file_option("read texts from a file, one a line")
@top_option("paraphrases")
@novelty_options
@confidence_option
@constraint_options
@fingerprint_option("text")
@task_options(ParaphraseSettings)
def paraphrase_command(texts: tuple[str, ...], **options: Any) -> int:
    """Paraphrase texts given as arguments, in a file, or on standard input (one a line).

    \b
    Examples:
      refdec paraphrase "How do I learn to cook?"
      refdec paraphrase --novelty 30 --top 3 "How do I learn to cook?"
      refdec paraphrase --confidence 0.9 "How do I learn to cook?"
      refdec paraphrase --keep Tuesday --avoid boss "My boss is back on Tuesday."
      refdec paraphrase --explain "The train was late again."
      refdec paraphrase --html reasons.html "The train was late again."
      refdec paraphrase --preset paper --seed 7 "Is it safe to swim here?"
      echo "The shop is closed on Sundays." | refdec paraphrase --json

    The score tells how well a paraphrase fits the contexts of its source, in nats against the source itself. It
    compares paraphrases of one text, not of different texts. The confidence compares those, too: it is the probability
    that the meaning is kept, and known for the pair that comes with refdec.
    """
    wanted(options)  # refused before models are loaded
    constraints = constraints_from(options)
    known, inputs = _inputs(texts, options)
    checked_settings(ParaphraseSettings, options, known, clean(texts[0]) if known and texts else None)
    with Work(options) as work:
        for text in inputs:
            with work.on(source=text):
                clean(text)  # refused before the models are loaded for it
                if options["confidence"] is not None:
                    check_calibrated(work.reflector.pair.name)
                result = work.reflector.paraphrase(
                    text,
                    constraints=constraints,
                    fingerprint=known,
                    explain=explained(options),
                    **work.arguments(ParaphraseSettings),
                )
                _put(work, result, options)
        return work.exit_code()


def _inputs(texts: tuple[str, ...], options: dict[str, Any]) -> tuple[Fingerprint | None, Iterable[str]]:
    """The fingerprint, where there is one, and the texts: then at most its own."""
    if options["fingerprint"] is None:
        return None, texts_from(texts, options["file"], EXAMPLE)
    if len(texts) > 1 or options["file"] is not None:
        raise InputError("A fingerprint is of one text. Give that text or none beside it, and no --file.")
    known = Fingerprint.load(options["fingerprint"])
    return known, texts or (known.text,)


def _put(work: Work, result: ParaphraseResult, options: dict[str, Any]) -> None:
    from refdec.cli.render import show_results

    chosen, note = choose(result, wanted(options))
    explanation = shown(result.explanation, chosen)
    content = work.content(result.to_dict(chosen), explanation, note)
    work.put([content], [explanation], lambda console: show_results(console, result, chosen, note))
