"""The keys and values of a batch: prefixes that several rows continue and share, and each row's own tail."""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from refdec.lm.cost import Sizes


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Which prefix each row continues, and how long each prefix is: made once, used by every layer.

    Making it reads nothing from the device. The properties, which only `plain.attend` uses, do when first used.
    """

    index: Tensor  # (rows,): the prefix of each row
    lengths: Tensor  # (prefixes,): keys after this many are not visible

    @classmethod
    def of(cls, index: Tensor, lengths: Tensor) -> SharedRows:
        return cls(index.to(torch.int32).contiguous(), lengths.to(torch.int32).contiguous())

    @cached_property
    def longest(self) -> int:
        return int(self.lengths.max())

    @cached_property
    def hidden(self) -> Tensor | None:
        """Which of the first `longest` keys of each prefix are not visible; None if all are."""
        if int(self.lengths.min()) == self.longest:
            return None
        return torch.arange(self.longest, device=self.lengths.device) >= self.lengths[:, None, None, None]

    @cached_property
    def most(self) -> int:
        """The largest number of rows that continue one prefix."""
        return int(torch.bincount(self.index).max())

    @cached_property
    def places(self) -> tuple[Tensor, Tensor] | None:
        """The prefix of each row and its place among the rows of that prefix; None if a view can group the rows."""
        index, rows, prefixes = self.index.long(), len(self.index), len(self.lengths)
        regular = torch.arange(prefixes, device=index.device).repeat_interleave(self.most)
        if torch.equal(index, regular):
            return None
        order = index.argsort(stable=True)
        counts = torch.bincount(index, minlength=prefixes)
        before = (counts.cumsum(0) - counts)[index[order]]
        place = torch.empty_like(index)
        place[order] = torch.arange(rows, device=index.device) - before
        return index, place

    def gathered(self, x: Tensor) -> Tensor:
        """(rows, heads, queries, width) to (prefixes, heads, most * queries, width), padded with zeros."""
        heads, queries, width = x.shape[1:]
        if self.places is None:
            block = x.reshape(-1, self.most, heads, queries, width).transpose(1, 2)
        else:
            index, place = self.places
            block = x.new_zeros(len(self.lengths), heads, self.most, queries, width)
            block[index, :, place] = x
        return block.reshape(len(self.lengths), heads, -1, width)

    def spread(self, x: Tensor) -> Tensor:
        """The inverse of `gathered`."""
        prefixes, heads, _, width = x.shape
        block = x.reshape(prefixes, heads, self.most, -1, width)
        if self.places is None:
            return block.transpose(1, 2).flatten(0, 1)
        index, place = self.places
        return block[index, :, place]


class Prefix(NamedTuple):
    """Keys and values of one layer that rows share."""

    keys: Tensor  # (prefixes, kv_heads, length, head_size)
    values: Tensor
    rows: SharedRows


class Prefixes(NamedTuple):
    """Keys and values of all layers that rows share."""

    keys: Tensor  # (layers, prefixes, kv_heads, length, head_size)
    values: Tensor
    rows: SharedRows

    def of_layer(self, number: int) -> Prefix:
        return Prefix(self.keys[number], self.values[number], self.rows)


class Tail(NamedTuple):
    """Keys and values of one layer of each row's own tokens; the last filled places belong to the new queries."""

    keys: Tensor  # (rows, kv_heads, capacity, head_size)
    values: Tensor
    filled: Tensor | int


class _Spare:
    """Memory of tails that are gone, for new ones: new memory takes ten times as long to get as to fill."""

    MOST = 4
    """Pieces that are kept: two for each reading direction, one to read from and one to write to."""

    def __init__(self) -> None:
        self._pieces: list[Tensor] = []
        self._lock = threading.Lock()

    def take(self, size: int, dtype: torch.dtype) -> Tensor:
        """A piece with at least so many places, whatever is written in them."""
        with self._lock:
            for number, piece in enumerate(self._pieces):
                if size <= len(piece) <= 4 * size and piece.dtype == dtype:
                    return self._pieces.pop(number)
        return torch.empty(2 * size, dtype=dtype)  # rows become more with every step

    def give(self, piece: Tensor) -> None:
        with self._lock:
            self._pieces = [*self._pieces[-self.MOST + 1 :], piece]

    def clear(self) -> None:
        with self._lock:
            self._pieces = []


_SPARE = _Spare()


def release_spare() -> None:
    """Give back the memory that is only kept for speed."""
    _SPARE.clear()


class TailBuffer:
    """Keys and values of all layers of each row's own tokens, with room for more; `filled` places are written."""

    def __init__(self, keys: Tensor, values: Tensor, filled: int = 0) -> None:
        self.keys, self.values, self.filled = keys, values, filled  # (layers, rows, kv_heads, capacity, head_size)

    @classmethod
    def empty(cls, sizes: Sizes, rows: int, capacity: int, dtype: torch.dtype, device: torch.device) -> TailBuffer:
        shape = (2, sizes.layers, rows, sizes.kv_heads, capacity, sizes.head_size)
        return cls(*torch.empty(shape, dtype=dtype, device=device))

    @classmethod
    def like(cls, cache: Tensor, rows: int, capacity: int) -> TailBuffer:
        """An empty buffer for tails after these keys, or after others of the same network."""
        layers, _, kv_heads, _, size = cache.shape
        shape = (2, layers, rows, kv_heads, capacity, size)
        if cache.device.type != "cpu":
            return cls(*cache.new_empty(shape))
        memory = _SPARE.take(math.prod(shape), cache.dtype)
        buffer = cls(*memory[: math.prod(shape)].view(shape))
        weakref.finalize(buffer, _SPARE.give, memory).atexit = False
        return buffer

    @property
    def capacity(self) -> int:
        return self.keys.shape[-2]

    @torch.inference_mode()
    def copy(self, filled: int, capacity: int, rows: Tensor | None = None) -> TailBuffer:
        """The first places of all rows, or of some, in a new buffer with room for more."""
        count = self.keys.shape[1] if rows is None else len(rows)
        copy = TailBuffer.like(self.keys, count, capacity)
        for old, new in ((self.keys, copy.keys), (self.values, copy.values)):
            # On a CPU layer by layer, so that what is between reading and writing stays in its caches.
            for one, other in zip(old, new, strict=True) if old.device.type == "cpu" else ((old, new),):
                part = one[..., :filled, :]
                other[..., :filled, :] = part if rows is None else part.index_select(part.ndim - 4, rows)
        copy.filled = filled
        return copy
