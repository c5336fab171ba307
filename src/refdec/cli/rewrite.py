"""`refdec rewrite`: a span and what stands around it in, ranked texts for its place out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from refdec.cli.choose import explained, shown, wanted
from refdec.cli.inputs import whole_text
from refdec.cli.options import (
    FILE,
    checked_settings,
    constraint_options,
    constraints_from,
    file_option,
    novelty_options,
    task_options,
    top_option,
)
from refdec.cli.work import Work
from refdec.errors import InputError
from refdec.results import RewriteResult
from refdec.settings import RewriteSettings
from refdec.tasks.choice import choose
from refdec.text.cleaning import clean

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = 'refdec rewrite "It was late. [[We were tired.]] So we left."'


@click.command("rewrite", short_help="Rewrite a span inside its document.")
@click.argument("text", required=False, metavar="[SPAN | TEXT WITH [[SPAN]]]")
@file_option("read a document with [[span]] from a file")
@click.option("--document", type=FILE, metavar="FILE", help="file with the document in which the span stands once")
@click.option("--left", help="text before the span")
@click.option("--right", help="text after the span")
@click.option("--apply", is_flag=True, help="print the document with the best rewriting in it, and nothing else")
@top_option("rewritings")
@novelty_options
@constraint_options
@task_options(RewriteSettings)
def rewrite_command(text: str | None, **options: Any) -> int:
    """Rewrite a span of a document so that it still fits between what stands before and after it.

    The document is an argument with the span in [[ ]], a file, or standard input, with all its lines.

    \b
    Examples:
      refdec rewrite "It was late. [[We were very tired.]] So we left."
      refdec rewrite --left "It was late." --right "So we left." "We were very tired."
      refdec rewrite --novelty 30 "She said that [[the food was good]] and left."
      refdec rewrite --keep-numbers "We met. [[The bus left at 5:30.]] I missed it."
      echo "It was late. [[We were tired.]] So we left." | refdec rewrite --json

    With --apply the whole document is printed, so that it can go into a file. The score is that of refdec paraphrase,
    with the fit of the true neighbours in it.
    """
    wanted(options)  # refused before models are loaded
    constraints = constraints_from(options)
    checked_settings(RewriteSettings, options)
    if options["apply"] and options["as_json"]:
        raise InputError("--apply prints a document and --json prints objects. Choose one.")
    left, span, right = _place(text, options)
    with Work(options) as work:
        with work.on(source=span, left=left, right=right):
            for part in (span, *filter(str.strip, (left, right))):
                clean(part)
            result = work.reflector.rewrite(
                span,
                left=left,
                right=right,
                constraints=constraints,
                explain=explained(options),
                **work.arguments(RewriteSettings),
            )
            _put(work, result, options)
        return work.exit_code()


def _place(text: str | None, options: dict[str, Any]) -> tuple[str, str, str]:
    """The text before the span, the span, and the text after it."""
    from refdec.tasks.rewrite import find_span, split_document

    left, right, document = options["left"], options["right"], options["document"]
    beside = left is not None or right is not None
    if (beside or document is not None) and text is None:
        raise InputError('Give the span that is to be rewritten: refdec rewrite --left "It was late." "We were tired."')
    if text is not None and beside:
        if document is not None or options["file"] is not None:
            raise InputError("--left and --right stand for a document, and there is a file with one, too. Choose one.")
        if "[[" in text:
            raise InputError("[[ ]] marks a span in a document. With --left or --right, give the span by itself.")
        return left or "", text, right or ""
    if text is not None and document is not None:
        if options["file"] is not None:
            raise InputError("There are two documents, --document and --file. Choose one.")
        return find_span(whole_text(None, document, EXAMPLE), text)
    return split_document(whole_text(text, options["file"], EXAMPLE))


def _put(work: Work, result: RewriteResult, options: dict[str, Any]) -> None:
    from refdec.cli.render import show_in_place, show_results

    chosen, note = choose(result, wanted(options))
    best = next((item for item in chosen if not item.copy), None)
    if options["apply"]:
        if best is None:
            work.fail(note)
        work.put_text(result.in_place(best))
        return

    def show(console: Console) -> None:
        show_results(console, result, chosen, note)
        if best is not None:
            show_in_place(console, result, best)

    explanation = shown(result.explanation, chosen)
    work.put([work.content(result.to_dict(chosen), explanation, note)], [explanation], show)
