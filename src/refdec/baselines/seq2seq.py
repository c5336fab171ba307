"""A small encoder-decoder (Transformer) that can copy: what all trained paraphrasers here are made of.

Works on padded ids. Knows nothing of text, of training, or of how a text is searched for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, log_softmax, logsigmoid, scaled_dot_product_attention

from refdec.errors import ModelError

END, PAD, START, MASK = range(4)
"""Ids of the special entries that every tokenizer here begins with."""

KeysValues = tuple[Tensor, Tensor]
"""Keys and values, (rows, heads, positions, size)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a model must be built with again."""

    vocabulary: int
    layers: int  # of the encoder, and as many of the decoder
    width: int
    heads: int
    inner: int  # width inside an MLP
    positions: int  # tokens of a text, at most
    copying: bool = False  # whether the decoder may copy tokens of the source
    dropout: float = 0.0  # only while the model learns

    @classmethod
    def of(cls, values: dict[str, Any]) -> Shape:
        """The shape that a card gives."""
        try:
            return cls(**values)
        except TypeError as error:
            raise ModelError("The card of the method does not fit this version of refdec. Train it again.") from error

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Memory:
    """What the decoder knows of its sources."""

    states: Tensor  # (rows, source, width)
    is_text: Tensor  # (rows, source), false where a source is padded
    ids: Tensor  # (rows, source)
    crossed: list[KeysValues]  # of each layer of the decoder
    copy_keys: Tensor | None

    def at(self, rows: Tensor) -> Memory:
        """The same for other rows: some left out, some several times."""
        crossed = [(keys[rows], values[rows]) for keys, values in self.crossed]
        copy_keys = None if self.copy_keys is None else self.copy_keys[rows]
        return Memory(self.states[rows], self.is_text[rows], self.ids[rows], crossed, copy_keys)


class Dropout(nn.Module):
    """Dropout whose draws come from a generator that is handed in, so that no global one is touched."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or not self.share or self.generator is None:
            return states
        kept = torch.empty(states.shape, dtype=states.dtype, device=states.device)
        kept.bernoulli_(1 - self.share, generator=self.generator)
        return states * kept / (1 - self.share)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def keys_values(self, states: Tensor) -> KeysValues:
        return self._split(self.key(states)), self._split(self.value(states))

    def forward(self, states: Tensor, read: KeysValues, mask: Tensor | None, causal: bool = False) -> Tensor:
        """States that attend to keys and values; `mask` is true where they may."""
        mixed = scaled_dot_product_attention(self._split(self.query(states)), *read, attn_mask=mask, is_causal=causal)
        joined: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return joined

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


class Layer(nn.Module):
    """A layer of the encoder, or with `crossing` one of the decoder; norms come first."""

    def __init__(self, shape: Shape, crossing: bool) -> None:
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(shape.width), Attention(shape.width, shape.heads)
        if crossing:
            self.cross_norm, self.cross = nn.RMSNorm(shape.width), Attention(shape.width, shape.heads)
        self.inner_norm = nn.RMSNorm(shape.width)
        self.up = nn.Linear(shape.width, shape.inner, bias=False)
        self.down = nn.Linear(shape.inner, shape.width, bias=False)
        self.dropout = Dropout(shape.dropout)

    def encode(self, states: Tensor, mask: Tensor) -> Tensor:
        normed = self.attention_norm(states)
        states = states + self.dropout(self.attention(normed, self.attention.keys_values(normed), mask))
        return self._inner(states)

    def decode(
        self, states: Tensor, crossed: KeysValues, mask: Tensor, before: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """States of all positions where there are none before, else of one more; and the keys and values so far."""
        normed = self.attention_norm(states)
        keys, values = self.attention.keys_values(normed)
        if before is not None:
            keys, values = torch.cat([before[0], keys], 2), torch.cat([before[1], values], 2)
        states = states + self.dropout(self.attention(normed, (keys, values), None, causal=before is None))
        states = states + self.dropout(self.cross(self.cross_norm(states), crossed, mask))
        return self._inner(states), (keys, values)

    def _inner(self, states: Tensor) -> Tensor:
        mixed: Tensor = states + self.dropout(self.down(gelu(self.up(self.inner_norm(states)))))
        return mixed


class Seq2Seq(nn.Module):
    """Source ids in, log-probabilities of target ids out. One table of vectors for both and for the output."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.encoder = nn.ModuleList(Layer(shape, crossing=False) for _ in range(shape.layers))
        self.decoder = nn.ModuleList(Layer(shape, crossing=True) for _ in range(shape.layers))
        self.memory_norm, self.final_norm = nn.RMSNorm(shape.width), nn.RMSNorm(shape.width)
        self.dropout = Dropout(shape.dropout)
        if shape.copying:
            self.copy_query = nn.Linear(shape.width, shape.width, bias=False)
            self.copy_key = nn.Linear(shape.width, shape.width, bias=False)
            self.copy_gate = nn.Linear(shape.width, 1)
        self.register_buffer("places", _places(shape.positions + 2, shape.width), persistent=False)

    def initialise(self, generator: torch.Generator) -> None:
        """Random first weights. What is added to the states starts small, and so do the vectors of tokens: the first
        guess must not be the token just read, which has the same vector as the output.
        """
        for name, tensor in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(tensor)
            elif tensor.ndim > 1:
                scale = 0.2 if name.endswith(("out.weight", "down.weight", "embed_tokens.weight")) else 1.0
                nn.init.normal_(tensor, 0.0, scale * tensor.shape[-1] ** -0.5, generator=generator)

    def draw_from(self, generator: torch.Generator) -> None:
        """What dropout draws from."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.generator = generator

    def encode(self, ids: Tensor) -> Tensor:
        """States of sources, (rows, source, width)."""
        mask = (ids != PAD)[:, None, None, :]
        states = self._embedded(ids, 0)
        for layer in self.encoder:
            states = layer.encode(states, mask)  # type: ignore[operator]
        normed: Tensor = self.memory_norm(states)
        return normed

    def remember(self, ids: Tensor, states: Tensor) -> Memory:
        """Prepare states of sources for the decoder."""
        crossed = [layer.cross.keys_values(states) for layer in self.decoder]  # type: ignore[union-attr, operator]
        copy_keys = self.copy_key(states) if self.shape.copying else None
        return Memory(states, ids != PAD, ids, crossed, copy_keys)

    def decode(
        self, inputs: Tensor, memory: Memory, before: Sequence[KeysValues] = ()
    ) -> tuple[Tensor, list[KeysValues]]:
        """States of the inputs, which begin with START, or of one more input after those `before`."""
        mask = memory.is_text[:, None, None, :]
        states = self._embedded(inputs, before[0][0].shape[2] if before else 0)
        after = []
        for number, layer in enumerate(self.decoder):
            earlier = before[number] if before else None
            states, read = layer.decode(states, memory.crossed[number], mask, earlier)  # type: ignore[operator]
            after.append(read)
        return self.final_norm(states), after

    def logprobs(self, states: Tensor, memory: Memory) -> Tensor:
        """Log-probabilities of every id after each state, (rows, positions, vocabulary)."""
        written = log_softmax(self._logits(states), -1)
        if memory.copy_keys is None:
            return written
        gate = self._gate(states)
        copied = self._copied(states, memory).exp()
        spread = torch.zeros_like(written).scatter_add_(
            -1, memory.ids[:, None, :].expand(-1, states.shape[1], -1), copied
        )
        return torch.logaddexp(logsigmoid(gate) + written, logsigmoid(-gate) + spread.clamp(min=1e-30).log())

    def label_logprobs(self, states: Tensor, memory: Memory, labels: Tensor) -> Tensor:
        """Log-probabilities of these ids alone, (rows, positions): what `logprobs` has for them, with less memory."""
        logits = self._logits(states)
        written = logits.gather(-1, labels[..., None])[..., 0] - logits.logsumexp(-1)
        if memory.copy_keys is None:
            return written
        gate = self._gate(states)[..., 0]
        is_label = memory.ids[:, None, :] == labels[..., None]
        copied = (self._copied(states, memory).exp() * is_label).sum(-1)
        return torch.logaddexp(logsigmoid(gate) + written, logsigmoid(-gate) + copied.clamp(min=1e-30).log())

    def loss(self, labels: Tensor, memory: Memory, inputs: Tensor | None = None) -> Tensor:
        """Mean nats per label; `inputs` are what the decoder reads instead of the labels before."""
        states, _ = self.decode(shifted(labels) if inputs is None else inputs, memory)
        is_text = labels != PAD
        logprobs = torch.where(is_text, self.label_logprobs(states, memory, labels), 0.0)  # padding is never said
        return -logprobs.sum() / is_text.sum()

    def _embedded(self, ids: Tensor, first: int) -> Tensor:
        places: Tensor = self.places[first : first + ids.shape[1]]  # type: ignore[index]
        states: Tensor = self.dropout(self.embed_tokens(ids) * math.sqrt(self.shape.width) + places)
        return states

    def _logits(self, states: Tensor) -> Tensor:
        logits = (states @ self.embed_tokens.weight.T).float()
        logits[..., [PAD, START, MASK]] = -torch.inf
        return logits

    def _gate(self, states: Tensor) -> Tensor:
        gate: Tensor = self.copy_gate(states).float()
        return gate

    def _copied(self, states: Tensor, memory: Memory) -> Tensor:
        """Log-probabilities of the tokens of the source to be copied, (rows, positions, source)."""
        assert memory.copy_keys is not None
        scores = (self.copy_query(states) @ memory.copy_keys.mT).float() / math.sqrt(self.shape.width)
        return log_softmax(scores.masked_fill(~memory.is_text[:, None, :], -torch.inf), -1)


def shifted(labels: Tensor) -> Tensor:
    """What the decoder reads where it is to say the labels: START, and all of them but the last."""
    return torch.cat([torch.full_like(labels[:, :1], START), labels[:, :-1]], 1)


def padded(rows: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Tensor:
    """Rows of ids as one tensor, filled up with PAD."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (length - len(row))] for row in rows], device=device)


def _places(positions: int, width: int) -> Tensor:
    """Sines and cosines of positions (Vaswani et al. 2017)."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(positions)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]
