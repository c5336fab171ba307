"""Sampling texts from a product of experts, one token at a time.

Contexts come from it too: a single expert of weight one. Rows that still say the same are computed once and branch when
their draws differ, and rules can steer what comes next. Works in the model's reading order; knows no text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from refdec.lm.operations import operations
from refdec.lm.protocol import LanguageModel
from refdec.reflect.product import normalise

CACHED_TOKENS = 1 << 13
"""Branching rows hold at most this many tokens in a cache at once; more samples than that come in several rounds."""


class Steer(Protocol):
    """Changes what may come next, depending on what has been said: how constraints act inside the product."""

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
        """Log-probabilities (vocabulary,) after these ids in reading order, with so many tokens left to draw."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """What is to be sampled: continuations of a weighted set of prefixes, in the model's reading order.

    A continuation ends after one of the stop tokens or when its row of uniform numbers is used up.
    """

    prefixes: Sequence[Sequence[int]]
    weights: torch.Tensor  # (prefixes,)
    uniform: torch.Tensor  # (samples, tokens), on the CPU
    top_p: float
    allowed: torch.Tensor  # (vocabulary,)
    stops: Collection[int] = ()
    steer: Steer | None = None

    @property
    def places(self) -> int:
        """Tokens that a row has at most."""
        return max(map(len, self.prefixes)) + self.uniform.shape[1] + 1

    @property
    def rows(self) -> int:
        return len(self.prefixes) * len(self.uniform)


Ids = list[int]


@torch.inference_mode()
def sample(model: LanguageModel, job: Sampling) -> list[Ids]:
    """The continuations of one job, its rows branching from each other as they come to differ."""
    experts, (samples, steps) = len(job.prefixes), job.uniform.shape
    limit = max(1, CACHED_TOKENS // (experts * job.places))
    if samples > limit:
        rounds = torch.split(job.uniform, limit)
        return [ids for part in rounds for ids in sample(model, replace(job, uniform=part))]
    draw = operations(model.device).draw
    allowed, everything = job.allowed[None], torch.ones_like(job.allowed)[None]
    reading = model.read(job.prefixes)  # rows: branch by branch, each with all its experts
    branches: list[Ids] = [[]]
    branch_of = [0] * samples  # sample -> branch; -1 once it has ended
    texts: list[Ids] = [[] for _ in range(samples)]
    for step in range(steps):
        active = [index for index, branch in enumerate(branch_of) if branch >= 0]
        mixed = torch.einsum("e,bef->bf", job.weights, reading.features.view(len(branches), experts, -1))
        logits = model.logits(mixed)
        if job.steer is not None:
            # Rules look at single tokens of single rows: on a GPU each look would be a wait.
            rows = zip(branches, normalise(logits, job.allowed).cpu(), strict=True)
            logits = torch.stack([job.steer(ids, row, steps - step) for ids, row in rows]).to(model.device)
        parents = [branch_of[index] for index in active]
        drawn = draw(
            logits[parents],
            allowed if job.steer is None else everything,
            torch.zeros(len(active), dtype=torch.int32, device=model.device),
            torch.full((len(active),), job.top_p, device=model.device),
            job.uniform[active, step].to(model.device),
        ).tolist()
        children: dict[tuple[int, int], int] = {}
        for index, parent, token in zip(active, parents, drawn, strict=True):
            if token in job.stops or step == steps - 1:
                texts[index] = [*branches[parent], token]
                branch_of[index] = -1
            else:
                branch_of[index] = children.setdefault((parent, token), len(children))
        if not children:
            break
        if [parent for parent, _ in children] != list(range(len(branches))):
            chosen = [parent * experts + expert for parent, _ in children for expert in range(experts)]
            reading = reading.select(torch.tensor(chosen, device=model.device))
        branches = [[*branches[parent], token] for parent, token in children]
        tokens = torch.tensor([token for _, token in children], device=model.device)
        reading = model.extend(reading, tokens.repeat_interleave(experts))
    return texts
