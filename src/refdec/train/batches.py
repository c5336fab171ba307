"""Which part of the stream is read at which step: every window once an epoch, in an order that belongs to the seed.

A step's windows depend on its number alone, so a run that goes on reads what it would have read. Knows ids as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from refdec.errors import InputError
from refdec.lm.direction import Direction

Ids = npt.NDArray[Any]


class Windows(Protocol):
    """What is read: rows of ids in reading order, each a token longer than what a model sees of it."""

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        """Those of a step for this process."""

    def windows_of(self, stream: Ids, most: int | None = None) -> torch.Tensor:
        """Those of another stream, such as held-out text, one after the other."""


@dataclass(frozen=True, eq=False)
class Batches:
    """Windows of a stream, some of them for this process."""

    stream: Ids  # in text order
    direction: Direction
    length: int  # of a window; the token after it is the last target
    sequences: int  # of a step, over all processes
    seed: int
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if self.windows < 1:
            raise InputError(
                f"The training text has {len(self.stream):,} tokens, and there must be two sequences of "
                f"{self.length:,}. Give more text, or shorter sequences."
            )
        if self.sequences % self.world:
            raise InputError(f"{self.sequences} sequences a step cannot be shared by {self.world} processes evenly.")

    @property
    def windows(self) -> int:
        """Of an epoch."""
        return (len(self.stream) - self.length) // self.length

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        """The windows of a step for this process, (sequences, length + 1), in reading order.

        `skip` leaves out so many steps: those in which a run went wrong.
        """
        mine = self.sequences // self.world
        first = (step + skip) * self.sequences + self.rank * mine
        rows = np.stack([self._window(first + place) for place in range(mine)])
        return torch.from_numpy(np.ascontiguousarray(self.direction.arrange_rows(rows), dtype=np.int64))

    def windows_of(self, stream: Ids, most: int | None = None) -> torch.Tensor:
        return windows_of(stream, self.direction, self.length, most)

    def _window(self, number: int) -> Ids:
        epoch, place = divmod(number, self.windows)
        shift, order = _epoch(self.seed, epoch, self.windows, self.length)
        start = shift + int(order[place]) * self.length
        return self.stream[start : start + self.length + 1]


def windows_of(stream: Ids, direction: Direction, length: int, most: int | None = None) -> torch.Tensor:
    """All windows of a stream, one after the other, or so many of them: (windows, length + 1), in reading order.

    Where there is less than one, its tokens make a shorter one.
    """
    length = min(length, len(stream) - 1)
    count = (len(stream) - 1) // length
    starts = range(0, length * (count if most is None else min(count, most)), length)
    rows = np.stack([stream[start : start + length + 1] for start in starts])
    return torch.from_numpy(np.ascontiguousarray(direction.arrange_rows(rows), dtype=np.int64))


@lru_cache(maxsize=4)
def _epoch(seed: int, epoch: int, windows: int, length: int) -> tuple[int, npt.NDArray[np.int64]]:
    """Where the windows of an epoch begin, and their order: boundaries move from epoch to epoch."""
    numbers = np.random.Generator(np.random.Philox(key=np.array([seed, epoch], dtype=np.uint64)))
    return int(numbers.integers(length)), numbers.permutation(windows)
