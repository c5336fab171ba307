"""Steered samples: exact on an enumerable model, and with a potential of one the plain samples, token by token."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel
from refdec.reflect import particles, reference
from refdec.reflect.particles import Nats, Nuclei, Numbers, Particle, Steer, Steering, Trivial, steer_all
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_branching
from refdec.reflect.workers import complete
from tests.table_model import TableModel, random_table

ALONE = torch.ones(1)


@dataclass(frozen=True)
class Wordy:
    """Charges for each 3, and at the end for a missing 1; the state is what was written."""

    stop: int
    start: tuple[int, ...] = ()

    def ahead(self, states: Sequence[tuple[int, ...]], tokens: Numbers) -> Nats:
        missing = np.array([[1 not in state] for state in states])
        nats: Nats = np.where(missing & (tokens == self.stop), -2.0, 0.0)
        return nats

    def after(self, state: tuple[int, ...], token: int) -> tuple[float, tuple[int, ...]]:
        return -1.5 * (token == 3), (*state, token)

    def value(self, text: Sequence[int]) -> float:
        ended = bool(text) and text[-1] == self.stop
        return -1.5 * list(text).count(3) - 2.0 * (ended and 1 not in text)


def steered(model: LanguageModel, job: Steering) -> list[Particle]:
    (particles,) = complete(steer_all(model, [job]))
    return particles


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("experts", [1, 3])
@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize("top_p", [0.0, 0.6, 1.0])
def test_a_potential_of_one_gives_the_plain_samples(
    direction: Direction, experts: int, steps: int, top_p: float
) -> None:
    model = TableModel(random_table(9, seed=4), direction)
    weights = torch.arange(1, experts + 1, dtype=torch.float32)
    allowed = torch.tensor([True] * 7 + [False, True])
    prefixes = [[index, 3] for index in range(experts)]
    job = Sampling(prefixes, weights / weights.sum(), uniforms(1, "a", "b", 11, steps), top_p, allowed, stops={2})
    plain = sample_branching(model, job)
    particles = steered(model, Steering(job, Trivial(), torch.zeros(steps)))
    assert [list(particle.tokens) for particle in particles] == plain
    assert all(particle.log_weight == 0.0 for particle in particles)


def test_a_transformer_with_a_potential_of_one_gives_the_plain_samples(tiny_lm: LanguageModel) -> None:
    everything = torch.ones(tiny_lm.vocabulary, dtype=torch.bool)
    job = Sampling([[5, 6, 7], [8]], torch.tensor([0.3, 0.7]), uniforms(0, "x", "y", 9, 6), 0.8, everything, stops={3})
    particles = steered(tiny_lm, Steering(job, Trivial(), torch.zeros(6)))
    assert [list(particle.tokens) for particle in particles] == sample_branching(tiny_lm, job)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("top_p", [1.0, 0.8])
def test_weighted_particles_converge_to_the_exact_posterior(threshold: float, top_p: float) -> None:
    size, steps, stop = 5, 4, 4
    model, potential = TableModel(random_table(size, seed=2)), Wordy(4)
    allowed = torch.ones(size, dtype=torch.bool)
    exact: dict[tuple[int, ...], float] = {}
    for length in range(1, steps + 1):
        for text in itertools.product(range(size), repeat=length):
            if stop in text[:-1] or (length < steps and text[-1] != stop):
                continue
            probability = 1.0
            for place, token in enumerate(text):
                logprobs = reference.next_logprobs(model, [0, *text[:place]])
                inside = reference.nucleus(logprobs, top_p)
                mass = sum(math.exp(logprobs[other]) for other in inside)
                probability *= math.exp(logprobs[token]) / mass if token in inside else 0.0
            exact[text] = probability * math.exp(potential.value(text))
    normaliser = sum(exact.values())
    draws = uniforms(0, "toy", "draws", 30_000, steps)
    job = Sampling([[0]], ALONE, draws, top_p, allowed, stops={stop})
    particles = steered(model, Steering(job, potential, uniforms(0, "toy", "again", 1, steps)[0], threshold))
    weights: Counter[tuple[int, ...]] = Counter()
    for particle in particles:
        weights[particle.tokens] += math.exp(particle.log_weight)  # type: ignore[assignment]
    total = sum(weights.values())
    assert total / len(particles) == pytest.approx(normaliser, rel=0.03)
    distance = sum(abs(weights[text] / total - value / normaliser) for text, value in exact.items()) / 2
    assert distance < 0.03


def test_steering_moves_samples_to_where_the_potential_is_high() -> None:
    model, steps = TableModel(random_table(6, seed=1)), 8
    job = Sampling([[0]], ALONE, uniforms(0, "x", "y", 200, steps), 1.0, torch.ones(6, dtype=torch.bool))
    plain = sum(ids.count(3) for ids in sample_branching(model, job))
    particles = steered(model, Steering(job, Wordy(stop=99), uniforms(0, "x", "z", 1, steps)[0], threshold=1.0))
    assert sum(particle.tokens.count(3) for particle in particles) < plain / 2


def test_jobs_that_go_together_give_what_each_gives_alone(tiny_lm: LanguageModel) -> None:
    everything = torch.ones(tiny_lm.vocabulary, dtype=torch.bool)
    sampling = Sampling([[5, 6, 7]], ALONE, uniforms(0, "a", "y", 6, 7), 0.9, everything, stops={3})
    jobs = [
        Steering(sampling, Wordy(stop=3), uniforms(0, "a", "z", 1, 7)[0]),
        Steering(
            Sampling([[1], [2, 4]], torch.tensor([0.5, 0.5]), uniforms(0, "b", "y", 3, 4), 0.7, everything),
            Trivial(),
            torch.zeros(4),
        ),
    ]
    together = complete(steer_all(tiny_lm, jobs))
    assert [[particle.tokens for particle in part] for part in together] == [
        [particle.tokens for particle in steered(tiny_lm, job)] for job in jobs
    ]


def some_jobs(vocabulary: int) -> list[Steering]:
    """Different in all that jobs can differ in."""
    everything = torch.ones(vocabulary, dtype=torch.bool)
    odd = torch.arange(vocabulary) % 2 == 1
    shares = torch.tensor([0.2, 0.5, 0.3])
    samplings = [
        Sampling([[5, 6, 7], [8], [9, 10]], shares, uniforms(0, "a", "y", 9, 8), 0.8, everything, stops={4, 6}),
        Sampling([[1, 2]], ALONE, uniforms(0, "b", "y", 12, 9), 1.0, odd, stops={3, 5}),
        Sampling([[1, 2]], ALONE, uniforms(0, "c", "y", 7, 3), 0.5, everything),
        Sampling([[4] * 12, []], torch.tensor([0.6, 0.4]), uniforms(0, "d", "y", 1, 1), 0.5, everything),
        Sampling([[7]], ALONE, uniforms(0, "e", "y", 5, 6), 0.9, everything, stops=range(20)),
    ]
    return [
        Steering(sampling, Wordy(stop=min(sampling.stops, default=99)), uniforms(number, "z", "z", 1, 9)[0], 1.0)
        for number, sampling in enumerate(samplings)
    ]


def ruled(said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
    """Every third token is refused, in turn, and near the end all but the first few."""
    numbers = torch.arange(len(logprobs))
    refused = (numbers % 3 == len(said) % 3) | ((numbers > 9) & (left < 4))
    return logprobs.masked_fill(refused, -torch.inf).log_softmax(-1)


@pytest.mark.parametrize("chosen", [[0], [1], [3, 1], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 2, 1]])
@pytest.mark.parametrize("steer", [None, ruled])
def test_the_batch_of_a_gpu_steers_as_a_cpu_does(
    tiny_lm: LanguageModel, monkeypatch: pytest.MonkeyPatch, chosen: list[int], steer: Steer | None
) -> None:
    jobs = [replace(some_jobs(tiny_lm.vocabulary)[number], steer=steer) for number in chosen]
    alone = [steered(tiny_lm, job) for job in jobs]
    assert same(complete(steer_all(tiny_lm, jobs)), alone)
    monkeypatch.setattr(particles, "has_static_shapes", lambda _: True)
    assert same(complete(steer_all(tiny_lm, jobs)), alone)


def same(parts: Sequence[Sequence[Particle]], others: Sequence[Sequence[Particle]]) -> bool:
    """Whether particles are the same token by token; weights may differ by rounding."""
    return [[(one.tokens, one.whole) for one in part] for part in parts] == [
        [(one.tokens, one.whole) for one in part] for part in others
    ] and all(
        one.log_weight == pytest.approx(other.log_weight, abs=1e-4)
        for part, other_part in zip(parts, others, strict=True)
        for one, other in zip(part, other_part, strict=True)
    )


@pytest.mark.parametrize("limit", [1, 20_000, 10**9])
def test_however_little_memory_a_batch_may_take_the_particles_are_the_same(
    tiny_lm: LanguageModel, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    jobs = some_jobs(tiny_lm.vocabulary)
    alone = [steered(tiny_lm, job) for job in jobs]
    monkeypatch.setattr(particles, "has_static_shapes", lambda _: True)
    monkeypatch.setattr(particles, "budget", lambda _: float(limit))
    assert same(complete(steer_all(tiny_lm, jobs)), alone)


def test_the_same_numbers_give_the_same_particles() -> None:
    model = TableModel(random_table(6, seed=1))
    job = Sampling([[0]], ALONE, uniforms(0, "x", "y", 20, 6), 1.0, torch.ones(6, dtype=torch.bool), stops={2})
    first = Steering(job, Wordy(stop=2), uniforms(0, "x", "z", 1, 6)[0])
    assert steered(model, first) == steered(model, replace(first))


@pytest.mark.parametrize("top_p", [0.0, 0.3, 0.7, 0.99, 1.0])
def test_a_nucleus_is_that_of_the_plain_version(top_p: float) -> None:
    logits = torch.randn(4, 300, generator=torch.Generator().manual_seed(0))
    allowed = torch.arange(300) % 7 > 0
    tokens, mass = Nuclei(logits.clone(), allowed[None], torch.full((4, 1), top_p, dtype=torch.float64)).get()
    for row, own_tokens, own_mass in zip(logits, tokens.tolist(), mass, strict=True):
        logprobs = row.masked_fill(~allowed, -torch.inf).log_softmax(-1)
        plain = [token for token in reference.nucleus(logprobs.tolist(), top_p) if allowed[token]]
        assert own_tokens[: int((own_mass > 0).sum())] == plain
