"""How well candidates fit the contexts of the source (equation 3 of the paper, in log-probabilities).

The outward model reads each framed candidate once and is asked for every context after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.memory import parts_within, tokens_at_once
from refdec.reflect.schedule import Ask, together
from refdec.reflect.side import Side
from refdec.reflect.workers import Answering


async def fits(side: Side, contexts: Sequence[Ids], candidates: Sequence[Sequence[int]]) -> torch.Tensor:
    """Log-probability of each context next to each framed candidate: (candidates, contexts), float32, on the CPU.

    The contexts are of one length.
    """
    if not contexts:
        return torch.empty(len(candidates), 0)
    arrange = side.outward.direction.arrange
    rows = await token_logprobs(
        side.outward,
        [side.outward_prefix(candidate) for candidate in candidates],
        [arrange(context) for context in contexts],
        [range(len(contexts))] * len(candidates),
    )
    return torch.stack(rows).double().sum(-1).float()


@dataclass(frozen=True, eq=False)
class Asked:
    """Prefixes, and for each the continuations whose log-probabilities are asked for; all of one length."""

    prefixes: Sequence[Sequence[int]]
    continuations: Sequence[Sequence[int]]
    wanted: Sequence[Sequence[int]]  # for each prefix, which continuations


async def token_logprobs(
    model: LanguageModel,
    prefixes: Sequence[Sequence[int]],
    continuations: Sequence[Sequence[int]],
    wanted: Sequence[Sequence[int]],
) -> list[torch.Tensor]:
    """Log-probabilities of the tokens of continuations after prefixes, everything in the model's reading order.

    wanted names for each prefix the continuations that are asked for; the result has for each prefix (wanted,
    tokens), float32, on the CPU. The continuations are of one length.
    """
    return await Ask("scoring", model, score_all, Asked(prefixes, continuations, wanted))


async def own_logprobs(model: LanguageModel, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """Log-probabilities of the tokens of texts by themselves, in the model's reading order."""
    longest = max(map(len, texts))
    # What stands behind a text cannot change what was read before it.
    padded = [[*text, *[0] * (longest - len(text))] for text in texts]
    (rows,) = await token_logprobs(model, [[]], padded, [range(len(texts))])
    return [row[: len(text)] for row, text in zip(rows, texts, strict=True)]


async def own_both(pair: Pair, texts: Sequence[Sequence[int]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Log-probabilities of the tokens of texts by themselves, read forwards and read backwards."""
    forward, backward = await together(
        own_logprobs(model, [model.direction.arrange(ids) for ids in texts]) for model in (pair.forward, pair.backward)
    )
    return list(zip(forward, backward, strict=True))


def score_all(model: LanguageModel, jobs: Sequence[Asked]) -> Answering[list[list[torch.Tensor]]]:
    """What each job asks for; prefixes of all jobs share passes."""
    limit = tokens_at_once(model)
    result = [[torch.empty(len(wanted), len(job.continuations[0])) for wanted in job.wanted] for job in jobs]
    pieces = [
        (number, place, start, min(len(wanted), start + together))
        for number, job in enumerate(jobs)
        for place, wanted in enumerate(job.wanted)
        for together in [max(1, (limit - len(job.prefixes[place])) // len(job.continuations[0]))]
        for start in range(0, len(wanted), together)
    ]
    # Neighbours in length share a pass, so that little of it is padding.
    pieces.sort(key=lambda piece: (len(jobs[piece[0]].continuations[0]), len(jobs[piece[0]].prefixes[piece[1]])))
    sizes = [
        float(len(jobs[number].prefixes[place]) + (stop - start) * len(jobs[number].continuations[0]))
        for number, place, start, stop in pieces
    ]
    table, first = _continuations(jobs)
    table = table.to(model.device)
    for part in parts_within(pieces, sizes, limit):
        rows, asked = [], []
        for row, (number, place, start, stop) in enumerate(part):
            rows += [row] * (stop - start)
            asked += [first[number] + index for index in jobs[number].wanted[place][start:stop]]
        longest = max(len(jobs[number].continuations[0]) for number, _, _, _ in part)
        reading = model.read([jobs[number].prefixes[place] for number, place, _, _ in part])
        shared = reading.select(torch.tensor(rows, device=model.device))
        after = table[torch.tensor(asked, device=model.device), :longest]
        found = model.score(shared, after).float()
        yield
        scored = torch.split(found.cpu(), [stop - start for _, _, start, stop in part])
        for (number, place, start, stop), mine in zip(part, scored, strict=True):
            result[number][place][start:stop] = mine[:, : len(jobs[number].continuations[0])]
    return result


def _continuations(jobs: Sequence[Asked]) -> tuple[torch.Tensor, list[int]]:
    """The continuations of all jobs as rows of one table, and where those of each job begin."""
    longest = max(len(job.continuations[0]) for job in jobs)
    table = torch.zeros(sum(len(job.continuations) for job in jobs), longest, dtype=torch.long)
    first, start = [], 0
    for job in jobs:
        first.append(start)
        table[start : start + len(job.continuations), : len(job.continuations[0])] = torch.tensor(
            [list(ids) for ids in job.continuations]
        )
        start += len(job.continuations)
    return table, first
