"""How much a pass may hold: worked out from the memory that is free before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

import torch

from refdec.lm.protocol import LanguageModel

CPU_TOKENS = 1 << 10
"""Tokens of a pass on a CPU: more than this no longer stay in its caches, and are slower."""

CPU_BYTES = 1 << 30
"""What a CPU has to spare, whatever it has: laptops are users, too."""

GPU_TOKENS = 1 << 17
"""Tokens of a pass on a GPU, where it has the memory: enough to fill the largest."""

SHARE = 0.3
"""Of the free memory, for each of two models that run at the same time."""

ACTIVATIONS = 24
"""Numbers of the model's width that a token holds while it passes through a layer."""


def budget(model: LanguageModel) -> float:
    """Bytes that a pass may take: on a GPU a share of what was free when it was first asked."""
    return SHARE * _free(model.device)


@cache
def _free(device: torch.device) -> float:
    if device.type != "cuda":
        return float(CPU_BYTES)
    free, _ = torch.cuda.mem_get_info(device)
    return float(free)


def tokens_at_once(model: LanguageModel) -> int:
    """How many tokens one pass may hold."""
    if model.device.type != "cuda":
        return CPU_TOKENS
    each = model.cost.cache_bytes(1) + ACTIVATIONS * 4 * model.cost.width
    return max(1024, min(GPU_TOKENS, int(budget(model) / each)))


Item = TypeVar("Item")


def parts_within(items: Sequence[Item], needed: Sequence[float], limit: float) -> Iterator[list[Item]]:
    """Neighbours, as many as a limit allows; one by itself where it alone is above it."""
    part: list[Item] = []
    total = 0.0
    for item, size in zip(items, needed, strict=True):
        if part and total + size > limit:
            yield part
            part, total = [], 0.0
        part.append(item)
        total += size
    if part:
        yield part
