"""Nucleus truncation and the draw from it.

The nucleus of p is the smallest set of most probable tokens whose mass reaches p; it is never empty.
Works on log-probabilities and on uniform numbers that are handed in.
"""

from __future__ import annotations

import torch

FIRST_LOOK = 64
"""Most nuclei are small: sorting this many tokens usually suffices, and sorting all of them is slow."""


def draw(logprobs: torch.Tensor, top_p: float, uniform: torch.Tensor) -> torch.Tensor:
    """One token a row from the nucleus, by inverting its distribution at a uniform number.

    logprobs: (rows, vocabulary), normalised; uniform: (rows,) in [0, 1); result: (rows,) ids.
    """
    tokens, cumulative = _sorted_mass(logprobs, top_p)
    size = (cumulative < top_p).sum(-1, keepdim=True).clamp(max=cumulative.shape[-1] - 1)
    mass = cumulative.gather(1, size)
    place = (cumulative <= uniform[:, None] * mass).sum(-1, keepdim=True)
    return tokens.gather(1, torch.minimum(place, size))[:, 0]


def _sorted_mass(logprobs: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The most probable tokens in order and their cumulative probability, as far as any row's nucleus needs."""
    vocabulary = logprobs.shape[-1]
    look = min(FIRST_LOOK, vocabulary)
    while True:
        values, tokens = logprobs.topk(look, dim=-1)
        cumulative = values.double().exp().cumsum(-1)
        if look == vocabulary or bool((cumulative[:, -1] >= top_p).all()):
            return tokens, cumulative
        look = min(look * 8, vocabulary)
