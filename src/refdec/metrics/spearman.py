"""Spearman's correlation of two rankings, with a bootstrap interval over the pairs of values.

Works on numbers alone. Equal values share the mean of their ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import RESAMPLES, Draws, Numbers, draws, interval, parts


def ranks(values: Sequence[float]) -> Numbers:
    """Ranks from 0, ties sharing the mean of theirs."""
    given = np.asarray(values, dtype=np.float64)
    return np.asarray(_ranks(given, np.ones((1, len(given)), dtype=np.int32))[0])


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    one, other = _pair(first, second)
    return float(_correlations(one, other, np.ones((1, len(one)), dtype=np.int32))[0])


def spearman_interval(
    first: Sequence[float], second: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The middle 95 % of the correlation over resamples of the pairs.

    A resample of a few pairs may hold one value alone; it has no correlation and is left out.
    """
    one, other = _pair(first, second)
    drawn = draws(len(one), resamples, seed)
    correlations = np.concatenate([_correlations(one, other, part) for part in parts(drawn)])
    if np.isnan(correlations).all():
        raise InputError("There are too few pairs of values for an interval of their correlation.")
    return interval(correlations[~np.isnan(correlations)])


def _pair(first: Sequence[float], second: Sequence[float]) -> tuple[Numbers, Numbers]:
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape:
        raise InputError(f"A correlation needs pairs of values; there are {len(one)} and {len(other)}.")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise InputError("A correlation needs numbers; some of the values are NaN or infinite.")
    if len(np.unique(one)) < 2 or len(np.unique(other)) < 2:
        raise InputError("A correlation needs at least two different values on both sides.")
    return one, other


def _correlations(one: Numbers, other: Numbers, drawn: Draws) -> Numbers:
    """Of each resample, (resamples, values) to (resamples,); NaN where a side has one value alone."""
    count = drawn.sum(1)
    middle = (count[:, None] - 1) / 2  # the mean of all ranks, ties or not
    first, second = _ranks(one, drawn) - middle, _ranks(other, drawn) - middle
    spread = np.sqrt((drawn * first**2).sum(1) * (drawn * second**2).sum(1))
    together = (drawn * first * second).sum(1)
    return np.where(spread > 0, together / np.where(spread > 0, spread, 1), np.nan)


def _ranks(values: Numbers, drawn: Draws) -> Numbers:
    """Ranks of each value among what each resample holds, (resamples, values)."""
    order = np.argsort(values, kind="stable")
    starts = np.unique(values[order], return_index=True)[1]
    held = np.add.reduceat(drawn[:, order], starts, axis=1, dtype=np.float64)  # (resamples, different values)
    shared = np.cumsum(held, axis=1) - (held + 1) / 2
    return np.asarray(shared[:, np.unique(values, return_inverse=True)[1]])
