"""A Llama language model for training: its shape and cost, its first weights, its loss.

Names of weights and results are those of `LlamaForCausalLM` in `transformers`. torch.compile takes it whole; under
torch.autocast all but norms, rotations and the softmax is in the lower precision, the residual stream too; weights
keep theirs. Ids are in reading order. It also reads vectors in the place of ids, and goes on from what it has read.
Knows nothing of text, files or optimisers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from refdec.errors import SettingsError
from refdec.lm.direction import Direction
from refdec.lm.engine import reads_both_ways, start_name, start_token
from refdec.lm.llama_shape import LlamaShape

SPREAD = 0.02
"""Standard deviation of the first embeddings, and of the first matrices at a width of 512."""

CPU_LOGITS, GPU_LOGITS = 1 << 22, 1 << 28
"""Logits that exist at a time: few enough for a CPU's caches, many enough to fill a GPU with one product."""

FEW_ROWS = 64
"""Rows below which it takes longer to join matrices than to multiply by each."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model, and what follows from them."""

    layers: int
    width: int
    heads: int
    inner: int  # width of the MLP
    vocabulary: int
    positions: int
    kv_heads: int = 0  # heads of keys and values; 0: as many as of queries
    head_size: int = 0  # 0: the width, shared by the heads
    tied: bool = True  # the embeddings are the output matrix too
    epsilon: float = 1e-6
    theta: float = 10_000.0  # base of the rotary positions
    start: int = 0  # the id before a document
    backward_start: int | None = None  # the id before one that is read backward, if one model reads both ways

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 0 if item.name in ("kv_heads", "head_size", "start") else 1
            if item.type == "int" and (not isinstance(value, int) or value < least):
                raise SettingsError(f"{item.name} is {value!r}; it must be a whole number, {least} or more.")
        if not self.head_size and self.width % self.heads:
            raise SettingsError(f"width is {self.width}, and {self.heads} heads do not share it evenly. Choose others.")
        object.__setattr__(self, "kv_heads", self.kv_heads or self.heads)
        object.__setattr__(self, "head_size", self.head_size or self.width // self.heads)
        if self.head_size % 2:
            raise SettingsError(f"head_size is {self.head_size}; rotary positions need an even number.")
        if self.heads % self.kv_heads:
            raise SettingsError(f"heads is {self.heads}; it must be a multiple of kv_heads, {self.kv_heads}.")
        for name, value in (("start", self.start), ("backward_start", self.backward_start)):
            if value is not None and not 0 <= value < self.vocabulary:
                raise SettingsError(f"{name} is {value}; it must be an id below the vocabulary, {self.vocabulary}.")
        if self.start == self.backward_start:
            raise SettingsError(f"start and backward_start are both {self.start}: they tell apart which way to read.")

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self | None:
        """From a config.json; None where it asks for something that this model cannot do."""
        shape = LlamaShape.of(config)
        if shape is None:
            return None
        sizes = {item.name: getattr(shape, item.name) for item in fields(cls) if hasattr(shape, item.name)}
        backward_start = start_token(config, Direction.BACKWARD) if reads_both_ways(config) else None
        return cls(**sizes, positions=shape.window, start=start_token(config), backward_start=backward_start)

    def config(self) -> dict[str, Any]:
        """The contents of a config.json."""
        sizes: dict[str, Any] = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": self.vocabulary,
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "max_position_embeddings": self.positions,
            "rms_norm_eps": self.epsilon,
            "rope_theta": self.theta,
            "tie_word_embeddings": self.tied,
            "hidden_act": "silu",
            "torch_dtype": "bfloat16",
            "bos_token_id": self.start,
            "eos_token_id": self.start,
        }
        if self.heads * self.head_size != self.width:
            sizes["head_dim"] = self.head_size
        if self.backward_start is not None:
            starts = zip(Direction, (self.start, self.backward_start), strict=True)
            sizes |= {start_name(direction): start for direction, start in starts}
        return sizes

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The size of every weight, by its name."""
        shape = LlamaShape.of(self.config())
        assert shape is not None
        return shape.sizes

    @property
    def parameters(self) -> int:
        """Trained numbers; tied embeddings count once."""
        return sum(map(math.prod, self.sizes.values()))

    def flops_per_token(self, length: int) -> float:
        """Operations per token in training, forward and backward.

        Six per entry of the matrices of the layers and of the output; embedding look-ups, norms and activations are
        not counted. Attention is causal: a token is compared with half of the sequence on average, twice (scores,
        mixing), at six per number of a head. Work that is repeated to save memory is not counted.
        """
        matrices = sum(math.prod(size) for size in self.sizes.values() if len(size) == 2)
        looked_up = 0 if self.tied else self.vocabulary * self.width
        return 6 * (matrices - looked_up) + 12 * self.layers * self.heads * self.head_size * length / 2

    def bytes_on_disk(self, int8: bool) -> int:
        """The size of an exported model, without the header (some ten thousand bytes)."""
        if not int8:
            return 2 * self.parameters
        sizes = self.sizes.values()
        return sum(math.prod(size) + 4 * size[0] if len(size) == 2 else 4 * size[0] for size in sizes)


class Past:
    """The keys and values of what a model has read, by layer: it goes on reading from there."""

    def __init__(self, layers: Sequence[tuple[Tensor, Tensor]] = ()) -> None:
        self._layers = list(layers)

    @property
    def length(self) -> int:
        return self._layers[0][0].shape[2] if self._layers else 0

    def copy(self) -> Past:
        """The same past, from which something else can be read."""
        return Past(self._layers)

    def add(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer (batch, heads, length, size), with those of new places behind them."""
        if layer == len(self._layers):
            self._layers.append((keys, values))
        else:
            before = self._layers[layer]
            self._layers[layer] = torch.cat([before[0], keys], dim=2), torch.cat([before[1], values], dim=2)
        return self._layers[layer]


class _Weight(nn.Module):
    """A parameter with the name that `transformers` gives it."""

    def __init__(self, *size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))


class _Norm(_Weight):
    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__(width)
        self._epsilon = epsilon

    def forward(self, stream: Tensor) -> Tensor:
        normed = F.rms_norm(stream.float(), self.weight.shape, self.weight.float(), self._epsilon)
        return normed.to(stream.dtype)


class _SelfAttention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
        self.q_proj = _Weight(queries, shape.width)
        self.k_proj = _Weight(keys, shape.width)
        self.v_proj = _Weight(keys, shape.width)
        self.o_proj = _Weight(shape.width, queries)
        self._heads = [shape.heads, shape.kv_heads, shape.kv_heads]
        self._size = shape.head_size

    def forward(
        self, inputs: Tensor, cosine: Tensor, sine: Tensor, mask: Tensor | None, past: Past | None, layer: int
    ) -> Tensor:
        together = _multiply(inputs, self.q_proj, self.k_proj, self.v_proj)
        queries, keys, values = together.view(*inputs.shape[:2], -1, self._size).split_with_sizes(self._heads, dim=2)
        keys, values = _rotate(keys, cosine, sine).transpose(1, 2), values.transpose(1, 2)
        if past is not None:
            keys, values = past.add(layer, keys, values)
        attended = F.scaled_dot_product_attention(
            _rotate(queries, cosine, sine).transpose(1, 2),
            keys,
            values,
            attn_mask=mask,
            is_causal=mask is None and inputs.shape[1] == keys.shape[2],
            enable_gqa=self._heads[0] != self._heads[1],
        )
        return _multiply(attended.transpose(1, 2).flatten(2), self.o_proj)


class _Inner(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = _Weight(shape.inner, shape.width)
        self.up_proj = _Weight(shape.inner, shape.width)
        self.down_proj = _Weight(shape.width, shape.inner)

    def forward(self, inputs: Tensor) -> Tensor:
        gate, up = _multiply(inputs, self.gate_proj, self.up_proj).chunk(2, dim=-1)
        return _multiply(F.silu(gate) * up, self.down_proj)


class _DecoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = _SelfAttention(shape)
        self.mlp = _Inner(shape)
        self.input_layernorm = _Norm(shape.width, shape.epsilon)
        self.post_attention_layernorm = _Norm(shape.width, shape.epsilon)

    def forward(
        self, stream: Tensor, cosine: Tensor, sine: Tensor, mask: Tensor | None, past: Past | None, layer: int
    ) -> Tensor:
        stream = stream + self.self_attn(self.input_layernorm(stream), cosine, sine, mask, past, layer)
        return stream + self.mlp(self.post_attention_layernorm(stream))  # type: ignore[no-any-return]


class _Body(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = _Weight(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(_DecoderLayer(shape) for _ in range(shape.layers))
        self.norm = _Norm(shape.width, shape.epsilon)


class Llama(nn.Module):
    """The model. Its weights are zero until `initialise` or `load_state_dict`."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, shape: Shape, *, documents: bool = False) -> None:
        """`documents`: a token sees only its document; otherwise all of the sequence before it."""
        super().__init__()
        self.shape = shape
        self._documents = documents
        self.model = _Body(shape)
        if not shape.tied:
            self.lm_head = _Weight(shape.vocabulary, shape.width)
        steps = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
        angles = torch.outer(torch.arange(shape.positions, dtype=torch.float32), 1.0 / shape.theta**steps)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    @property
    def head(self) -> nn.Parameter:
        """The output matrix (vocabulary, width)."""
        return self.model.embed_tokens.weight if self.shape.tied else self.lm_head.weight

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the first weights from a generator on the CPU: the same on every device.

        Matrices that write into the residual stream are zero, so that no layer changes anything at first; norms are
        one.
        """
        for name, weight in self.named_parameters():
            if weight.ndim == 1:
                weight.fill_(1.0)
            elif name.endswith(("o_proj.weight", "down_proj.weight")):
                weight.zero_()
            else:
                table = not name.startswith("model.layers.")
                spread = SPREAD if table else SPREAD * (512 / self.shape.width) ** 0.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread)

    def forward(self, ids: Tensor) -> Tensor:
        """Features after each id: (batch, length) to (batch, length, width)."""
        mask = document_mask(ids, self.shape.start, self.shape.backward_start) if self._documents else None
        return self.read(F.embedding(ids, self.model.embed_tokens.weight), mask)

    def read(self, vectors: Tensor, mask: Tensor | None = None, past: Past | None = None) -> Tensor:
        """Features after each of these vectors, which stand for embeddings: (batch, length, width) to the same.

        They follow the past, to which they are added. The mask (batch, 1, length, past and length), of bool, says what
        each sees; without one each sees all before it, and after a past they come one at a time.
        """
        begin = 0 if past is None else past.length
        end = begin + vectors.shape[1]
        if end > self.shape.positions:
            raise ValueError(f"A sequence of {end} ids was given to a model of {self.shape.positions} positions.")
        cosine, sine = self.cosine[begin:end, None], self.sine[begin:end, None]
        stream = vectors.to(_precision(vectors.device))
        for number, layer in enumerate(self.model.layers):
            stream = layer(stream, cosine, sine, mask, past, number)
        features: Tensor = self.model.norm(stream)
        return features

    def loss(self, ids: Tensor, targets: Tensor, counted: Tensor | None = None) -> Tensor:
        """Mean nats per target; targets are (batch, length) as ids are, and so is which of them count, of bool."""
        if not torch.is_grad_enabled():
            losses = self.losses(ids, targets)
            return (losses if counted is None else losses[counted]).mean()
        if counted is None:
            return self._surprise(self(ids), targets)
        return self._surprise(self(ids)[counted], targets[counted])

    def divergence(self, ids: Tensor, features: Tensor, head: Tensor) -> Tensor:
        """Mean nats per token by which the model departs from another: the KL divergence from that to this one.

        The other model is given by its features after each id and its output matrix.
        """
        return self._surprise(self(ids), features, head)

    def _surprise(self, own: Tensor, wanted: Tensor, head: Tensor | None = None) -> Tensor:
        rows = own.reshape(-1, own.shape[-1])
        goals = wanted.reshape(len(rows), *wanted.shape[own.ndim - 1 :])
        total: Tensor = _Surprise.apply(rows, self.head, goals, head)  # type: ignore[no-untyped-call]
        return total / len(rows)

    @torch.no_grad()
    def losses(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Nats of each target, (batch, length), without gradients; logits are always in float32."""
        features, weight = self(ids).flatten(0, 1), self.head.float()
        with torch.autocast(ids.device.type, enabled=False):
            parts = [
                F.cross_entropy(F.linear(rows.float(), weight), wanted, reduction="none")
                for rows, wanted in _pieces(features, targets.flatten(), len(weight))
            ]
        return torch.cat(parts).view(targets.shape)

    def mean_loss(self, windows: Tensor, rows: int) -> float:
        """Nats per token of windows (count, length + 1) in reading order, computed so many rows at a time."""
        parts = (part.to(self.head.device) for part in torch.split(windows, rows))
        total = sum(float(self.losses(part[:, :-1], part[:, 1:]).cpu().double().sum()) for part in parts)
        return total / windows[:, 1:].numel()

    def logits(self, ids: Tensor) -> Tensor:
        """(batch, length, vocabulary), all at once: for a few sequences."""
        return F.linear(self(ids).float(), self.head.float())


class _Surprise(torch.autograd.Function):
    """The summed cross-entropy of a linear head, or its divergence from another, in pieces: few logits at a time.

    `wanted` is targets, or the features of the other model, whose head is `other`. The gradients of a piece are
    computed right after its logits, which are then dropped: the backward pass only scales. Products are in the
    precision of the features; the softmax and sums over pieces are in float32.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, wanted: Tensor, other: Tensor | None) -> Tensor:
        matrix = weight.to(features.dtype)
        entries = torch.arange(len(weight), device=features.device)
        total = torch.zeros((), device=features.device)
        by_weight = torch.zeros_like(weight, dtype=torch.float32)
        by_features = []
        for rows, goal in _pieces(features, wanted, len(weight)):
            scores = F.linear(rows, matrix).float().log_softmax(-1)
            if other is None:
                shares = (entries == goal[:, None]).float()
                total = total - scores.gather(1, goal[:, None]).sum()
            else:
                goals = F.linear(goal, other.to(goal.dtype)).float().log_softmax(-1)
                shares = goals.exp()
                total = total + (shares * (goals - scores)).sum()
            error = (scores.exp() - shares).to(features.dtype)
            by_features.append(error @ matrix)
            by_weight = by_weight + (error.t() @ rows).float()
        ctx.save_for_backward(torch.cat(by_features), by_weight.to(weight.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, *scale: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_features, by_weight = ctx.saved_tensors
        return by_features * scale[0], by_weight * scale[0], None, None


def document_mask(ids: Tensor, start: int = 0, backward_start: int | None = None) -> Tensor:
    """Which ids each id sees inside its document: (batch, length) to (batch, 1, length, length), of bool.

    A document begins with the id `start`; one that is read backward may begin with another.
    """
    begins = ids == start if backward_start is None else (ids == start) | (ids == backward_start)
    number = begins.cumsum(1)
    return (number[:, None, :, None] == number[:, None, None, :]).tril()


def _pieces(features: Tensor, targets: Tensor, vocabulary: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows and what belongs to each, in pieces."""
    rows = max(1, (CPU_LOGITS if features.device.type == "cpu" else GPU_LOGITS) // vocabulary)
    return zip(torch.split(features, rows), torch.split(targets, rows), strict=True)


def _precision(device: torch.device) -> torch.dtype:
    """The precision of the residual stream and of products."""
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    return torch.float32


def _multiply(inputs: Tensor, *parts: _Weight) -> Tensor:
    """Multiply by several matrices at once: one product is faster than several, but not for few rows."""
    weights = [part.weight.to(inputs.dtype) for part in parts]
    if inputs.shape[0] * inputs.shape[1] < FEW_ROWS:
        return torch.cat([F.linear(inputs, weight) for weight in weights], dim=-1)
    return F.linear(inputs, weights[0] if len(weights) == 1 else torch.cat(weights))


def _rotate(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions: (batch, length, heads, size), with tables (length, 1, size / 2)."""
    first, second = heads.float().chunk(2, dim=-1)
    turned = torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
    return turned.to(heads.dtype)
