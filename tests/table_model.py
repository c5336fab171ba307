"""A language model that is a table: the next token depends on the last one alone, so all can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from refdec.lm.direction import Direction
from refdec.lm.protocol import Reading

CPU = torch.device("cpu")


@dataclass(frozen=True)
class TableReading:
    table: torch.Tensor
    last: torch.Tensor  # (rows,)

    @property
    def next_logprobs(self) -> torch.Tensor:
        return self.table[self.last].log()

    def select(self, rows: torch.Tensor) -> TableReading:
        return TableReading(self.table, self.last[rows])


@dataclass(frozen=True)
class TableModel:
    """table[a][b] is the probability of b after a, in reading order; its last row is the start of a document."""

    table: torch.Tensor
    direction: Direction = Direction.FORWARD
    window: int = 100
    device: torch.device = CPU

    @property
    def vocabulary(self) -> int:
        return self.table.shape[1]

    def read(self, prefixes: Sequence[Sequence[int]]) -> TableReading:
        return TableReading(self.table, torch.tensor([prefix[-1] if prefix else -1 for prefix in prefixes]))

    def extend(self, reading: Reading, tokens: torch.Tensor) -> TableReading:
        assert isinstance(reading, TableReading)
        return TableReading(self.table, tokens)

    def distributions(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        assert isinstance(reading, TableReading)
        seen = torch.cat([reading.last[:, None], tokens[:, :-1]], dim=1)
        return self.table[seen].log()

    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        return self.distributions(reading, tokens).gather(2, tokens[..., None])[..., 0]


def random_table(vocabulary: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(vocabulary + 1, vocabulary, generator=generator).softmax(-1)
