"""What a metric is: numbers for each row that add up, and the figure that their sums give.

A corpus figure is a function of sums over rows (of counts for BLEU, of sentence values for SARI). So a bootstrap
is a matrix product, and the same resamples serve two systems that are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What one system said, row by row, beside what it was given and what people said."""

    sources: tuple[str, ...]
    texts: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.texts)


def to_mean(values: Iterable[float]) -> Numbers:
    """Values of rows as statistics: each beside a one, so that sums give the mean."""
    given = np.array(list(values), dtype=np.float64)
    return np.column_stack([given, np.ones_like(given)])


def mean_of(pooled: Numbers) -> Numbers:
    return np.asarray(pooled[..., 0] / pooled[..., 1])


class Metric(Protocol):
    """One figure of a system, that can be resampled."""

    @property
    def title(self) -> str:
        """As a table heads its column."""

    @property
    def better(self) -> str:
        """Which way is better: "higher", "lower", or "" where neither is."""

    @property
    def digits(self) -> int:
        """Decimals that mean something."""

    @property
    def signature(self) -> str:
        """What a stranger needs to compute the same figure."""

    def statistics(self, outputs: Outputs) -> Numbers:
        """What is summed over rows: (rows, statistics)."""

    def value(self, pooled: Numbers) -> Numbers:
        """The figure of summed statistics: (..., statistics) to (...)."""
