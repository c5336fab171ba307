"""The weighted ensemble of contexts on one side: learning it, and sampling from it.

This is RD of the paper: contexts are sampled, weighed by how well they predict the source, cut down to the
few that matter, and then generate. Ids in text order come in and go out; nothing here knows text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from refdec.reflect.calibration import calibrate
from refdec.reflect.contexts import Ids, inward_source, read_source, sample_contexts
from refdec.reflect.product import mix
from refdec.reflect.sample import sample
from refdec.reflect.side import FramedIds, Side
from refdec.reflect.weights import Solver

NO_WEIGHT = 1e-4
"""A context under this weight does not change what is generated, and is not run."""


@dataclass(frozen=True)
class Ensemble:
    """The kept contexts of one side, heaviest first, with what was learned about them."""

    side: Side
    contexts: tuple[Ids, ...]
    weights: torch.Tensor  # (kept,), on the simplex, on the inward model's device
    top_p: float  # the nucleus that gives the wanted entropy
    objective: float  # log RD(source) with the kept contexts
    gap: float  # how far that can be from the best weights, nats


def learn_ensemble(
    side: Side,
    framed: FramedIds,
    uniform: torch.Tensor,
    *,
    tells_nothing: Callable[[Ids], bool],
    context_top_p: float,
    keep: int,
    minimum_weight: float,
    entropy: float,
    solve: Solver,
) -> Ensemble:
    """Sample contexts, weigh them, keep the heaviest, weigh those again, and calibrate."""
    contexts = sample_contexts(side, framed, uniform, context_top_p, tells_nothing)
    experts = read_source(side, contexts, framed)
    tokens = torch.tensor(inward_source(side, framed), device=experts.device)
    allowed = side.allowed(side.inward, framed)
    kept = prune(solve(experts, tokens, allowed).weights, keep, minimum_weight)
    learned = solve(experts[kept], tokens, allowed)
    order = learned.weights.argsort(descending=True, stable=True)
    near, middle, _ = side.inward_parts(framed)
    mixed = mix(learned.weights, experts[kept], allowed)[len(near) : len(near) + len(middle)]
    return Ensemble(
        side=side,
        contexts=tuple(contexts[int(index)] for index in kept[order]),
        weights=learned.weights[order],
        top_p=calibrate(mixed, entropy),
        objective=learned.objective,
        gap=learned.gap,
    )


def prune(weights: torch.Tensor, keep: int, minimum: float) -> torch.Tensor:
    """Indices of the heaviest contexts, at most `keep`, none under the minimum, at least one."""
    heaviest = weights.argsort(descending=True, stable=True)[:keep]
    enough = int((weights[heaviest] >= minimum).sum())
    return heaviest[: max(1, enough)]


def generate(ensemble: Ensemble, framed: FramedIds, uniform: torch.Tensor, stops: Collection[int]) -> list[Ids]:
    """Texts for the source's place, the static part next to the contexts held; uniform is (samples, tokens)."""
    side = ensemble.side
    arrange = side.inward.direction.arrange
    near, _, _ = side.inward_parts(framed)
    running = int((ensemble.weights >= NO_WEIGHT).sum())
    prefixes = [arrange(context) + near for context in ensemble.contexts[:running]]
    weights = ensemble.weights[:running] / ensemble.weights[:running].sum()
    allowed = side.allowed(side.inward, framed)
    drawn = sample(side.inward, prefixes, weights, uniform, ensemble.top_p, allowed, stops)
    return [tuple(arrange(ids)) for ids in drawn]
