"""Bootstrap resamples: how often each row is drawn, and the interval that values over resamples give.

Works on numbers alone. Counts, not indices: the sums of a resample are then a matrix product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refdec.errors import InputError, SettingsError

Numbers = NDArray[np.float64]
Draws = NDArray[np.int32]
RESAMPLES = 1000
LEVEL = 0.95
_AT_ONCE = 1 << 22  # numbers of a part of the draws that are held as floats


def draws(rows: int, resamples: int = RESAMPLES, seed: int = 0) -> Draws:
    """How often each row is in each resample, (resamples, rows); every resample has as many rows as there are."""
    if rows < 1:
        raise InputError("There are no rows to resample.")
    if resamples < 1:
        raise SettingsError(f"The number of resamples is {resamples}; it must be 1 or more.")
    generator = np.random.default_rng(seed)
    counts = np.empty((resamples, rows), dtype=np.int32)
    for part in parts(counts):
        part[:] = generator.multinomial(rows, np.full(rows, 1 / rows), len(part))
    return counts


def parts(drawn: Draws) -> list[Draws]:
    """The resamples in parts, so that what is made of one part fits into memory."""
    size = max(1, _AT_ONCE // max(1, drawn.shape[1]))
    return [drawn[start : start + size] for start in range(0, len(drawn), size)]


def sums(statistics: Numbers, drawn: Draws) -> Numbers:
    """Statistics summed over the rows of each resample, (rows, statistics) to (resamples, statistics)."""
    if drawn.shape[1] != len(statistics):
        raise InputError(f"The resamples are of {drawn.shape[1]} rows and the statistics of {len(statistics)}.")
    return np.concatenate([part.astype(np.float64) @ statistics for part in parts(drawn)])


def interval(values: Numbers, level: float = LEVEL) -> tuple[float, float]:
    """The middle of the values of resamples: 95 % of them, by default."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
