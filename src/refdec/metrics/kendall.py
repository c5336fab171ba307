"""Agreement with human rankings as the WMT18 metrics task has it (DARR): a tau like Kendall's, over judged pairs.

Each pair is (score of the better translation, score of the worse one). Works on numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from refdec.errors import InputError

Pair = tuple[float, float]


def kendall_like(pairs: Iterable[Pair]) -> float:
    """(concordant - discordant) / all. Equal scores count as discordant, for people did see a difference."""
    concordant = [better > worse for better, worse in pairs]
    if not concordant:
        raise InputError("There are no judged pairs to agree with.")
    return 2 * sum(concordant) / len(concordant) - 1


def tau_interval(groups: Iterable[Sequence[Pair]], resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of tau over bootstrap resamples of segments, one group of pairs a segment.

    Pairs of one segment share translations, so whole segments are drawn, never single pairs.
    """
    counts = np.array(
        [(sum(better > worse for better, worse in group), len(group)) for group in groups if group], dtype=np.int64
    )
    if not len(counts):
        raise InputError("There are no judged pairs to agree with.")
    draws = np.random.default_rng(seed).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), resamples)
    concordant, judged = (draws @ counts).T  # draws: (resamples, segments), how often each segment is drawn
    low, high = np.quantile(2 * concordant / judged - 1, [0.025, 0.975])
    return float(low), float(high)
