"""How much one pass through a model may hold, worked out from the memory that is free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch

from refdec.lm.protocol import LanguageModel

CPU_TOKENS = 1 << 10
"""Tokens per pass on a CPU: more no longer stay in its caches, and are slower."""

CPU_BYTES = 1 << 30
"""Bytes that a pass may take on a CPU, whatever the machine has: laptops must do."""

GPU_TOKENS = 1 << 17
"""The most tokens per pass on a GPU: enough to fill the largest."""

SHARE = 0.3
"""Share of the free memory for each of the two models, which run at the same time."""

ACTIVATIONS = 24
"""Vectors of the model's width that a token needs while it passes through a layer."""


def budget(model: LanguageModel) -> float:
    """Bytes that a pass may take: on a GPU a share of what was free when it was last measured."""
    if model.device not in _FREE:
        measure_again(model.device)
    return SHARE * _FREE[model.device]


_FREE: dict[torch.device, float] = {}
"""Measured once and after a shortage, not before every pass: the passes of a run must not depend on the moment."""


def measure_again(device: torch.device) -> None:
    """Look how much memory is free; on a GPU that counts what other programs hold."""
    if device.type != "cuda":
        _FREE[device] = float(CPU_BYTES)
        return
    free, total = torch.cuda.mem_get_info(device)
    left = _PARTS.get(_index(device), 1.0) * total - torch.cuda.memory_reserved(device)
    _FREE[device] = max(0.0, min(float(free), left))


_PARTS: dict[int, float] = {}
"""The part of each GPU's memory that this process may take, where several share the GPU."""


def take_part(device: torch.device, part: float) -> None:
    """Take no more than this part of a GPU's memory: other processes of the same work have the rest."""
    torch.cuda.set_per_process_memory_fraction(part, _index(device))
    _PARTS[_index(device)] = part
    _FREE.clear()


def _index(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index


def tokens_at_once(model: LanguageModel) -> int:
    """How many tokens one pass may hold."""
    if model.device.type != "cuda":
        return CPU_TOKENS
    each = model.cost.cache_bytes(1) + ACTIVATIONS * 4 * model.cost.width
    return max(1024, min(GPU_TOKENS, int(budget(model) / each)))


Item = TypeVar("Item")


def parts_within(items: Sequence[Item], needed: Sequence[float], limit: float) -> Iterator[list[Item]]:
    """Runs of neighbours whose sizes add up to at most the limit; an item above the limit stands alone."""
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
