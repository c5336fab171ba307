"""What many tests share: the embedded pair, loaded once, and small models made on the spot."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from refdec import Pair, Reflector, load_pair
from refdec.lm.direction import Direction
from refdec.lm.transformers_lm import TransformersLM

TINY: dict[str, Any] = {"contexts": 6, "context_tokens": 8, "kept_contexts": 2, "samples": 4}
"""Settings that take a second: for promises that hold whatever the settings."""


@pytest.fixture(scope="session")
def pair() -> Pair:
    return load_pair(device="cpu")


@pytest.fixture(scope="session")
def reflector(pair: Pair) -> Reflector:
    return Reflector(pair)


@pytest.fixture(scope="session", params=["llama", "gpt2"])
def tiny_lm(request: pytest.FixtureRequest) -> TransformersLM:
    """An untrained transformer: its numbers mean nothing, but caching must not change them."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if request.param == "llama":
            llama = LlamaConfig(
                vocab_size=31, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                max_position_embeddings=64, initializer_range=0.5, bos_token_id=0,
            )  # fmt: skip
            return TransformersLM(LlamaForCausalLM(llama), Direction.FORWARD, 0)
        gpt2 = GPT2Config(
            vocab_size=31, n_embd=16, n_layer=2, n_head=2, n_positions=64, initializer_range=0.5, bos_token_id=0
        )
        return TransformersLM(GPT2LMHeadModel(gpt2), Direction.BACKWARD, 0)
