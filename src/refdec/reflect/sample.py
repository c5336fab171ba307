"""Sampling texts from a product of experts, one token at a time.

Contexts come from it too: a single expert of weight one. Rows whose texts are still the same are computed
once, and branch when their draws differ. Works in the model's reading order; knows no text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import torch

from refdec.lm.protocol import LanguageModel
from refdec.reflect.nucleus import draw
from refdec.reflect.product import mix

CACHED_TOKENS = 1 << 16
"""At most this many tokens are held in a cache at once; more samples than that come in several rounds."""


class Steer(Protocol):
    """Changes what may come next, depending on what has been said: how constraints act inside the product."""

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
        """Log-probabilities (vocabulary,) after these ids in reading order, with so many tokens left to draw."""


@torch.inference_mode()
def sample(
    model: LanguageModel,
    prefixes: Sequence[Sequence[int]],
    weights: torch.Tensor,
    uniform: torch.Tensor,
    top_p: float,
    allowed: torch.Tensor,
    stops: Collection[int] = (),
    steer: Steer | None = None,
    groups: int = 1,
) -> list[list[int]]:
    """Continuations of a weighted set of prefixes, in the model's reading order.

    uniform is (samples, tokens); a continuation ends after one of the stop tokens or when its row of uniform
    numbers is used up. Several groups, each of as many prefixes and samples as the next, can be sampled together
    with the same weights; their rows follow each other.
    """
    experts, samples = len(prefixes) // groups, len(uniform) // groups
    limit = max(1, CACHED_TOKENS // (experts * (max(map(len, prefixes)) + uniform.shape[1])))
    if groups == 1 and samples > limit:
        rounds = torch.split(uniform, limit)
        return [ids for part in rounds for ids in sample(model, prefixes, weights, part, top_p, allowed, stops, steer)]
    reading = model.read(prefixes)  # rows: branch by branch, each with all its experts
    branches: list[list[int]] = [[] for _ in range(groups)]
    branch_of = [row // samples for row in range(len(uniform))]  # sample -> branch; -1 once it has ended
    texts: list[list[int]] = [[] for _ in range(len(uniform))]
    steps = uniform.shape[1]
    for step in range(steps):
        active = [index for index, branch in enumerate(branch_of) if branch >= 0]
        mixed = mix(weights, reading.next_logprobs.view(-1, experts, model.vocabulary).transpose(0, 1), allowed)
        if steer is not None:
            mixed = torch.stack([steer(ids, row, steps - step) for ids, row in zip(branches, mixed, strict=True)])
        parents = [branch_of[index] for index in active]
        drawn = draw(mixed[parents], top_p, uniform[active, step].to(mixed.device)).tolist()
        children: dict[tuple[int, int], int] = {}
        for index, parent, token in zip(active, parents, drawn, strict=True):
            if token in stops or step == steps - 1:
                texts[index] = [*branches[parent], token]
                branch_of[index] = -1
            else:
                branch_of[index] = children.setdefault((parent, token), len(children))
        if not children:
            break
        if [parent for parent, _ in children] != list(range(len(branches))):
            rows = [parent * experts + expert for parent, _ in children for expert in range(experts)]
            reading = reading.select(torch.tensor(rows, device=model.device))
        branches = [[*branches[parent], token] for parent, token in children]
        tokens = torch.tensor([token for _, token in children], device=model.device)
        reading = model.extend(reading, tokens.repeat_interleave(experts))
    return texts
