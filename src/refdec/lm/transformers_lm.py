"""A `transformers` causal language model behind the `LanguageModel` protocol.

Knows ids, caches, devices and dtypes. Knows nothing of text, of files, or of what the ids are for.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from refdec.lm.cost import Cost, Work
from refdec.lm.direction import Direction
from refdec.lm.head import Head, IdentityHead, LinearHead
from refdec.lm.linear import FloatLinear
from refdec.lm.logprobs import chosen_logprobs
from refdec.lm.protocol import ExtendingWriter, Reading, Writer, checked_reading

FALLBACK_WINDOW = 1024
"""The number of positions of models whose configuration does not say it."""


class _GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """Keys and values of one layer, in a buffer with room to grow.

    A step writes its own column instead of copying the whole past. Several readings may share a buffer: one that does
    not end where the buffer does copies it before it writes, so that no reading changes another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.buffer: _LayerBuffer | None = None
        self.length = 0

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        needed = self.length + key_states.shape[-2]
        buffer = self.buffer
        if buffer is None or buffer.filled != self.length or buffer.capacity < needed:
            buffer = _LayerBuffer(key_states, value_states, capacity=needed + max(16, needed // 2))
            if self.length:
                buffer.keys[:, :, : self.length] = self.keys
                buffer.values[:, :, : self.length] = self.values
        buffer.keys[:, :, self.length : needed] = key_states
        buffer.values[:, :, self.length : needed] = value_states
        buffer.filled = needed
        return self._point(buffer, needed)

    def _point(self, buffer: _LayerBuffer, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        self.buffer, self.length, self.is_initialized = buffer, length, True
        self.dtype, self.device = buffer.keys.dtype, buffer.keys.device
        self.keys, self.values = buffer.keys[:, :, :length], buffer.values[:, :, :length]
        return self.keys, self.values

    def fork(self) -> _GrowingLayer:
        layer = _GrowingLayer()
        if self.buffer is not None:
            layer._point(self.buffer, self.length)
        return layer

    def select(self, rows: torch.Tensor) -> _GrowingLayer:
        layer = _GrowingLayer()
        if self.buffer is not None:
            layer.update(self.keys.index_select(0, rows), self.values.index_select(0, rows))
        return layer


class _LayerBuffer:
    """Keys and values of a layer, (rows, kv heads, capacity, head size); `filled` places are written."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, capacity: int) -> None:
        self.capacity = capacity
        self.filled = 0
        self.keys = keys.new_empty(*keys.shape[:2], capacity, keys.shape[-1])
        self.values = values.new_empty(*values.shape[:2], capacity, values.shape[-1])


@dataclass(frozen=True, slots=True)
class _CachedReading:
    layers: tuple[_GrowingLayer, ...]
    padding: torch.Tensor | None  # (rows,) places of padding before each prefix; None where there is none
    length: int  # places read, padding included
    features: torch.Tensor

    def select(self, rows: torch.Tensor) -> _CachedReading:
        return _CachedReading(
            layers=tuple(layer.select(rows) for layer in self.layers),
            padding=None if self.padding is None else self.padding.index_select(0, rows),
            length=self.length,
            features=self.features.index_select(0, rows),
        )


class TransformersLM:
    """Any `transformers` causal LM with an attention cache, reading in one direction."""

    def __init__(self, model: PreTrainedModel, direction: Direction, start_token: int) -> None:
        self._model = model.eval()
        self.direction, self.start = direction, start_token
        config = model.config.get_text_config()
        self.vocabulary = int(config.vocab_size)
        self._positions = int(getattr(config, "max_position_embeddings", None) or FALLBACK_WINDOW)
        self.window = self._positions - 1  # one place is the start token's
        self._layer_count = int(config.num_hidden_layers)
        self._can_keep = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._body = getattr(model, "hidden", model.base_model)
        self._linear = _linear_head(model, self._body, start_token)
        self.head: Head = IdentityHead() if self._linear is None else LinearHead(*self._linear)
        self._to_logits = None if self._linear is None else FloatLinear(self._linear[0])
        self.work = Work()

    @property
    def device(self) -> torch.device:
        return torch.device(self._model.device)

    @property
    def precision(self) -> str:
        return str(self._model.dtype).removeprefix("torch.")

    @cached_property
    def cost(self) -> Cost:
        size = self._model.dtype.itemsize
        return Cost.of(self._model.config.to_dict(), size, size)

    @torch.inference_mode()
    def read(self, prefixes: Sequence[Sequence[int]]) -> _CachedReading:
        longest = max(len(prefix) for prefix in prefixes)
        padding = [longest - len(prefix) for prefix in prefixes]
        # Padding goes before the start token, so that every prefix begins as a document does.
        rows = [[self.start] * (pad + 1) + list(prefix) for pad, prefix in zip(padding, prefixes, strict=True)]
        empty = _CachedReading(
            layers=tuple(_GrowingLayer() for _ in range(self._layer_count)),
            padding=torch.tensor(padding, device=self.device) if any(padding) else None,
            length=0,
            features=torch.empty(len(rows), 0),
        )
        features, layers = self._run(empty, torch.tensor(rows, device=self.device), keep=1)
        return _CachedReading(layers, empty.padding, longest + 1, features[:, -1])

    @torch.inference_mode()
    def extend(self, reading: Reading, tokens: torch.Tensor) -> _CachedReading:
        past = checked_reading(reading, _CachedReading)
        features, layers = self._run(past, tokens[:, None], keep=1)
        return _CachedReading(layers, past.padding, past.length + 1, features[:, -1])

    def writer(self, reading: Reading, steps: int) -> Writer:  # noqa: ARG002
        return ExtendingWriter(self, reading)

    @torch.inference_mode()
    def features(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        first = reading.features[:, None]
        if tokens.shape[1] == 1:
            return first
        rest, _ = self._run(checked_reading(reading, _CachedReading), tokens[:, :-1], keep=tokens.shape[1] - 1)
        return torch.cat([first, rest], dim=1)

    @torch.inference_mode()
    def logits(self, features: torch.Tensor) -> torch.Tensor:
        if self._linear is None or self._to_logits is None:
            return features
        _, bias = self._linear
        flat = features.reshape(-1, features.shape[-1])
        self.work += Work(head_tokens=len(flat))
        logits = self._to_logits.in_float32(flat)
        return (logits if bias is None else logits + bias.float()).view(*features.shape[:-1], -1)

    @torch.inference_mode()
    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        return chosen_logprobs(self, self.features(reading, tokens), tokens)

    def remember(self, prefix: Sequence[int]) -> None:
        """Nothing is kept: `transformers` has no prefixes that rows share, so a copy per row would save little."""

    def release(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _run(
        self, past: _CachedReading, tokens: torch.Tensor, keep: int
    ) -> tuple[torch.Tensor, tuple[_GrowingLayer, ...]]:
        """Features at the last `keep` places, and the cache after these tokens."""
        cache = DynamicCache()
        cache.layers = [layer.fork() for layer in past.layers]
        total = past.length + tokens.shape[1]
        options: dict[str, Any] = {}
        if past.padding is not None or total > self._positions:
            padding = torch.zeros_like(tokens[:, 0]) if past.padding is None else past.padding
            index = torch.arange(total, device=self.device)
            options["attention_mask"] = (index[None] >= padding[:, None]).long()
            # Rows are as long as the longest of a batch: places behind a row's own end may lie beyond the window.
            options["position_ids"] = (index[None, past.length :] - padding[:, None]).clamp(0, self.window)
        self.work += Work(
            tokens=tokens.numel(),
            attended=tokens.numel() * (past.length + (tokens.shape[1] + 1) // 2),
            cached=len(tokens) * past.length,
            passes=1,
        )
        if self._linear is not None:
            features = self._body(input_ids=tokens, past_key_values=cache, use_cache=True, **options).last_hidden_state
        else:
            if self._can_keep:
                options["logits_to_keep"] = keep
            features = self._model(input_ids=tokens, past_key_values=cache, use_cache=True, **options).logits
        return features[:, -keep:].float(), tuple(cache.layers)


@torch.inference_mode()
def _linear_head(model: PreTrainedModel, body: Any, start: int) -> tuple[torch.Tensor, torch.Tensor | None] | None:
    """The output matrix and its bias; None if the logits are not simply their product with the last hidden states."""
    layer = model.get_output_embeddings()
    if body is model or not isinstance(layer, torch.nn.Linear | torch.nn.Embedding):
        return None
    probe = torch.full((1, 2), start, device=model.device)
    hidden, logits = body(input_ids=probe).last_hidden_state, model(input_ids=probe).logits
    bias = getattr(layer, "bias", None)
    product = torch.nn.functional.linear(hidden, layer.weight, bias)
    if product.shape != logits.shape or not torch.allclose(product.float(), logits.float(), rtol=1e-2, atol=1e-2):
        return None
    return layer.weight.detach(), None if bias is None else bias.detach()
