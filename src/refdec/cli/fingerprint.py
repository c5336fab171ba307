"""`refdec fingerprint`: a text in, the weighted contexts that describe it out, as a file to be used again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refdec.cli.command_run import CommandRun, check_output
from refdec.cli.inputs import STANDARD_INPUT, whole_text
from refdec.cli.options import (
    FILE,
    TaskCommand,
    checked_settings,
    file_option,
    force_option,
    given,
    run_options,
)
from refdec.files.whole import write_whole
from refdec.settings import FingerprintSettings, ParaphraseSettings, ScoreSettings
from refdec.text.cleaning import clean

EXAMPLE = 'refdec fingerprint "How do I learn to cook?" -o cook.json'
KINDS: dict[str, type[FingerprintSettings]] = {kind.task: kind for kind in (ParaphraseSettings, ScoreSettings)}


@click.command("fingerprint", cls=TaskCommand, short_help="Save the contexts of a text for later.")
@click.argument("text", required=False, metavar="[TEXT | -]")
@file_option("the text in a file")
@click.option("-o", "--output", type=FILE, default="-", metavar="FILE", help="write to FILE, not to standard output")
@force_option
@click.option("--for", "task", type=click.Choice(list(KINDS)), default="paraphrase", metavar="NAME",
              help="presets of paraphrase or score [default: paraphrase]")  # fmt: skip
@run_options(FingerprintSettings)
def fingerprint_command(text: str | None, output: Path, task: str, **options: Any) -> int:
    """Save the contexts that describe a text, with their weights, so that they are not sampled again.

    \b
    Examples:
      refdec fingerprint "How do I learn to cook?" -o cook.json
      refdec paraphrase --fingerprint cook.json
      refdec fingerprint --for score "The train was late." -o train.json
      refdec score --fingerprint train.json "The train came late." "It rained."

    Results are the same as without a fingerprint. It holds the settings it was made with and the name of the models,
    and is refused with others. The settings below show their values for paraphrase; --for score uses those of refdec
    score.
    """
    kind = KINDS[task]
    checked_settings(kind, options)
    source = clean(whole_text(text, options["file"], EXAMPLE))
    if output != STANDARD_INPUT:
        check_output(output, options)
    with CommandRun(options, FingerprintSettings) as run:
        settings = run.reflector.settings(kind, options["preset"], given(FingerprintSettings, options))
        content = str(run.reflector.fingerprint(source, settings.description(), stage=run.stage))
        if output == STANDARD_INPUT:
            run.put_text(content)
    if output != STANDARD_INPUT:
        write_whole(output, content)
        run.tell(f"the fingerprint is in {output}")
    return 0
