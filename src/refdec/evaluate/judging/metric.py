"""What a metric is: numbers for each row that add up, and the figure that their sums give.

A corpus figure is a function of sums over rows (of counts for BLEU, of sentence values for SARI). So a bootstrap
is a matrix product, and the same resamples serve two systems that are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import Numbers


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of one system, row by row, with the sources and the references."""

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


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a system, that can be resampled."""

    title: str  # heads its column in a table
    better: str  # "higher", "lower", or "" where neither is
    digits: int  # decimals that mean something
    signature: str  # what a stranger needs to compute the same figure
    rows: Callable[[Outputs], Numbers]  # what is summed over rows: (rows, statistics)
    value: Callable[[Numbers], Numbers]  # the figure of summed statistics: (..., statistics) to (...)
    needs_references: bool = True

    def statistics(self, outputs: Outputs) -> Numbers:
        _check(self.title, outputs, self.needs_references)
        return self.rows(outputs)


def mean_metric(
    title: str,
    digits: int,
    signature: str,
    values: Callable[[Outputs], Iterable[float]],
    better: str = "higher",
    needs_references: bool = True,
) -> Metric:
    """A metric that has a value for each row, and of a corpus their mean."""
    return Metric(title, better, digits, signature, lambda outputs: to_mean(values(outputs)), mean_of, needs_references)


@dataclass(frozen=True, slots=True)
class WholeMetric:
    """A figure of all texts together that no sums over rows give, so it has no interval.

    How varied texts are depends on how many there are, and a resample has some of them twice.
    """

    title: str
    better: str
    digits: int
    signature: str
    whole: Callable[[Outputs], float]

    def value_of(self, outputs: Outputs) -> float:
        _check(self.title, outputs, needs_references=False)
        return self.whole(outputs)


AnyMetric = Metric | WholeMetric


def _check(title: str, outputs: Outputs, needs_references: bool) -> None:
    if not len(outputs):
        raise InputError(f"{title} needs at least one text.")
    if not len(outputs.sources) == len(outputs.texts) == len(outputs.references):
        raise InputError(
            f"{title} got {len(outputs.sources)} sources, {len(outputs.texts)} texts and the references of "
            f"{len(outputs.references)}."
        )
    if needs_references and not all(outputs.references):
        row = next(number for number, group in enumerate(outputs.references, start=1) if not group)
        raise InputError(f"{title} needs at least one reference for each text; text {row} has none.")
