"""The weights of a Llama-shaped model and what they compute: features of tokens, and logits of features.

A network reads no direction: two models may share one. Rows continue shared prefixes and have tails of their own. Knows
ids, caches, devices and precisions; knows nothing of files, or of what the ids are for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import torch
from torch.nn import functional

from refdec.lm.cost import Cost, Sizes
from refdec.lm.head import Head, LinearHead
from refdec.lm.linear import FloatLinear, Int8Linear, Linear, Stored, make_linear
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.operations import operations
from refdec.lm.prefix_cache import Prefix, Prefixes, Tail, TailBuffer


class Network(Protocol):
    """What a `LlamaLM` asks of its weights."""

    @property
    def shape(self) -> LlamaShape: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def precision(self) -> str: ...

    @property
    def dtype(self) -> torch.dtype:
        """The type of keys and values."""

    @property
    def head(self) -> Head: ...

    @property
    def cost(self) -> Cost: ...

    def run(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        prefixes: Prefixes | None,
        tail: TailBuffer | None,
        filled: int,
    ) -> torch.Tensor:
        """Features after tokens (rows, n) at positions (rows, n), as (rows, n, width) in float32.

        The tokens follow the prefixes and the first `filled` places of the tail, and their keys and values are written
        to the places after these. Without a tail they are not kept.
        """

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """(n, width) to (n, vocabulary), float32."""


@dataclass(frozen=True, slots=True)
class _Layer:
    attention_norm: torch.Tensor
    qkv: Linear
    output: Linear
    inner_norm: torch.Tensor
    gate_up: Linear
    down: Linear


Attention = Callable[[int, torch.Tensor], torch.Tensor]
"""From the number of a layer, and queries, keys and values side by side, to the output of its attention."""


class TorchNetwork:
    """A network in torch operations, or in Triton kernels on a GPU: in float32, bfloat16 or int8."""

    def __init__(self, shape: LlamaShape, stored: Mapping[str, Stored], device: torch.device, precision: str) -> None:
        self.shape, self.device, self.precision = shape, device, precision
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self.ops = operations(device)
        embedding = stored["model.embed_tokens.weight"]
        output = embedding if shape.tied else stored["lm_head.weight"]
        self._embedding = embedding.float().to(device, torch.float32)
        self.head = LinearHead(self._embedding if output is embedding else output.float().to(device))
        int8 = precision == "int8"
        self._to_logits = Int8Linear(output) if int8 else make_linear([output], precision, device)
        self._final_norm = stored["model.norm.weight"].float().to(device)
        self._layers = [
            _load_layer(stored, f"model.layers.{number}.", precision, device) for number in range(shape.layers)
        ]
        self._cosine, self._sine = rotary_tables(shape, device)
        self.cost = cost_of(shape, precision)

    def run(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        prefixes: Prefixes | None,
        tail: TailBuffer | None,
        filled: int,
    ) -> torch.Tensor:
        count, length = tokens.shape
        places, end = positions.flatten(), filled + length

        def attention(number: int, qkv: torch.Tensor) -> torch.Tensor:
            self.rotate(qkv, places)
            queries, keys, values = self.split(qkv, count)
            if tail is not None:
                tail.keys[number][:, :, filled:end] = keys
                tail.values[number][:, :, filled:end] = values
                keys, values = tail.keys[number][:, :, :end], tail.values[number][:, :, :end]
            prefix = prefixes and prefixes.of_layer(number)
            return self.attend(queries, prefix, Tail(keys, values, end))

        return self.run_layers(tokens, attention).view(count, length, -1)

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        to_logits = self._to_logits
        return to_logits.in_float32(features) if isinstance(to_logits, FloatLinear) else to_logits(features)

    def run_layers(self, tokens: torch.Tensor, attention: Attention) -> torch.Tensor:
        """Features after each of these tokens: (rows, n) to (rows * n, width)."""
        ops, epsilon = self.ops, self.shape.epsilon
        stream = functional.embedding(tokens.flatten(), self._embedding)
        delta: torch.Tensor | None = None
        for number, layer in enumerate(self._layers):
            inputs = ops.add_norm(stream, delta, layer.attention_norm, epsilon, self.dtype)
            delta = layer.output(attention(number, layer.qkv(inputs)))
            inputs = ops.add_norm(stream, delta, layer.inner_norm, epsilon, self.dtype)
            delta = layer.down(ops.gated(layer.gate_up(inputs)))
        return ops.add_norm(stream, delta, self._final_norm, epsilon, torch.float32)

    def rotate(self, qkv: torch.Tensor, positions: torch.Tensor, **tail: Any) -> None:
        shape = self.shape
        sizes = (shape.heads, shape.kv_heads, shape.head_size)
        self.ops.rotate(qkv, positions, self._cosine, self._sine, *sizes, **tail)

    def attend(self, queries: torch.Tensor, prefix: Prefix | None, tail: Tail) -> torch.Tensor:
        return self.ops.attend(queries, prefix, tail, self.shape.head_size**-0.5).flatten(0, 1)

    def split(self, qkv: torch.Tensor, rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries (rows, n, heads, size), keys and values (rows, kv heads, n, size), as views."""
        shape = self.shape
        parts = qkv.view(rows, len(qkv) // rows, -1, shape.head_size)
        queries, keys, values = torch.split(parts, [shape.heads, shape.kv_heads, shape.kv_heads], dim=2)
        return queries, keys.transpose(1, 2), values.transpose(1, 2)


def _load_layer(stored: Mapping[str, Stored], home: str, precision: str, device: torch.device) -> _Layer:
    def norm(name: str) -> torch.Tensor:
        return stored[f"{home}{name}.weight"].float().to(device)

    def linear(*names: str) -> Linear:
        return make_linear([stored[f"{home}{name}_proj.weight"] for name in names], precision, device)

    return _Layer(
        attention_norm=norm("input_layernorm"),
        qkv=linear("self_attn.q", "self_attn.k", "self_attn.v"),
        output=linear("self_attn.o"),
        inner_norm=norm("post_attention_layernorm"),
        gate_up=linear("mlp.gate", "mlp.up"),
        down=linear("mlp.down"),
    )


def rotary_tables(shape: LlamaShape, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the angles by which queries and keys turn: (window, head_size / 2) each."""
    steps = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
    angles = torch.outer(torch.arange(shape.window, dtype=torch.float32), 1.0 / shape.theta**steps)
    return angles.cos().to(device), angles.sin().to(device)


def cost_of(shape: LlamaShape, precision: str) -> Cost:
    return Cost(
        **{size.name: getattr(shape, size.name) for size in fields(Sizes)},
        matrices=3,
        parameter_bytes={"int8": 1, "bfloat16": 2}.get(precision, 4),
        element_bytes=2 if precision == "bfloat16" else 4,
    )
