"""The fused kernels where Triton can make them, the plain ones elsewhere; both do the same."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch

from refdec.lm import plain


def operations(device: torch.device) -> ModuleType:
    return _fused() if device.type == "cuda" else plain


@cache
def _fused() -> ModuleType:
    try:
        from refdec.lm import kernels
    except ImportError:  # torch brings Triton on Linux only
        return plain
    return kernels
