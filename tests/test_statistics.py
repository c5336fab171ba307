"""Intervals and comparisons: what theory has, what must hold for any numbers, and that parts change nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdec.errors import InputError, SettingsError
from refdec.evaluate.judging.metric import Metric, Outputs, WholeMetric
from refdec.evaluate.judging.statistics import Figure, compare, resampled, summary
from refdec.metrics import bootstrap
from refdec.metrics.bootstrap import Numbers, draws, interval


def _lengths(outputs: Outputs) -> Numbers:
    return _rows(np.array([len(text) for text in outputs.texts], dtype=np.float64))


def _rows(values: Numbers) -> Numbers:
    return np.column_stack([values, np.ones_like(values)])


def _mean(pooled: Numbers) -> Numbers:
    return np.asarray(pooled[..., 0] / pooled[..., 1])


LENGTH = Metric("length", "", 1, "length", _lengths, _mean, needs_references=False)
SIZE = WholeMetric("size", "", 0, "size", lambda outputs: float(len(set(outputs.texts))))
VALUES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30).map(np.array)


def _outputs(*texts: str) -> Outputs:
    return Outputs(texts, texts, tuple((text,) for text in texts))


def test_each_resample_has_as_many_rows_as_there_are() -> None:
    drawn = draws(7, resamples=50)
    assert drawn.shape == (50, 7)
    assert (drawn.sum(1) == 7).all()
    assert (drawn >= 0).all()


def test_same_seed_same_draws_in_any_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = np.arange(40.0).reshape(20, 2)
    whole = draws(20, 30, seed=3)
    sums = bootstrap.sums(statistics, whole)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 47)  # two resamples at a time
    assert (draws(20, 30, seed=3) == whole).all()
    assert (bootstrap.sums(statistics, whole) == sums).all()
    assert (draws(20, 30, seed=4) != whole).any()


def test_sums_are_those_of_the_rows_that_are_drawn() -> None:
    statistics = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    drawn = np.array([[3, 0, 0], [1, 1, 1], [0, 1, 2]], dtype=np.int32)
    assert bootstrap.sums(statistics, drawn).tolist() == [[3, 30], [7, 70], [10, 100]]


def test_an_interval_is_the_middle_of_the_values() -> None:
    assert interval(np.arange(41.0)) == pytest.approx((1, 39))
    assert interval(np.arange(41.0), level=0.5) == (10, 30)


def test_a_figure_has_no_interval_without_draws() -> None:
    assert summary(LENGTH, _outputs("a", "abc")) == Figure(2.0)


def test_a_figure_is_the_same_from_outputs_and_from_their_statistics() -> None:
    outputs = _outputs("a", "abc", "abcdef")
    drawn = draws(3, 20)
    assert summary(LENGTH, outputs, drawn) == summary(LENGTH, LENGTH.statistics(outputs), drawn)


def test_a_figure_of_whole_texts_has_no_interval() -> None:
    assert summary(SIZE, _outputs("a", "a", "b"), draws(3)) == Figure(2.0)
    with pytest.raises(InputError, match="needs outputs"):
        summary(SIZE, np.ones((3, 2)))


def test_an_interval_is_as_wide_as_theory_has_it() -> None:
    # 400 rows, a quarter of them ones: standard error sqrt(0.25 0.75 / 400) = 0.02165.
    values = np.repeat([1.0, 0.0], [100, 300])
    found = summary(LENGTH, _rows(values), draws(400, 4000))
    half = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert (found.value, found.low, found.high) == pytest.approx((0.25, 0.25 - half, 0.25 + half), abs=0.004)


def test_p_is_as_theory_has_it() -> None:
    # 400 differences of mean 0.1 and deviation 1: z is 2, two-sided p is 0.0455.
    noise = np.random.default_rng(0).normal(size=400)
    noise = (noise - noise.mean()) / noise.std()
    found = compare(LENGTH, _rows(noise + 0.1), _rows(np.zeros(400)), draws(400, 4000))
    assert found.difference == pytest.approx(0.1)
    assert found.p == pytest.approx(0.0455, abs=0.015)
    assert found.low == pytest.approx(0.1 - 1.96 / 20, abs=0.01)


def test_what_is_better_on_every_row_has_the_smallest_p() -> None:
    values = np.arange(10.0)
    assert compare(LENGTH, _rows(values + 1), _rows(values), draws(10, 999)).p == pytest.approx(2 / 1000)


def test_systems_are_compared_row_by_row() -> None:
    # Each varies widely, their difference not at all.
    values = np.random.default_rng(1).normal(0, 100, 50)
    found = compare(LENGTH, _rows(values + 1), _rows(values), draws(50))
    assert (found.low, found.high) == pytest.approx((1, 1))


@given(VALUES, st.integers(0, 5))
def test_a_system_does_not_differ_from_itself(values: Numbers, seed: int) -> None:
    found = compare(LENGTH, _rows(values), _rows(values), draws(len(values), 20, seed))
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)


@given(VALUES, st.integers(0, 5))
def test_turning_a_comparison_round_changes_its_sign_alone(values: Numbers, seed: int) -> None:
    drawn = draws(len(values), 40, seed)
    forth = compare(LENGTH, _rows(values), _rows(values[::-1].copy()), drawn)
    back = compare(LENGTH, _rows(values[::-1].copy()), _rows(values), drawn)
    assert (forth.difference, forth.low, forth.high) == pytest.approx((-back.difference, -back.high, -back.low))
    assert forth.p == back.p
    assert 0 < forth.p <= 1


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_the_interval_of_many_rows_contains_the_value(seed: int) -> None:
    values = np.random.default_rng(seed).gamma(2, size=300)
    found = summary(LENGTH, _rows(values), draws(300, 500, seed))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


@given(VALUES, st.integers(0, 5))
def test_resamples_together_are_as_one_by_one(values: Numbers, seed: int) -> None:
    drawn = draws(len(values), 10, seed)
    one_by_one = [_mean((row @ _rows(values))[None])[0] for row in drawn.astype(np.float64)]
    assert resampled(LENGTH, _rows(values), drawn) == pytest.approx(one_by_one)


def test_resamples_of_other_rows_are_refused() -> None:
    with pytest.raises(InputError, match="of 3 rows and the statistics of 2"):
        summary(LENGTH, np.ones((2, 2)), draws(3))
    with pytest.raises(InputError, match="no rows"):
        draws(0)
    with pytest.raises(SettingsError, match="resamples is 0"):
        draws(3, resamples=0)
