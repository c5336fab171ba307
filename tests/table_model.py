"""A language model that is a table: the next token depends only on the last one, so results can be checked by hand.

Its features are its log-probabilities. A table has no zeros: a weight of zero times an infinity is not a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from refdec.lm.cost import Cost, Work
from refdec.lm.direction import Direction
from refdec.lm.head import Head, IdentityHead
from refdec.lm.logprobs import chosen_logprobs
from refdec.lm.protocol import ExtendingWriter, Reading

CPU = torch.device("cpu")


@dataclass(frozen=True)
class TableReading:
    table: torch.Tensor
    last: torch.Tensor  # (rows,)

    @property
    def features(self) -> torch.Tensor:
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
    start: int = 0
    head: Head = field(default_factory=IdentityHead)
    work: Work = field(default_factory=Work)

    def release(self) -> None:
        pass

    def remember(self, prefix: Sequence[int]) -> None:
        pass

    @property
    def precision(self) -> str:
        return "float32"

    @property
    def vocabulary(self) -> int:
        return self.table.shape[1]

    @property
    def cost(self) -> Cost:
        return Cost(1, self.vocabulary, 1, 1, 1, 1, self.vocabulary, 2, 4, 4)

    def read(self, prefixes: Sequence[Sequence[int]]) -> TableReading:
        return TableReading(self.table, torch.tensor([prefix[-1] if prefix else -1 for prefix in prefixes]))

    def extend(self, reading: Reading, tokens: torch.Tensor) -> TableReading:
        assert isinstance(reading, TableReading)
        return TableReading(self.table, tokens)

    def writer(self, reading: Reading, steps: int) -> ExtendingWriter:  # noqa: ARG002
        return ExtendingWriter(self, reading)

    def features(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        assert isinstance(reading, TableReading)
        seen = torch.cat([reading.last[:, None], tokens[:, :-1]], dim=1)
        return self.table[seen].log()

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        return features

    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        return chosen_logprobs(self, self.features(reading, tokens), tokens)


def random_table(vocabulary: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(vocabulary + 1, vocabulary, generator=generator).softmax(-1)
