from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from refdec.reflect import reference
from refdec.reflect.calibration import calibrate_all


def distributions(tokens: int, vocabulary: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(tokens, vocabulary, generator=generator, dtype=torch.float64)).log_softmax(-1)


def calibrate(mixed: torch.Tensor, entropy: float) -> float:
    return calibrate_all([mixed], [entropy])[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(2, 12), st.integers(0, 1000), st.floats(0, 6))
def test_no_other_nucleus_comes_nearer_to_the_wanted_entropy(
    tokens: int, vocabulary: int, seed: int, entropy: float
) -> None:
    mixed = distributions(tokens, vocabulary, seed)
    rows = mixed.tolist()
    found = abs(reference.truncated_entropy(rows, calibrate(mixed, entropy)) - entropy)
    # Entropy only changes where p passes a cumulative probability: trying those tries everything.
    steps = mixed.exp().sort(descending=True).values.cumsum(-1).flatten().tolist()
    best = min(abs(reference.truncated_entropy(rows, step - 1e-9) - entropy) for step in [*steps, 1.0])
    assert found <= best + 1e-6


@given(st.integers(0, 1000), st.floats(0, 1), st.floats(0, 1))
def test_entropy_never_falls_as_the_nucleus_grows(seed: int, one: float, other: float) -> None:
    rows = distributions(3, 8, seed).tolist()
    low, high = sorted((one, other))
    assert reference.truncated_entropy(rows, low) <= reference.truncated_entropy(rows, high) + 1e-9


def test_more_entropy_than_there_is_gives_the_whole_distribution() -> None:
    assert calibrate(distributions(2, 5, 0), 100.0) == 1.0


def test_two_even_tokens_have_the_entropy_of_a_coin() -> None:
    mixed = torch.tensor([[0.5, 0.5]], dtype=torch.float64).log()
    assert reference.truncated_entropy(mixed.tolist(), 1.0) == pytest.approx(0.6931, abs=1e-4)
    assert calibrate(mixed, 0.6) > 0.5
    assert calibrate(mixed, 0.1) <= 0.5


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 1000), st.floats(0, 8)), min_size=1, max_size=5))
def test_sources_calibrated_together_are_calibrated_as_if_alone(sources: list[tuple[int, int, float]]) -> None:
    mixed = [distributions(tokens, 9, seed) for tokens, seed, _ in sources]
    wanted = [entropy for _, _, entropy in sources]
    alone = [calibrate(own, entropy) for own, entropy in zip(mixed, wanted, strict=True)]
    assert calibrate_all(mixed, wanted) == pytest.approx(alone, abs=1e-9)
