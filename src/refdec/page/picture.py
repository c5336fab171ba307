"""The picture of an explanation: contexts fan into the text from both sides, and below it the texts to choose from.

Ribbons are as thick as the weight of their context, and coloured by its fit with the chosen text.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from refdec.page.pieces import LEVELS, level, nats, plain, yardstick
from refdec.results import Context, Explanation, Reason, Token

BAND = 3.5  # rem: the thickness of a ribbon of weight 1, and so of all ribbons of a side; --band in page.css
GUTTER = 4.5  # rem: the room for the ribbons on a narrow screen; --gutter in page.css
LINE = 1.15  # rem: a line of a context; --line-height in page.css


def legend(explanation: Explanation) -> str:
    levels = range(-len(LEVELS), len(LEVELS) + 1)
    bounds = [f"{-bound:+.0f}" for bound in reversed(LEVELS)] + [f"{bound:+.0f}" for bound in LEVELS] + [""]
    steps = "".join(
        f'<i data-level="{level}"><span>{bound}</span></i>' for level, bound in zip(levels, bounds, strict=True)
    )
    return f"""<div class="legend">
<p>ribbon: thicker for more weight</p>
<p>colour: fits worse <span class="scale">{steps}</span> better than {escape(yardstick(explanation))}, in nats</p>
<p>bar under a word: surprise up to <i class="sample"></i> 12 nats</p>
</div>"""


def picture(explanation: Explanation, chosen: Reason, name: str) -> str:
    held = len(explanation.left) + len(explanation.right)
    size = "text" if held + max(len(reason.text) for reason in explanation.reasons) < 200 else "text long"
    return f"""<div class="picture">
{_side(explanation, "left", chosen, name)}
<div class="middle">
<p class="{size}" dir="auto">{_place(explanation, chosen)}</p>
<p class="verdict" data-level="{level(chosen.score)}"><i class="swatch"></i><b>{nats(chosen.score, 2)}</b>
nats against {escape(yardstick(explanation))}</p>
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
    return f"""<li class="context" data-index="{index}" data-level="{level(fit)}" tabindex="0">{ribbon}
<div class="card">
<p class="facts"><span>#{index + 1}</span><span><span class="unit">weight</span> {context.weight:.2f}</span>
<span class="fit"><i class="swatch"></i><b>{nats(fit)}</b></span></p>
<div class="prose"><p dir="auto">{escape(context.text.strip())}</p></div>
</div></li>"""


def _ribbons(weights: list[float], row: float, side: str) -> Iterator[str]:
    """One drawing per context, in hundredths of its row: a ribbon from the row to its place at the text.

    On a wide screen the text is level with the middle of the column, and the ribbons meet stacked at its edge. On a
    narrow one it is below the left contexts and above the right ones: the ribbons turn and run along the edge, the
    farthest row outermost, so that ribbons never cross.
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
        return plain(reason)
    extra = ' tabindex="0"' if focusable else ""
    return "".join(_token(token, extra) for token in reason.tokens).strip()


def _token(token: Token, extra: str) -> str:
    word = token.text.lstrip() or token.text
    space = token.text.removesuffix(word)
    return (
        f'{space}<span class="token" data-nats="{token.surprise:.1f}" '
        f'style="--surprise-nats: {max(0.0, token.surprise):.2f}"{extra}>{escape(word)}</span>'
    )


def _changes(reason: Reason) -> str:
    """What was swapped, lost and added, in words."""
    if not reason.changes:
        return ""
    return f'<span class="changes" dir="auto">changes: {escape("; ".join(reason.changes))}</span>'


def candidates(explanation: Explanation, chosen: int, name: str) -> str:
    scores = [reason.score for reason in explanation.reasons]
    low, high = min(0.0, *scores), max(0.0, *scores)
    span = (high - low) or 1.0
    rows = []
    for index, reason in enumerate(explanation.reasons):
        start = 100 * (min(0.0, reason.score) - low) / span
        bar = f"--zero: {-100 * low / span:.1f}%; --from: {start:.1f}%; --width: {100 * abs(reason.score) / span:.1f}%"
        tag = f'<span class="tag">{escape(reason.label)}</span>' if reason.text and reason.label else ""
        kind = "candidate doubtful" if reason.label == "doubtful" else "candidate"
        checked = " checked" if index == chosen else ""
        colour = f'data-level="{level(reason.score)}"'
        rows.append(
            f'<label class="{kind}" data-reason="{index}">'
            f'<input type="radio" name="{name}" autocomplete="off" disabled{checked}>'
            f'<span class="score" {colour}>{nats(reason.score, 2)}</span>'
            f'<span class="bar" {colour} style="{bar}"></span>'
            f'<span class="words" dir="auto">{_words(reason)}</span>{tag}{_changes(reason)}</label>'
        )
    return (
        '<fieldset class="candidates">\n'
        f"<legend>choose a text: score in nats against {escape(yardstick(explanation))}"
        "<noscript> (choosing needs JavaScript; the tables below have every number)</noscript></legend>\n"
        + "\n".join(rows)
        + "\n</fieldset>"
    )
