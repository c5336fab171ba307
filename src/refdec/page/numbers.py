"""Every number of an explanation, in tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from refdec.page.pieces import beside, level, nats, plain, yardstick
from refdec.results import Explanation, Reason

COLUMNS = 12  # contexts in one table of fits: as many as paper can hold


def numbers(explanation: Explanation) -> str:
    contexts = [
        f'<tr><th scope="row" class="number">#{number}</th><td>{escape(context.side)}</td>'
        f'<td class="number">{context.weight:.4f}</td>'
        f'<td class="words" dir="auto">{escape(beside(context.text.strip(), context.side))}</td></tr>'
        for number, context in enumerate(explanation.contexts, start=1)
    ]
    surprises = [
        f'<tr>{_row_head(reason)}<td class="costs" dir="auto">{_costs(reason)}</td></tr>'
        for reason in explanation.reasons
    ]
    return f"""<h3>The numbers</h3>
{_table("Contexts, … standing for the text", ["#", "side", "weight", "context"], contexts)}
{_fits(explanation)}
{_table("Surprise of each token, nats, mean of both reading directions", ["text", "tokens"], surprises)}"""


def _fits(explanation: Explanation) -> str:
    caption = f"Score, and fit with each context, nats against {yardstick(explanation)}"
    tables = []
    for first in range(0, max(1, len(explanation.contexts)), COLUMNS):
        columns = range(first, min(first + COLUMNS, len(explanation.contexts)))
        rows = []
        for number, reason in enumerate(explanation.reasons):
            fits = [reason.fits[index] for index in columns]
            cells = "".join(f'<td class="number" data-level="{level(fit)}">{nats(fit)}</td>' for fit in fits)
            score = f'<td class="number">{nats(reason.score, 2)}</td>'
            rows.append(f'<tr data-reason="{number}">{_row_head(reason)}{score}{cells}</tr>')
        tables.append(_table(caption, ["text", "score", *(f"#{index + 1}" for index in columns)], rows))
    return "\n".join(tables)


def _table(caption: str, columns: Sequence[str], rows: Sequence[str]) -> str:
    """A table that scrolls by itself where the screen is too narrow for it."""
    numeric = [' class="number"' if name in ("weight", "score") or name.startswith("#") else "" for name in columns]
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in zip(columns, numeric, strict=True))
    body = "\n".join(rows)
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">
<table>
<caption>{escape(caption)}</caption>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>"""


def _row_head(reason: Reason) -> str:
    return f'<th scope="row" class="words" dir="auto">{plain(reason)}</th>'


def _costs(reason: Reason) -> str:
    if not reason.tokens:
        return "none"
    return " ".join(
        f'<span class="cost">{escape(token.text.strip() or "␣")} <b>{token.surprise:.1f}</b></span>'
        for token in reason.tokens
    )
