"""`refdec score`: references and candidates in, how alike they are out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from refdec.cli.inputs import STANDARD_INPUT, Row, pairs_from
from refdec.cli.options import (
    checked_settings,
    file_option,
    fingerprint_option,
    given,
    task_options,
)
from refdec.cli.work import Work
from refdec.errors import InputError
from refdec.results import Score
from refdec.settings import ScoreSettings
from refdec.tasks.fingerprint import Fingerprint
from refdec.text.cleaning import clean

EXAMPLE = 'refdec score "How do I learn to cook?" "How can I learn cooking?"'
AT_ONCE = 100
"""Candidates of one reference that are scored together; results come at least this often."""


@click.command("score", short_help="Tell how alike texts are.")
@click.argument("texts", nargs=-1, metavar="[REFERENCE CANDIDATE...]")
@file_option("read pairs from a file (- is standard input), one a line: tab-separated, or JSON objects")
@fingerprint_option("reference")
@task_options(ScoreSettings)
def score_command(texts: tuple[str, ...], **options: Any) -> int:
    """Score how well candidates fit the contexts of a reference, which tells how alike they are.

    \b
    Examples:
      refdec score "The train was late." "The train came late."
      refdec score "How do I learn to cook?" "How can I learn cooking?" "Where is the bus?"
      refdec score --symmetric --explain "The train was late." "The train came late."
      printf "It rained.\\tIt was raining.\\n" | refdec score --json --file -

    A file has a reference, a tab and a candidate on each line, or JSON objects with "reference" and "candidate".
    Neighbouring lines with the same reference share its contexts. With --fingerprint, every argument is a candidate.

    A scaled score of 100 is as good as the reference itself, 0 no better than an unrelated text. Intervals hold 95 % of
    the bootstrap over contexts.
    """
    known, rows = _inputs(texts, options)
    checked_settings(ScoreSettings, options, known)
    first = True
    with Work(options) as work:
        for group in _groups(_check(work, row, known, options) for row in rows):
            if group[0].error:
                _report(work, group[0], options)
                continue
            with work.on():
                scores = work.reflector.score(
                    None if known else group[0].reference,
                    [row.candidate for row in group],
                    fingerprint=known,
                    explain=work.explains,
                    **work.arguments(ScoreSettings),
                )
                _put(work, scores, legend=first)
                first = False
        return work.exit_code()


def _inputs(texts: tuple[str, ...], options: dict[str, Any]) -> tuple[Fingerprint | None, Iterable[Row]]:
    """The fingerprint of the reference, where there is one, and the pairs; those of arguments have no line number."""
    if options["fingerprint"] is not None:
        if not texts or options["file"] is not None:
            raise InputError("With a fingerprint, give candidates as arguments: refdec score --fingerprint FILE TEXT.")
        known = Fingerprint.load(options["fingerprint"])
        return known, [Row(0, known.text, text) for text in texts]
    if texts and options["file"] is not None:
        raise InputError("Texts were given both as arguments and as a file. Choose one.")
    if len(texts) == 1:
        raise InputError(f"There is a reference and no candidate. Give both: {EXAMPLE}.")
    if texts:
        return None, [Row(0, texts[0], text) for text in texts[1:]]
    return None, pairs_from(options["file"], EXAMPLE)


def _check(work: Work, row: Row, known: Fingerprint | None, options: dict[str, Any]) -> Row:
    """The row, with what is wrong with its texts."""
    from refdec.tasks.describe import prepare

    if row.error:
        return row
    try:
        texts = [clean(row.reference), clean(row.candidate)]  # refused before the models are loaded for them
        settings = work.reflector.settings(ScoreSettings, options["preset"], given(ScoreSettings, options), known)
        for text in texts:
            prepare(work.reflector.pair, text, settings)
    except InputError as error:
        return replace(row, error=str(error))
    return row


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Neighbouring rows with the same reference; a broken row is a group of its own."""
    group: list[Row] = []
    for row in rows:
        if group and (row.error or row.reference != group[0].reference or len(group) == AT_ONCE):
            yield group
            group = []
        if row.error:
            yield [row]
        else:
            group.append(row)
    if group:
        yield group


def _report(work: Work, row: Row, options: dict[str, Any]) -> None:
    if not row.number:
        work.report(InputError(row.error), reference=row.reference, candidate=row.candidate)
        return
    file = options["file"] or STANDARD_INPUT
    name = "standard input" if file == STANDARD_INPUT else file.name
    work.report(InputError(row.error), f"line {row.number} of {name}: ", line=row.number)


def _put(work: Work, scores: Sequence[Score], legend: bool) -> None:
    from refdec.cli.render import show_scores

    contents = [work.content(score.to_dict(), score.explanation) for score in scores]
    explanations = [score.explanation for score in scores if score.explanation]
    together = [
        replace(first, reasons=(*first.reasons, *(reason for item in others for reason in item.reasons[1:])))
        for first, *others in ([explanations] if explanations else [])
    ]
    work.put(contents, together, lambda console: show_scores(console, scores, legend))
