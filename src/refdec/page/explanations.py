"""Explanations as one HTML document that loads no other file and asks no host.

The document is complete without its script, which only moves what is there. Knows the explanations, and nothing of
tasks, models or where the document goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from refdec.page.document import document
from refdec.page.numbers import numbers
from refdec.page.picture import candidates, legend, picture
from refdec.results import Explanation


def page(explanations: Sequence[Explanation]) -> str:
    """A self-contained HTML document that shows these explanations, one below the other."""
    style, script = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    articles = "\n".join(_explanation(item, f"e{number}") for number, item in enumerate(explanations, start=1))
    body = f"{_contents(explanations)}\n<main>\n{articles or '<p>Nothing to explain.</p>'}\n</main>"
    return document(_page_title(explanations), body, style, script)


def _page_title(explanations: Sequence[Explanation]) -> str:
    if len(explanations) != 1:
        return f"refdec: {len(explanations)} explanations"
    return f"refdec {explanations[0].task}: {_title(explanations[0])[:80]}"


def _contents(explanations: Sequence[Explanation]) -> str:
    if len(explanations) < 2:
        return ""
    links = "\n".join(
        f'<li><a href="#e{number}" dir="auto">{escape(_title(item))}</a></li>'
        for number, item in enumerate(explanations, start=1)
    )
    return f'<nav class="contents" aria-label="Explanations">\n<ol>\n{links}\n</ol>\n</nav>'


def _explanation(explanation: Explanation, name: str) -> str:
    reasons = explanation.reasons
    chosen = next((index for index, reason in enumerate(reasons) if reason.text != reasons[0].text), 0)
    return f"""<article class="explanation" id="{name}" aria-labelledby="{name}-title">
<h2 id="{name}-title"><span class="task">{escape(explanation.task)}</span>
<span class="title" dir="auto">{escape(_title(explanation))}</span></h2>
{_note(explanation)}
<div class="view">
{legend(explanation)}
{picture(explanation, reasons[chosen], name)}
{candidates(explanation, chosen, name)}
</div>
{numbers(explanation)}
<p class="signature">signature: <code>{escape(explanation.signature)}</code></p>
</article>"""


def _note(explanation: Explanation) -> str:
    return f'<p class="note">{escape(explanation.note)}</p>' if explanation.note else ""


def _title(explanation: Explanation) -> str:
    return explanation.reasons[0].text or f"{explanation.left} … {explanation.right}".strip()
