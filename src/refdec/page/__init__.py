"""An explanation as a picture: one HTML document that asks nothing of any other file or host.

Contexts fan into the text from both sides, in ribbons as thick as their weight and coloured by their fit with the
chosen candidate. The document is complete without its script, which only moves what is there. Knows the explanation
and nothing of tasks, models or where the document goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from refdec.page.document import document
from refdec.results import Context, Explanation, Reason, Token

LEVELS = (1.0, 3.0, 8.0, 20.0)  # nats from the yardstick at which the colour of a fit changes
BAND = 3.5  # rem: the thickness of a ribbon of weight 1, and so of all ribbons of a side; --band in page.css
GUTTER = 4.5  # rem: the room for the ribbons on a narrow screen; --gutter in page.css
LINE = 1.15  # rem: a line of a context; --line-height in page.css
COLUMNS = 12  # contexts in one table of fits: as many as paper can hold


def page(explanations: Sequence[Explanation]) -> str:
    """A self-contained HTML document that shows these explanations, one below the other."""
    style, script = (files(__name__).joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
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
<div class="view">
{_legend(explanation)}
{_picture(explanation, reasons[chosen], name)}
{_candidates(explanation, chosen, name)}
</div>
{_numbers(explanation)}
<p class="signature">signature: <code>{escape(explanation.signature)}</code></p>
</article>"""


def _title(explanation: Explanation) -> str:
    return explanation.reasons[0].text or f"{explanation.left} … {explanation.right}".strip()


def _yardstick(explanation: Explanation) -> str:
    """What the numbers are against, as it stands in a sentence."""
    label = explanation.reasons[0].label
    return label if label == "nothing" else f"the {label}"


def _picture(explanation: Explanation, chosen: Reason, name: str) -> str:
    held = len(explanation.left) + len(explanation.right)
    size = "text" if held + max(len(reason.text) for reason in explanation.reasons) < 200 else "text long"
    return f"""<div class="picture">
{_side(explanation, "left", chosen, name)}
<div class="middle">
<p class="{size}" dir="auto">{_place(explanation, chosen)}</p>
<p class="verdict" data-level="{_level(chosen.score)}"><i class="swatch"></i><b>{_nats(chosen.score, 2)}</b>
nats against {escape(_yardstick(explanation))}</p>
</div>
{_side(explanation, "right", chosen, name)}
</div>"""


def _place(explanation: Explanation, chosen: Reason) -> str:
    """The chosen text between the texts that were held, with the spaces that a reader expects."""
    left, right = explanation.left.strip(), explanation.right.strip()
    before = f'<span class="held">{escape(left)} </span>' if left else ""
    space = "" if right.startswith(tuple(".,;:!?)]}’”%…")) else " "
    after = f'<span class="held">{space}{escape(right)}</span>' if right else ""
    return f'{before}<span class="place">{_words(chosen, focusable=True)}</span>{after}'


def _side(explanation: Explanation, side: str, chosen: Reason, name: str) -> str:
    members = [(index, context) for index, context in enumerate(explanation.contexts) if context.side == side]
    where = "before" if side == "left" else "after"
    if not members:
        return f'<p class="side {side} none">No contexts {where} the text.</p>'
    lines = next((lines for most, lines in ((3, 5), (5, 4), (8, 3)) if len(members) <= most), 1)
    row = lines * LINE + (2.75 if lines > 1 else 1.0)  # rem: a single line has its numbers beside it, not above
    dense = ' class="dense"' if lines == 1 else ""
    ribbons = _ribbons([context.weight for _, context in members], row, side)
    cards = "\n".join(
        _card(index, context, chosen.fits[index], ribbon)
        for (index, context), ribbon in zip(members, ribbons, strict=True)
    )
    return f"""<div class="side {side}">
<p class="side-name" id="{name}-{side}">contexts {where} the text</p>
<ol{dense} aria-labelledby="{name}-{side}" style="--row: {row:.2f}rem; --lines: {lines}">
{cards}
</ol>
</div>"""


def _card(index: int, context: Context, fit: float, ribbon: str) -> str:
    return f"""<li class="context" data-index="{index}" data-level="{_level(fit)}" tabindex="0">{ribbon}
<div class="card">
<p class="facts"><span>#{index + 1}</span><span><span class="unit">weight</span> {context.weight:.2f}</span>
<span class="fit"><i class="swatch"></i><b>{_nats(fit)}</b></span></p>
<div class="prose"><p dir="auto">{escape(context.text.strip())}</p></div>
</div></li>"""


def _ribbons(weights: list[float], row: float, side: str) -> Iterator[str]:
    """One drawing a context, in units of a hundredth of its row, that runs out of the row to its share of the text.

    On a wide screen the text is level with the middle of the column, and the ribbons meet stacked at its edge. On a
    narrow one it is below the left contexts and above the right ones: the ribbons turn and run along the edge, the
    farthest row outermost, so that none crosses another.
    """
    shrink = BAND / max(1.0, sum(weights))
    total = sum(weights) * shrink
    start = 0.0  # rem, of this ribbon in the stack
    for index, weight in enumerate(weights):
        thick = weight * shrink
        middle = start + thick / 2
        y = 50 + 100 * ((len(weights) - 1) / 2 - index + (middle - total / 2) / row)
        from_x, to_x = (0, 100) if side == "left" else (100, 0)
        straight = f"M{from_x} 50C50 50 50 {y:.1f} {to_x} {y:.1f}"
        edge = (GUTTER - BAND) / 2 + (middle if side == "left" else total - middle)
        x = 100 * edge / GUTTER
        turn, end = (100, 100 * (len(weights) - index)) if side == "left" else (0, -100 * index)
        bent = f"M100 50Q{x:.1f} 50 {x:.1f} {turn}V{end}"
        yield (
            f'<svg class="ribbon" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" '
            f'style="--weight: {thick / BAND:.4f}">'
            f'<path class="straight" d="{straight}"></path><path class="bent" d="{bent}"></path></svg>'
        )
        start += thick


def _words(reason: Reason, focusable: bool = False) -> str:
    """The text in its tokens, each with its surprise."""
    if not reason.tokens:
        return _plain(reason)
    extra = ' tabindex="0"' if focusable else ""
    return "".join(_token(token, extra) for token in reason.tokens).strip()


def _token(token: Token, extra: str) -> str:
    word = token.text.lstrip() or token.text
    space = token.text.removesuffix(word)
    return (
        f'{space}<span class="token" data-nats="{token.surprise:.1f}" '
        f'style="--surprise-nats: {max(0.0, token.surprise):.2f}"{extra}>{escape(word)}</span>'
    )


def _legend(explanation: Explanation) -> str:
    levels = range(-len(LEVELS), len(LEVELS) + 1)
    bounds = [f"{-bound:+.0f}" for bound in reversed(LEVELS)] + [f"{bound:+.0f}" for bound in LEVELS] + [""]
    steps = "".join(
        f'<i data-level="{level}"><span>{bound}</span></i>' for level, bound in zip(levels, bounds, strict=True)
    )
    return f"""<div class="legend">
<p>ribbon: thicker for more weight</p>
<p>colour: fits worse <span class="scale">{steps}</span> better than {escape(_yardstick(explanation))}, in nats</p>
<p>bar under a word: surprise up to <i class="sample"></i> 12 nats</p>
</div>"""


def _candidates(explanation: Explanation, chosen: int, name: str) -> str:
    scores = [reason.score for reason in explanation.reasons]
    low, high = min(0.0, *scores), max(0.0, *scores)
    span = (high - low) or 1.0
    rows = []
    for index, reason in enumerate(explanation.reasons):
        start = 100 * (min(0.0, reason.score) - low) / span
        bar = f"--zero: {-100 * low / span:.1f}%; --from: {start:.1f}%; --width: {100 * abs(reason.score) / span:.1f}%"
        tag = f'<span class="tag">{escape(reason.label)}</span>' if reason.text and reason.label else ""
        checked = " checked" if index == chosen else ""
        level = _level(reason.score)
        rows.append(
            f'<label class="candidate" data-reason="{index}">'
            f'<input type="radio" name="{name}" autocomplete="off" disabled{checked}>'
            f'<span class="score" data-level="{level}">{_nats(reason.score, 2)}</span>'
            f'<span class="bar" data-level="{level}" style="{bar}"></span>'
            f'<span class="words" dir="auto">{_words(reason)}</span>{tag}</label>'
        )
    return (
        '<fieldset class="candidates">\n'
        f"<legend>choose a text: score in nats against {escape(_yardstick(explanation))}"
        "<noscript> (choosing needs JavaScript; the tables below have every number)</noscript></legend>\n"
        + "\n".join(rows)
        + "\n</fieldset>"
    )


def _numbers(explanation: Explanation) -> str:
    contexts = [
        f'<tr><th scope="row" class="number">#{number}</th><td>{escape(context.side)}</td>'
        f'<td class="number">{context.weight:.4f}</td>'
        f'<td class="words" dir="auto">{escape(_with_place(context))}</td></tr>'
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
    caption = f"Score, and fit with each context, nats against {_yardstick(explanation)}"
    tables = []
    for first in range(0, max(1, len(explanation.contexts)), COLUMNS):
        columns = range(first, min(first + COLUMNS, len(explanation.contexts)))
        rows = []
        for number, reason in enumerate(explanation.reasons):
            fits = [reason.fits[index] for index in columns]
            cells = "".join(f'<td class="number" data-level="{_level(fit)}">{_nats(fit)}</td>' for fit in fits)
            score = f'<td class="number">{_nats(reason.score, 2)}</td>'
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
    return f'<th scope="row" class="words" dir="auto">{_plain(reason)}</th>'


def _with_place(context: Context) -> str:
    text = context.text.strip()
    return f"{text} …" if context.side == "left" else f"… {text}"


def _plain(reason: Reason) -> str:
    return escape(reason.text) or '<i class="nothing">nothing</i>'


def _costs(reason: Reason) -> str:
    if not reason.tokens:
        return "none"
    return " ".join(
        f'<span class="cost">{escape(token.text.strip() or "␣")} <b>{token.surprise:.1f}</b></span>'
        for token in reason.tokens
    )


def _level(nats: float) -> int:
    """-4 to 4: how far, and in which direction, a number is from the yardstick."""
    level = sum(abs(nats) >= bound for bound in LEVELS)
    return level if nats > 0 else -level


def _nats(value: float, digits: int = 1) -> str:
    return f"{value:+z.{digits}f}"
