"""Candidates in rank order: which of them are read to the end, and what is said of each.

Fits are log-probabilities of contexts next to a text; the task says how they are measured and what they add up to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from refdec.metrics.novelty import novelty
from refdec.metrics.words import bare_words
from refdec.reflect.contexts import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.racing import AHEAD, in_race
from refdec.reflect.schedule import Task, together
from refdec.results import Paraphrase

Fit = Callable[[Ensemble, Sequence[Ids], Sequence[str]], Task[torch.Tensor]]
"""(ensemble, some of its contexts, texts) to the fit of each context with each text, (texts, contexts)."""


RACE_FLOPS = {"cuda": 2e13}
"""A GPU does less work than this, for one input, sooner than it is told twice what to do."""


def is_copy(candidate: str, source: str) -> bool:
    """Whether two texts say the same words in the same order, whatever their case and punctuation."""
    return (bare_words(candidate) or candidate.split()) == (bare_words(source) or source.split())  # emoji have no words


async def race(
    source: str, texts: Sequence[str], ensembles: Sequence[Ensemble], fit: Fit, exact: bool
) -> tuple[list[str], list[torch.Tensor]]:
    """The texts that can win, and their fits with the contexts of each side; the first text is the source.

    Unless all are to be read exactly, those that fall behind on the heaviest context of each side are left out.
    """
    if exact or len(texts) <= AHEAD + 1 or not _is_worth_it(ensembles, len(texts)):
        return list(texts), await together(fit(item, item.contexts, texts) for item in ensembles)
    first = await together(fit(item, item.contexts[:1], texts) for item in ensembles)
    kept = in_race(
        torch.cat(first, dim=1).sum(1).tolist(),
        [novelty(text, source) for text in texts],
        [is_copy(text, source) for text in texts],  # the source is one, and so it stays
    )
    left = [texts[index] for index in kept]
    rest = await together(fit(item, item.contexts[1:], left) for item in ensembles)
    return left, [torch.cat([one[kept], two], dim=1) for one, two in zip(first, rest, strict=True)]


def _is_worth_it(ensembles: Sequence[Ensemble], texts: int) -> bool:
    """Whether leaving some out saves more than a second round of passes costs: not for a small model on a GPU."""
    model = ensembles[0].side.outward
    tokens = texts * sum(len(context) for item in ensembles for context in item.contexts)
    return model.cost.flops(tokens, tokens, 0) >= RACE_FLOPS.get(model.device.type, 0.0)


def ranked_paraphrases(
    texts: Sequence[str], totals: Sequence[float], fits: Sequence[torch.Tensor], origins: Mapping[str, str]
) -> list[Paraphrase]:
    """Candidates with everything known of them, best first; the first text is the source, candidate or not."""
    source = texts[0]
    relative = torch.cat([side - side[0] for side in fits], dim=1).tolist()
    candidates = [
        Paraphrase(
            text=text,
            score=total,
            relative=total - totals[0],
            novelty=novelty(text, source),
            copy=is_copy(text, source),
            side=origins[text],
            fits=tuple(row),
        )
        for text, total, row in zip(texts, totals, relative, strict=True)
        if text in origins
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.text))
