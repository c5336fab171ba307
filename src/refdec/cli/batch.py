"""`refdec batch`: the commands and their options. The work itself is in `refdec.batch`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from refdec.cli.inputs import STANDARD
from refdec.cli.options import (
    Command,
    TaskCommand,
    checked_settings,
    confidence_option,
    examples_option,
    fingerprint_option,
    ranked_options,
    run_options,
    together,
)
from refdec.cli.progress import Bar
from refdec.cli.selection import wanted
from refdec.errors import InputError
from refdec.files.formats import FORMATS
from refdec.settings import FingerprintSettings, InfillSettings, ParaphraseSettings, RewriteSettings, ScoreSettings
from refdec.tasks.fingerprint import Fingerprint


@click.group("batch", short_help="Work through files, and go on after a crash.")
def batch_command() -> None:
    """Work through a file, and go on where it stopped.

    \b
    Examples:
      refdec batch paraphrase questions.txt paraphrases.jsonl
      refdec batch paraphrase --column question questions.csv paraphrases.csv
      refdec batch infill stories.jsonl filled.jsonl
      refdec batch score pairs.tsv scores.parquet

    Every row of the input is a row of the output, in the same order, with its columns and the new ones. A run that was
    stopped, by Ctrl-C, a full disk or a power cut, goes on when the same command is given again. Every task has a
    --help of its own.
    """


_file_options = together(
    click.option("-c", "--column", multiple=True, metavar="NAME", help="column with the text; repeat for several"),
    click.option("--format", type=click.Choice(FORMATS), help="of the input [default: by its extension]"),
    click.option("--output-format", type=click.Choice(FORMATS), help="of the output [default: by its extension]"),
    click.option("--prefix", default="", metavar="WORD", help="in front of the names of new columns"),
    click.option("--full", is_flag=True, help="add a column with the whole result as JSON: contexts, all candidates"),
    click.option("--formulas", is_flag=True, help="CSV: leave new cells that a spreadsheet would run as they are"),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="only the first N rows"),
    click.option(
        "--dry-run", is_flag=True, help="compute a few rows, and estimate what all would cost in time and memory"
    ),
    click.option("--strict", is_flag=True, help="stop at the first bad row instead of noting its error"),
    click.option(
        "--resume/--no-resume", default=True, help="go on with an unfinished output [default], or replace what is there"
    ),
    click.option("--retry-errors", is_flag=True, help="try rows again whose outcome was an error"),
)

_engine_options = together(
    click.option(
        "--engine", type=click.Choice(["local", "ray"]), default="local", help="this process [default] or Ray"
    ),
    click.option("--address", help="Ray: of a running cluster, such as auto [default: start one on this machine]"),
    click.option(
        "--workers", type=click.IntRange(1), help="Ray: how many [default: one per GPU, or as CPU cores allow]"
    ),
    click.option("--cpus", type=click.FloatRange(0, min_open=True), help="Ray: CPU cores of a worker [default: 2]"),
    click.option(
        "--gpus",
        type=click.FloatRange(0, 1, min_open=True),
        help="Ray: part of a GPU for a worker; with 0.25 four share one [default: 1]",
    ),
    click.option(
        "--batch-size",
        type=click.IntRange(1),
        help="rows that a GPU computes together [default: 48], or that Ray hands a worker at a time",
    ),
)

_ranked_options = together(
    ranked_options("how many results per row", top=1),
    click.option("--novelty", type=float, help="only results of at least this Novelty (0 to 100)"),
)

_FILES = """
Files are plain text (one text per line), JSON lines, CSV, TSV or Parquet, by their extension, and may be compressed
(.gz, .xz, .bz2, .zst). A single - is standard input or output.
"""


def _task_command(
    kind: type[FingerprintSettings], *special: Callable[[Any], Any]
) -> Callable[[Command], click.Command]:
    """The command of one task; its help is the docstring of the function, and a word on files."""
    arguments = click.argument("input", metavar="INPUT"), click.argument("output", metavar="OUTPUT")
    options = together(*arguments, *special, _file_options, _engine_options, run_options(kind))

    def decorate(function: Command) -> click.Command:
        words = f"{inspect.getdoc(function)}\n{_FILES}"
        short = words.partition("\n")[0]
        return batch_command.command(kind.task, cls=TaskCommand, help=words, short_help=short)(options(function))

    return decorate


@_task_command(ParaphraseSettings, _ranked_options, confidence_option, examples_option)
def paraphrase_rows(**options: Any) -> int:
    """Paraphrase the texts of a column.

    \b
    Examples:
      refdec batch paraphrase questions.txt paraphrases.txt
      refdec batch paraphrase -c question --top 3 questions.csv paraphrases.csv
      refdec batch paraphrase --novelty 30 --confidence 0.8 questions.txt paraphrases.jsonl
      refdec batch paraphrase --dry-run questions.txt paraphrases.jsonl
      cat questions.txt | refdec batch paraphrase --format text --output-format jsonl - -

    New columns: paraphrase, relative, novelty, confidence (with --top, paraphrase_2 and so on), note, error.
    """
    return _batch(ParaphraseSettings, **options)


@_task_command(InfillSettings, _ranked_options)
def infill_rows(**options: Any) -> int:
    """Fill the gaps in the texts of a column.

    \b
    Examples:
      refdec batch infill gaps.txt filled.txt
      refdec batch infill stories.jsonl filled.jsonl
      refdec batch infill -c before -c after --top 2 stories.csv filled.csv

    A row has a column text with ___ in it, or columns left and right. New columns: filled (the whole text), filling,
    score, passes, note, error. Several gaps of one text are filled from left to right.
    """
    return _batch(InfillSettings, **options)


@_task_command(RewriteSettings, _ranked_options, examples_option)
def rewrite_rows(**options: Any) -> int:
    """Rewrite a span in the texts of a column.

    \b
    Examples:
      refdec batch rewrite spans.txt rewritten.txt
      refdec batch rewrite -c document --keep-numbers spans.csv rewritten.csv

    A row has a column text with the span in [[ ]], or columns left, span and right. New columns: rewritten (the whole
    text), rewriting, relative, novelty, note, error.
    """
    return _batch(RewriteSettings, **options)


@_task_command(ScoreSettings, fingerprint_option("reference"))
def score_rows(**options: Any) -> int:
    """Score how alike the texts of two columns are.

    \b
    Examples:
      refdec batch score pairs.tsv scores.tsv
      refdec batch score -c human -c system translations.csv scores.csv
      refdec batch score --fingerprint cook.json questions.txt scores.jsonl

    A row has columns reference and candidate; with --fingerprint, candidate or text. Rows with the same reference share
    its contexts. New columns: scaled, relative, score, each with its interval where it has one, span, error.
    """
    return _batch(ScoreSettings, **options)


def _batch(kind: type[FingerprintSettings], input: str, output: str, **options: Any) -> int:
    """One run of a command. Options that contradict each other are refused before anything is loaded."""
    from refdec.cli.batch_run import to_file, to_standard_output

    _refuse_contradictions(input, output, options)
    known = None if options.get("fingerprint") is None else Fingerprint.load(options["fingerprint"])
    checked_settings(kind, options, known)
    wanted(options)
    with Bar(options["quiet"]) as bar:
        if output == STANDARD:
            return to_standard_output(kind, known, input, options, bar)
        return to_file(kind, known, input, Path(output), options, bar)


def _refuse_contradictions(input: str, output: str, options: dict[str, Any]) -> None:
    ray = options["engine"] == "ray"
    if input == STANDARD and options["format"] is None:
        raise InputError("The format of standard input is not known. Name it: --format text, jsonl, csv or tsv.")
    if input == STANDARD and options["dry_run"]:
        raise InputError(
            "Standard input can be read only once, so --dry-run needs a file. Write the rows to one first."
        )
    if options["retry_errors"] and (output == STANDARD or not options["resume"]):
        raise InputError("--retry-errors goes on with an output file that is there. Name one, without --no-resume.")
    if output == STANDARD and ray:
        raise InputError("Ray keeps finished rows in files beside the output. Name a file instead of standard output.")
    if Path(input).is_file() and Path(output).is_file() and Path(input).samefile(output):
        raise InputError("The input and the output are the same file. Name another output.")
    for name in ("address", "workers", "cpus", "gpus"):
        if options[name] is not None and not ray:
            raise InputError(f"--{name} is for a cluster. Add --engine ray.")
