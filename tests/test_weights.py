"""The solver finds the one optimum of a concave problem, and knows how near it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from refdec.lm.head import Head, IdentityHead, LinearHead
from refdec.reflect.ensemble import prune
from refdec.reflect.product import at_tokens, mix, normalise
from refdec.reflect.weights import (
    GAP,
    SAMPLED_TOKENS,
    Objective,
    Problem,
    Solver,
    adam,
    maximise_on_simplex,
    newton,
    uniform,
)

SHAPES = st.tuples(st.integers(1, 24), st.integers(1, 8), st.integers(2, 40))
HEADS = st.sampled_from(["identity", "linear"])


def head_of(kind: str, vocabulary: int) -> Head:
    if kind == "identity":
        return IdentityHead()
    generator = torch.Generator().manual_seed(vocabulary)
    return LinearHead(torch.randn(vocabulary, 5, generator=generator), torch.randn(vocabulary, generator=generator))


def problem(shape: tuple[int, int, int], seed: int, kind: str = "identity") -> Problem:
    contexts, tokens, vocabulary = shape
    generator = torch.Generator().manual_seed(seed)
    width = vocabulary if kind == "identity" else 5
    features = 2 * torch.randn(contexts, tokens, width, generator=generator)
    source = torch.randint(vocabulary, (tokens,), generator=generator)
    allowed = torch.ones(vocabulary, dtype=torch.bool)
    allowed[0] = vocabulary == 2
    allowed[source] = True
    return Problem(features, source, allowed)


def value(head: Head, known: Problem, weights: torch.Tensor) -> float:
    """log RD(source) as the equation has it, in double precision where the head allows it."""
    mixed = normalise(head.logits(mix(weights, known.features)), known.allowed)
    return float(at_tokens(mixed, known.tokens).double().sum())


@settings(max_examples=60, deadline=None)
@given(SHAPES, HEADS, st.integers(0, 10_000))
def test_the_gap_is_reached_and_nothing_on_the_simplex_beats_it(
    shape: tuple[int, int, int], kind: str, seed: int
) -> None:
    known, head = problem(shape, seed, kind), head_of(kind, shape[2])
    (learned,) = newton(head, [known])
    assert learned.gap <= GAP
    assert float(learned.weights.sum()) == pytest.approx(1, abs=1e-5)
    assert float(learned.weights.min()) >= 0
    assert learned.objective == pytest.approx(value(head, known, learned.weights), abs=1e-4)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(20):
        other = torch.rand(shape[0], generator=generator).pow(4)
        assert value(head, known, other / other.sum()) <= learned.objective + GAP + 1e-4


@settings(max_examples=20, deadline=None)
@given(SHAPES, HEADS, st.integers(0, 10_000))
def test_the_gradient_is_the_slope_of_the_objective(shape: tuple[int, int, int], kind: str, seed: int) -> None:
    known, head = problem(shape, seed, kind), head_of(kind, shape[2])
    objective = Objective(head, [known])
    weights = torch.full((1, shape[0]), 1 / shape[0], dtype=torch.float64)
    gradient = objective(weights).gradient[0]
    change = torch.randn(shape[0], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    change -= change.mean()
    size = 1e-2 / (1 + float(change.abs().max()) * shape[0])
    up, down = (float(objective(weights + sign * size * change).value[0]) for sign in (1, -1))
    # Values are sums of float32 numbers of order ten: 1e-5 over a step of this size.
    assert (up - down) / (2 * size) == pytest.approx(float(gradient @ change), rel=1e-2, abs=2e-5 / size)


@pytest.mark.parametrize("kind", ["identity", "linear"])
@pytest.mark.parametrize("places", [(1,), (3,), (2, 4)])
def test_the_logits_of_some_tokens_are_among_those_of_all(kind: str, places: tuple[int, ...]) -> None:
    head, generator = head_of(kind, 9), torch.Generator().manual_seed(0)
    features = torch.randn(*places, 6, 9 if kind == "identity" else 5, generator=generator)
    tokens = torch.randint(9, (*places, 7), generator=generator)
    expected = head.logits(features).gather(-1, tokens[..., None, :].expand(*places, 6, 7))
    assert torch.allclose(head.logits_of(features, tokens), expected, atol=1e-5)


def slow_curvature(head: Head, known: Problem, weights: torch.Tensor) -> torch.Tensor:
    """Minus the covariance of the contexts' logits under RD, summed over places; over the whole vocabulary."""
    probabilities = normalise(head.logits(mix(weights, known.features)), known.allowed).exp().double()
    logits = head.logits(known.features).double()  # (contexts, tokens, vocabulary)
    centred = logits - (logits * probabilities).sum(-1, keepdim=True)
    return -torch.einsum("itv,jtv,tv->ij", centred, centred, probabilities)


def fast_curvature(head: Head, problems: list[Problem], weights: torch.Tensor) -> torch.Tensor:
    objective = Objective(head, problems)
    everyone = torch.arange(len(weights)).expand(len(problems), -1)
    point = objective(weights.double().expand(len(problems), -1))
    return objective.curvature(point, torch.arange(len(problems)), everyone)


@settings(max_examples=20, deadline=None)
@given(SHAPES, HEADS, st.integers(0, 10_000))
def test_the_curvature_is_exact_where_the_sample_holds_the_vocabulary(
    shape: tuple[int, int, int], kind: str, seed: int
) -> None:
    head = head_of(kind, shape[2])
    problems = [problem(shape, seed, kind), problem((shape[0], shape[1] + 2, shape[2]), seed + 1, kind)]
    weights = torch.rand(shape[0], generator=torch.Generator().manual_seed(seed)) + 0.1
    weights /= weights.sum()
    for own, known in zip(fast_curvature(head, problems, weights), problems, strict=True):
        assert torch.allclose(own, slow_curvature(head, known, weights), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["identity", "linear"])
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 4.0])  # from a flat distribution to a few probable tokens
def test_a_sample_of_a_large_vocabulary_gives_nearly_the_curvature_and_the_same_optimum(
    kind: str, scale: float
) -> None:
    vocabulary = 8 * SAMPLED_TOKENS
    head, known = head_of(kind, vocabulary), problem((6, 4, vocabulary), 3, kind)
    known = Problem(scale * known.features, known.tokens, known.allowed)
    even = torch.full((6,), 1 / 6)
    expected = slow_curvature(head, known, even)
    assert (fast_curvature(head, [known], even)[0] - expected).norm() <= 0.15 * expected.norm() + 1e-6
    (learned,) = newton(head, [known])
    assert learned.gap <= GAP
    assert learned.evaluations <= 10


@settings(max_examples=25, deadline=None)
@given(st.lists(SHAPES, min_size=2, max_size=5), HEADS, st.integers(0, 10_000))
def test_problems_solved_together_are_solved_as_if_alone(
    shapes: list[tuple[int, int, int]], kind: str, seed: int
) -> None:
    """Up to rounding, which can end a search a step sooner or later: both are within the gap of the optimum."""
    vocabulary = shapes[0][2]
    head = head_of(kind, vocabulary)
    problems = [
        problem((contexts, tokens, vocabulary), seed + number, kind)
        for number, (contexts, tokens, _) in enumerate(shapes)
    ]
    together = newton(head, problems)
    for own, known in zip(together, problems, strict=True):
        (alone,) = newton(head, [known])
        assert own.weights.shape == alone.weights.shape
        assert own.gap <= GAP
        assert own.objective == pytest.approx(alone.objective, abs=GAP + 1e-4)
        assert own.objective == pytest.approx(value(head, known, own.weights), abs=1e-4)


@pytest.mark.parametrize("solve", [newton, adam, uniform])
def test_like_problems_solved_together_get_the_same_weights(solve: Solver) -> None:
    problems = [problem((12, 4, 20), seed) for seed in range(3)]
    for own, known in zip(solve(IdentityHead(), problems), problems, strict=True):
        (alone,) = solve(IdentityHead(), [known])
        assert torch.allclose(own.weights, alone.weights, atol=1e-4)
        assert own.evaluations == alone.evaluations


def test_adam_as_the_authors_run_it_ends_below_the_certified_optimum() -> None:
    known = problem((24, 8, 40), 7)
    (certified,), (theirs,) = newton(IdentityHead(), [known]), adam(IdentityHead(), [known])
    assert theirs.objective <= certified.objective + certified.gap
    assert theirs.objective >= certified.objective - theirs.gap - 1e-4
    assert certified.evaluations < theirs.evaluations


@settings(max_examples=30, deadline=None)
@given(SHAPES, HEADS, st.integers(0, 10_000))
def test_equal_weights_know_how_much_learning_would_gain(shape: tuple[int, int, int], kind: str, seed: int) -> None:
    known, head = problem(shape, seed, kind), head_of(kind, shape[2])
    (even,), (certified,) = uniform(head, [known]), newton(head, [known])
    assert even.weights.tolist() == pytest.approx([1 / shape[0]] * shape[0])
    assert even.objective == pytest.approx(value(head, known, even.weights), abs=1e-4)
    assert even.objective <= certified.objective + certified.gap + 1e-4
    assert certified.objective - even.objective <= even.gap + 1e-4
    assert even.evaluations == 1


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
