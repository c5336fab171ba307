"""Explanations: the surprise of every token of a text, and the reasons for and against each candidate."""

from __future__ import annotations

from collections.abc import Sequence

from refdec.lm.pair import Pair
from refdec.reflect.ensemble import Ensemble, surprises
from refdec.reflect.schedule import together
from refdec.results import Paraphrase, Reason, Token
from refdec.tasks.frame import Frame


async def explain_tokens(pair: Pair, ensembles: Sequence[Ensemble], frame: Frame, text: str) -> tuple[Token, ...]:
    """The pieces of a text with their surprise under the ensembles, mean of both directions.

    A piece that shares a token with the frame is held, and has no surprise.
    """
    wrapped = frame.wrap(text)
    first, last = len(frame.before), len(frame.before) + len(text)
    framed = frame.encode(pair.tokens, text)
    if not framed.middle:
        return (Token(text, 0.0),)
    both = await together(surprises(ensemble, framed) for ensemble in ensembles)
    _, spans = pair.tokens.encode_with_spans(wrapped)
    pieces: list[Token] = []
    at = first
    for place, values in enumerate(zip(*both, strict=True), start=len(framed.left)):
        end = min(max(spans[place][1], at), last)
        if end > at:  # several tokens can spell one character
            pieces.append(Token(wrapped[at:end], sum(values) / len(values)))
            at = end
        elif pieces:
            pieces[-1] = Token(pieces[-1].text, pieces[-1].surprise + sum(values) / len(values))
    if at < last:
        pieces.append(Token(wrapped[at:last], 0.0))
    return tuple(pieces)


async def explain_paraphrases(
    pair: Pair, ensembles: Sequence[Ensemble], frame: Frame, source: str, ranked: Sequence[Paraphrase], count: int
) -> tuple[Reason, ...]:
    """The source as the yardstick, what speaks for and against the best `count` candidates, and the best copy of it."""
    candidates = [item for item in ranked if not item.copy][:count] + [item for item in ranked if item.copy][:1]
    nothing = (0.0,) * sum(len(ensemble.contexts) for ensemble in ensembles)
    texts = (source, *(item.text for item in candidates))
    source_tokens, *rows = await together(explain_tokens(pair, ensembles, frame, text) for text in texts)
    reasons = [Reason(source, "source", 0.0, nothing, source_tokens)]
    for item, tokens in zip(candidates, rows, strict=True):
        label = "copy of the source" if item.copy else "doubtful" if item.doubtful else ""
        reasons.append(Reason(item.text, label, item.relative, item.fits, tokens, item.changes))
    return tuple(reasons)
