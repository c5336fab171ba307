"""`refdec score`: references and candidates in, how alike they are out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

import click

from refdec.cli.command_run import CommandRun
from refdec.cli.inputs import ARGUMENT, TextPair, pairs_from
from refdec.cli.options import TaskCommand, checked_settings, file_option, fingerprint_option, given, task_options
from refdec.errors import InputError
from refdec.results import Score
from refdec.settings import ScoreSettings
from refdec.tasks.fingerprint import Fingerprint
from refdec.text.cleaning import clean

EXAMPLE = 'refdec score "How do I learn to cook?" "How can I learn cooking?"'
AT_ONCE = 100
"""Candidates of one reference that are scored together at most, so that results come now and then."""


@click.command("score", cls=TaskCommand, short_help="Say how alike texts are.")
@click.argument("texts", nargs=-1, metavar="[REFERENCE CANDIDATE... | -]")
@file_option("pairs in a file, one per line")
@fingerprint_option("reference")
@task_options(ScoreSettings)
def score_command(texts: tuple[str, ...], **options: Any) -> int:
    """Score how well candidates fit the contexts of a reference, which says how alike they are.

    \b
    Examples:
      refdec score "The train was late." "The train came late."
      refdec score "How do I learn to cook?" "How can I learn cooking?" "Where is the bus?"
      refdec score --symmetric --explain "The train was late." "The train came late."
      printf "It rained.\\tIt was raining.\\n" | refdec score --json -

    A file, or standard input (-), has a reference, a tab and a candidate on each line, or a JSON object with
    "reference" and "candidate". Neighbouring lines with the same reference share its contexts. With --fingerprint,
    every argument is a candidate.

    A scaled score of 100 is as good as the reference itself, 0 no better than an unrelated text. Intervals hold 95 % of
    the bootstrap over contexts.
    """
    fingerprint, pairs = _inputs(texts, options)
    checked_settings(ScoreSettings, options, fingerprint)
    legend = True
    with CommandRun(options, ScoreSettings) as run:
        for group in _groups(_checked(run, pair, fingerprint, options) for pair in pairs):
            pair = group[0]
            names = {} if pair.origin.line else {"reference": pair.reference, "candidate": pair.candidate}
            with run.on(pair.origin, **names):
                if pair.error:
                    raise InputError(pair.error)
                scores = run.reflector.score(
                    None if fingerprint else pair.reference,
                    [item.candidate for item in group],
                    fingerprint=fingerprint,
                    explain=bool(options["explain"] or options["html"]),
                    **run.arguments,
                )
                _put(run, scores, legend)
                legend = False
        return run.exit_code()


def _inputs(texts: tuple[str, ...], options: dict[str, Any]) -> tuple[Fingerprint | None, Iterable[TextPair]]:
    """The fingerprint of the reference, if one is given, and the pairs."""
    if options["fingerprint"] is None:
        return None, pairs_from(texts, options["file"], EXAMPLE)
    if not texts or options["file"] is not None:
        raise InputError("With a fingerprint, give candidates as arguments: refdec score --fingerprint FILE TEXT.")
    fingerprint = Fingerprint.load(options["fingerprint"])
    return fingerprint, [TextPair(ARGUMENT, fingerprint.text, text) for text in texts]


def _checked(run: CommandRun, pair: TextPair, fingerprint: Fingerprint | None, options: dict[str, Any]) -> TextPair:
    """The pair, with what is wrong with its texts."""
    from refdec.tasks.describe import prepare

    if pair.error:
        return pair

    def check_room(text: str) -> None:
        settings = run.reflector.settings(ScoreSettings, options["preset"], given(ScoreSettings, options), fingerprint)
        prepare(run.reflector.pair, text, settings)

    for check in (clean, check_room):  # models are loaded only where both texts are clean
        for name, text in (("reference", pair.reference), ("candidate", pair.candidate)):
            try:
                check(text)
            except InputError as error:
                return replace(pair, error=f"the {name}: {error}")
    return pair


def _groups(pairs: Iterable[TextPair]) -> Iterator[list[TextPair]]:
    """Neighbouring pairs with the same reference; a broken pair is a group of its own."""
    for _, group in groupby(pairs, key=lambda pair: object() if pair.error else pair.reference):
        while together := list(islice(group, AT_ONCE)):
            yield together


def _put(run: CommandRun, scores: Sequence[Score], legend: bool) -> None:
    from refdec.cli.render import show_scores

    contents = [run.content(score.to_dict(), score.explanation) for score in scores]
    explanations = [score.explanation for score in scores if score.explanation]
    others = [reason for explanation in explanations[1:] for reason in explanation.reasons[1:]]
    together = [replace(first, reasons=(*first.reasons, *others)) for first in explanations[:1]]
    run.put(contents, together, lambda console: show_scores(console, scores, legend))
