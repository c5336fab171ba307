"""The cached adapter against the plain model, over a grid of shapes. Tolerance 1e-4 nats: float32 rounding."""

from __future__ import annotations

import pytest
import torch

from refdec.lm.transformers_lm import TransformersLM

PREFIXES: dict[str, list[list[int]]] = {
    "one": [[3, 4, 5]],
    "equal": [[1, 2], [3, 4], [5, 6]],
    "ragged": [[7], [1, 2, 3, 4], [9, 8]],
    "empty": [[]],
    "empty among others": [[], [4, 5, 6]],
}


def plain_logprobs(lm: TransformersLM, prefix: list[int], tokens: list[int]) -> torch.Tensor:
    """Straight from the model, no cache and no batch: the distribution at each place of the continuation."""
    ids = torch.tensor([[0, *prefix, *tokens]])
    with torch.inference_mode():
        logits: torch.Tensor = lm._model(input_ids=ids).logits[0].float()
    return logits.log_softmax(-1)[len(prefix) : len(prefix) + len(tokens)]


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("name", PREFIXES)
def test_continuations_are_scored_as_without_a_cache(tiny_lm: TransformersLM, name: str, length: int) -> None:
    prefixes = PREFIXES[name]
    tokens = [[(3 * row + place) % 31 for place in range(length)] for row in range(len(prefixes))]
    reading = tiny_lm.read(prefixes)
    together = tiny_lm.distributions(reading, torch.tensor(tokens))
    scored = tiny_lm.score(reading, torch.tensor(tokens))
    for row, (prefix, continuation) in enumerate(zip(prefixes, tokens, strict=True)):
        expected = plain_logprobs(tiny_lm, prefix, continuation)
        assert torch.allclose(together[row], expected, atol=1e-4)
        own = expected.gather(1, torch.tensor(continuation)[:, None])[:, 0]
        assert torch.allclose(scored[row], own, atol=1e-4)


@pytest.mark.parametrize("name", PREFIXES)
def test_reading_token_by_token_equals_reading_at_once(tiny_lm: TransformersLM, name: str) -> None:
    prefixes = PREFIXES[name]
    reading = tiny_lm.read(prefixes)
    steps = [5, 11, 2, 30]
    for token in steps:
        reading = tiny_lm.extend(reading, torch.full((len(prefixes),), token))
    at_once = tiny_lm.read([[*prefix, *steps] for prefix in prefixes])
    assert torch.allclose(reading.next_logprobs, at_once.next_logprobs, atol=1e-4)


def test_a_shared_prefix_is_read_once_and_continued_differently(tiny_lm: TransformersLM) -> None:
    shared = tiny_lm.read([[1, 2, 3], [9]]).select(torch.tensor([0, 1, 0]))
    continued = tiny_lm.extend(shared, torch.tensor([4, 5, 6]))
    expected = tiny_lm.read([[1, 2, 3, 4], [9, 5], [1, 2, 3, 6]])
    assert torch.allclose(continued.next_logprobs, expected.next_logprobs, atol=1e-4)


def test_extending_a_reading_leaves_it_as_it_was(tiny_lm: TransformersLM) -> None:
    reading = tiny_lm.read([[1, 2, 3]])
    first = tiny_lm.extend(tiny_lm.extend(reading, torch.tensor([4])), torch.tensor([5]))
    tiny_lm.extend(tiny_lm.extend(reading, torch.tensor([6])), torch.tensor([7]))
    again = tiny_lm.extend(tiny_lm.extend(reading, torch.tensor([4])), torch.tensor([5]))
    after_first = tiny_lm.extend(first, torch.tensor([8]))
    assert torch.equal(first.next_logprobs, again.next_logprobs)
    expected = tiny_lm.read([[1, 2, 3, 4, 5, 8]])
    assert torch.allclose(after_first.next_logprobs, expected.next_logprobs, atol=1e-4)
