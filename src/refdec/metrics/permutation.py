"""Whether two systems differ on the same rows: the paired permutation test, and Holm's correction for many of them.

If two systems were alike, their figures on a row could change places. So they do, in all rows or some, again and
again, and p is how often that gives a difference as large as the one that was measured. Works on numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import Numbers

PERMUTATIONS = 10_000
AS_LARGE = 1e-9  # differences that are equal may differ by rounding


def exchanges(rows: int, permutations: int = PERMUTATIONS, seed: int = 0) -> Numbers:
    """Which rows change places, as -1, and which stay, as 1: (permutations, rows).

    Where there are no more ways than permutations, it is all ways, each once, and p is exact.
    """
    if rows < 1:
        raise InputError("There are no rows to compare two systems on.")
    if 2**rows <= permutations:
        ways = np.arange(2**rows)[:, None] >> np.arange(rows) & 1
    else:
        ways = np.random.default_rng(seed).integers(0, 2, (permutations, rows))
    return np.asarray(1.0 - 2.0 * ways)


def permutation_p(first: Numbers, second: Numbers, value: Callable[[Numbers], Numbers], exchanged: Numbers) -> float:
    """The two-sided p that two systems do not differ, from what is summed over rows: (rows, statistics) of each.

    `value` is the figure of summed statistics. Where not all ways are tried, the measured one counts as one more, so
    that p is never zero. Where the figure is not a number, a permutation counts as large.
    """
    total, difference = (first + second).sum(0), exchanged @ (first - second)
    differences = value((total + difference) / 2) - value((total - difference) / 2)
    measured = abs(float(value(first.sum(0)) - value(second.sum(0))))
    as_large = len(differences) - np.count_nonzero(np.abs(differences) < measured - AS_LARGE)
    if len(exchanged) == 2 ** exchanged.shape[1]:
        return as_large / len(exchanged)
    return (1 + as_large) / (1 + len(exchanged))


def holm(ps: Sequence[float]) -> list[float]:
    """The p of each of several tests, such that one below 0.05 among them is chance in at most 5 of 100 studies."""
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = largest
    return adjusted
