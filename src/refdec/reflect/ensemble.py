"""The weighted ensemble of contexts on one side: learning it, and reading with it.

This is RD of the paper: contexts are weighed by how well they predict the source, and the few that matter are kept.
`mixture.py` generates from them. Ids are in text order. Knows no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.calibration import calibrate_all
from refdec.reflect.contexts import inward_source, read_sources
from refdec.reflect.memory import budget, parts_within
from refdec.reflect.product import at_tokens, mix, normalise
from refdec.reflect.schedule import Ask
from refdec.reflect.side import FramedIds, Side
from refdec.reflect.weights import LearnedWeights, Problem, Solver
from refdec.reflect.workers import Answering

NO_WEIGHT = 1e-4
"""Contexts lighter than this do not change what is generated, and are not run."""


@dataclass(frozen=True)
class Ensemble:
    """The kept contexts of one side, heaviest first, with what was learned about them."""

    side: Side
    contexts: tuple[Ids, ...]
    weights: torch.Tensor  # (kept,), on the simplex, on the inward model's device
    others: tuple[Ids, ...]  # sampled, but not kept
    top_p: float  # the nucleus that gives the wanted entropy
    objective: float  # log RD(source) with the kept contexts
    gap: float  # how far that can be from the best weights, nats


@dataclass(frozen=True, eq=False)
class Learning:
    """A source with its contexts, and how its ensemble is learned.

    The first `given` contexts are not samples but the true neighbours of the source. They are kept whatever they weigh,
    and have at least the weight `given_weight` together.
    """

    side: Side
    framed: FramedIds
    contexts: Sequence[Ids]
    keep: int
    minimum_weight: float
    entropy: float
    solve: Solver
    given: int = 0
    given_weight: float = 0.0


async def learn_ensemble(learning: Learning) -> Ensemble:
    """Weigh contexts, keep the heaviest, weigh those again, and calibrate."""
    return await Ask("weights", learning.side.inward, learn_all, learning)


def learn_all(model: LanguageModel, jobs: Sequence[Learning]) -> Answering[list[Ensemble]]:
    """Ensembles of several sources, as many at once as memory holds."""
    limit = budget(model) / 4
    needed = [4.0 * len(job.framed.all) * (len(job.contexts) * model.cost.width + 8 * model.vocabulary) for job in jobs]
    result: list[Ensemble] = []
    for part in parts_within(jobs, needed, limit):
        result += yield from _learn_together(model, part)
    return result


@torch.inference_mode()
def _learn_together(model: LanguageModel, jobs: Sequence[Learning]) -> Answering[list[Ensemble]]:
    arrange = model.direction.arrange
    sources = [inward_source(job.side, job.framed) for job in jobs]
    experts = read_sources(
        model, [([arrange(ids) for ids in job.contexts], source) for job, source in zip(jobs, sources, strict=True)]
    )
    problems = [
        Problem(features, torch.tensor(source, device=model.device), job.side.allowed(model, job.framed))
        for job, features, source in zip(jobs, experts, sources, strict=True)
    ]
    yield
    first = _solve(model, jobs, problems)
    kept = [
        prune(learned.weights, job.keep, job.minimum_weight, job.given)
        for job, learned in zip(jobs, first, strict=True)
    ]
    reduced = [
        Problem(problem.features[rows], problem.tokens, problem.allowed)
        for problem, rows in zip(problems, kept, strict=True)
    ]
    # Where the dropped contexts had no weight, the weights of the kept ones are the optimum already.
    again = [number for number, rows in enumerate(kept) if float(first[number].weights[rows].sum()) < 1 - 1e-6]
    solved = _solve(model, [jobs[number] for number in again], [reduced[number] for number in again])
    final = dict(zip(again, solved, strict=True))
    weights, mixed = [], []
    for number, (job, problem) in enumerate(zip(jobs, reduced, strict=True)):
        learned = final[number].weights if number in final else first[number].weights[kept[number]]
        weights.append(_with_share(learned, job.given, job.given_weight))
        mixed.append(normalise(model.head.logits(mix(weights[-1], problem.features)), problem.allowed))
    top_p = calibrate_all(
        [source_part(job.side, job.framed, logprobs) for job, logprobs in zip(jobs, mixed, strict=True)],
        [job.entropy for job in jobs],
    )
    result = []
    for number, job in enumerate(jobs):
        order = weights[number].argsort(descending=True, stable=True)
        chosen = kept[number][order].tolist()
        among = set(chosen)
        result.append(
            Ensemble(
                side=job.side,
                contexts=tuple(job.contexts[index] for index in chosen),
                weights=weights[number][order],
                others=tuple(context for index, context in enumerate(job.contexts) if index not in among),
                top_p=top_p[number],
                objective=float(at_tokens(mixed[number], problems[number].tokens).double().sum()),
                gap=final[number].gap if number in final else first[number].gap,
            )
        )
    return result


def _solve(model: LanguageModel, jobs: Sequence[Learning], problems: Sequence[Problem]) -> list[LearnedWeights]:
    """Weights of all problems; those that ask for the same solver are solved together."""
    result: dict[int, LearnedWeights] = {}
    for solve in dict.fromkeys(job.solve for job in jobs):
        numbers = [number for number, job in enumerate(jobs) if job.solve is solve]
        result |= dict(zip(numbers, solve(model.head, [problems[number] for number in numbers]), strict=True))
    return [result[number] for number in range(len(problems))]


def source_part(side: Side, framed: FramedIds, mixed: torch.Tensor) -> torch.Tensor:
    """The places of the source itself; in a gap there is none, and the text around it stands for it."""
    near, middle, _ = side.inward_parts(framed)
    return mixed[len(near) : len(near) + len(middle)] if middle else mixed


def _with_share(weights: torch.Tensor, given: int, share: float) -> torch.Tensor:
    """Weights whose first `given` have at least this share, the others scaled to make room for it."""
    learned = float(weights[:given].sum())
    if not given or learned >= share:
        return weights
    raised = weights * ((1 - share) / (1 - learned))
    raised[:given] = weights[:given] * (share / learned) if learned > 0 else share / given
    return raised


def prune(weights: torch.Tensor, keep: int, minimum: float, given: int = 0) -> torch.Tensor:
    """Indices of the given contexts and of the heaviest others, at most `keep` of these, none under the minimum.

    At least one context is kept.
    """
    sampled = weights[given:].argsort(descending=True, stable=True)[:keep] + given
    enough = int((weights[sampled] >= minimum).sum())
    always = torch.arange(given, device=weights.device)
    return torch.cat([always, sampled[: max(0 if given else 1, enough)]])


async def surprises(ensemble: Ensemble, framed: FramedIds) -> list[float]:
    """Minus log RD of each token in the middle of a framed text, in text order; nats."""
    return await Ask("explanation", ensemble.side.inward, _surprises, (ensemble, framed))


@torch.inference_mode()
def _surprises(model: LanguageModel, jobs: Sequence[tuple[Ensemble, FramedIds]]) -> Answering[list[list[float]]]:
    arrange = model.direction.arrange
    sources = [inward_source(ensemble.side, framed) for ensemble, framed in jobs]
    contexts = [[arrange(ids) for ids in ensemble.contexts] for ensemble, _ in jobs]
    result = []
    for (ensemble, framed), source, experts in zip(
        jobs, sources, read_sources(model, list(zip(contexts, sources, strict=True))), strict=True
    ):
        side = ensemble.side
        logits = model.head.logits(mix(ensemble.weights, experts))
        mixed = normalise(logits, side.allowed(model, framed))
        near, middle, _ = side.inward_parts(framed)
        logprobs = at_tokens(mixed, torch.tensor(source, device=model.device))[len(near) : len(near) + len(middle)]
        yield
        result.append(arrange([-value for value in logprobs.tolist()]))
    return result
