"""Candidates in rank order: which of them are read to the end, and the figures of each.

A fit is the log-probability of a context next to a text; the task says how fits are measured and added up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.metrics.novelty import novelty
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.racing import AHEAD, in_race
from refdec.reflect.schedule import Task, together
from refdec.reflect.scoring import Alone, alone
from refdec.results import Flow, Paraphrase
from refdec.settings import ParaphraseSettings
from refdec.tasks.constraints import Constraints
from refdec.text.words import bare_words

Fit = Callable[[Ensemble, Sequence[Ids], Sequence[str]], Task[torch.Tensor]]
"""(ensemble, some of its contexts, texts) to the fit of each context with each text, (texts, contexts)."""


TOLD_APART = Constraints(automatic=("numbers", "names"))
"""Numbers and names: a text that lacks one of the source's says something else."""

WINDOW = 5
"""Neighbouring tokens whose mean log-probability shows a break in a text."""

AS_SOURCE = Flow(0.0, 0.0)
"""How the source itself reads, against the source."""

RACE_FLOPS = {"cuda": 4e12}
"""FLOPs per input below which a GPU reads everything sooner than it starts a second round of passes."""


def is_copy(candidate: str, source: str) -> bool:
    """Whether two texts say the same words in the same order, whatever their case and punctuation."""
    return (bare_words(candidate) or candidate.split()) == (bare_words(source) or source.split())  # emoji have no words


def flow_of(text: Alone, source: Alone) -> Flow:
    """How a text reads by itself, against the source."""
    both_ways = ((text.forward, source.forward), (text.backward, source.backward))
    whole, worst = (
        sum(measure(one) - measure(other) for one, other in both_ways) / 2
        for measure in (lambda row: float(row.double().sum()), worst_window)
    )
    return Flow(whole, worst, (text.broken or 0.0) - (source.broken or 0.0))


def worst_window(logprobs: torch.Tensor) -> float:
    """The lowest mean log-probability of five neighbouring tokens."""
    return float(logprobs.double().unfold(0, min(WINDOW, len(logprobs)), 1).mean(-1).min())


@dataclass(frozen=True, slots=True)
class Standing:
    """What counts for and against a text apart from its fit with the contexts."""

    prior: float  # its own log-probability against the source's, times its weight; nats
    lost: tuple[str, ...]  # numbers and names of the source that it does not have
    penalty: float  # nats that this costs
    flow: Flow = AS_SOURCE  # how it reads by itself, against the source

    @property
    def offset(self) -> float:
        return self.prior - self.penalty


async def standings(
    pair: Pair, texts: Mapping[str, Sequence[int]], settings: ParaphraseSettings
) -> dict[str, Standing]:
    """The standing of texts with their ids; the first is the source, whose standing is zero."""
    read = await alone(pair, list(texts.values()))
    flows = [flow_of(one, read[0]) for one in read]
    kept = TOLD_APART.on(next(iter(texts)))
    result = {}
    for text, flow in zip(texts, flows, strict=True):
        lost = tuple(dict.fromkeys(kept.lacking(text)))
        result[text] = Standing(settings.prior * flow.whole, lost, settings.loss * bool(lost), flow)
    return result


async def race(
    texts: Sequence[str], standing: Mapping[str, Standing], ensembles: Sequence[Ensemble], fit: Fit, exact: bool
) -> tuple[list[str], list[torch.Tensor]]:
    """The texts that can win, and their fits with the contexts of each side; the first text is the source.

    Unless all are to be read exactly, those that fall behind on the heaviest context of each side are left out.
    """
    source = texts[0]
    if exact or len(texts) <= AHEAD + 1 or not _is_worth_it(ensembles, len(texts)):
        return list(texts), await together(fit(item, item.contexts, texts) for item in ensembles)
    first = await together(fit(item, item.contexts[:1], texts) for item in ensembles)
    kept = in_race(
        [fit + standing[text].offset for fit, text in zip(torch.cat(first, dim=1).sum(1).tolist(), texts, strict=True)],
        [novelty(text, source) for text in texts],
        [is_copy(text, source) for text in texts],  # the source is one, and so it stays
    )
    left = [texts[index] for index in kept]
    rest = await together(fit(item, item.contexts[1:], left) for item in ensembles)
    return left, [torch.cat([one[kept], two], dim=1) for one, two in zip(first, rest, strict=True)]


def _is_worth_it(ensembles: Sequence[Ensemble], texts: int) -> bool:
    """Whether dropping texts early saves more than a second round of passes costs: not for a small model on a GPU."""
    model = ensembles[0].side.outward
    tokens = texts * sum(len(context) for item in ensembles for context in item.contexts)
    return model.cost.flops(tokens, tokens, 0) >= RACE_FLOPS.get(model.device.type, 0.0)


def ranked_paraphrases(
    texts: Sequence[str],
    totals: Sequence[float],
    standing: Mapping[str, Standing],
    fits: Sequence[torch.Tensor],
    origins: Mapping[str, str],
) -> list[Paraphrase]:
    """Candidates with their figures, best first; the first text is the source, which need not be a candidate."""
    source = texts[0]
    relative = torch.cat([side - side[0] for side in fits], dim=1).tolist()
    candidates = [
        Paraphrase(
            text=text,
            score=total + standing[text].offset,
            relative=total + standing[text].offset - totals[0],
            prior=standing[text].prior,
            lost=standing[text].lost,
            novelty=novelty(text, source),
            copy=is_copy(text, source),
            side=origins[text],
            fits=tuple(row),
            flow=standing[text].flow,
        )
        for text, total, row in zip(texts, totals, relative, strict=True)
        if text in origins
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.text))
