"""What a request would cost: the floating-point operations of a text, estimated before anything is computed.

From the sizes of the models and the settings, by the phases of docs/method.md. It is meant to be right within a small
factor and rather too high: settings multiply, and this is what bounds their product. Knows numbers; runs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from refdec.lm.cost import Cost
from refdec.lm.pair import Pair
from refdec.settings import FingerprintSettings, InfillSettings, ParaphraseSettings, ScoreSettings
from refdec.tasks.faithful import SHORTLIST
from refdec.tasks.yardstick import UNRELATED


@dataclass(frozen=True, slots=True)
class Text:
    """What an estimate needs to know of a text."""

    tokens: int  # of the text and what is held around it
    candidates: int = 1  # that are scored against it
    explained: int = 0  # results that are explained


def flops_of(pair: Pair, settings: FingerprintSettings, text: Text) -> float:
    """Operations of both models for one text; each is the outward model of one side and the inward one of the other."""
    return sum(_of_side(model.cost, pair.window, settings, text) for model in (pair.forward, pair.backward))


def _of_side(cost: Cost, window: int, settings: FingerprintSettings, text: Text) -> float:
    count, length, size = settings.contexts, settings.context_tokens, text.tokens
    total = _rows(cost, count, length, before=size, heads=length)  # contexts
    if isinstance(settings, ScoreSettings):
        read = text.candidates + len(UNRELATED) + 1
        total += _judged(cost, read, size, count, length)
        if settings.symmetric:
            total += text.candidates * (_rows(cost, count, length, before=size, heads=length))
            total += text.candidates * _judged(cost, len(UNRELATED) + 2, size, count, length)
        if settings.weighting == "none" and not text.explained:
            return total
    total += _rows(cost, count, length + size, before=0, heads=size)  # weights
    kept = min(settings.kept_contexts, count)
    total += 2 * text.explained * _rows(cost, kept, length + size, before=0, heads=length + size)
    if isinstance(settings, ParaphraseSettings):
        total += _paraphrased(cost, window, settings, size, kept)
    elif isinstance(settings, InfillSettings):
        total += _rows(cost, kept * settings.samples, settings.tokens, before=length + size, heads=settings.tokens)
        total += _rows(cost, 2 * settings.samples, size + settings.tokens, before=0, heads=size + settings.tokens)
    return total


def _paraphrased(cost: Cost, window: int, settings: ParaphraseSettings, size: int, kept: int) -> float:
    """Generating candidates, and reading each by itself and beside the kept contexts."""
    if settings.echo:
        new = size + size // 4 + settings.extra_tokens
        experts = 1 + min(settings.echo_contexts, kept)
        candidates = SHORTLIST
        generated = settings.rounds * _rows(cost, experts * settings.samples, new, before=window - new, heads=new)
    else:
        new = size + settings.extra_tokens
        candidates = 2 * settings.samples
        generated = _rows(cost, kept * settings.samples, new, before=settings.context_tokens, heads=new)
    alone = _rows(cost, candidates + 1, new, before=0, heads=new)
    return generated + alone + _judged(cost, candidates + 1, new, kept, settings.context_tokens)


def _judged(cost: Cost, texts: int, size: int, contexts: int, length: int) -> float:
    """Reading contexts beside texts: each text once, and after it every context."""
    beside = _rows(cost, texts * contexts, length, before=size, heads=length)
    return _rows(cost, texts, size, before=0, heads=0) + beside


def _rows(cost: Cost, rows: int, tokens: int, before: int, heads: int) -> float:
    """Rows of so many tokens after a prefix that they share; `heads` of the tokens need logits."""
    attended = rows * tokens * (max(0, before) + tokens // 2)
    return cost.flops(rows * tokens, rows * heads, attended)
