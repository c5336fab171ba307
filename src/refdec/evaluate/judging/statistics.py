"""Figures with their intervals, and whether two systems differ: the bootstrap over rows.

Rows are drawn with the same counts for every system and metric, so that systems are compared on the same resamples
(paired bootstrap, Koehn 2004). Knows metrics by what they sum over rows, and nothing of texts or data sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refdec.errors import InputError
from refdec.evaluate.judging.metric import AnyMetric, Metric, Outputs, WholeMetric
from refdec.metrics.bootstrap import Draws, Numbers, interval, sums


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and the ends of its 95 % interval; none where the metric cannot be resampled."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """First less second, the 95 % interval of that, and the two-sided p that they do not differ."""

    difference: float
    low: float
    high: float
    p: float


def summary(metric: AnyMetric, given: Outputs | Numbers, drawn: Draws | None = None) -> Figure:
    """The figure of a system, from its outputs or from their statistics; without draws it has no interval."""
    if isinstance(metric, WholeMetric):
        if not isinstance(given, Outputs):
            raise InputError(f"{metric.title} is a figure of whole texts; it needs outputs, not statistics.")
        return Figure(metric.value_of(given))
    statistics = metric.statistics(given) if isinstance(given, Outputs) else given
    value = float(metric.value(statistics.sum(0)))
    if drawn is None:
        return Figure(value)
    return Figure(value, *interval(resampled(metric, statistics, drawn)))


def compare(metric: Metric, first: Numbers, second: Numbers, drawn: Draws) -> Comparison:
    """Two systems on the same rows, by the statistics of each.

    p is twice the share of resamples on the other side of zero; the sample itself counts as one, so it is never zero.
    """
    difference = float(metric.value(first.sum(0)) - metric.value(second.sum(0)))
    differences = resampled(metric, first, drawn) - resampled(metric, second, drawn)
    below, above = np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0)
    p = min(1.0, 2 * float(1 + min(below, above)) / (1 + len(differences)))
    return Comparison(difference, *interval(differences), p)


def resampled(metric: Metric, statistics: Numbers, drawn: Draws) -> Numbers:
    """The figure of each resample."""
    return metric.value(sums(statistics, drawn))
