"""Equation 2 by hand, with a table model."""

from __future__ import annotations

import math

import pytest
import torch

from refdec.reflect import reference
from refdec.reflect.product import at_tokens, mix, normalise
from tests.table_model import TableModel

EVERYTHING = [True, True]


def test_equation_two_worked_out_by_hand() -> None:
    # Two tokens. After 0 come 0 and 1 with 0.8 and 0.2; after 1, with 0.4 and 0.6.
    model = TableModel(torch.tensor([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]]))
    # Contexts [0] and [1] with weights 1/4 and 3/4, text [0, 1].
    # First token: 0.8^(1/4) 0.4^(3/4) against 0.2^(1/4) 0.6^(3/4).
    zero, one = 0.8**0.25 * 0.4**0.75, 0.2**0.25 * 0.6**0.75
    # Second token follows the text's own 0 in both contexts: 0.2 each, and 0.8 + 0.2 needs no normalising.
    by_hand = math.log(zero / (zero + one)) + math.log(0.2)
    assert reference.log_rd(model, [[0], [1]], [0.25, 0.75], [0, 1], EVERYTHING) == pytest.approx(by_hand, abs=1e-6)
    reading = model.read([[0], [1]])
    experts = model.features(reading, torch.tensor([[0, 1], [0, 1]]))
    mixed = normalise(model.head.logits(mix(torch.tensor([0.25, 0.75]), experts)), torch.tensor(EVERYTHING))
    assert float(at_tokens(mixed, torch.tensor([0, 1])).sum()) == pytest.approx(by_hand, abs=1e-6)


def test_one_context_of_full_weight_is_the_model_itself() -> None:
    model = TableModel(torch.tensor([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]]))
    assert reference.log_rd(model, [[1]], [1.0], [1], EVERYTHING) == pytest.approx(math.log(0.6), abs=1e-6)


def test_forbidden_tokens_have_no_probability_and_the_rest_sums_to_one() -> None:
    experts = torch.randn(3, 4, 7, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    allowed = torch.tensor([True, False, True, True, False, True, True])
    mixed = normalise(mix(torch.tensor([0.2, 0.3, 0.5]), experts), allowed).exp()
    assert bool((mixed[:, ~allowed] == 0).all())
    assert torch.allclose(mixed.sum(-1), torch.ones(4))
