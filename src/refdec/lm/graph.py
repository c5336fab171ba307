"""One step of a Llama-shaped model as a CUDA graph: a hundred kernels for the price of one launch.

A graph has fixed shapes and addresses. So rows, prefixes and lengths are rounded up to a few sizes, and keys and values
lie in one arena of memory, which each graph of a model divides in its own way. Kernels read places and lengths from
the device, so that one graph serves every step.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from refdec.lm.cost import Work
from refdec.lm.network import TorchNetwork
from refdec.lm.prefix_cache import Prefix, Prefixes, SharedRows, Tail

if TYPE_CHECKING:
    from refdec.lm.llama import LlamaLM

_CAPTURE = threading.Lock()
"""Held during a capture: two models may run at the same time, but not capture."""


@dataclass(frozen=True, slots=True)
class _Size:
    rows: int
    prefixes: int
    places: int  # of a prefix
    steps: int

    @classmethod
    def around(cls, rows: int, prefixes: int, places: int, steps: int) -> _Size:
        """The sizes rounded up, so that few graphs serve many batches."""
        return cls(_up(rows), _up(prefixes), -(-places // 64) * 64, -(-steps // 32) * 32)


def _up(count: int) -> int:
    """A count rounded up to a multiple of 8, and of at most an eighth of the count."""
    grain = max(8, 1 << max(0, count.bit_length() - 4))
    return -(-count // grain) * grain


class Graphs:
    """The graphs of a model, each captured when first needed."""

    def __init__(self, network: TorchNetwork) -> None:
        self._network = network
        self._arena = torch.empty(0, dtype=network.dtype, device=network.device)
        self._steps: dict[_Size, _GraphStep] = {}
        self._stream = torch.cuda.Stream(network.device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, rows: int, prefixes: int, places: int, steps: int) -> _GraphStep:
        size = _Size.around(rows, prefixes, places, steps)
        if size not in self._steps:
            shape = self._network.shape
            each = 2 * shape.layers * shape.kv_heads * shape.head_size
            needed = each * (size.prefixes * size.places + size.rows * size.steps)
            if needed > len(self._arena):
                self.clear()  # free the old arena before the larger one is allocated
                self._arena = torch.zeros(needed, dtype=self._network.dtype, device=self._network.device)
            self._steps[size] = _GraphStep(self._network, size, self._arena, self._stream, self._pool)
        return self._steps[size]

    def clear(self) -> None:
        """Free all memory; graphs are captured again when needed."""
        self._steps.clear()
        self._arena = torch.empty(0, dtype=self._network.dtype, device=self._network.device)
        self._pool = torch.cuda.graph_pool_handle()  # the previous pool ended with its graphs


class _GraphStep:
    """One captured step: tokens in, features out; keys and values stay where they are."""

    def __init__(
        self, network: TorchNetwork, size: _Size, arena: torch.Tensor, stream: torch.cuda.Stream, pool: Any
    ) -> None:
        shape, device = network.shape, network.device
        self._network = network
        whole = (2, shape.layers, size.prefixes, shape.kv_heads, size.places, shape.head_size)
        tails = (2, shape.layers, size.rows, shape.kv_heads, size.steps, shape.head_size)
        border = torch.Size(whole).numel()
        self.prefix_keys, self.prefix_values = arena[:border].view(whole)
        self.tail_keys, self.tail_values = arena[border : border + torch.Size(tails).numel()].view(tails)
        self.tokens = torch.zeros(size.rows, dtype=torch.long, device=device)
        self.positions = torch.zeros(size.rows, dtype=torch.long, device=device)
        self.index = torch.zeros(size.rows, dtype=torch.int32, device=device)
        self.lengths = torch.ones(size.prefixes, dtype=torch.int32, device=device)
        self._filled = torch.ones(1, dtype=torch.int32, device=device)
        self._place = torch.zeros(1, dtype=torch.int32, device=device)
        self._rows = SharedRows(self.index, self.lengths)  # not copies: the graph sees later changes
        self.graph = torch.cuda.CUDAGraph()
        with _CAPTURE:
            self._body()  # compiles the kernels, which a capture must not
            self.restart()
            torch.cuda.current_stream().synchronize()
            with torch.cuda.graph(self.graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                self.features = self._body()

    def restart(self) -> None:
        self._filled.fill_(1)
        self._place.zero_()

    def _body(self) -> torch.Tensor:
        network = self._network

        def attention(number: int, qkv: torch.Tensor) -> torch.Tensor:
            tail = (self.tail_keys[number], self.tail_values[number])
            network.rotate(qkv, self.positions, tail=tail, place=self._place)
            queries, _, _ = network.split(qkv, len(self.tokens))
            prefix = Prefix(self.prefix_keys[number], self.prefix_values[number], self._rows)
            return network.attend(queries, prefix, Tail(*tail, self._filled))

        features = network.run_layers(self.tokens[:, None], attention)
        self.positions.add_(1).clamp_(max=network.shape.window - 1)  # rows that have ended go on with the others
        self._place.add_(1)
        self._filled.add_(1)
        return features


class GraphWriter:
    """Writes rows after shared prefixes, replaying one graph per token."""

    def __init__(self, model: LlamaLM, graphs: Graphs, prefixes: Prefixes, features: torch.Tensor, steps: int) -> None:
        keys, values, shared = prefixes
        self._rows, self._seen, self._written = len(shared.index), keys.shape[-2], 0
        self._model = model
        self._step = graphs.step(self._rows, keys.shape[1], keys.shape[-2], steps)
        step = self._step
        step.prefix_keys[:, : keys.shape[1], :, : keys.shape[-2]] = keys
        step.prefix_values[:, : keys.shape[1], :, : keys.shape[-2]] = values
        step.lengths[: len(shared.lengths)] = shared.lengths
        step.index.zero_()
        step.index[: self._rows] = shared.index
        step.positions.copy_(step.lengths[step.index])
        step.restart()
        self.features = features

    @torch.inference_mode()
    def append(self, tokens: torch.Tensor) -> None:
        self._step.tokens[: self._rows] = tokens
        self._step.graph.replay()
        self.features = self._step.features[: self._rows]
        self._seen, self._written = self._seen + 1, self._written + 1
        seen = self._rows * self._seen
        self._model.work += Work(tokens=self._rows, attended=seen, cached=seen, passes=1)

    @torch.inference_mode()
    def branch(self, rows: torch.Tensor, origins: torch.Tensor) -> None:
        step, features = self._step, self.features.clone()
        for places in (step.tail_keys, step.tail_values):  # the right side is a copy before anything is written
            places[:, rows, :, : self._written] = places[:, origins, :, : self._written]
        for of_row in (step.index, step.positions, features):
            of_row[rows] = of_row[origins]
        self.features = features
