"""The fewest operations and bytes that a piece of work takes, computed from the sizes of a decoder.

Models report their own cost, so a benchmark only has to measure time. Norms, biases and embedding look-ups are left
out: together they are far under one per cent. Knows sizes; runs nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from refdec.errors import ModelError

LOGIT_BYTES = 4
"""Bytes per logit: log-probabilities are computed in float32, whatever the precision of the weights."""


class Work(NamedTuple):
    """The work of an engine, counted while it ran."""

    tokens: int = 0  # read by the body
    head_tokens: int = 0  # multiplied with the output matrix
    attended: int = 0  # pairs of a query and a key, in one layer
    cached: int = 0  # tokens whose keys and values were read from a cache
    passes: int = 0  # times that all weights were read

    def __add__(self, other: Work) -> Work:  # type: ignore[override]
        return Work(*map(operator.add, self, other))

    def __sub__(self, earlier: Work) -> Work:
        """The work done since an earlier count."""
        return Work(*map(operator.sub, self, earlier))


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a decoder."""

    layers: int
    width: int
    inner: int  # width of the MLP
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int


@dataclass(frozen=True, slots=True)
class Cost(Sizes):
    """The operations and bytes that follow from the sizes of a decoder."""

    matrices: int  # per MLP: 3 where it is gated, 2 where it is not
    parameter_bytes: float  # per parameter, as it is multiplied
    element_bytes: float  # per number in the cache

    @classmethod
    def of(cls, config: Mapping[str, Any], parameter_bytes: float, cache_bytes: float) -> Cost:
        """The cost of a model with this config.json: Llama's names, GPT-2's, and the usual ones of other layouts.

        `cache_bytes` is the size of one number in the cache. Mixtures of experts are counted wrongly.
        """
        nested = config.get("text_config")
        sizes = {**config, **nested} if isinstance(nested, Mapping) else config
        width = _size(sizes, "hidden_size", "n_embd", "d_model")
        heads = _size(sizes, "num_attention_heads", "n_head", "num_heads")
        return cls(
            layers=_size(sizes, "num_hidden_layers", "n_layer", "num_layers"),
            width=width,
            inner=_size(sizes, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", default=4 * width),
            heads=heads,
            kv_heads=_size(sizes, "num_key_value_heads", "num_kv_heads", default=heads),
            head_size=_size(sizes, "head_dim", default=width // heads),
            vocabulary=_size(sizes, "vocab_size"),
            matrices=3 if _is_gated(sizes) else 2,
            parameter_bytes=parameter_bytes,
            element_bytes=cache_bytes,
        )

    @property
    def body(self) -> int:
        """Parameters of the attention and MLP matrices of all layers."""
        attention = 2 * self.width * self.head_size * (self.heads + self.kv_heads)  # q and output, k and v
        return self.layers * (attention + self.matrices * self.width * self.inner)

    @property
    def head(self) -> int:
        """Parameters of the output matrix, counted also where it is tied to the embeddings."""
        return self.width * self.vocabulary

    @property
    def parameters(self) -> int:
        """Parameters that a pass multiplies with: the body and the head."""
        return self.body + self.head

    def flops(self, tokens: int, head_tokens: int, attended: int) -> int:
        """Operations for so many tokens, `head_tokens` of them with logits, and so many query-key pairs per layer."""
        attention = 4 * self.heads * self.head_size * self.layers * attended  # a score and a weighted sum, 2 each
        return 2 * self.body * tokens + 2 * self.head * head_tokens + attention

    def weight_bytes(self) -> float:
        """Bytes of weights that one pass reads."""
        return self.parameters * self.parameter_bytes

    def cache_bytes(self, tokens: int) -> float:
        """Bytes of keys and values of all layers for so many tokens."""
        return 2 * self.layers * self.kv_heads * self.head_size * self.element_bytes * tokens

    def row_bytes(self, places: int, head_places: int = 1) -> float:
        """Bytes that one row of a batch holds: the cache of its places, and its logits."""
        return self.cache_bytes(places) + head_places * self.vocabulary * LOGIT_BYTES

    def bytes(self, passes: int, cached_tokens_read: int, tokens: int) -> float:
        """The fewest bytes that must move: the weights once per pass, the cache read, and the cache written."""
        return passes * self.weight_bytes() + self.cache_bytes(cached_tokens_read) + self.cache_bytes(tokens)

    def floor(self, work: Work, flops_per_second: float, bytes_per_second: float) -> float:
        """The fewest seconds that a machine with these rates needs."""
        computing = self.flops(work.tokens, work.head_tokens, work.attended) / flops_per_second
        moving = self.bytes(work.passes, work.cached, work.tokens) / bytes_per_second
        return max(computing, moving)


def _size(config: Mapping[str, Any], *names: str, default: int | None = None) -> int:
    """The value of the first of these names that has one."""
    for name in names:
        value = config.get(name)
        if isinstance(value, int):
            return value
    if default is None:
        raise ModelError(f"config.json has no {names[0]}, so the model's cost cannot be computed. Add it there.")
    return default


def _is_gated(config: Mapping[str, Any]) -> bool:
    """Whether the MLPs have a gate. Llama-like models do, recognised by RMS norms or SiLU; GPT-2-like ones do not."""
    activation = next((config[name] for name in ("hidden_act", "activation_function") if config.get(name)), "")
    return "rms_norm_eps" in config or str(activation) in ("silu", "swish")
