"""Sampling the contexts a source could stand in, and reading the source from each of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import torch

from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.memory import parts_within, tokens_at_once
from refdec.reflect.sampling import Sampling, sample_all
from refdec.reflect.schedule import Ask
from refdec.reflect.side import FramedIds, Side


async def sample_contexts(
    side: Side,
    source: Sequence[int],
    uniform: torch.Tensor,
    top_p: float,
    telling: Callable[[list[Ids]], list[Ids]],
) -> list[Ids]:
    """Contexts next to a source, in text order, as many and as long as its uniform numbers (contexts, tokens) allow.

    Duplicates are dropped, and so are contexts that are not among the telling ones (they repeat the source verbatim);
    should none be left, all are kept.
    """
    model = side.outward
    allowed = side.allowed(model, FramedIds((), (), ()))
    alone = torch.ones(1, device=model.device)
    job = Sampling([side.outward_prefix(source)], alone, uniform, top_p, allowed)
    drawn = await Ask("contexts", model, sample_all, job)
    contexts = list(dict.fromkeys(tuple(model.direction.arrange(ids)) for ids in drawn))
    return telling(contexts) or contexts


def inward_source(side: Side, framed: FramedIds) -> list[int]:
    near, middle, far = side.inward_parts(framed)
    return near + middle + far


@torch.inference_mode()
def read_sources(
    model: LanguageModel, jobs: Sequence[tuple[Sequence[Sequence[int]], Sequence[int]]]
) -> list[torch.Tensor]:
    """What each expert makes of a source: features (contexts, tokens, width).

    A job is contexts and the source after them, both in the model's reading order.
    """
    parts: list[list[torch.Tensor]] = [[] for _ in jobs]
    rows = [(number, place) for number, (contexts, _) in enumerate(jobs) for place in range(len(contexts))]
    # Sources of about one length share a pass, so that little of it is padding.
    rows.sort(key=lambda row: (len(jobs[row[0]][1]), row[0]))
    lengths = [len(jobs[number][1]) + len(jobs[number][0][place]) + 1 for number, place in rows]
    for part in parts_within(rows, lengths, tokens_at_once(model)):
        after = np.zeros((len(part), max(len(jobs[number][1]) for number, _ in part)), dtype=np.int64)
        for row, (number, _) in zip(after, part, strict=True):
            row[: len(jobs[number][1])] = jobs[number][1]
        reading = model.read([jobs[number][0][place] for number, place in part])
        found = model.features(reading, torch.from_numpy(after).to(model.device))
        start = 0
        for number, mine in itertools.groupby(part, key=lambda row: row[0]):  # rows of one job follow each other
            stop = start + sum(1 for _ in mine)
            parts[number].append(found[start:stop, : len(jobs[number][1])])
            start = stop
    return [torch.cat(part) for part in parts]
