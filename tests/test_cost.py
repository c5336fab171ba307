"""What models cost, worked out by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refdec.errors import ModelError
from refdec.lm.cost import Cost, Work
from refdec.lm.pair import EMBEDDED

GPT2_XL: dict[str, Any] = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "n_embd": 1600,
    "n_layer": 48,
    "n_head": 25,
    "n_inner": None,
    "vocab_size": 50257,
}


@pytest.fixture
def embedded() -> Cost:
    return Cost.of(json.loads((EMBEDDED / "config.json").read_text()), parameter_bytes=4, cache_bytes=4)


@pytest.fixture
def gpt2_xl() -> Cost:
    return Cost.of(GPT2_XL, parameter_bytes=2, cache_bytes=2)


def test_parameters_of_the_embedded_model_by_hand(embedded: Cost) -> None:
    # A layer: 576 x 576 for queries and output, 576 x 192 for keys and values, and three of 576 x 1536.
    assert embedded.body == 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536) == 106_168_320
    assert embedded.head == 576 * 49_152 == 28_311_552
    assert embedded.parameters == 134_479_872


def test_parameters_of_gpt2_xl_by_hand(gpt2_xl: Cost) -> None:
    # The MLP is four times as wide where n_inner says nothing, and has no gate.
    assert (gpt2_xl.inner, gpt2_xl.matrices, gpt2_xl.head_size) == (6400, 2, 64)
    assert gpt2_xl.body == 48 * 12 * 1600 * 1600 == 1_474_560_000
    assert gpt2_xl.head == 80_411_200


def test_operations_by_hand(embedded: Cost) -> None:
    # One token with logits after 99 others: 100 keys for one query.
    assert embedded.flops(1, 1, 100) == 2 * 106_168_320 + 2 * 28_311_552 + 4 * 576 * 30 * 100 == 275_871_744
    assert embedded.flops(10, 0, 0) == 2_123_366_400


def test_bytes_by_hand(gpt2_xl: Cost) -> None:
    # A token caches 2 x 48 x 1600 numbers of two bytes.
    assert gpt2_xl.cache_bytes(1) == 307_200
    assert gpt2_xl.weight_bytes() == 2 * (1_474_560_000 + 80_411_200)
    assert gpt2_xl.bytes(3, 10, 2) == 3 * gpt2_xl.weight_bytes() + 12 * 307_200
    assert gpt2_xl.row_bytes(60) == 60 * 307_200 + 4 * 50_257


def test_grouped_heads_cache_less_and_have_smaller_key_matrices() -> None:
    config = {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "vocab_size": 128_256,
        "rms_norm_eps": 1e-5,
    }
    cost = Cost.of(config, 2, 2)
    # 2048 x 2048 for queries and output, 2048 x 512 for keys and values, three of 2048 x 8192: Llama 3.2 1B.
    assert cost.body == 16 * (2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192) == 973_078_528
    assert cost.cache_bytes(1) == 2 * 16 * 512 * 2


def test_an_inner_configuration_counts_for_a_model_that_has_one(gpt2_xl: Cost) -> None:
    assert Cost.of({"model_type": "other", "text_config": GPT2_XL}, 2, 2) == gpt2_xl


def test_a_configuration_without_sizes_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="vocab_size"):
        Cost.of({"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}, 4, 4)


def test_works_add_up_and_so_do_their_operations_and_bytes(embedded: Cost) -> None:
    first, second = Work(7, 3, 40, 11, 1), Work(5, 5, 15, 0, 2)
    both = first + second
    assert both == Work(tokens=12, head_tokens=8, attended=55, cached=11, passes=3)
    assert sum([first, second], Work()) == both

    def flops(work: Work) -> int:
        return embedded.flops(work.tokens, work.head_tokens, work.attended)

    def moved(work: Work) -> float:
        return embedded.bytes(work.passes, work.cached, work.tokens)

    assert flops(first) + flops(second) == flops(both)
    assert moved(first) + moved(second) == moved(both)


def test_the_floor_is_the_slower_of_computing_and_moving(embedded: Cost) -> None:
    step = Work(tokens=1, head_tokens=1, attended=100, cached=99, passes=1)
    # 275.9 M operations; 134.5 M weights and 100 cached tokens of 2 x 30 x 192 numbers, four bytes each.
    moved = 4 * 134_479_872 + 100 * 4 * 11_520
    assert embedded.floor(step, 1e11, 1e10) == pytest.approx(moved / 1e10)
    assert embedded.floor(step, 1e9, 1e12) == pytest.approx(275_871_744 / 1e9)
    assert embedded.floor(Work(), 1e9, 1e9) == 0
