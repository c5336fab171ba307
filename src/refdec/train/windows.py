"""Which part of the token stream each training step reads: every window once per epoch, in an order set by the seed.

The windows of a step depend on the step's number alone, so a resumed run reads what it would have read. One model that
reads both ways is told which way by a mark: the id that begins a window and stands between documents. Knows nothing of
text.
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

REWORDED = 64
"""Windows of which one holds rewordings, where there are any."""


class Windows(Protocol):
    """The training text as rows of ids in reading order, each one token longer than the model's input."""

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        """The rows that this process reads in a step; `skip` leaves out that many steps of text."""


@dataclass(frozen=True)
class Mark:
    """The id that begins a window and takes the place of the stream's separator."""

    separator: int
    start: int


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
    mark: Mark | None = None  # where one model reads both ways

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
        starts = [self._start(first + number) for number in range(count)]
        return _rows(starts, self.stream, self.direction, self.length, self.mark)

    def _start(self, number: int) -> int:
        epoch, place = divmod(number, self.windows)
        shift, order = _epoch(self.seed, epoch, self.windows, self.length)
        return shift + int(order[place]) * self.length


def forward_rows(sequences: int, backward_share: float) -> int:
    """How many of the windows that a process reads in a step are read forward: at least one, and not all."""
    if sequences < 2:
        raise InputError(
            "A step has one sequence per process, and reading both ways needs two. Raise --batch-tokens, or lower "
            "--positions."
        )
    return min(max(1, round(sequences * (1 - backward_share))), sequences - 1)


@dataclass(frozen=True, eq=False)
class MixedWindows:
    """Windows for one model that reads both ways: of each step, the forward ones come first.

    In the place of some backward windows stand rewordings, every other one forward.
    """

    forward: StreamWindows
    backward: StreamWindows
    rewordings: tuple[StreamWindows, ...] = ()  # one window at a time
    every: int = 1  # backward windows per window of rewordings

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        forward, backward = self.forward.at(step, skip), self.backward.at(step, skip)
        if self.rewordings:
            first = (step + skip) * self.backward.sequences + self.backward.rank * len(backward)
            for place in range(len(backward)):
                number, left = divmod(first + place, self.every)
                if left == self.every - 1:
                    turn, way = divmod(number, len(self.rewordings))
                    backward[place] = self.rewordings[way].at(turn)[0]
        return torch.cat([forward, backward])


def windows_of(
    stream: TokenArray, direction: Direction, length: int, most: int | None = None, mark: Mark | None = None
) -> torch.Tensor:
    """All windows of a stream in their order, or the first `most`: (windows, length + 1), in reading order.

    A stream shorter than one window makes one shorter window.
    """
    length = min(length, len(stream) - 1)
    count = (len(stream) - 1) // length
    starts = range(0, length * (count if most is None else min(count, most)), length)
    return _rows(starts, stream, direction, length, mark)


def _rows(
    starts: Iterable[int], stream: TokenArray, direction: Direction, length: int, mark: Mark | None
) -> torch.Tensor:
    tokens = length + 1 if mark is None else length
    rows = np.stack([stream[start : start + tokens] for start in starts]).astype(np.int64)
    rows = direction.arrange_rows(rows)
    if mark is not None:
        rows[rows == mark.separator] = mark.start
        rows = np.insert(rows, 0, mark.start, axis=1)
    return torch.from_numpy(np.ascontiguousarray(rows))


@lru_cache(maxsize=4)
def _epoch(seed: int, epoch: int, windows: int, length: int) -> tuple[int, NDArray[np.int64]]:
    """Where the first window of an epoch starts, and the order of its windows; boundaries move from epoch to epoch."""
    numbers = np.random.Generator(np.random.Philox(key=np.array([seed, epoch], dtype=np.uint64)))
    return int(numbers.integers(length)), numbers.permutation(windows)
