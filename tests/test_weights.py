"""The solver finds the one optimum of a concave problem, and knows how near it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from refdec.reflect.ensemble import prune
from refdec.reflect.weights import GAP, Objective, adam, maximise_on_simplex, newton

SHAPES = st.tuples(st.integers(1, 24), st.integers(1, 8), st.integers(2, 40))


def problem(shape: tuple[int, int, int], seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    contexts, tokens, vocabulary = shape
    generator = torch.Generator().manual_seed(seed)
    experts = (2 * torch.randn(contexts, tokens, vocabulary, generator=generator)).log_softmax(-1)
    source = torch.randint(vocabulary, (tokens,), generator=generator)
    allowed = torch.ones(vocabulary, dtype=torch.bool)
    allowed[0] = vocabulary == 2
    allowed[source] = True
    return experts, source, allowed


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(0, 10_000))
def test_the_gap_is_reached_and_nothing_on_the_simplex_beats_it(shape: tuple[int, int, int], seed: int) -> None:
    experts, source, allowed = problem(shape, seed)
    learned = newton(experts, source, allowed)
    assert learned.gap <= GAP
    assert float(learned.weights.sum()) == pytest.approx(1, abs=1e-5)
    assert float(learned.weights.min()) >= 0
    objective = Objective(experts, source, allowed)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(20):
        other = torch.rand(shape[0], generator=generator, dtype=torch.float64).pow(4)
        value, _ = objective(other / other.sum())
        assert value <= learned.objective + GAP + 1e-4


@settings(max_examples=20, deadline=None)
@given(SHAPES, st.integers(0, 10_000))
def test_the_gradient_is_the_slope_of_the_objective(shape: tuple[int, int, int], seed: int) -> None:
    experts, source, allowed = problem(shape, seed)
    objective = Objective(experts.double(), source, allowed)
    weights = torch.full((shape[0],), 1 / shape[0], dtype=torch.float64)
    _, gradient = objective(weights)
    change = torch.randn(shape[0], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    change -= change.mean()
    size = 1e-3 / (1 + float(change.abs().max()) * shape[0])
    slope = (objective(weights + size * change)[0] - objective(weights - size * change)[0]) / (2 * size)
    assert slope == pytest.approx(float(gradient @ change), rel=1e-2, abs=5e-2)


def test_adam_as_the_authors_run_it_ends_below_the_certified_optimum() -> None:
    experts, source, allowed = problem((24, 8, 40), 7)
    certified, theirs = newton(experts, source, allowed), adam(experts, source, allowed)
    assert theirs.objective <= certified.objective + certified.gap
    assert theirs.objective >= certified.objective - theirs.gap - 1e-4
    assert certified.evaluations < theirs.evaluations


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10_000))
def test_the_quadratic_step_is_the_best_point_of_the_simplex(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(size, size))
    gradient, curvature = generator.normal(size=size), -(root @ root.T) - 1e-3 * np.eye(size)
    start = np.zeros(size)
    start[0] = 1.0
    best = maximise_on_simplex(gradient, curvature, start)
    slope = gradient + curvature @ (best - start)
    assert best.min() >= 0
    assert best.sum() == pytest.approx(1)
    assert slope.max() - slope @ best <= 1e-6  # the certificate of optimality


def test_pruning_keeps_the_heaviest_and_always_one() -> None:
    weights = torch.tensor([0.1, 0.5, 0.0, 0.4])
    assert prune(weights, 2, 0.0).tolist() == [1, 3]
    assert prune(weights, 4, 0.2).tolist() == [1, 3]
    assert prune(weights, 4, 0.9).tolist() == [1]
