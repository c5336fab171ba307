"""The weighted ensemble of contexts on one side: learning it, sampling from it, and reading with it.

This is RD of the paper: contexts are weighed by how well they predict the source, cut down to the few that
matter, and then generate. Ids in text order come in and go out; nothing here knows text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch

from refdec.reflect.calibration import calibrate
from refdec.reflect.contexts import Ids, inward_source, read_source
from refdec.reflect.product import at_tokens, mix
from refdec.reflect.sample import Steer, sample
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
    others: tuple[Ids, ...]  # sampled, but not kept
    top_p: float  # the nucleus that gives the wanted entropy
    objective: float  # log RD(source) with the kept contexts
    gap: float  # how far that can be from the best weights, nats


def learn_ensemble(
    side: Side,
    framed: FramedIds,
    contexts: Sequence[Ids],
    *,
    given: int = 0,
    given_weight: float = 0.0,
    keep: int,
    minimum_weight: float,
    entropy: float,
    solve: Solver,
) -> Ensemble:
    """Weigh contexts, keep the heaviest, weigh those again, and calibrate.

    The first `given` contexts are not samples but the source's true ones. They are kept whatever they weigh, and
    share at least `given_weight` among them.
    """
    experts = read_source(side, contexts, framed)
    tokens = torch.tensor(inward_source(side, framed), device=experts.device)
    allowed = side.allowed(side.inward, framed)
    kept = prune(solve(experts, tokens, allowed).weights, keep, minimum_weight, given)
    learned = solve(experts[kept], tokens, allowed)
    weights = _with_share(learned.weights, given, given_weight)
    order = weights.argsort(descending=True, stable=True)
    chosen = [int(index) for index in kept[order]]
    near, middle, _ = side.inward_parts(framed)
    mixed = mix(weights, experts[kept], allowed)
    # Nothing stands in a gap that is to be filled: then its surroundings show how sure the ensemble is.
    source_part = mixed[len(near) : len(near) + len(middle)] if middle else mixed
    return Ensemble(
        side=side,
        contexts=tuple(contexts[index] for index in chosen),
        weights=weights[order],
        others=tuple(context for index, context in enumerate(contexts) if index not in chosen),
        top_p=calibrate(source_part, entropy),
        objective=float(at_tokens(mixed, tokens).double().sum()),
        gap=learned.gap,
    )


def _with_share(weights: torch.Tensor, given: int, share: float) -> torch.Tensor:
    """Weights whose first `given` have at least this share, the others scaled to make room for it."""
    own = float(weights[:given].sum())
    if not given or own >= share:
        return weights
    raised = weights * ((1 - share) / (1 - own))
    raised[:given] = weights[:given] * (share / own) if own > 0 else share / given
    return raised


def prune(weights: torch.Tensor, keep: int, minimum: float, given: int = 0) -> torch.Tensor:
    """Indices of the given contexts and of the heaviest others, at most `keep` of these, none under the minimum.

    At least one context is kept.
    """
    sampled = weights[given:].argsort(descending=True, stable=True)[:keep] + given
    enough = int((weights[sampled] >= minimum).sum())
    always = torch.arange(given, device=weights.device)
    return torch.cat([always, sampled[: max(0 if given else 1, enough)]])


def generate(
    ensemble: Ensemble,
    framed: FramedIds,
    uniform: torch.Tensor,
    stops: Collection[int],
    steer: Steer | None = None,
) -> list[Ids]:
    """Texts for the source's place, the static part next to the contexts held; uniform is (samples, tokens)."""
    side = ensemble.side
    arrange = side.inward.direction.arrange
    near, _, _ = side.inward_parts(framed)
    running = int((ensemble.weights >= NO_WEIGHT).sum())
    prefixes = [arrange(context) + near for context in ensemble.contexts[:running]]
    weights = ensemble.weights[:running] / ensemble.weights[:running].sum()
    allowed = side.allowed(side.inward, framed)
    drawn = sample(side.inward, prefixes, weights, uniform, ensemble.top_p, allowed, stops, steer)
    return [tuple(arrange(ids)) for ids in drawn]


def surprises(ensemble: Ensemble, framed: FramedIds) -> list[float]:
    """Minus log RD of each token in the middle of a framed text, in text order; nats."""
    side = ensemble.side
    experts = read_source(side, ensemble.contexts, framed)
    tokens = torch.tensor(inward_source(side, framed), device=experts.device)
    mixed = mix(ensemble.weights, experts, side.allowed(side.inward, framed))
    near, middle, _ = side.inward_parts(framed)
    own = at_tokens(mixed, tokens)[len(near) : len(near) + len(middle)]
    return side.inward.direction.arrange([-float(value) for value in own])
