"""Our own engine: a Llama-shaped language model behind the `LanguageModel` protocol.

A prefix is read once and shared: a reading is a set of prefixes, an index that says which of them each row continues,
and each row's tail after it. Selecting rows copies the index and the tails, not the prefixes. Knows ids, caches,
devices and precisions; knows nothing of text, of files, or of what the ids are for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from refdec.errors import ModelError
from refdec.lm import plain
from refdec.lm.cost import Cost, Sizes, Work
from refdec.lm.direction import Direction
from refdec.lm.graph import Graphs, GraphWriter
from refdec.lm.head import LinearHead
from refdec.lm.linear import FloatLinear, Linear, Stored, make_linear
from refdec.lm.logprobs import chosen_logprobs
from refdec.lm.operations import operations
from refdec.lm.prefix_cache import Prefix, SharedRows, Tail
from refdec.lm.protocol import ExtendingWriter, Reading, Writer, checked_reading

SIZES = (
    "num_attention_heads",
    "hidden_size",
    "num_hidden_layers",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)


@dataclass(frozen=True, slots=True)
class LlamaShape(Sizes):
    """The sizes and constants in config.json."""

    window: int
    epsilon: float
    theta: float
    tied: bool = False  # the output matrix is that of the embeddings

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> LlamaShape | None:
        """The shape, or None if the configuration needs something that this engine does not have."""
        usual = config.get("model_type") == "llama" and config.get("hidden_act", "silu") == "silu"
        rotary = config.get("rope_parameters") or config.get("rope_scaling") or {}
        plain_rotary = rotary.get("rope_type", rotary.get("type", "default")) == "default"
        if not usual or not plain_rotary or config.get("attention_bias") or config.get("mlp_bias"):
            return None
        for name in SIZES:
            if not isinstance(config.get(name), int):
                raise ModelError(
                    f"config.json of a llama model says that {name} is {config.get(name)!r}, which should be a whole "
                    "number. Fetch the model again."
                )
        heads, width = int(config["num_attention_heads"]), int(config["hidden_size"])
        return cls(
            layers=int(config["num_hidden_layers"]),
            width=width,
            inner=int(config["intermediate_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or width // heads),
            vocabulary=int(config["vocab_size"]),
            window=int(config["max_position_embeddings"]),
            epsilon=float(config.get("rms_norm_eps", 1e-6)),
            theta=float(rotary.get("rope_theta") or config.get("rope_theta") or 10000.0),
            tied=bool(config.get("tie_word_embeddings")),
        )

    def lacking(self, shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
        """Names of the tensors of this shape that are missing or have another size."""
        return [name for name, size in self.sizes.items() if shapes.get(name) != size]

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The size of every tensor, by its name."""
        width, inner = self.width, self.inner
        queries, keys = self.heads * self.head_size, self.kv_heads * self.head_size
        each = {
            "input_layernorm": (width,),
            "self_attn.q_proj": (queries, width),
            "self_attn.k_proj": (keys, width),
            "self_attn.v_proj": (keys, width),
            "self_attn.o_proj": (width, queries),
            "post_attention_layernorm": (width,),
            "mlp.gate_proj": (inner, width),
            "mlp.up_proj": (inner, width),
            "mlp.down_proj": (width, inner),
        }
        sizes: dict[str, tuple[int, ...]] = {
            f"model.layers.{number}.{name}.weight": size for number in range(self.layers) for name, size in each.items()
        }
        sizes |= {"model.embed_tokens.weight": (self.vocabulary, width), "model.norm.weight": (width,)}
        if not self.tied:
            sizes["lm_head.weight"] = (self.vocabulary, width)
        return sizes


@dataclass(frozen=True, slots=True)
class _LoadedLayer:
    attention_norm: torch.Tensor
    qkv: Linear
    output: Linear
    inner_norm: torch.Tensor
    gate_up: Linear
    down: Linear


class _TailBuffer:
    """Keys and values of tails, (layers, rows, kv heads, capacity, head size); `filled` places are written."""

    def __init__(self, like: torch.Tensor, rows: int, capacity: int) -> None:
        layers, _, kv_heads, _, size = like.shape
        self.capacity, self.filled = capacity, 0
        self.keys, self.values = like.new_empty(2, layers, rows, kv_heads, capacity, size)

    def copy(self, filled: int, capacity: int, rows: torch.Tensor | None = None) -> _TailBuffer:
        """The first places of all rows, or of some, in a new buffer with room for more."""
        parts = [part[..., :filled, :] for part in (self.keys, self.values)]
        if rows is not None:
            parts = [part.index_select(1, rows) for part in parts]
        copy = _TailBuffer(self.keys, parts[0].shape[1], capacity)
        copy.keys[..., :filled, :], copy.values[..., :filled, :] = parts
        copy.filled = filled
        return copy


@dataclass(frozen=True)
class _SharedReading:
    prefix_keys: torch.Tensor  # (layers, prefixes, kv heads, places, head size)
    prefix_values: torch.Tensor
    rows: SharedRows  # which prefix each row continues, and how long the prefixes are
    features: torch.Tensor
    tail: _TailBuffer | None = None
    filled: int = 0

    def select(self, rows: torch.Tensor) -> _SharedReading:
        shared = SharedRows.of(self.rows.index.index_select(0, rows), self.rows.lengths)
        tail = self.tail and self.tail.copy(self.filled, _room(self.filled), rows)
        features = self.features.index_select(0, rows)
        return _SharedReading(self.prefix_keys, self.prefix_values, shared, features, tail, self.filled)

    @property
    def places(self) -> torch.Tensor:
        """The position of each row's next token."""
        return self.rows.lengths[self.rows.index] + self.filled

    @property
    def seen(self) -> int:
        return self.prefix_keys.shape[-2] + self.filled


def _room(filled: int) -> int:
    return filled + max(16, filled // 2)


Attention = Callable[[int, torch.Tensor], torch.Tensor]
"""From the number of a layer, and queries, keys and values side by side, to the output of its attention."""


class LlamaLM:
    """A Llama-shaped model that reads in one direction, in float32, bfloat16 or int8."""

    def __init__(
        self,
        shape: LlamaShape,
        stored: Mapping[str, Stored],
        direction: Direction,
        start_token: int,
        device: torch.device,
        precision: str,
    ) -> None:
        self.shape, self.direction, self.start, self.device = shape, direction, start_token, device
        self.vocabulary, self.window = shape.vocabulary, shape.window - 1  # one place is the start token's
        self.precision = precision
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self.ops = operations(device)
        embedding = stored["model.embed_tokens.weight"]
        output = embedding if shape.tied else stored["lm_head.weight"]
        self._embedding = embedding.float().to(device, torch.float32)
        self.head = LinearHead(self._embedding if output is embedding else output.float().to(device))
        self._to_logits = make_linear([output], precision, device)
        self._final_norm = stored["model.norm.weight"].float().to(device)
        self._layers = [
            _load_layer(stored, f"model.layers.{number}.", precision, device) for number in range(shape.layers)
        ]
        self._cosine, self._sine = _rotary_tables(shape, device)
        self.cost = Cost(
            **{size.name: getattr(shape, size.name) for size in fields(Sizes)},
            matrices=3,
            parameter_bytes={"int8": 1, "bfloat16": 2}.get(precision, 4),
            element_bytes=self.dtype.itemsize,
        )
        self.work = Work()
        self._graphs = None if self.ops is plain else Graphs(self)  # plain operations read from the device as they go

    @torch.inference_mode()
    def read(self, prefixes: Sequence[Sequence[int]]) -> _SharedReading:
        lengths = [len(prefix) + 1 for prefix in prefixes]
        count, longest = len(lengths), max(lengths)
        # Rows are filled up behind their prefixes: attention is causal, so that changes nothing before it.
        rows = np.full((count, longest), self.start)
        for row, prefix in zip(rows, prefixes, strict=True):
            row[1 : len(prefix) + 1] = prefix
        positions = torch.arange(longest, device=self.device).repeat(count)
        kept: list[tuple[torch.Tensor, torch.Tensor]] = []

        def attention(_: int, qkv: torch.Tensor) -> torch.Tensor:
            self.rotate(qkv, positions)
            queries, keys, values = self.split(qkv, count)
            kept.append((keys.contiguous(), values.contiguous()))
            return self.attend(queries, None, Tail(keys, values, longest))

        features = self.run(torch.from_numpy(rows).to(self.device), attention).view(count, longest, -1)
        self._count(count * longest, sum(size * (size + 1) // 2 for size in lengths), 0)
        index, sizes = torch.arange(count, device=self.device), torch.tensor(lengths, device=self.device)
        keys, values = (torch.stack(part) for part in zip(*kept, strict=True))
        return _SharedReading(keys, values, SharedRows.of(index, sizes), features[index, sizes - 1])

    @torch.inference_mode()
    def extend(self, reading: Reading, tokens: torch.Tensor) -> _SharedReading:
        past = checked_reading(reading, _SharedReading)
        buffer = past.tail or _TailBuffer(past.prefix_keys, len(tokens), _room(0))
        if buffer.filled != past.filled or buffer.capacity == past.filled:
            buffer = buffer.copy(past.filled, _room(past.filled + 1))
        features = self._run_after(past, tokens[:, None], buffer)
        buffer.filled = past.filled + 1
        shared = (past.prefix_keys, past.prefix_values, past.rows)
        return _SharedReading(*shared, features[:, 0], buffer, buffer.filled)

    @torch.inference_mode()
    def writer(self, reading: Reading, steps: int) -> Writer:
        if self._graphs is None:
            return ExtendingWriter(self, reading)
        past = checked_reading(reading, _SharedReading)
        if past.tail is not None:
            raise ValueError("A writer can only begin at the end of prefixes that were not extended.")
        return GraphWriter(self._graphs, (past.prefix_keys, past.prefix_values, past.rows), past.features, steps)

    @torch.inference_mode()
    def features(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        past, length = checked_reading(reading, _SharedReading), tokens.shape[1] - 1
        first = past.features[:, None]
        if not length:
            return first
        buffer = past.tail and past.tail.copy(past.filled, past.filled + length)
        return torch.cat([first, self._run_after(past, tokens[:, :-1], buffer)], dim=1)

    def _run_after(self, past: _SharedReading, tokens: torch.Tensor, buffer: _TailBuffer | None) -> torch.Tensor:
        """Features after tokens that follow a reading, (rows, n, width); their keys and values go to the buffer."""
        count, length = tokens.shape
        # Rows are as long as the longest of a batch: places behind a row's own end may lie beyond the window.
        positions = (past.places[:, None] + torch.arange(length, device=self.device)).flatten()
        positions = positions.clamp(max=self.shape.window - 1)
        end = past.filled + length

        def attention(number: int, qkv: torch.Tensor) -> torch.Tensor:
            self.rotate(qkv, positions)
            queries, keys, values = self.split(qkv, count)
            if buffer is not None:
                buffer.keys[number][:, :, past.filled : end] = keys
                buffer.values[number][:, :, past.filled : end] = values
                keys, values = buffer.keys[number][:, :, :end], buffer.values[number][:, :, :end]
            prefix = Prefix(past.prefix_keys[number], past.prefix_values[number], past.rows)
            return self.attend(queries, prefix, Tail(keys, values, end))

        features = self.run(tokens, attention)
        self._count(count * length, count * length * (past.seen + (length + 1) // 2), count * past.seen)
        return features.view(count, length, -1)

    @torch.inference_mode()
    def logits(self, features: torch.Tensor) -> torch.Tensor:
        flat = features.reshape(-1, features.shape[-1])
        self.work += Work(head_tokens=len(flat))
        to_logits = self._to_logits
        logits = to_logits.in_float32(flat) if isinstance(to_logits, FloatLinear) else to_logits(flat)
        return logits.view(*features.shape[:-1], -1)

    @torch.inference_mode()
    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        return chosen_logprobs(self, self.features(reading, tokens), tokens)

    def run(self, tokens: torch.Tensor, attention: Attention) -> torch.Tensor:
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

    def release(self) -> None:
        if self._graphs is not None:
            self._graphs.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _count(self, tokens: int, attended: int, cached: int) -> None:
        self.work += Work(tokens=tokens, attended=attended, cached=cached, passes=1)


def _load_layer(stored: Mapping[str, Stored], home: str, precision: str, device: torch.device) -> _LoadedLayer:
    def norm(name: str) -> torch.Tensor:
        return stored[f"{home}{name}.weight"].float().to(device)

    def linear(*names: str) -> Linear:
        return make_linear([stored[f"{home}{name}_proj.weight"] for name in names], precision, device)

    return _LoadedLayer(
        attention_norm=norm("input_layernorm"),
        qkv=linear("self_attn.q", "self_attn.k", "self_attn.v"),
        output=linear("self_attn.o"),
        inner_norm=norm("post_attention_layernorm"),
        gate_up=linear("mlp.gate", "mlp.up"),
        down=linear("mlp.down"),
    )


def _rotary_tables(shape: LlamaShape, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    steps = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
    angles = torch.outer(torch.arange(shape.window, dtype=torch.float32), 1.0 / shape.theta**steps)
    return angles.cos().to(device), angles.sin().to(device)
