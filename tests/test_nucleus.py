from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from refdec.reflect import nucleus, reference

LOGITS = st.lists(st.floats(-8, 8), min_size=1, max_size=200)
SHARES = st.floats(0, 1)
UNIFORMS = st.floats(0, 1, exclude_max=True)


@given(LOGITS, SHARES, UNIFORMS)
def test_the_draw_is_the_one_the_plain_version_makes(logits: list[float], top_p: float, uniform: float) -> None:
    logprobs = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    drawn = nucleus.draw(logprobs[None], top_p, torch.tensor([uniform], dtype=torch.float64))
    plain = reference.draw(logprobs.tolist(), top_p, uniform)
    # Equally probable tokens may stand in either order.
    assert math.isclose(float(logprobs[int(drawn)]), float(logprobs[plain]), abs_tol=1e-9)


@given(LOGITS, UNIFORMS)
def test_an_empty_nucleus_still_holds_the_most_probable_token(logits: list[float], uniform: float) -> None:
    logprobs = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    drawn = nucleus.draw(logprobs[None], 0.0, torch.tensor([uniform], dtype=torch.float64))
    assert float(logprobs[int(drawn)]) == float(logprobs.max())


def test_looking_at_few_tokens_first_changes_nothing() -> None:
    flat = torch.zeros(2, 5000, dtype=torch.float64).log_softmax(-1)
    uniform = torch.tensor([0.1, 0.9999], dtype=torch.float64)
    assert torch.equal(nucleus.draw(flat[:1], 0.99, uniform[:1]), nucleus.draw(flat, 0.99, uniform)[:1])


def test_frequencies_follow_the_truncated_distribution() -> None:
    logprobs = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().expand(20_000, -1)
    uniform = torch.rand(20_000, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    shares = torch.bincount(nucleus.draw(logprobs, 0.79, uniform), minlength=4) / 20_000
    assert torch.allclose(shares, torch.tensor([0.625, 0.375, 0.0, 0.0]), atol=0.01)
