"""How well candidates fit the contexts of the source (equation 3 of the paper, in log-probabilities).

The outward model reads each framed candidate once and gives the log-probability of every context after it. And how
texts read by themselves: their own log-probabilities in both directions, and what the pair's probe says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence

from refdec.lm.logprobs import chosen_logprobs
from refdec.lm.pair import Pair
from refdec.lm.probe import Probe, log_odds
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


Sketch = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Features before tokens, (..., width), the tokens' rows in the output matrix, (..., width), and their
log-probabilities, (...), to what is kept of them, (..., size)."""

Read = tuple[torch.Tensor, torch.Tensor]
"""The log-probabilities of a text's tokens, (tokens,), and their sketches, (tokens, size)."""


async def own_logprobs(model: LanguageModel, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """Log-probabilities of the tokens of texts by themselves, in the model's reading order."""
    return [logprobs for logprobs, _ in await Ask("scoring", model, read_alone, (texts, None))]


async def _read_alone(model: LanguageModel, texts: Sequence[Sequence[int]], probe: Probe | None) -> list[Read]:
    sketch = None if probe is None else probe.view(model.direction)
    return await Ask("scoring", model, read_alone, ([model.direction.arrange(ids) for ids in texts], sketch))


async def own_both(pair: Pair, texts: Sequence[Sequence[int]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Log-probabilities of the tokens of texts by themselves, read forwards and read backwards."""
    return [(text.forward, text.backward) for text in await alone(pair, texts)]


@dataclass(frozen=True, eq=False)
class Alone:
    """A text as both models read it by itself."""

    forward: torch.Tensor  # log-probabilities of its tokens in text order
    backward: torch.Tensor  # log-probabilities of its tokens from the last to the first
    faults: torch.Tensor | None  # log-odds that it is broken between two tokens, in text order; only by a probe

    @property
    def broken(self) -> float | None:
        """Log-odds that its grammar is broken anywhere; None if the pair has no probe."""
        return None if self.faults is None else float(log_odds(self.faults.double()))


async def alone(pair: Pair, texts: Sequence[Sequence[int]]) -> list[Alone]:
    """Texts read by themselves: both models read each once, for its log-probabilities and for the pair's probe."""
    forward, backward = await together(_read_alone(model, texts, pair.probe) for model in (pair.forward, pair.backward))
    faults: Sequence[torch.Tensor | None] = [None] * len(texts)
    if pair.probe is not None:
        sketches = (
            [in_text_order(model, sketch) for _, sketch in read]
            for model, read in ((pair.forward, forward), (pair.backward, backward))
        )
        faults = pair.probe.places(list(zip(*sketches, strict=True)))
    return [Alone(one, two, found) for (one, _), (two, _), found in zip(forward, backward, faults, strict=True)]


def in_text_order(model: LanguageModel, rows: torch.Tensor) -> torch.Tensor:
    """Rows that belong to the tokens of a text, in the model's reading order before."""
    return rows[model.direction.arrange(range(len(rows)))]


@torch.inference_mode()
def read_alone(
    model: LanguageModel, jobs: Sequence[tuple[Sequence[Sequence[int]], Sketch | None]]
) -> Answering[list[list[Read]]]:
    """For each job's texts, in the model's reading order, what it read; the texts of all jobs share passes."""
    limit = tokens_at_once(model)
    result: list[dict[int, Read]] = [{} for _ in jobs]
    rows = [(number, place, ids) for number, (texts, _) in enumerate(jobs) for place, ids in enumerate(texts)]
    rows.sort(key=lambda row: len(row[2]))  # neighbours in length share a pass, so that little of it is padding
    sketch = next((sketch for _, sketch in jobs if sketch is not None), None)  # those of a pair are the same
    for part in parts_within(rows, [float(len(ids)) for _, _, ids in rows], limit):
        # Padding behind a text cannot change what was read before it.
        table = pad_sequence([torch.tensor(list(ids)) for _, _, ids in part], batch_first=True).to(model.device)
        start = model.read([[]]).select(torch.zeros(len(part), dtype=torch.long, device=model.device))
        features = model.features(start, table)
        logprobs = chosen_logprobs(model, features, table).float()
        sketches = logprobs[..., None]
        if sketch is not None:
            sketches = sketch(features.float(), model.head.rows(features, table), logprobs)
        yield
        for (number, place, ids), *read in zip(part, logprobs.cpu(), sketches.cpu(), strict=True):
            result[number][place] = (read[0][: len(ids)], read[1][: len(ids)])
    return [[of_job[place] for place in range(len(of_job))] for of_job in result]


def score_all(model: LanguageModel, jobs: Sequence[Asked]) -> Answering[list[list[torch.Tensor]]]:
    """The log-probabilities that each job asks for; prefixes of all jobs share passes."""
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
        logprobs = model.score(shared, after).float()
        yield
        scored = torch.split(logprobs.cpu(), [stop - start for _, _, start, stop in part])
        for (number, place, start, stop), rows_of_piece in zip(part, scored, strict=True):
            result[number][place][start:stop] = rows_of_piece[:, : len(jobs[number].continuations[0])]
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
