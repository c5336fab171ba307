"""Agreement with human rankings as the WMT18 metrics task has it (DARR): a tau like Kendall's, over judged pairs.

Each pair is (score of the better translation, score of the worse one). Works on numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import RESAMPLES, Numbers, draws, interval, sums

Pair = tuple[float, float]


def kendall_like(pairs: Iterable[Pair]) -> float:
    """(concordant - discordant) / all. Equal scores count as discordant, for people did see a difference."""
    return float(_tau(_counts([list(pairs)]).sum(0)))


def tau_interval(groups: Iterable[Sequence[Pair]], resamples: int = RESAMPLES, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of tau over bootstrap resamples of segments, one group of pairs per segment.

    Pairs of one segment share translations, so whole segments are drawn, never single pairs.
    """
    counts = _counts(groups)
    return interval(_tau(sums(counts, draws(len(counts), resamples, seed))))


def tau_significance(
    first: Iterable[Sequence[Pair]], second: Iterable[Sequence[Pair]], resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """p that the first metric is not better than the second: how often its tau is not higher, in resamples of segments.

    Both have their scores for the same judged pairs in the same order; both are taken over the same resamples.
    """
    ours, others = _counts(first), _counts(second)
    if not np.array_equal(ours[:, 1], others[:, 1]):
        raise InputError("Two metrics can be compared only on the same judged pairs, segment by segment.")
    drawn = draws(len(ours), resamples, seed)
    not_better = np.count_nonzero(_tau(sums(ours, drawn)) <= _tau(sums(others, drawn)))
    return float(1 + not_better) / (1 + resamples)  # the sample itself is one of the resamples, so never zero


def _counts(groups: Iterable[Sequence[Pair]]) -> Numbers:
    """Concordant and judged pairs of each segment that has any."""
    counts = [(sum(better > worse for better, worse in group), len(group)) for group in groups if group]
    if not counts:
        raise InputError("There are no judged pairs to agree with.")
    return np.array(counts, dtype=np.float64)


def _tau(pooled: Numbers) -> Numbers:
    return np.asarray(2 * pooled[..., 0] / pooled[..., 1] - 1)
