"""`refdec rewrite`: a span and what stands around it in, ranked texts for its place out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import click

from refdec.cli.command_run import CommandRun
from refdec.cli.inputs import ARGUMENT, Origin, numbered_lines, whole_text
from refdec.cli.options import (
    FILE,
    TaskCommand,
    checked_settings,
    examples_option,
    file_option,
    novelty_options,
    ranked_options,
    task_options,
)
from refdec.cli.selection import wanted
from refdec.errors import InputError
from refdec.results import RewriteResult
from refdec.settings import RewriteSettings
from refdec.tasks.choice import choose
from refdec.text.cleaning import clean

EXAMPLE = 'refdec rewrite "It was late. [[We were tired.]] So we left."'


@click.command("rewrite", cls=TaskCommand, short_help="Rewrite a span inside its document.")
@click.argument("text", required=False, metavar="[SPAN | TEXT WITH [[SPAN]] | -]")
@file_option("documents with [[span]] in a file")
@click.option("--document", type=FILE, metavar="FILE", help="a file in which SPAN stands once")
@click.option("--left", metavar="TEXT", help="text before SPAN")
@click.option("--right", metavar="TEXT", help="text after SPAN")
@click.option("--apply", is_flag=True, help="print the document with the best rewriting in it")
@ranked_options("how many rewritings to show")
@novelty_options
@task_options(RewriteSettings)
@examples_option
def rewrite_command(text: str | None, **options: Any) -> int:
    """Rewrite a span of a document so that it still fits between what stands before and after it.

    The document is an argument with the span in [[ ]], a file, or standard input (-), with all its lines. A file with
    several spans has one document per line.

    \b
    Examples:
      refdec rewrite "It was late. [[We were very tired.]] So we left."
      refdec rewrite --left "It was late." --right "So we left." "We were very tired."
      refdec rewrite --novelty 30 "She said that [[the food was good]] and left."
      refdec rewrite --keep-numbers "We met. [[The bus left at 5:30.]] I missed it."
      refdec rewrite --file spans.txt
      echo "It was late. [[We were tired.]] So we left." | refdec rewrite --json -

    Under each rewriting stands what it swaps, loses or adds. With --apply the whole document and nothing else is
    printed, so that it can go into a file; if the rewriting in it is not good, standard error says so. The score is
    that of refdec paraphrase, with the fit of the true neighbours in it.
    """
    from refdec.tasks.rewrite import split_document

    checked_settings(RewriteSettings, options)
    if options["apply"] and options["as_json"]:
        raise InputError("--apply prints a document and --json prints objects. Choose one.")
    with CommandRun(options, RewriteSettings) as run:
        for origin, document in _documents(text, options):
            try:
                left, span, right = split_document(document) if isinstance(document, str) else document
            except InputError as error:
                run.report(error, origin, document=str(document))
                continue
            with run.on(origin, source=span, left=left, right=right):
                for part in (span, *filter(str.strip, (left, right))):
                    clean(part)  # refused before the models are loaded for it
                _put(run, origin, run.reflector.rewrite(span, left=left, right=right, **run.arguments), options)
        return run.exit_code()


def _documents(text: str | None, options: dict[str, Any]) -> Iterator[tuple[Origin, str | tuple[str, str, str]]]:
    """Documents with [[span]], or the text before a span, the span, and the text after it."""
    from refdec.tasks.rewrite import find_span

    left, right, document, file = (options[name] for name in ("left", "right", "document", "file"))
    beside = left is not None or right is not None
    if (beside or document is not None) and text is None:
        raise InputError('Give the span that is to be rewritten: refdec rewrite --left "It was late." "We were tired."')
    if text is not None and beside:
        if document is not None or file is not None:
            raise InputError("--left and --right stand for a document, and there is a file with one, too. Choose one.")
        if "[[" in text:
            raise InputError("[[ ]] marks a span in a document. With --left or --right, give the span by itself.")
        yield ARGUMENT, (left or "", text, right or "")
    elif text is not None and document is not None:
        if file is not None:
            raise InputError("There are two documents, --document and --file. Choose one.")
        yield ARGUMENT, find_span(whole_text(None, document, EXAMPLE), text)
    else:
        content = whole_text(text, file, EXAMPLE)
        if content == text or content.count("[[") < 2:
            yield ARGUMENT, content
        else:
            yield from numbered_lines(io.StringIO(content, newline="\n"), file)


def _put(run: CommandRun, origin: Origin, result: RewriteResult, options: dict[str, Any]) -> None:
    chosen, note = choose(result, wanted(options | {"top": 1} if options["apply"] else options))
    if not options["apply"]:
        run.put_ranked(result, chosen, note)
    elif not chosen:
        run.fail(origin, note)
    else:
        run.put_text(result.in_place(chosen[0]))
        if note:
            run.tell(f"{origin}{note}")
