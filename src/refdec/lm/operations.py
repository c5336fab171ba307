"""The functions that our own engine computes with: Triton kernels on a CUDA GPU, plain torch elsewhere."""

from __future__ import annotations

from functools import cache
from typing import Protocol

import torch
from torch import Tensor

from refdec.lm import plain
from refdec.lm.prefix_cache import Prefix, Tail


class Operations(Protocol):
    """The functions of the modules `plain`, where each is explained, and `kernels`."""

    def add_norm(
        self, stream: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float, dtype: torch.dtype
    ) -> Tensor: ...

    def rotate(
        self,
        qkv: Tensor,
        positions: Tensor,
        cosine: Tensor,
        sine: Tensor,
        heads: int,
        kv_heads: int,
        head_size: int,
        tail: tuple[Tensor, Tensor] | None = None,
        place: Tensor | None = None,
    ) -> None: ...

    def attend(self, q: Tensor, prefix: Prefix | None, tail: Tail, scale: float) -> Tensor: ...

    def gated(self, gate_up: Tensor) -> Tensor: ...

    def chosen(self, logits: Tensor, tokens: Tensor) -> Tensor: ...

    def draw(self, logits: Tensor, allowed: Tensor, which: Tensor, top_p: Tensor, uniform: Tensor) -> Tensor: ...


def operations(device: torch.device) -> Operations:
    """The functions for a device."""
    return _fused() if device.type == "cuda" else plain


@cache
def _fused() -> Operations:
    try:
        from refdec.lm import kernels
    except ImportError:  # torch brings Triton on Linux only
        return plain
    return kernels
