"""How much a pass may hold: worked out from the memory that is free before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Bytes that a pass may take: on a GPU a share of what was free when it was last measured."""
    if model.device not in _FREE:
        measure_again(model.device)
    return SHARE * _FREE[model.device]


_FREE: dict[torch.device, float] = {}
"""Measured once and after a shortage, not before every pass: the passes of a run must not depend on the moment."""


def measure_again(device: torch.device) -> None:
    """Look how much memory is free; on a GPU that counts what other programs hold."""
    _FREE[device] = float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else float(CPU_BYTES)


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
