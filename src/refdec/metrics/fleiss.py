"""Fleiss' kappa (1971): how far several raters agree beyond what chance would give.

Works on counts alone: how many raters put each item into each category. Items may have different numbers of raters, as
in a study that not everybody finished: each item then counts with the share of its pairs of raters that agree, and
with the shares of its categories (Gwet's generalisation). With equal numbers it is Fleiss' own figure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import Numbers


def fleiss_kappa(table: Sequence[Sequence[int]]) -> float:
    """Of a table (items, categories), two raters or more for each item. At most 1; 0 is chance."""
    if len({len(row) for row in table}) != 1:
        raise InputError("Fleiss' kappa needs at least one item, and the same categories for all items.")
    counts = np.array(table, dtype=np.float64)
    if (counts.sum(1) < 2).any():
        raise InputError("Fleiss' kappa needs two raters or more for each item.")
    kappa = float(kappa_of(kappa_statistics(counts).sum(0)))
    if np.isnan(kappa):
        raise InputError("All raters gave one and the same answer to everything; kappa is not defined then.")
    return kappa


def kappa_statistics(counts: Numbers) -> Numbers:
    """What is summed over items: a one, the share of pairs of raters that agree, the share of each category.

    (items, categories) to (items, 2 + categories). Sums of a resample give the kappa of the resample.
    """
    raters = counts.sum(1)
    agreeing = ((counts**2).sum(1) - raters) / (raters * (raters - 1))
    return np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])


def kappa_of(pooled: Numbers) -> Numbers:
    """The kappa of summed statistics, (..., 2 + categories) to (...); not a number where it is not defined."""
    items = pooled[..., :1]
    means = np.divide(pooled[..., 1:], items, out=np.full_like(pooled[..., 1:], np.nan), where=items > 0)
    by_chance = (means[..., 1:] ** 2).sum(-1)
    beyond = 1 - by_chance
    beyond = np.where(beyond > 1e-12, beyond, np.nan)  # all answers are the same
    return np.asarray((means[..., 0] - by_chance) / beyond)
