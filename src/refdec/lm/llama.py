"""Our own engine: a Llama-shaped language model behind the `LanguageModel` protocol.

A prefix is read once and shared: a reading is a set of prefixes, an index that says which of them each row continues,
and each row's tail after it. Selecting rows copies the index and the tails, not the prefixes. Knows ids and caches;
what is computed with the weights is in `network.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from refdec.lm import plain
from refdec.lm.cost import Work
from refdec.lm.direction import Direction
from refdec.lm.graph import Graphs, GraphWriter
from refdec.lm.logprobs import chosen_logprobs
from refdec.lm.network import Network, TorchNetwork
from refdec.lm.prefix_cache import Prefixes, SharedRows, TailBuffer, release_spare
from refdec.lm.protocol import ExtendingWriter, Reading, Writer, checked_reading

REMEMBERED = 4
"""Prefixes whose keys and values are kept: a pair has few sets of examples."""


@dataclass(frozen=True)
class _SharedReading:
    prefixes: Prefixes
    features: torch.Tensor
    tail: TailBuffer | None = None
    filled: int = 0

    def select(self, rows: torch.Tensor) -> _SharedReading:
        shared = self.prefixes.rows
        prefixes = self.prefixes._replace(rows=SharedRows.of(shared.index.index_select(0, rows), shared.lengths))
        tail = self.tail and self.tail.copy(self.filled, _room(self.filled), rows)
        return _SharedReading(prefixes, self.features.index_select(0, rows), tail, self.filled)

    @property
    def places(self) -> torch.Tensor:
        """The position of each row's next token."""
        shared = self.prefixes.rows
        return shared.lengths[shared.index] + self.filled

    @property
    def seen(self) -> int:
        return self.prefixes.keys.shape[-2] + self.filled


def _room(filled: int) -> int:
    return filled + max(16, filled // 2)


class LlamaLM:
    """A Llama-shaped model that reads in one direction. Models that read in different ones may share a network."""

    def __init__(self, network: Network, direction: Direction, start_token: int) -> None:
        self.network, self.direction, self.start = network, direction, start_token
        self.device, self.precision, self.head, self.cost = (
            network.device,
            network.precision,
            network.head,
            network.cost,
        )
        self.vocabulary, self.window = network.shape.vocabulary, network.shape.window - 1  # the start token has a place
        self.work = Work()
        self._remembered: dict[tuple[int, ...], Prefixes] = {}
        # Graphs hold fused kernels only: plain operations read from the device as they go.
        fused = isinstance(network, TorchNetwork) and network.ops is not plain
        self._graphs = Graphs(network) if isinstance(network, TorchNetwork) and fused else None

    @torch.inference_mode()
    def read(self, prefixes: Sequence[Sequence[int]]) -> _SharedReading:
        """Read prefixes; those that begin with one that is remembered are read from its end on."""
        beginnings = [self._beginning(prefix) for prefix in prefixes]
        if not any(beginnings):
            return self._read(prefixes)
        groups = {known: [row for row, own in enumerate(beginnings) if own == known] for known in set(beginnings)}
        count, longest = len(prefixes), max(map(len, prefixes)) + 1
        cache = TailBuffer.empty(self.network.shape, count, longest, self.network.dtype, self.device)
        for places in (cache.keys, cache.values):
            places.zero_()  # behind the end of a row nothing is visible, but what is not a number would spread
        features = torch.empty(count, self.cost.width, device=self.device)
        for known, rows in groups.items():
            if known:
                self._read_after(known, [prefixes[row] for row in rows], rows, cache, features)
            else:
                part = self._read([prefixes[row] for row in rows])
                size = part.prefixes.keys.shape[-2]
                cache.keys[:, rows, :, :size], cache.values[:, rows, :, :size] = part.prefixes[:2]
                features[rows] = part.features
        index = torch.arange(count, device=self.device)
        sizes = torch.tensor([len(prefix) + 1 for prefix in prefixes], device=self.device)
        return _SharedReading(Prefixes(cache.keys, cache.values, SharedRows.of(index, sizes)), features)

    def _beginning(self, prefix: Sequence[int]) -> tuple[int, ...]:
        """The longest remembered prefix that another one begins with and goes on from; empty where there is none."""
        known = (own for own in self._remembered if len(own) < len(prefix) and tuple(prefix[: len(own)]) == own)
        return max(known, key=len, default=())

    def _read_after(
        self,
        known: tuple[int, ...],
        prefixes: Sequence[Sequence[int]],
        rows: list[int],
        cache: TailBuffer,
        features: torch.Tensor,
    ) -> None:
        """Read what comes after a remembered prefix, into these rows of a cache and of the features."""
        keys, values, shared = self._remembered[known]
        filled = keys.shape[-2]
        lengths = [len(prefix) - len(known) for prefix in prefixes]
        rest = np.full((len(rows), max(lengths)), self.start)
        for row, prefix in zip(rest, prefixes, strict=True):
            row[: len(prefix) - len(known)] = prefix[len(known) :]
        index = torch.zeros(len(rows), dtype=torch.long, device=self.device)
        before = Prefixes(keys, values, SharedRows.of(index, shared.lengths))
        after = TailBuffer.empty(self.network.shape, len(rows), max(lengths), self.network.dtype, self.device)
        past = _SharedReading(before, features[:0])
        read = self._run_after(past, torch.from_numpy(rest).to(self.device), after)
        end = filled + max(lengths)
        for whole, own, new in ((cache.keys, keys, after.keys), (cache.values, values, after.values)):
            whole[:, rows, :, :filled] = own
            whole[:, rows, :, filled:end] = new
        last = torch.tensor(lengths, device=self.device) - 1
        features[rows] = read[torch.arange(len(rows), device=self.device), last]

    @torch.inference_mode()
    def remember(self, prefix: Sequence[int]) -> None:
        if prefix and tuple(prefix) not in self._remembered:
            while len(self._remembered) >= REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))
            self._remembered[tuple(prefix)] = self._read([prefix]).prefixes

    def _read(self, prefixes: Sequence[Sequence[int]]) -> _SharedReading:
        lengths = [len(prefix) + 1 for prefix in prefixes]
        count, longest = len(lengths), max(lengths)
        # Rows are filled up behind their prefixes: attention is causal, so that changes nothing before it.
        rows = np.full((count, longest), self.start)
        for row, prefix in zip(rows, prefixes, strict=True):
            row[1 : len(prefix) + 1] = prefix
        positions = torch.arange(longest, device=self.device).repeat(count, 1)
        cache = TailBuffer.empty(self.network.shape, count, longest, self.network.dtype, self.device)
        features = self.network.run(torch.from_numpy(rows).to(self.device), positions, None, cache, 0)
        self._count(count * longest, sum(size * (size + 1) // 2 for size in lengths), 0)
        index, sizes = torch.arange(count, device=self.device), torch.tensor(lengths, device=self.device)
        shared = Prefixes(cache.keys, cache.values, SharedRows.of(index, sizes))
        return _SharedReading(shared, features[index, sizes - 1])

    @torch.inference_mode()
    def extend(self, reading: Reading, tokens: torch.Tensor) -> _SharedReading:
        past = checked_reading(reading, _SharedReading)
        buffer = past.tail or TailBuffer.like(past.prefixes.keys, len(tokens), _room(0))
        if buffer.filled != past.filled or buffer.capacity == past.filled:
            buffer = buffer.copy(past.filled, _room(past.filled + 1))
        features = self._run_after(past, tokens[:, None], buffer)
        buffer.filled = past.filled + 1
        return _SharedReading(past.prefixes, features[:, 0], buffer, buffer.filled)

    @torch.inference_mode()
    def writer(self, reading: Reading, steps: int) -> Writer:
        if self._graphs is None:
            return ExtendingWriter(self, reading)
        past = checked_reading(reading, _SharedReading)
        if past.tail is not None:
            raise ValueError("A writer can only begin at the end of prefixes that were not extended.")
        return GraphWriter(self, self._graphs, past.prefixes, past.features, steps)

    @torch.inference_mode()
    def features(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        past, length = checked_reading(reading, _SharedReading), tokens.shape[1] - 1
        first = past.features[:, None]
        if not length:
            return first
        buffer = past.tail and past.tail.copy(past.filled, past.filled + length)
        return torch.cat([first, self._run_after(past, tokens[:, :-1], buffer)], dim=1)

    def _run_after(self, past: _SharedReading, tokens: torch.Tensor, buffer: TailBuffer | None) -> torch.Tensor:
        """Features after tokens that follow a reading, (rows, n, width); their keys and values go to the buffer."""
        count, length = tokens.shape
        # Rows are as long as the longest of a batch: places behind a row's own end may lie beyond the window.
        positions = past.places[:, None] + torch.arange(length, device=self.device)
        positions = positions.clamp(max=self.network.shape.window - 1)
        features = self.network.run(tokens, positions, past.prefixes, buffer, past.filled)
        self._count(count * length, count * length * (past.seen + (length + 1) // 2), count * past.seen)
        return features

    @torch.inference_mode()
    def logits(self, features: torch.Tensor) -> torch.Tensor:
        flat = features.reshape(-1, features.shape[-1])
        self.work += Work(head_tokens=len(flat))
        return self.network.logits(flat).view(*features.shape[:-1], -1)

    @torch.inference_mode()
    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        return chosen_logprobs(self, self.features(reading, tokens), tokens)

    def release(self) -> None:
        self._remembered.clear()
        release_spare()
        if self._graphs is not None:
            self._graphs.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _count(self, tokens: int, attended: int, cached: int) -> None:
        self.work += Work(tokens=tokens, attended=attended, cached=cached, passes=1)
