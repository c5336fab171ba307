"""`refdec diff`: two texts in, what was kept, swapped, lost and new out. Loads no model."""

from __future__ import annotations

from pathlib import Path

import click

from refdec.cli.command_run import json_line
from refdec.cli.inputs import TextPair, pairs_from
from refdec.cli.options import SectionedCommand, file_option
from refdec.errors import InputError
from refdec.ledger.comparison import Comparison, compare
from refdec.ledger.costs import FAITHFUL
from refdec.text.cleaning import clean

EXAMPLE = 'refdec diff "The show took place in May." "The show happened in June."'
SECTIONS = {
    "kept": ("kept",),
    "swapped": ("form", "family", "synonym", "near", "converse", "swapped", "opposite"),
    "lost": ("lost",),
    "new": ("new",),
}
"""How the kinds of changes are shown; any other kind stands under its own name."""


@click.command("diff", cls=SectionedCommand, short_help="Show what changed between two texts, word by word.")
@click.argument("texts", nargs=-1, metavar="[A B... | -]")
@file_option("pairs in a file, one per line")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object per line")
def diff_command(texts: tuple[str, ...], file: Path | None, as_json: bool) -> int:
    """Account for every word between a text A and each text B: what was kept, swapped, lost and new.

    \b
    Examples:
      refdec diff "The show took place in May." "The show happened in June."
      refdec diff --json "It is late." "It is not late."
      printf "Ann sued Bo.\\tBo sued Ann.\\n" | refdec diff -

    A file, or standard input (-), has two texts with a tab between them on each line, or a JSON object with "reference"
    and "candidate". No model is used: the words are compared by a lexicon and by rules of English. A cost of 0 means
    that nothing changed; up to 1, B says what A says.
    """
    code = count = 0
    for count, pair in enumerate(pairs_from(texts, file, EXAMPLE), start=1):
        try:
            source, text = _checked(pair)
        except InputError as error:
            code = 2
            if as_json:
                click.echo(json_line({**({"line": pair.origin.line} if pair.origin.line else {}), "error": str(error)}))
            else:
                click.echo(f"refdec: {pair.origin}{error}", err=True)
            continue
        comparison = compare(source, text)
        if as_json:
            click.echo(json_line({"reference": source, "candidate": text, **comparison.to_dict()}))
        else:
            click.echo(("\n" if count > 1 else "") + "\n".join(_lines(source, text, comparison)))
    if not count:
        raise InputError("There was no text to work on: the input is empty.")
    return code


def _checked(pair: TextPair) -> tuple[str, str]:
    if pair.error:
        raise InputError(pair.error)
    texts = []
    for name, text in (("first", pair.reference), ("second", pair.candidate)):
        try:
            texts.append(clean(text))
        except InputError as error:
            raise InputError(f"the {name} text: {error}") from error
    return texts[0], texts[1]


def _lines(source: str, text: str, comparison: Comparison) -> list[str]:
    verdict = "says the same" if comparison.faithful else "does not say the same"
    lines = [source, text, f"  cost {comparison.cost:.2f}: {verdict} (the limit is {FAITHFUL:g})"]
    if comparison.note:
        lines.append(f"  {comparison.note}")
    titles = {kind: title for title, kinds in SECTIONS.items() for kind in kinds}
    shown: dict[str, list[str]] = {title: [] for title in SECTIONS}
    for change in comparison.changes:
        if change.kind == "kept" and change.source.lower() == change.text.lower():
            words = change.source
        elif change.kind in ("lost", "new"):
            words = change.source or change.text
        else:
            words = f"{change.source or '(nothing)'} → {change.text or '(nothing)'}"
        priced = words if change.cost == 0 else f"{words} ({change.cost:.2f})"
        shown.setdefault(titles.get(change.kind, change.kind), []).append(priced)
    width = max(map(len, shown))
    return lines + [f"  {title:{width}}  {', '.join(words)}" for title, words in shown.items() if words]
