"""What a decoder costs: the operations and bytes that a piece of work takes at least.

A model says it of itself, from the sizes in its configuration, so that a benchmark only measures. Norms, biases and
embedding look-ups are left out: together they are far under one percent. Knows sizes; runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

from refdec.errors import ModelError

LOGIT_BYTES = 4
"""Logits are made into log-probabilities in float32, whatever the weights are."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an engine did, counted while it ran; works add up."""

    tokens: int = 0  # read by the body
    head_tokens: int = 0  # given to the output matrix
    attended: int = 0  # pairs of a query and a key, in one layer
    cached: int = 0  # tokens whose keys and values were read from a cache
    passes: int = 0  # times that the weights were gone through

    def __add__(self, other: Work) -> Work:
        return Work(
            tokens=self.tokens + other.tokens,
            head_tokens=self.head_tokens + other.head_tokens,
            attended=self.attended + other.attended,
            cached=self.cached + other.cached,
            passes=self.passes + other.passes,
        )

    def __sub__(self, other: Work) -> Work:
        """What was done since another count."""
        return Work(*(own - before for own, before in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Cost:
    """The sizes of a decoder, and what follows from them."""

    layers: int
    width: int
    inner: int  # width of the MLP
    matrices: int  # of an MLP: 3 where it is gated, 2 where it is plain
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    parameter_bytes: float  # as stored for compute
    element_bytes: float  # of one number in the cache

    @classmethod
    def of(cls, config: Mapping[str, Any], parameter_bytes: float, cache_bytes: float) -> Cost:
        """From the contents of a config.json: llama's names or GPT-2's, other layouts as well as can be told.

        `cache_bytes` is the size of one number in the cache. Mixtures of experts are not understood.
        """
        inside = config.get("text_config")
        sizes = {**config, **inside} if isinstance(inside, Mapping) else config
        width = _size(sizes, "hidden_size", "n_embd", "d_model")
        heads = _size(sizes, "num_attention_heads", "n_head", "num_heads")
        return cls(
            layers=_size(sizes, "num_hidden_layers", "n_layer", "num_layers"),
            width=width,
            inner=_size(sizes, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", default=4 * width),
            matrices=3 if _is_gated(sizes) else 2,
            heads=heads,
            kv_heads=_size(sizes, "num_key_value_heads", "num_kv_heads", default=heads),
            head_size=_size(sizes, "head_dim", default=width // heads),
            vocabulary=_size(sizes, "vocab_size"),
            parameter_bytes=parameter_bytes,
            element_bytes=cache_bytes,
        )

    @property
    def body(self) -> int:
        """Parameters of the attention and MLP matrices of all layers."""
        attention = (
            2 * self.width * self.head_size * (self.heads + self.kv_heads)
        )  # queries and output, keys and values
        return self.layers * (attention + self.matrices * self.width * self.inner)

    @property
    def head(self) -> int:
        """Parameters of the output matrix, counted also where it is tied to the embeddings."""
        return self.width * self.vocabulary

    @property
    def parameters(self) -> int:
        """What a pass multiplies by: the body and the head."""
        return self.body + self.head

    def flops(self, tokens: int, head_tokens: int, attended: int) -> int:
        """Operations for so many tokens, `head_tokens` of them with logits, and so many query-key pairs a layer."""
        attention = 4 * self.heads * self.head_size * self.layers * attended  # a score and a weighted sum, 2 each
        return 2 * self.body * tokens + 2 * self.head * head_tokens + attention

    def weight_bytes(self) -> float:
        """What a pass reads of the weights."""
        return self.parameters * self.parameter_bytes

    def cache_bytes(self, tokens: int) -> float:
        """Keys and values of all layers for so many tokens."""
        return 2 * self.layers * self.kv_heads * self.head_size * self.element_bytes * tokens

    def row_bytes(self, places: int, head_places: int = 1) -> float:
        """Memory that one row of a batch holds: the cache of its places, and its logits."""
        return self.cache_bytes(places) + head_places * self.vocabulary * LOGIT_BYTES

    def bytes(self, passes: int, cached_tokens_read: int, tokens: int) -> float:
        """The fewest bytes that must move: the weights once a pass, the cache as it is read, and as it is written."""
        return passes * self.weight_bytes() + self.cache_bytes(cached_tokens_read) + self.cache_bytes(tokens)

    def floor(self, work: Work, flops_per_second: float, bytes_per_second: float) -> float:
        """Seconds that no program can beat on a machine with these ceilings."""
        computing = self.flops(work.tokens, work.head_tokens, work.attended) / flops_per_second
        moving = self.bytes(work.passes, work.cached, work.tokens) / bytes_per_second
        return max(computing, moving)


def _size(config: Mapping[str, Any], *names: str, default: int | None = None) -> int:
    """The first of these names that has a value."""
    for name in names:
        value = config.get(name)
        if isinstance(value, int):
            return value
    if default is None:
        raise ModelError(f"config.json names no {names[0]}, so what the model costs cannot be told. Add it there.")
    return default


def _is_gated(config: Mapping[str, Any]) -> bool:
    """Whether an MLP has a gate: those of llama's kin do, told by their norms or SiLU; those of GPT-2's kin do not."""
    activation = next((config[name] for name in ("hidden_act", "activation_function") if config.get(name)), "")
    return "rms_norm_eps" in config or str(activation) in ("silu", "swish")
