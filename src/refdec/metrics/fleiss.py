"""Fleiss' kappa (1971): how far several raters agree beyond what chance would give.

Works on counts alone: how many raters put each item into each category.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.errors import InputError


def fleiss_kappa(table: Sequence[Sequence[int]]) -> float:
    """Of a table (items, categories) whose rows all sum to the number of raters. At most 1; 0 is chance."""
    if len({len(row) for row in table}) != 1:
        raise InputError("Fleiss' kappa needs at least one item, and the same categories for all items.")
    counts = np.array(table, dtype=np.float64)
    raters = counts.sum(1)
    if raters[0] < 2 or (raters != raters[0]).any():
        raise InputError("Fleiss' kappa needs two raters or more, and as many for each item.")
    agreement = ((counts**2).sum(1) - raters[0]) / (raters[0] * (raters[0] - 1))  # pairs of raters that agree
    by_chance = float(((counts.sum(0) / counts.sum()) ** 2).sum())
    if by_chance == 1:
        raise InputError("All raters gave one and the same answer to everything; kappa is not defined then.")
    return float((agreement.mean() - by_chance) / (1 - by_chance))
