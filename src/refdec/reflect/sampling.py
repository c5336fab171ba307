"""Sampling texts from a product of experts, one token at a time.

Contexts come from it too: a single expert of weight one. There are two ways to the same tokens. Rows that still agree
are computed once and branch when their draws differ (`sample_branching`): cheapest on a CPU. On a GPU many jobs are one
batch of fixed shape (`sample_static`), which reads nothing back until all are done. What steers samples is in
`particles.py`. Works in the model's reading order; knows no text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from refdec.lm.operations import operations
from refdec.lm.protocol import LanguageModel
from refdec.reflect.memory import budget, parts_within
from refdec.reflect.workers import Answering

CACHED_TOKENS = 1 << 13
"""Tokens that branching rows may hold in a cache at once; samples that need more are drawn in several rounds."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """A job: continuations of a weighted set of prefixes, in the model's reading order.

    A continuation ends after one of the stop tokens or when its row of uniform numbers is used up.
    """

    prefixes: Sequence[Sequence[int]]
    weights: torch.Tensor  # (prefixes,)
    uniform: torch.Tensor  # (samples, tokens), on the CPU
    top_p: float
    allowed: torch.Tensor  # (vocabulary,)
    stops: Collection[int] = ()

    @property
    def places(self) -> int:
        """The most tokens that a row can have."""
        return max(map(len, self.prefixes)) + self.uniform.shape[1] + 1

    @property
    def rows(self) -> int:
        return len(self.prefixes) * len(self.uniform)


def sample_all(model: LanguageModel, jobs: Sequence[Sampling]) -> Answering[list[list[list[int]]]]:
    """The continuations of each job. On a GPU jobs are computed together, as many as memory holds."""
    if not has_static_shapes(model):
        return [sample_branching(model, job) for job in jobs]
    result: list[list[list[int]]] = [[] for _ in jobs]
    limit = budget(model)
    pieces = [(number, piece) for number, job in enumerate(jobs) for piece in _pieces(model, job, limit)]
    needed = [_bytes(model, piece) for _, piece in pieces]
    for part in parts_within(pieces, needed, limit):
        texts = yield from sample_static(model, [piece for _, piece in part])
        for (number, _), texts_of_piece in zip(part, texts, strict=True):
            result[number] += texts_of_piece
    return result


def has_static_shapes(model: LanguageModel) -> bool:
    """Whether one batch of fixed shape is faster than rows that branch: where launches cost more than arithmetic."""
    return model.device.type == "cuda"


def _pieces(model: LanguageModel, job: Sampling, limit: float) -> list[Sampling]:
    """A job in parts that fit into memory, each with some of its samples."""
    together = max(1, int(limit * len(job.uniform) / _bytes(model, job)))
    return [replace(job, uniform=part) for part in torch.split(job.uniform, together)]


def _bytes(model: LanguageModel, job: Sampling) -> float:
    """Bytes that the rows of a job take, their logits in several forms included."""
    return job.rows * model.cost.row_bytes(job.places, 4)


@torch.inference_mode()
def sample_branching(model: LanguageModel, job: Sampling) -> list[list[int]]:
    """The continuations of one job, its rows branching from each other as they come to differ."""
    experts, (samples, steps) = len(job.prefixes), job.uniform.shape
    limit = max(1, CACHED_TOKENS // (experts * job.places))
    if samples > limit:
        rounds = torch.split(job.uniform, limit)
        return [ids for part in rounds for ids in sample_branching(model, replace(job, uniform=part))]
    draw = operations(model.device).draw
    allowed = job.allowed[None]
    reading = model.read(job.prefixes)  # rows: branch by branch, each with all its experts
    branches: list[list[int]] = [[]]
    branch_of = [0] * samples  # sample -> branch; -1 once it has ended
    texts: list[list[int]] = [[] for _ in range(samples)]
    for step in range(steps):
        active = [index for index, branch in enumerate(branch_of) if branch >= 0]
        mixed = torch.einsum("e,bef->bf", job.weights, reading.features.view(len(branches), experts, -1))
        logits = model.logits(mixed)
        parents = [branch_of[index] for index in active]
        drawn = draw(
            logits[parents],
            allowed,
            torch.zeros(len(active), dtype=torch.int32, device=model.device),
            torch.full((len(active),), job.top_p, device=model.device),
            job.uniform[active, step].to(model.device),
        ).tolist()
        children: dict[tuple[int, int], int] = {}
        for index, parent, token in zip(active, parents, drawn, strict=True):
            if token in job.stops or step == steps - 1:
                texts[index] = [*branches[parent], token]
                branch_of[index] = -1
            else:
                branch_of[index] = children.setdefault((parent, token), len(children))
        if not children:
            break
        if [parent for parent, _ in children] != list(range(len(branches))):
            chosen = [parent * experts + expert for parent, _ in children for expert in range(experts)]
            reading = reading.select(torch.tensor(chosen, device=model.device))
        branches = [[*branches[parent], token] for parent, token in children]
        tokens = torch.tensor([token for _, token in children], device=model.device)
        reading = model.extend(reading, tokens.repeat_interleave(experts))
    return texts


@torch.inference_mode()
def sample_static(model: LanguageModel, jobs: Sequence[Sampling]) -> Answering[list[list[list[int]]]]:
    """One batch of fixed shape: the rows of a sample are its experts, the samples of a job follow each other."""
    device = model.device
    draw = operations(device).draw
    layout = Layout.of(jobs)
    index, shares, owner = (torch.from_numpy(part).to(device) for part in (layout.rows, layout.shares, layout.owner))
    masks = {id(job.allowed): job.allowed for job in jobs}
    allowed, mask_ids = torch.stack(list(masks.values())), list(masks)
    counts = [len(job.uniform) for job in jobs]
    which = torch.tensor(np.repeat([mask_ids.index(id(job.allowed)) for job in jobs], counts), device=device)
    top_p = torch.tensor(np.repeat([job.top_p for job in jobs], counts).astype(np.float32), device=device)
    steps = max(job.uniform.shape[1] for job in jobs)
    uniform = torch.zeros(steps, len(top_p))
    for start, job in zip(np.cumsum([0, *counts]), jobs, strict=False):
        uniform[: job.uniform.shape[1], start : start + len(job.uniform)] = job.uniform.t()
    uniform = uniform.clamp_(max=1 - 2**-24).to(device)  # float32 rounds what is next to one up to it
    reading = model.read([prefix for job in jobs for prefix in job.prefixes])
    writer = model.writer(reading.select(torch.from_numpy(layout.prefix).to(device)), steps)
    tokens = torch.zeros(steps, len(top_p), dtype=torch.long, device=device)
    alone = layout.rows.shape[1] == 1
    unweighted = alone and bool((layout.shares == 1).all())
    for step in range(steps):
        features = writer.features if unweighted else torch.bmm(shares[:, None], writer.features[index])[:, 0]
        tokens[step] = draw(model.logits(features), allowed, which, top_p, uniform[step])
        if step < steps - 1:
            writer.append(tokens[step] if alone else tokens[step][owner])
    yield
    texts = iter(tokens.t().tolist())
    return [[_cut(next(texts), job) for _ in range(len(job.uniform))] for job in jobs]


@dataclass(frozen=True)
class Layout:
    """Where the experts of each sample stand in a batch of fixed shape."""

    prefix: npt.NDArray[np.int64]  # (rows,): the prefix of each row, counted through all jobs
    owner: npt.NDArray[np.int64]  # (rows,): the sample of each row
    rows: npt.NDArray[np.int64]  # (samples, most experts): those of each sample, the last again where there are less
    shares: npt.NDArray[np.float32]  # (samples, most experts): their weights, zero where there are less

    @classmethod
    def of(cls, jobs: Sequence[Sampling]) -> Layout:
        most = max(len(job.prefixes) for job in jobs)
        prefix, owner, rows, shares = [], [], [], []
        first_prefix = first_sample = first_row = 0
        for job in jobs:
            experts, samples = len(job.prefixes), len(job.uniform)
            own_rows = np.arange(experts * samples).reshape(samples, experts)
            prefix.append(first_prefix + np.tile(np.arange(experts), samples))
            owner.append(first_sample + np.repeat(np.arange(samples), experts))
            rows.append(first_row + np.pad(own_rows, ((0, 0), (0, most - experts)), mode="edge"))
            weights = np.zeros(most, np.float32)
            weights[:experts] = job.weights.tolist()
            shares.append(np.tile(weights, (samples, 1)))
            first_prefix += experts
            first_sample += samples
            first_row += own_rows.size
        return cls(np.concatenate(prefix), np.concatenate(owner), np.concatenate(rows), np.concatenate(shares))


def _cut(ids: list[int], job: Sampling) -> list[int]:
    """The part of a row that belongs to its job: as long as its uniform numbers, and nothing after the first stop."""
    cut = ids[: job.uniform.shape[1]]
    return cut[: next((place + 1 for place, token in enumerate(cut) if token in job.stops), len(cut))]
