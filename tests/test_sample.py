"""Sampling from the product: branches that share their past must give what separate runs give."""

from __future__ import annotations

import pytest
import torch

from refdec.lm.direction import Direction
from refdec.lm.transformers_lm import TransformersLM
from refdec.reflect import reference
from refdec.reflect import sample as sampling
from refdec.reflect.randomness import uniforms
from tests.table_model import TableModel, random_table


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("experts", [1, 3])
@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize("top_p", [0.0, 0.6, 1.0])
def test_samples_are_those_of_the_plain_version(
    direction: Direction, experts: int, samples: int, steps: int, top_p: float
) -> None:
    model = TableModel(random_table(9, seed=4), direction)
    contexts = [[index, 2 * index] for index in range(experts)]
    weights = torch.arange(1, experts + 1, dtype=torch.float32)
    weights /= weights.sum()
    allowed = torch.tensor([True] * 7 + [False, True])
    draws = uniforms(1, "text", "samples", samples, steps)
    near = [3]
    prefixes = [direction.arrange(context) + near for context in contexts]
    drawn = sampling.sample(model, prefixes, weights, draws, top_p, allowed)
    for ids, row in zip(drawn, draws.tolist(), strict=True):
        plain = reference.sample(model, contexts, weights.tolist(), near, row, top_p, allowed.tolist())
        assert direction.arrange(ids) == plain


def test_a_transformer_samples_what_the_plain_version_samples(tiny_lm: TransformersLM) -> None:
    contexts = [[5, 6, 7], [8, 9, 10]]
    weights = torch.tensor([0.3, 0.7])
    draws = uniforms(0, "x", "y", 6, 5)
    allowed = torch.ones(31, dtype=torch.bool)
    arrange = tiny_lm.direction.arrange
    drawn = sampling.sample(tiny_lm, [arrange(context) for context in contexts], weights, draws, 0.8, allowed)
    for ids, row in zip(drawn, draws.tolist(), strict=True):
        assert arrange(ids) == reference.sample(tiny_lm, contexts, weights.tolist(), [], row, 0.8, allowed.tolist())


def test_a_sample_ends_with_its_stop_token() -> None:
    model = TableModel(random_table(5, seed=0))
    allowed = torch.ones(5, dtype=torch.bool)
    draws = uniforms(0, "x", "y", 40, 12)
    free = sampling.sample(model, [[1]], torch.ones(1), draws, 1.0, allowed)
    stopped = sampling.sample(model, [[1]], torch.ones(1), draws, 1.0, allowed, stops={2})
    for whole, cut in zip(free, stopped, strict=True):
        assert cut == (whole[: whole.index(2) + 1] if 2 in whole else whole)


def test_sampling_in_several_rounds_changes_nothing(monkeypatch: pytest.MonkeyPatch, tiny_lm: TransformersLM) -> None:
    draws = uniforms(0, "x", "y", 7, 4)
    arguments = (tiny_lm, [[1, 2]], torch.ones(1), draws, 0.9, torch.ones(31, dtype=torch.bool))
    at_once = sampling.sample(*arguments)
    monkeypatch.setattr(sampling, "CACHED_TOKENS", 12)
    assert sampling.sample(*arguments) == at_once


def test_random_numbers_belong_to_the_example_not_to_the_batch() -> None:
    few, many = uniforms(3, "a text", "contexts right", 4, 6), uniforms(3, "a text", "contexts right", 40, 6)
    assert torch.equal(few, many[:4])
    others = [uniforms(4, "a text", "contexts right", 4, 6), uniforms(3, "a texT", "contexts right", 4, 6)]
    others.append(uniforms(3, "a text", "contexts left", 4, 6))
    assert not any(torch.equal(few, other) for other in others)
    assert float(many.min()) >= 0
    assert float(many.max()) < 1
