"""Sampling the contexts a source could stand in, and reading the source from each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from refdec.lm.protocol import LanguageModel
from refdec.reflect.sample import sample
from refdec.reflect.side import FramedIds, Side

Ids = tuple[int, ...]
Item = TypeVar("Item")


def tokens_at_once(model: LanguageModel) -> int:
    """How many tokens one pass may hold, so that its logits and cache stay within a gigabyte or so."""
    return 1 << 13 if model.device.type == "cpu" else 1 << 15


def sample_contexts(
    side: Side,
    sources: Sequence[Sequence[int]],
    uniforms: Sequence[torch.Tensor],
    top_p: float,
    tells_nothing: Callable[[int, Ids], bool],
) -> list[list[Ids]]:
    """Contexts next to each source, in text order, as many and as long as its uniform numbers (contexts, tokens) allow.

    Those that tell nothing about a source (they repeat it verbatim) are dropped, and so are duplicates; should none
    be left, all are kept. Sources that are sampled together can round differently from one alone.
    """
    model = side.outward
    allowed = side.allowed(model, FramedIds((), (), ()))
    prefixes = [side.outward_prefix(source) for source in sources]
    alone = torch.ones(1, device=model.device)
    drawn = sample(model, prefixes, alone, torch.cat(list(uniforms)), top_p, allowed, groups=len(sources))
    result = []
    for number, rows in enumerate(_parts(drawn, len(uniforms[0]))):
        contexts = dict.fromkeys(tuple(model.direction.arrange(ids)) for ids in rows)
        result.append([context for context in contexts if not tells_nothing(number, context)] or list(contexts))
    return result


def read_source(side: Side, contexts: Sequence[Ids], framed: FramedIds) -> torch.Tensor:
    """Each expert's log-probabilities over the framed source: (contexts, tokens, vocabulary), inward order."""
    model = side.inward
    source = torch.tensor(inward_source(side, framed), device=model.device)
    rows = max(1, tokens_at_once(model) // (len(source) + max(map(len, contexts))))
    experts = [
        model.distributions(
            model.read([model.direction.arrange(context) for context in part]), source.expand(len(part), -1)
        )
        for part in _parts(contexts, rows)
    ]
    return torch.cat(experts)


def inward_source(side: Side, framed: FramedIds) -> list[int]:
    near, middle, far = side.inward_parts(framed)
    return near + middle + far


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))
