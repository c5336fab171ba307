"""A `transformers` causal language model behind the `LanguageModel` protocol.

Knows ids, caches, devices and dtypes. Knows nothing of text, of files, or of what the ids are for.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from refdec.lm.direction import Direction
from refdec.lm.protocol import Reading

FALLBACK_WINDOW = 1024
"""For models whose configuration names no number of positions."""


class _GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """Keys and values of one layer, in a buffer with room to grow.

    A step writes its own column instead of copying the whole past. The buffer may be shared by several
    readings: one that is not at its end copies before it writes, so that no reading changes under another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.buffer: _Buffer | None = None
        self.length = 0

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        needed = self.length + key_states.shape[-2]
        buffer = self.buffer
        if buffer is None or buffer.filled != self.length or buffer.capacity < needed:
            buffer = _Buffer(key_states, value_states, capacity=needed + max(16, needed // 2))
            if self.length:
                buffer.keys[:, :, : self.length] = self.keys
                buffer.values[:, :, : self.length] = self.values
        buffer.keys[:, :, self.length : needed] = key_states
        buffer.values[:, :, self.length : needed] = value_states
        buffer.filled = needed
        return self._point(buffer, needed)

    def _point(self, buffer: _Buffer, length: int) -> tuple[torch.Tensor, torch.Tensor]:
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
            keys, values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
            layer.update(keys, values)
        return layer


class _Buffer:
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
    next_logprobs: torch.Tensor

    def select(self, rows: torch.Tensor) -> _CachedReading:
        return _CachedReading(
            layers=tuple(layer.select(rows) for layer in self.layers),
            padding=None if self.padding is None else self.padding.index_select(0, rows),
            length=self.length,
            next_logprobs=self.next_logprobs.index_select(0, rows),
        )


class TransformersLM:
    """Any `transformers` causal LM with an attention cache, reading in one direction."""

    def __init__(self, model: PreTrainedModel, direction: Direction, start_token: int) -> None:
        self._model = model.eval()
        self._direction = direction
        self._start = start_token
        config = model.config.get_text_config()
        self._vocabulary = int(config.vocab_size)
        self._window = int(getattr(config, "max_position_embeddings", None) or FALLBACK_WINDOW)
        self._layer_count = int(config.num_hidden_layers)
        self._can_keep = "logits_to_keep" in inspect.signature(model.forward).parameters

    @property
    def direction(self) -> Direction:
        return self._direction

    @property
    def vocabulary(self) -> int:
        return self._vocabulary

    @property
    def window(self) -> int:
        return self._window - 1  # one place is the start token's

    @property
    def device(self) -> torch.device:
        return torch.device(self._model.device)

    @torch.inference_mode()
    def read(self, prefixes: Sequence[Sequence[int]]) -> _CachedReading:
        longest = max(len(prefix) for prefix in prefixes)
        padding = [longest - len(prefix) for prefix in prefixes]
        # Padding stands before the start token, so that every prefix begins as a document does.
        rows = [[self._start] * (pad + 1) + list(prefix) for pad, prefix in zip(padding, prefixes, strict=True)]
        empty = _CachedReading(
            layers=tuple(_GrowingLayer() for _ in range(self._layer_count)),
            padding=torch.tensor(padding, device=self.device) if any(padding) else None,
            length=0,
            next_logprobs=torch.empty(len(rows), 0),
        )
        logits, layers = self._run(empty, torch.tensor(rows, device=self.device), keep=1)
        return _CachedReading(layers, empty.padding, longest + 1, logits[:, -1].float().log_softmax(-1))

    @torch.inference_mode()
    def extend(self, reading: Reading, tokens: torch.Tensor) -> _CachedReading:
        past = _own(reading)
        logits, layers = self._run(past, tokens[:, None], keep=1)
        return _CachedReading(layers, past.padding, past.length + 1, logits[:, -1].float().log_softmax(-1))

    @torch.inference_mode()
    def distributions(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        first = reading.next_logprobs[:, None]
        if tokens.shape[1] == 1:
            return first
        logits, _ = self._run(_own(reading), tokens[:, :-1], keep=tokens.shape[1] - 1)
        return torch.cat([first, logits.float().log_softmax(-1)], dim=1)

    @torch.inference_mode()
    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        first = reading.next_logprobs.gather(1, tokens[:, :1])
        if tokens.shape[1] == 1:
            return first
        logits, _ = self._run(_own(reading), tokens[:, :-1], keep=tokens.shape[1] - 1)
        logits = logits.float()
        rest = logits.gather(2, tokens[:, 1:, None])[..., 0] - logits.logsumexp(-1)
        return torch.cat([first, rest], dim=1)

    def _run(
        self, past: _CachedReading, tokens: torch.Tensor, keep: int
    ) -> tuple[torch.Tensor, tuple[_GrowingLayer, ...]]:
        """Logits at the last `keep` places, and the cache after these tokens."""
        cache = DynamicCache()
        cache.layers = [layer.fork() for layer in past.layers]
        total = past.length + tokens.shape[1]
        places: dict[str, torch.Tensor] = {}
        if past.padding is not None:
            index = torch.arange(total, device=self.device)
            places["attention_mask"] = (index[None] >= past.padding[:, None]).long()
            places["position_ids"] = (index[None, past.length :] - past.padding[:, None]).clamp(min=0)
        options: dict[str, Any] = {"logits_to_keep": keep} if self._can_keep else {}
        output = self._model(input_ids=tokens, past_key_values=cache, use_cache=True, **places, **options)
        return output.logits[:, -keep:], tuple(cache.layers)


def _own(reading: Reading) -> _CachedReading:
    if not isinstance(reading, _CachedReading):
        raise TypeError("A reading can only be continued by the model that made it.")
    return reading
