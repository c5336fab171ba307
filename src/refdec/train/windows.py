"""Which part of the token stream each training step reads: every window once per epoch, in an order set by the seed.

The windows of a step depend on the step's number alone, so a resumed run reads what it would have read. Knows nothing
of text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from refdec.errors import InputError
from refdec.lm.direction import Direction
from refdec.train.token_files import TokenArray


class Windows(Protocol):
    """The training text as rows of ids in reading order, each one token longer than the model's input."""

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        """The rows that this process reads in a step; `skip` leaves out that many steps of text."""


@dataclass(frozen=True, eq=False)
class StreamWindows:
    """Windows of one token stream; each process reads its part of them."""

    stream: TokenArray  # in text order
    direction: Direction
    length: int  # tokens per window; one more token is the last target
    sequences: int  # per step, over all processes
    seed: int
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if self.windows < 1:
            raise InputError(
                f"The training text has {len(self.stream):,} tokens, and at least two sequences of {self.length:,} "
                "tokens are needed. Give more text, or lower --positions."
            )
        if self.sequences % self.world:
            raise InputError(
                f"{self.sequences} sequences per step cannot be divided evenly among {self.world} processes. Change "
                "--batch-tokens, or start another number of processes."
            )

    @property
    def windows(self) -> int:
        """Windows per epoch."""
        return (len(self.stream) - self.length) // self.length

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        """The windows of a step for this process: (sequences, length + 1), in reading order.

        `skip` leaves out that many steps of text, in which a run went wrong.
        """
        count = self.sequences // self.world
        first = (step + skip) * self.sequences + self.rank * count
        return _rows([self._start(first + number) for number in range(count)], self.stream, self.direction, self.length)

    def _start(self, number: int) -> int:
        epoch, place = divmod(number, self.windows)
        shift, order = _epoch(self.seed, epoch, self.windows, self.length)
        return shift + int(order[place]) * self.length


def windows_of(stream: TokenArray, direction: Direction, length: int, most: int | None = None) -> torch.Tensor:
    """All windows of a stream in their order, or the first `most`: (windows, length + 1), in reading order.

    A stream shorter than one window makes one shorter window.
    """
    length = min(length, len(stream) - 1)
    count = (len(stream) - 1) // length
    return _rows(range(0, length * (count if most is None else min(count, most)), length), stream, direction, length)


def _rows(starts: Iterable[int], stream: TokenArray, direction: Direction, length: int) -> torch.Tensor:
    rows = np.stack([stream[start : start + length + 1] for start in starts])
    return torch.from_numpy(np.ascontiguousarray(direction.arrange_rows(rows), dtype=np.int64))


@lru_cache(maxsize=4)
def _epoch(seed: int, epoch: int, windows: int, length: int) -> tuple[int, NDArray[np.int64]]:
    """Where the first window of an epoch starts, and the order of its windows; boundaries move from epoch to epoch."""
    numbers = np.random.Generator(np.random.Philox(key=np.array([seed, epoch], dtype=np.uint64)))
    return int(numbers.integers(length)), numbers.permutation(windows)
