"""How well candidates fit the contexts of the source (equation 3 of the paper, in log-probabilities).

The outward model reads each framed candidate once and is asked for every context after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from refdec.lm.protocol import LanguageModel
from refdec.reflect.contexts import Ids, tokens_at_once
from refdec.reflect.side import Side


def fits(side: Side, contexts: Sequence[Ids], candidates: Sequence[Sequence[int]]) -> torch.Tensor:
    """Log-probability of each context next to each framed candidate: (candidates, contexts), float32, on the CPU.

    The contexts are of one length.
    """
    (table,) = fits_of_groups(side, [(contexts, candidates)])
    return table


def fits_of_groups(side: Side, groups: Sequence[tuple[Sequence[Ids], Sequence[Sequence[int]]]]) -> list[torch.Tensor]:
    """The same for several groups of contexts and candidates at once; all contexts are of one length."""
    model = side.outward
    prefixes: list[list[int]] = []
    wanted: list[range] = []
    continuations: list[list[int]] = []
    for contexts, candidates in groups:
        own = range(len(continuations), len(continuations) + len(contexts))
        continuations += [model.direction.arrange(context) for context in contexts]
        prefixes += [side.outward_prefix(candidate) for candidate in candidates]
        wanted += [own] * len(candidates)
    rows = token_logprobs(model, prefixes, continuations, wanted)
    result, start = [], 0
    for _, candidates in groups:
        table = torch.stack(rows[start : start + len(candidates)])
        result.append(table.double().sum(-1).float())
        start += len(candidates)
    return result


def token_logprobs(
    model: LanguageModel,
    prefixes: Sequence[Sequence[int]],
    continuations: Sequence[Sequence[int]],
    wanted: Sequence[Sequence[int]],
) -> list[torch.Tensor]:
    """Log-probabilities of the tokens of continuations after prefixes, everything in the model's reading order.

    wanted names for each prefix the continuations that are asked for; the result has for each prefix (wanted,
    tokens), float32, on the CPU. The continuations are of one length.
    """
    after = torch.tensor([list(continuation) for continuation in continuations], device=model.device)
    result = [torch.empty(0)] * len(prefixes)
    # Neighbours in length share a batch, so that little of it is padding.
    order = sorted(range(len(prefixes)), key=lambda index: len(prefixes[index]))
    for part in _batches(order, [len(row) for row in wanted], [len(row) for row in prefixes], after.shape[1], model):
        reading = model.read([prefixes[index] for index in part])
        counts = torch.tensor([len(wanted[index]) for index in part], device=model.device)
        rows = torch.arange(len(part), device=model.device).repeat_interleave(counts)
        asked = torch.tensor([row for index in part for row in wanted[index]], device=model.device)
        scored = model.score(reading.select(rows), after[asked]).float().cpu()
        for index, found in zip(part, torch.split(scored, counts.tolist()), strict=True):
            result[index] = found
    return result


def own_logprobs(model: LanguageModel, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """Log-probabilities of the tokens of texts by themselves, in the model's reading order."""
    longest = max(map(len, texts))
    together = max(1, tokens_at_once(model) // longest)
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    result = [torch.empty(0)] * len(texts)
    for start in range(0, len(order), together):
        part = order[start : start + together]
        size = len(texts[part[-1]])
        # What stands behind a text cannot change what was read before it.
        padded = torch.tensor([[*texts[index], *[0] * (size - len(texts[index]))] for index in part])
        reading = model.read([[]]).select(torch.zeros(len(part), dtype=torch.long, device=model.device))
        scored = model.score(reading, padded.to(model.device)).float().cpu()
        for index, row in zip(part, scored, strict=True):
            result[index] = row[: len(texts[index])]
    return result


def _batches(
    order: Sequence[int], counts: Sequence[int], lengths: Sequence[int], after: int, model: LanguageModel
) -> Iterator[list[int]]:
    """Neighbours in an order, as many as one pass may hold."""
    limit = tokens_at_once(model)
    part: list[int] = []
    rows = 0
    for index in order:
        longest = lengths[index] + after
        if part and (rows + counts[index]) * longest > limit:
            yield part
            part, rows = [], 0
        part.append(index)
        rows += counts[index]
    yield part
