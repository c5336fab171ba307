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
from refdec.reflect.particles import Particle, Potential, Steer, Steering, Trivial, steer_all
from refdec.reflect.product import mix, normalise
from refdec.reflect.sampling import Sampling, sample_all
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
    """The question for a mixture of an echo of the source and the contexts beside it, heaviest first."""

    side: Side
    framed: FramedIds
    echo: Ids
    shared: Ids  # the part of the echo that is farthest from the source, which the echoes of all sources have
    share: float  # of the echo in the weight; all of it where there is no context beside it
    contexts: Sequence[Ids]
    weights: torch.Tensor  # (contexts,), of the contexts among themselves, on the inward model's device
    entropy: float

    @classmethod
    def beside(
        cls, ensemble: Ensemble, framed: FramedIds, echo: Ids, shared: Ids, share: float, most: int, entropy: float
    ) -> Echo:
        """An echo beside the heaviest contexts of an ensemble, at most so many."""
        running = 0 if share == 1 else min(most, int((ensemble.weights >= NO_WEIGHT).sum()))
        kept = ensemble.contexts[:running], ensemble.weights[:running]
        return cls(ensemble.side, framed, echo, shared, share, *kept, entropy)

    @property
    def experts(self) -> tuple[tuple[Ids, ...], torch.Tensor]:
        """The contexts that generate, the echo among them where it has a share, and their weights."""
        if not len(self.contexts):
            return (self.echo,), torch.ones(1, device=self.side.inward.device)
        contexts, rest = tuple(self.contexts), self.weights * ((1 - self.share) / self.weights.sum())
        if not self.share:
            return contexts, rest
        return (self.echo, *contexts), torch.cat([rest.new_full((1,), self.share), rest])


async def with_echo(question: Echo) -> Mixture:
    """The echo and the contexts beside it, their nucleus calibrated together."""
    return await Ask("echo", question.side.inward, mix_all, question)


@torch.inference_mode()
def mix_all(model: LanguageModel, jobs: Sequence[Echo]) -> Answering[list[Mixture]]:
    """The mixture of each job."""
    arrange = model.direction.arrange
    for shared in dict.fromkeys(job.shared for job in jobs):
        model.remember(arrange(shared))
    experts = [job.experts for job in jobs]
    features = read_sources(
        model,
        [
            ([arrange(ids) for ids in contexts], inward_source(job.side, job.framed))
            for job, (contexts, _) in zip(jobs, experts, strict=True)
        ],
    )
    yield
    mixed = []
    for job, (_, weights), read in zip(jobs, experts, features, strict=True):
        logprobs = normalise(model.head.logits(mix(weights, read)), job.side.allowed(model, job.framed))
        mixed.append(source_part(job.side, job.framed, logprobs))
    top_p = calibrate_all(mixed, [job.entropy for job in jobs])
    return [
        Mixture(job.side, contexts, weights, p)
        for job, (contexts, weights), p in zip(jobs, experts, top_p, strict=True)
    ]


async def generate(
    mixture: Mixture,
    framed: FramedIds,
    uniform: torch.Tensor,
    stops: Collection[int],
    steer: Steer | None = None,
) -> list[Ids]:
    """Texts for the source's place, the static part next to the contexts held; uniform is (samples, tokens)."""
    if steer is not None:
        particles = await generate_particles(mixture, framed, uniform, uniform[0], stops, Trivial(), steer)
        return [particle.tokens for particle in particles]
    job = mixture.sampling(framed, uniform, stops)
    arrange = mixture.side.inward.direction.arrange
    return [tuple(arrange(ids)) for ids in await Ask("generation", mixture.side.inward, sample_all, job)]


async def generate_particles(
    mixture: Mixture,
    framed: FramedIds,
    uniform: torch.Tensor,
    resampling: torch.Tensor,
    stops: Collection[int],
    potential: Potential,
    steer: Steer | None = None,
) -> list[Particle]:
    """The same, steered by a potential and by a hard rule; texts in text order."""
    job = Steering(mixture.sampling(framed, uniform, stops), potential, resampling, steer=steer)
    arrange = mixture.side.inward.direction.arrange
    particles = await Ask("steering", mixture.side.inward, steer_all, job)
    return [replace(particle, tokens=tuple(arrange(particle.tokens))) for particle in particles]
