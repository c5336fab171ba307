"""Muon as torch has it, for many matrices of one shape at a time.

torch orthogonalises one matrix after the other, which on a GPU is a thousand small launches a step: an eighth of the
time of a model of twelve layers. Stacked, it is a few dozen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


class Muon(torch.optim.Muon):
    """The same updates, settings and state."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        if closure is not None:
            raise ValueError("This optimiser takes no closure.")
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[tuple[torch.Tensor, torch.Tensor]]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape.setdefault(matrix.shape, []).append((matrix, matrix.grad))
            for found in by_shape.values():
                self._update(group, *map(list, zip(*found, strict=True)))

    def _update(self, group: dict[str, Any], matrices: list[torch.Tensor], gradients: list[torch.Tensor]) -> None:
        memory = [self.state[matrix].setdefault("momentum_buffer", torch.zeros_like(matrix)) for matrix in matrices]
        torch._foreach_lerp_(memory, gradients, 1 - group["momentum"])
        wanted = torch._foreach_lerp(gradients, memory, group["momentum"]) if group["nesterov"] else memory
        stacked = torch.stack(wanted)
        if stacked.is_cuda:  # few CPUs are quick at bfloat16
            stacked = stacked.bfloat16()
        found = orthogonal(stacked, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rate = group["lr"] * math.sqrt(
            max(1.0, matrices[0].shape[0] / matrices[0].shape[1])
        )  # Keller Jordan's, torch's default
        torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(matrices, list(found.to(matrices[0].dtype).unbind()), alpha=-rate)


def orthogonal(
    matrices: torch.Tensor, coefficients: tuple[float, float, float], steps: int, epsilon: float
) -> torch.Tensor:
    """The nearest orthogonal matrices, roughly: Newton and Schulz' iteration on (count, rows, columns)."""
    a, b, c = coefficients
    tall = matrices.shape[1] > matrices.shape[2]
    found = matrices.mT if tall else matrices
    found = found / found.norm(dim=(1, 2), keepdim=True).clamp(min=epsilon)
    for _ in range(steps):
        gram = found @ found.mT
        update = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        found = torch.baddbmm(found, update, found, beta=a)
    return found.mT if tall else found
