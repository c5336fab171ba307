"""Choosing the nucleus p so that sampling has a chosen entropy over the whole source.

The summed entropy of the truncated distributions never falls as p grows, so p is found by narrowing an interval. The
entropy moves in steps (a token enters the nucleus or it does not): the middle of the nearest step is taken. Several
sources are calibrated side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

ROUNDS, GRID = 7, 64
"""Each round tries 64 values of p and goes on between two of them; seven rounds narrow p to 1 in 64^7."""


def calibrate_all(mixed: Sequence[torch.Tensor], entropies: Sequence[float]) -> list[float]:
    """For each source the p whose truncated distributions come nearest to its summed entropy.

    mixed: (tokens, vocabulary) log-probabilities of the product over the source part; lengths may differ.
    """
    curve = _EntropyCurves(mixed)
    wanted = torch.tensor(entropies, dtype=torch.float64, device=mixed[0].device)[:, None]
    low, high = torch.zeros_like(wanted), torch.ones_like(wanted)
    whole = curve(high) <= wanted
    inner = torch.arange(1, GRID, dtype=torch.float64, device=wanted.device) / GRID
    for _ in range(ROUNDS):
        step = high - low
        under = (curve(low + step * inner) <= wanted).sum(1, keepdim=True)
        low, high = low + step * (under / GRID), low + step * ((under + 1) / GRID)
    ends = curve(torch.cat([low, high], dim=1))
    nearest = torch.where(wanted - ends[:, :1] <= ends[:, 1:] - wanted, low, high)
    top_p: list[float] = torch.where(whole, 1.0, curve.centre(nearest))[:, 0].tolist()
    return top_p


class _EntropyCurves:
    """Summed entropy of the nuclei as a function of p; sorting and summing are done once."""

    def __init__(self, mixed: Sequence[torch.Tensor]) -> None:
        longest = max(map(len, mixed))
        logprobs = mixed[0].new_full((len(mixed), longest, mixed[0].shape[-1]), -torch.inf, dtype=torch.float64)
        logprobs[..., 0] = 0.0  # where a source has no more tokens, one that is certain adds no entropy
        for number, source in enumerate(mixed):
            logprobs[number, : len(source)] = source
        logprobs = logprobs.sort(dim=-1, descending=True).values
        probabilities = logprobs.exp()
        self._mass = probabilities.cumsum(-1)
        self._surprise = torch.where(probabilities > 0, -probabilities * logprobs, 0.0).cumsum(-1)

    def __call__(self, top_p: torch.Tensor) -> torch.Tensor:
        """(sources, values of p) to as many entropies."""
        values = top_p[:, None].expand(-1, self._mass.shape[1], -1).contiguous()
        last = torch.searchsorted(self._mass, values).clamp_(max=self._mass.shape[-1] - 1)
        mass = self._mass.gather(2, last)
        # -sum q/m log(q/m) = (-sum q log q)/m + log m
        return (self._surprise.gather(2, last) / mass + mass.log()).sum(1)

    def centre(self, top_p: torch.Tensor) -> torch.Tensor:
        """The middle of the step on which p lies, so that no rounding moves a token across its edge; (sources, 1)."""
        below = self._mass < top_p[:, None]
        low = torch.where(below, self._mass, 0.0).amax((1, 2))
        high = torch.where(below, 1.0, self._mass).amin((1, 2))
        return ((low + high.clamp(max=1.0)) / 2)[:, None]
