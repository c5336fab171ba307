"""Choosing the nucleus p so that sampling has a wanted entropy over the whole source.

The summed entropy of the truncated distributions never falls as p grows, so it is found by bisection. It
moves in steps (a token enters the nucleus or it does not): the nearest step is taken, in its middle.
"""

from __future__ import annotations

import torch

BISECTIONS = 40


def calibrate(mixed: torch.Tensor, entropy: float) -> float:
    """The p whose truncated distributions have this summed entropy, as nearly as there is one.

    mixed: (tokens, vocabulary) log-probabilities of the product over the source part.
    """
    curve = _EntropyCurve(mixed)
    low, high = 0.0, 1.0
    if curve(high) <= entropy:
        return high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if curve(middle) <= entropy:
            low = middle
        else:
            high = middle
    return curve.centre(low if entropy - curve(low) <= curve(high) - entropy else high)


class _EntropyCurve:
    """Summed entropy of the nuclei as a function of p; sorting and summing are done once."""

    def __init__(self, mixed: torch.Tensor) -> None:
        logprobs = mixed.double().sort(dim=-1, descending=True).values
        probabilities = logprobs.exp()
        self._mass = probabilities.cumsum(-1)
        self._surprise = torch.where(probabilities > 0, -probabilities * logprobs, 0.0).cumsum(-1)

    def __call__(self, top_p: float) -> float:
        last = (self._mass < top_p).sum(-1, keepdim=True).clamp(max=self._mass.shape[-1] - 1)
        mass = self._mass.gather(1, last)
        # -sum q/m log(q/m) = (-sum q log q)/m + log m
        return float((self._surprise.gather(1, last) / mass + mass.log()).sum())

    def centre(self, top_p: float) -> float:
        """The middle of the step on which p lies, so that no rounding moves a token across its edge."""
        below, above = self._mass < top_p, self._mass >= top_p
        low = float(self._mass[below].max()) if bool(below.any()) else 0.0
        high = float(self._mass[above].min()) if bool(above.any()) else 1.0
        return (low + min(high, 1.0)) / 2
