"""Sampling from the product: branches that share their past, and jobs in one batch, give what separate runs give."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from refdec import Pair
from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel
from refdec.reflect import reference, sampling
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_all, sample_branching, sample_static
from refdec.reflect.workers import complete
from tests.table_model import TableModel, random_table

ALONE = torch.ones(1)
EVERYTHING = torch.ones(31, dtype=torch.bool)


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
    drawn = sample_branching(model, Sampling(prefixes, weights, draws, top_p, allowed))
    for ids, row in zip(drawn, draws.tolist(), strict=True):
        plain = reference.sample(model, contexts, weights.tolist(), near, row, top_p, allowed.tolist())
        assert direction.arrange(ids) == plain


def test_a_transformer_samples_what_the_plain_version_samples(tiny_lm: LanguageModel) -> None:
    contexts = [[5, 6, 7], [8, 9, 10]]
    weights = torch.tensor([0.3, 0.7])
    draws = uniforms(0, "x", "y", 6, 5)
    arrange = tiny_lm.direction.arrange
    drawn = sample_branching(
        tiny_lm, Sampling([arrange(context) for context in contexts], weights, draws, 0.8, EVERYTHING)
    )
    for ids, row in zip(drawn, draws.tolist(), strict=True):
        assert arrange(ids) == reference.sample(tiny_lm, contexts, weights.tolist(), [], row, 0.8, EVERYTHING.tolist())


def test_a_sample_ends_with_its_stop_token() -> None:
    model = TableModel(random_table(5, seed=0))
    job = Sampling([[1]], ALONE, uniforms(0, "x", "y", 40, 12), 1.0, torch.ones(5, dtype=torch.bool))
    for whole, cut in zip(sample_branching(model, job), sample_branching(model, replace(job, stops={2})), strict=True):
        assert cut == (whole[: whole.index(2) + 1] if 2 in whole else whole)


def test_sampling_in_several_rounds_changes_nothing(monkeypatch: pytest.MonkeyPatch, tiny_lm: LanguageModel) -> None:
    job = Sampling([[1, 2]], ALONE, uniforms(0, "x", "y", 7, 4), 0.9, EVERYTHING)
    at_once = sample_branching(tiny_lm, job)
    monkeypatch.setattr(sampling, "CACHED_TOKENS", 12)
    assert sample_branching(tiny_lm, job) == at_once


def some_jobs() -> list[Sampling]:
    """Different in all that jobs can differ in."""
    odd = torch.arange(31) % 2 == 1
    shares = torch.tensor([0.2, 0.5, 0.3])
    return [
        Sampling([[5, 6, 7], [8], [9, 10]], shares, uniforms(0, "a", "y", 6, 5), 0.8, EVERYTHING),
        Sampling([[1, 2]], ALONE, uniforms(0, "b", "y", 3, 9), 1.0, odd, stops={3, 5}),
        Sampling([[4] * 12, []], torch.tensor([0.6, 0.4]), uniforms(0, "c", "y", 1, 1), 0.5, EVERYTHING),
        Sampling([[]], ALONE, uniforms(0, "d", "y", 4, 3), 0.0, odd),
        Sampling(
            [[7, 7], [2]], torch.tensor([0.0, 1.0]), uniforms(0, "e", "y", 2, 7), 0.9, EVERYTHING, stops=range(20)
        ),
    ]


@pytest.mark.parametrize("chosen", [[0], [1], [3, 1], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0]])
def test_jobs_in_one_batch_are_sampled_as_if_alone(tiny_lm: LanguageModel, chosen: list[int]) -> None:
    jobs = [some_jobs()[number] for number in chosen]
    alone = [sample_branching(tiny_lm, job) for job in jobs]
    assert complete(sample_static(tiny_lm, jobs)) == alone
    assert complete(sample_all(tiny_lm, jobs)) == alone


def test_the_weight_of_a_single_expert_is_a_temperature_in_a_batch_too(tiny_lm: LanguageModel) -> None:
    jobs = [
        Sampling([[5, 6]], torch.tensor([weight]), uniforms(0, "a", "y", 6, 5), 1.0, EVERYTHING)
        for weight in (4.0, 0.5)
    ]
    cold, hot = alone = [sample_branching(tiny_lm, job) for job in jobs]
    assert cold != hot
    assert complete(sample_static(tiny_lm, jobs)) == alone


@pytest.mark.parametrize("limit", [1, 20_000, 10**9])
def test_however_little_memory_a_batch_may_take_the_samples_are_the_same(
    tiny_lm: LanguageModel, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    jobs = some_jobs()
    alone = [sample_branching(tiny_lm, job) for job in jobs]
    monkeypatch.setattr(sampling, "has_static_shapes", lambda _: True)
    monkeypatch.setattr(sampling, "budget", lambda _: float(limit))
    assert complete(sample_all(tiny_lm, jobs)) == alone


def test_a_long_prefix_and_a_long_continuation_can_share_a_batch(tiny_lm: LanguageModel) -> None:
    """Each fits into the window; the prefix of one with the length of the other does not."""
    room = tiny_lm.window
    jobs = [
        Sampling([[1] * (room - 4)], ALONE, uniforms(0, "a", "y", 2, 4), 0.8, EVERYTHING),
        Sampling([[2, 3]], ALONE, uniforms(0, "b", "y", 2, room - 2), 0.8, EVERYTHING),
    ]
    assert complete(sample_static(tiny_lm, jobs)) == [sample_branching(tiny_lm, job) for job in jobs]


def test_the_batch_of_a_gpu_says_what_a_cpu_says(pair: Pair) -> None:
    """On the real weights, contexts of several texts: the same tokens whether rows branch or stand side by side."""
    texts = ['"How do I learn to cook?"', "The train was late.", "Why?"]
    allowed = pair.speakable[Direction.FORWARD]
    jobs = [
        Sampling([pair.tokens.encode(text)], ALONE, uniforms(0, text, "contexts", 5, 10), 0.7, allowed)
        for text in texts
    ]
    prefixes = [pair.tokens.encode(text) for text in texts]
    shares = torch.tensor([0.5, 0.3, 0.2])
    jobs.append(Sampling(prefixes, shares, uniforms(0, "mixed", "samples", 4, 12), 0.9, allowed))
    assert complete(sample_static(pair.forward, jobs)) == [sample_branching(pair.forward, job) for job in jobs]


def test_random_numbers_belong_to_the_example_not_to_the_batch() -> None:
    few, many = uniforms(3, "a text", "contexts right", 4, 6), uniforms(3, "a text", "contexts right", 40, 6)
    assert torch.equal(few, many[:4])
    others = [uniforms(4, "a text", "contexts right", 4, 6), uniforms(3, "a texT", "contexts right", 4, 6)]
    others.append(uniforms(3, "a text", "contexts left", 4, 6))
    assert not any(torch.equal(few, other) for other in others)
    assert float(many.min()) >= 0
    assert float(many.max()) < 1
