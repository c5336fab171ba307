"""Int8 on a CPU: close to float32 on real text, and exact in its products."""

from __future__ import annotations

import pytest
import torch

from refdec import Direction, Pair, Reflector
from refdec.lm.linear import Int8Linear, Stored, make_linear, quantise
from refdec.lm.pair import PROBE, loss
from tests.conftest import TINY

MEAN_DIFFERENCE = 0.25
"""Nats per token between int8 and float32, the mean over a paragraph; measured: 0.176 forward, 0.189 backward."""

LOSS_DIFFERENCE = 0.12
"""Nats per token of that paragraph; measured: 0.075 and 0.078, and 0.03 on longer text (docs/log.md)."""

TIPPED = 0.1
"""Nats by which rows beside it may move a token."""


@pytest.mark.parametrize("direction", Direction)
def test_log_probabilities_are_close_to_those_of_float32(pair: Pair, int8_pair: Pair, direction: Direction) -> None:
    ids = torch.tensor([direction.arrange(pair.tokens.encode(PROBE))])
    exact, rounded = (
        model.score(model.read([[]]), ids) for model in (pair.reading(direction), int8_pair.reading(direction))
    )
    assert float((exact - rounded).abs().mean()) < MEAN_DIFFERENCE
    losses = [loss(loaded.reading(direction), ids[0].tolist()) for loaded in (pair, int8_pair)]
    assert abs(losses[0] - losses[1]) < LOSS_DIFFERENCE


@pytest.mark.parametrize("direction", Direction)
def test_rows_beside_it_move_a_row_no_more_than_int8_itself_does(int8_pair: Pair, direction: Direction) -> None:
    """Products are exact; attention is in float32, and its rounding, which varies with shapes, may tip an int8."""
    model, tokens = int8_pair.reading(direction), int8_pair.tokens
    texts = [direction.arrange(tokens.encode(text)) for text in ("Is it far?", "The train was late again.", "Why?")]
    after = torch.tensor([direction.arrange(tokens.encode(" said the old man"))])
    together = model.score(model.read(texts), after.expand(len(texts), -1))
    for row, text in enumerate(texts):
        alone = model.score(model.read([text]), after)
        assert torch.allclose(together[row], alone[0], rtol=0, atol=TIPPED)


def test_a_row_is_quantised_by_itself_and_multiplied_exactly() -> None:
    generator = torch.Generator().manual_seed(0)
    weight, rows = torch.randn(24, 16, generator=generator), torch.randn(5, 16, generator=generator)
    rows[2] *= 1000
    rows[3] = 0
    linear = Int8Linear(Stored(weight))
    together = linear(rows)
    for number in range(len(rows)):
        assert torch.equal(linear(rows[number : number + 1])[0], together[number])
    (whole, scale), (row, factor) = quantise(weight), quantise(rows)
    expected = (row.double() @ whole.double().t()) * factor.double()[:, None] * scale.double()
    assert torch.allclose(together.double(), expected, rtol=1e-6)


def test_what_is_stored_in_int8_is_used_as_it_is() -> None:
    generator = torch.Generator().manual_seed(0)
    values, scale = quantise(torch.randn(8, 16, generator=generator))
    stored, rows = Stored(values, scale), torch.randn(3, 16, generator=generator)
    assert stored.quantised() is stored
    assert torch.allclose(stored.float(), values * scale[:, None])
    joined = make_linear([stored, stored], "int8", torch.device("cpu"))(rows)
    assert torch.equal(joined, torch.cat([Int8Linear(stored)(rows)] * 2, dim=1))
    exact = make_linear([stored], "float32", torch.device("cpu"))(rows)
    assert torch.allclose(exact, rows @ stored.float().t(), atol=1e-5)


def test_paraphrasing_works_and_says_its_precision(int8_pair: Pair) -> None:
    reflector = Reflector(int8_pair)
    found = reflector.paraphrase("How do I learn to cook?", **(TINY | {"samples": 8}))
    assert found.candidates
    assert all(0 <= gap <= 1e-3 for gap in found.gap.values())
    assert found.signature.endswith("|precision:int8")
    assert reflector.paraphrase("How do I learn to cook?", **(TINY | {"samples": 8})) == found


def test_texts_in_a_list_are_paraphrased_as_if_alone(int8_pair: Pair) -> None:
    reflector = Reflector(int8_pair)
    texts = ["The train was late again.", "I love it."]
    assert reflector.paraphrase(texts, **TINY) == [reflector.paraphrase(text, **TINY) for text in texts]
