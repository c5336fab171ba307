"""How well candidates fit the contexts of the source (equation 3 of the paper, in log-probabilities).

The outward model reads each framed candidate once and is asked for every context after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from refdec.reflect.contexts import Ids, tokens_at_once
from refdec.reflect.side import Side


def fits(side: Side, contexts: Sequence[Ids], candidates: Sequence[Sequence[int]]) -> torch.Tensor:
    """Log-probability of each context next to each framed candidate: (candidates, contexts), float32, on the CPU."""
    model = side.outward
    continuations = torch.tensor([model.direction.arrange(context) for context in contexts], device=model.device)
    longest = max(len(candidate) for candidate in candidates) + continuations.shape[1]
    together = max(1, tokens_at_once(model) // (len(contexts) * longest))
    # Neighbours in length share a batch, so that little of it is padding.
    order = sorted(range(len(candidates)), key=lambda index: len(candidates[index]))
    result = torch.empty(len(candidates), len(contexts))
    for start in range(0, len(order), together):
        part = order[start : start + together]
        reading = model.read([side.outward_prefix(candidates[index]) for index in part])
        rows = torch.arange(len(part), device=model.device).repeat_interleave(len(contexts))
        scored = model.score(reading.select(rows), continuations.repeat(len(part), 1))
        result[part] = scored.double().sum(-1).view(len(part), len(contexts)).float().cpu()
    return result
