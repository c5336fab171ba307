"""What the raters said, in figures: percentages per system, agreement, and differences between systems.

Percentages are shares of ratings, as in the paper. Intervals are a bootstrap over items, drawn alike for every figure;
differences are tested by exchanging two systems on items, and corrected by Holm's method over the pairs of systems of
a question. Agreement is Fleiss' kappa. Knows nothing of files and pages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import RESAMPLES, Draws, Numbers, draws, interval, sums
from refdec.metrics.fleiss import kappa_of, kappa_statistics
from refdec.metrics.permutation import exchanges, holm, permutation_p
from refdec.serve.studies.checks import PASS_MARK
from refdec.serve.studies.questions import COMBINED, Question, Task
from refdec.serve.studies.store import Rating

DEFINED = 0.95
"""The share of resamples in which a figure must be defined, to have an interval."""


@dataclass(frozen=True, slots=True)
class Share:
    """Per cent of the ratings of a system that meet a threshold, with the mean of the answers."""

    percent: float | None  # none without ratings
    low: float | None
    high: float | None
    met: int
    ratings: int
    mean: float | None  # of the answers, from 1; none for what combines several questions


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement on a question: Fleiss' kappa of the texts with two ratings or more, none where it is not defined."""

    kappa: float | None
    low: float | None
    high: float | None
    texts: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The first system less the second, in points of per cent."""

    first: str
    second: str
    question: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class RaterFigures:
    name: str
    rated: int  # texts, without checks
    checks: int  # that were answered
    passed: int  # of these

    @property
    def failed(self) -> bool:
        return self.passed < PASS_MARK * self.checks


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that a report says.

    Attributes:
        questions: titles by name, in order; the last may be what combines them
        shares: by system and question
        thresholded: agreement on whether the threshold is met, as the paper has it, by question
        graded: agreement on the very answer, by question
        items: items with at least one rating
        fewest, most: ratings of a text
        excluded: names of raters who are left out
    """

    questions: dict[str, str]
    shares: dict[str, dict[str, Share]]
    thresholded: dict[str, Kappa]
    graded: dict[str, Kappa]
    differences: tuple[Difference, ...]
    raters: tuple[RaterFigures, ...]
    items: int
    texts: int
    fewest: int
    most: int
    excluded: tuple[str, ...]


def figures(task: Task, systems: Sequence[str], ratings: Sequence[Rating], exclude_failed: bool = False) -> Figures:
    """The figures of a study from its ratings; raters who failed the attention checks can be left out."""
    raters = _raters(ratings)
    excluded = tuple(rater.name for rater in raters if exclude_failed and rater.failed)
    rated = [rating for rating in ratings if rating.expected is None and rating.rater not in excluded]
    if not rated:
        raise InputError(
            "There are no answers to report"
            + (" from raters who passed the attention checks." if excluded else " yet.")
        )
    table = _Table(rated)
    drawn = draws(len(table.items), RESAMPLES)
    tests = {question.name: _met(question) for question in task.questions}
    titles = {question.name: question.title for question in task.questions}
    if task.combined:
        tests[COMBINED] = lambda rating: all(question.met(rating.answers[question.name]) for question in task.questions)
        titles[COMBINED] = COMBINED
    met = {name: {system: table.met(system, test) for system in systems} for name, test in tests.items()}
    per_text = Counter(rating.text for rating in rated)
    return Figures(
        questions=titles,
        shares={
            system: {name: _share(met[name][system], drawn, table.mean(system, name)) for name in tests}
            for system in systems
        },
        thresholded={name: table.kappa(test, 2, drawn) for name, test in tests.items()},
        graded={
            question.name: table.kappa(_answer(question), len(question.answers), drawn) for question in task.questions
        },
        differences=_differences(met, systems, drawn),
        raters=raters,
        items=len(table.items),
        texts=len(per_text),
        fewest=min(per_text.values()),
        most=max(per_text.values()),
        excluded=excluded,
    )


class _Table:
    """The ratings by item: what is summed over items is a row for each of them."""

    def __init__(self, ratings: Sequence[Rating]) -> None:
        self.items = {key: number for number, key in enumerate(dict.fromkeys(rating.item for rating in ratings))}
        self._ratings = ratings

    def met(self, system: str, test: Callable[[Rating], bool]) -> Numbers:
        """How many ratings of a system meet a threshold, and how many there are: (items, 2)."""
        counts = np.zeros((len(self.items), 2))
        for rating in self._ratings:
            if system in rating.systems:
                counts[self.items[rating.item]] += (test(rating), 1)
        return counts

    def mean(self, system: str, question: str) -> float | None:
        values = [
            item.answers[question] for item in self._ratings if system in item.systems and question in item.answers
        ]
        return float(np.mean(values)) if values else None

    def kappa(self, category: Callable[[Rating], int], categories: int, drawn: Draws) -> Kappa:
        """Agreement over texts; the texts of an item are drawn together, because they have the same raters."""
        counts: defaultdict[int, list[int]] = defaultdict(lambda: [0] * categories)
        item_of = {}
        for rating in self._ratings:
            counts[rating.text][category(rating)] += 1
            item_of[rating.text] = self.items[rating.item]
        several = [text for text, row in counts.items() if sum(row) > 1]
        pooled = np.zeros((len(self.items), 2 + categories))
        if several:
            rows = kappa_statistics(np.array([counts[text] for text in several], dtype=np.float64))
            np.add.at(pooled, [item_of[text] for text in several], rows)
        value = float(kappa_of(pooled.sum(0)))
        if np.isnan(value):
            return Kappa(None, None, None, len(several))
        return Kappa(value, *_interval(kappa_of(sums(pooled, drawn))), len(several))


def _met(question: Question) -> Callable[[Rating], bool]:
    return lambda rating: question.met(rating.answers[question.name])


def _answer(question: Question) -> Callable[[Rating], int]:
    """The answers as categories from 0."""
    return lambda rating: rating.answers[question.name] - 1


def _percent(pooled: Numbers) -> Numbers:
    """Per cent that met a threshold, from summed counts; not a number where there are no ratings."""
    share = np.full_like(pooled[..., 0], np.nan)
    return 100.0 * np.divide(pooled[..., 0], pooled[..., 1], out=share, where=pooled[..., 1] > 0)


def _share(counts: Numbers, drawn: Draws, mean: float | None) -> Share:
    met, ratings = counts.sum(0)
    percent = float(_percent(counts.sum(0))) if ratings else None
    return Share(percent, *_interval(_percent(sums(counts, drawn))), int(met), int(ratings), mean)


def _interval(values: Numbers) -> tuple[float | None, float | None]:
    defined = values[np.isfinite(values)]
    return interval(defined) if len(defined) >= DEFINED * len(values) else (None, None)


def _differences(met: dict[str, dict[str, Numbers]], systems: Sequence[str], drawn: Draws) -> tuple[Difference, ...]:
    """Every pair of systems on every question; items that have no rating of one of them tell nothing."""
    found = []
    ways = cache(exchanges)  # the same for all pairs that have as many items
    for question, counts in met.items():
        pairs = []
        for first, second in combinations(systems, 2):
            one, other = counts[first], counts[second]
            both = (one[:, 1] > 0) & (other[:, 1] > 0)
            if both.any():
                one, other = one * both[:, None], other * both[:, None]
                difference = float(_percent(one.sum(0)) - _percent(other.sum(0)))
                resampled = _percent(sums(one, drawn)) - _percent(sums(other, drawn))
                p = permutation_p(one[both], other[both], _percent, ways(int(both.sum())))
                pairs.append((first, second, question, difference, *_interval(resampled), p))
        corrected = holm([pair[-1] for pair in pairs])
        found += [Difference(*pair, p_holm) for pair, p_holm in zip(pairs, corrected, strict=True)]
    return tuple(found)


def _raters(ratings: Sequence[Rating]) -> tuple[RaterFigures, ...]:
    names = dict.fromkeys(rating.rater for rating in ratings)
    by_name = {name: [rating for rating in ratings if rating.rater == name] for name in names}
    return tuple(
        RaterFigures(
            name,
            sum(rating.expected is None for rating in given),
            sum(rating.expected is not None for rating in given),
            sum(rating.passed is True for rating in given),
        )
        for name, given in by_name.items()
    )
