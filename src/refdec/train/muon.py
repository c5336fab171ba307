"""Muon as torch computes it, but for all matrices of one shape at a time, sharded or not.

torch orthogonalises one matrix after the other, which on a GPU is a thousand small launches per step: an eighth of the
time of a model of twelve layers. Stacked, there are a few dozen. Where matrices are sharded, each process
orthogonalises some whole ones for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from refdec.errors import ModelError
from refdec.train.fsdp import Exchange, local_parts

if not hasattr(torch.optim, "Muon"):
    raise ModelError(f"Training needs torch 2.9 or newer, and {torch.__version__} is installed. Install a newer one.")


class Muon(torch.optim.Muon):
    """The updates, settings and state of torch's Muon."""

    def __init__(self, matrices: Iterable[torch.Tensor], *, bfloat16: bool = True, **settings: Any) -> None:
        """`bfloat16`: orthogonalise in it, as torch does; float32 is faster on some CPUs."""
        super().__init__(matrices, **settings)
        self._bfloat16 = bfloat16

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[tuple[torch.Tensor, torch.Tensor]]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape.setdefault(matrix.shape, []).append((matrix, matrix.grad))
            for pairs in by_shape.values():
                self._update(group, *map(list, zip(*pairs, strict=True)))

    def _update(self, group: dict[str, Any], matrices: list[torch.Tensor], gradients: list[torch.Tensor]) -> None:
        rows, columns = matrices[0].shape
        exchange = Exchange(matrices[0], len(matrices)) if isinstance(matrices[0], DTensor) else None
        memory = local_parts(map(self._memory, matrices))
        matrices, gradients = local_parts(matrices), local_parts(gradients)
        torch._foreach_lerp_(memory, gradients, 1 - group["momentum"])
        wanted = torch._foreach_lerp(gradients, memory, group["momentum"]) if group["nesterov"] else memory
        stacked = torch.stack(wanted)
        if self._bfloat16:
            stacked = stacked.bfloat16()
        if exchange is not None:
            stacked = exchange.wholes(stacked)
        updates = orthogonal(stacked, group["ns_coefficients"], group["ns_steps"], group["eps"])
        if exchange is not None:
            updates = exchange.parts(updates)
        rate = group["lr"] * math.sqrt(max(1.0, rows / columns))  # Keller Jordan's, torch's default
        torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(matrices, list(updates.to(matrices[0].dtype).unbind()), alpha=-rate)

    def _memory(self, matrix: torch.Tensor) -> torch.Tensor:
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        return state["momentum_buffer"]  # type: ignore[no-any-return]


def orthogonal(
    matrices: torch.Tensor, coefficients: tuple[float, float, float], steps: int, epsilon: float
) -> torch.Tensor:
    """Roughly the nearest orthogonal matrices: the Newton-Schulz iteration on (count, rows, columns)."""
    a, b, c = coefficients
    tall = matrices.shape[1] > matrices.shape[2]
    wide = matrices.mT if tall else matrices
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=epsilon)
    for _ in range(steps):
        gram = wide @ wide.mT
        update = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        wide = torch.baddbmm(wide, update, wide, beta=a)
    return wide.mT if tall else wide
