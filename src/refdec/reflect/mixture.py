"""What generates on one side: the kept contexts with their weights, and beside them the echo.

The echo is one more expert of the product. Its prefix quotes the source itself after a few examples, so it keeps what
contexts cannot tell apart: a number from another one, "was" from "was not". It has a fixed share of the weight and the
learned contexts have the rest; with a share of zero this is the paper's RD. Ids are in text order. Knows no text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch

from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.calibration import calibrate_all
from refdec.reflect.contexts import inward_source, read_sources
from refdec.reflect.ensemble import NO_WEIGHT, Ensemble, source_part
from refdec.reflect.particles import Particle, Potential, Steering, steer_all
from refdec.reflect.product import mix, normalise
from refdec.reflect.sampling import Sampling, Steer, sample_all
from refdec.reflect.schedule import Ask
from refdec.reflect.side import FramedIds, Side
from refdec.reflect.workers import Answering


@dataclass(frozen=True)
class Mixture:
    """Experts of one side that generate, and the nucleus of their product."""

    side: Side
    contexts: tuple[Ids, ...]
    weights: torch.Tensor  # (contexts,), on the simplex, on the inward model's device
    top_p: float

    @classmethod
    def of(cls, ensemble: Ensemble) -> Mixture:
        """The contexts of an ensemble that have weight."""
        running = int((ensemble.weights >= NO_WEIGHT).sum())
        weights = ensemble.weights[:running] / ensemble.weights[:running].sum()
        return cls(ensemble.side, ensemble.contexts[:running], weights, ensemble.top_p)

    def sampling(self, framed: FramedIds, uniform: torch.Tensor, stops: Collection[int]) -> Sampling:
        """The job of sampling texts for the source's place; uniform is (samples, tokens)."""
        model = self.side.inward
        near, _, _ = self.side.inward_parts(framed)
        prefixes = [model.direction.arrange(context) + near for context in self.contexts]
        return Sampling(prefixes, self.weights, uniform, self.top_p, self.side.allowed(model, framed), stops)


@dataclass(frozen=True, eq=False)
class Echo:
    """The question for a mixture of an ensemble and an echo of the source."""

    ensemble: Ensemble
    framed: FramedIds
    echo: Ids
    share: float  # of the echo in the weight
    experts: int  # contexts that generate beside it, at most
    entropy: float


async def with_echo(question: Echo) -> Mixture:
    """The heaviest contexts of an ensemble and the echo, calibrated together."""
    return await Ask("echo", question.ensemble.side.inward, _mix_all, question)


@torch.inference_mode()
def _mix_all(model: LanguageModel, jobs: Sequence[Echo]) -> Answering[list[Mixture]]:
    arrange = model.direction.arrange
    contexts = [(job.echo, *_heaviest(job)) for job in jobs]
    sources = [inward_source(job.ensemble.side, job.framed) for job in jobs]
    experts = read_sources(
        model, [([arrange(ids) for ids in own], source) for own, source in zip(contexts, sources, strict=True)]
    )
    yield
    weights, mixed = [], []
    for job, own, features in zip(jobs, contexts, experts, strict=True):
        learned = job.ensemble.weights[: len(own) - 1]
        rest = learned * ((1 - job.share) / learned.sum()) if len(learned) else learned
        share = torch.full((1,), job.share if len(learned) else 1.0, dtype=rest.dtype, device=rest.device)
        weights.append(torch.cat([share, rest]))
        logprobs = normalise(model.head.logits(mix(weights[-1], features)), job.ensemble.side.allowed(model, job.framed))
        mixed.append(source_part(job.ensemble.side, job.framed, logprobs))
    top_p = calibrate_all(mixed, [job.entropy for job in jobs])
    return [
        Mixture(job.ensemble.side, own, weight, p)
        for job, own, weight, p in zip(jobs, contexts, weights, top_p, strict=True)
    ]


def _heaviest(job: Echo) -> tuple[Ids, ...]:
    running = int((job.ensemble.weights >= NO_WEIGHT).sum())
    return job.ensemble.contexts[: min(running, job.experts) if job.share < 1 else 0]


async def generate(
    mixture: Mixture,
    framed: FramedIds,
    uniform: torch.Tensor,
    stops: Collection[int],
    steer: Steer | None = None,
) -> list[Ids]:
    """Texts for the source's place, the static part next to the contexts held; uniform is (samples, tokens)."""
    job = replace(mixture.sampling(framed, uniform, stops), steer=steer)
    arrange = mixture.side.inward.direction.arrange
    return [tuple(arrange(ids)) for ids in await Ask("generation", mixture.side.inward, sample_all, job)]


async def generate_particles(
    mixture: Mixture,
    framed: FramedIds,
    uniform: torch.Tensor,
    resampling: torch.Tensor,
    stops: Collection[int],
    potential: Potential,
) -> list[Particle]:
    """The same, steered by a potential; texts in text order."""
    job = Steering(mixture.sampling(framed, uniform, stops), potential, resampling)
    arrange = mixture.side.inward.direction.arrange
    particles = await Ask("generation", mixture.side.inward, steer_all, job)
    return [replace(particle, tokens=tuple(arrange(particle.tokens))) for particle in particles]
