"""What raters said, in figures: percentages, kappa and differences, by hand and against statsmodels and scipy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import permutation_test
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels
from statsmodels.stats.multitest import multipletests

from refdec.errors import InputError
from refdec.metrics.fleiss import fleiss_kappa
from refdec.metrics.permutation import exchanges, holm, permutation_p
from refdec.serve.studies.figures import Figures, figures
from refdec.serve.studies.questions import TASKS
from refdec.serve.studies.store import Rating

PARAPHRASE = TASKS["paraphrase"]
CHECK = {"consistency": (3, 4), "novelty": (1,)}

Answers = tuple[int, int, int]  # fluency, consistency, novelty


def rating(rater: str, item: str, systems: Sequence[str], answers: Answers, text: int | None = None) -> Rating:
    number = hash((item, tuple(systems))) if text is None else text
    names = [question.name for question in PARAPHRASE.questions]
    values = dict(zip(names, answers, strict=True))
    return Rating(rater, item, {"source": "It rained."}, number, "Rain fell.", tuple(systems), None, values, "")


def check(rater: str, place: int, answers: Answers) -> Rating:
    return replace(rating(rater, f"check {place}", (), answers, -place), expected=CHECK)


HAND = [
    # item, system: answers of ann and of ben
    *(rating("ann", "1", "a", (4, 3, 2)), rating("ben", "1", "a", (3, 3, 2))),  # both call it good
    *(rating("ann", "1", "b", (4, 4, 1)), rating("ben", "1", "b", (4, 4, 2))),  # not novel for ann
    *(rating("ann", "2", "a", (4, 3, 3)), rating("ben", "2", "a", (4, 3, 4))),  # both call it good
    *(rating("ann", "2", "b", (2, 1, 4)), rating("ben", "2", "b", (1, 2, 4))),  # neither fluent nor consistent
]
"""Two systems on two items, by two raters."""


def test_percentages_worked_out_by_hand() -> None:
    found = figures(PARAPHRASE, "ab", HAND)
    percent = {
        system: {name: share.percent for name, share in shares.items()} for system, shares in found.shares.items()
    }
    assert percent == {
        "a": {"fluency": 100.0, "consistency": 100.0, "novelty": 100.0, "overall": 100.0},
        "b": {"fluency": 50.0, "consistency": 50.0, "novelty": 75.0, "overall": 25.0},
    }
    assert found.shares["b"]["overall"].met == 1
    assert found.shares["b"]["overall"].ratings == 4
    assert found.shares["b"]["fluency"].mean == (4 + 4 + 2 + 1) / 4
    assert (found.items, found.texts, found.fewest, found.most) == (2, 4, 2, 2)


def test_kappa_worked_out_by_hand() -> None:
    """Overall: the texts have 2, 1, 2 and 0 ratings that call them good.

    Pairs agree on 1, 0, 1 and 1 of them: 3/4. Of the ratings 5/8 are good, so chance is (25 + 9) / 64 = 34/64, and
    kappa (48 - 34) / (64 - 34) = 14/30. Fluency: all pairs agree, and not all answers are the same, so it is 1.
    """
    found = figures(PARAPHRASE, "ab", HAND)
    assert found.thresholded["overall"].kappa == pytest.approx(14 / 30)
    assert found.thresholded["fluency"].kappa == pytest.approx(1)
    # The four points of fluency: 4 3, 4 4, 4 4, 2 1: pairs agree on 2 of 4; shares 1/8, 1/8, 1/8, 5/8, chance 28/64.
    assert found.graded["fluency"].kappa == pytest.approx((32 - 28) / (64 - 28))


def test_kappa_with_unequal_numbers_of_raters_worked_out_by_hand() -> None:
    """Pairs agree on 1, 0 and 1; the shares of yes are 1, 1/2 and 0, so chance is 1/2 and kappa (2/3 - 1/2) / (1/2)."""
    assert fleiss_kappa([[0, 3], [1, 1], [2, 0]]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(20))
def test_kappa_is_that_of_statsmodels(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    items, raters, categories = numbers.integers(2, 40), numbers.integers(2, 8), numbers.integers(2, 5)
    answers = numbers.integers(0, categories, (items, raters))
    table, _ = aggregate_raters(answers, n_cat=categories)
    assert fleiss_kappa(table.tolist()) == pytest.approx(fleiss_of_statsmodels(table, method="fleiss"))


def simulated(seed: int, items: int = 30, raters: int = 3) -> list[Rating]:
    """Raters who agree more than chance: system a is better than b, and c is as good as b."""
    numbers = np.random.default_rng(seed)
    made = []
    for item, system in itertools.product(range(items), "abc"):
        quality = numbers.normal(1.0 if system == "a" else 0.0)
        for rater in range(raters):
            answers = np.clip(np.round(2.5 + quality + numbers.normal(size=3) * 0.7), 1, 4).astype(int)
            made.append(rating(f"r{rater}", str(item), system, tuple(answers.tolist())))
    return made


def test_figures_of_a_study_are_those_of_statsmodels() -> None:
    ratings = simulated(0)
    found = figures(PARAPHRASE, "abc", ratings)
    for question in PARAPHRASE.questions:
        texts: dict[int, list[int]] = {}
        for item in ratings:
            texts.setdefault(item.text, []).append(item.answers[question.name])
        answers = np.array(list(texts.values()))
        graded, _ = aggregate_raters(answers - 1, n_cat=4)
        met, _ = aggregate_raters((answers >= question.least).astype(int), n_cat=2)
        for ours, table in ((found.graded, graded), (found.thresholded, met)):
            kappa = ours[question.name]
            assert kappa.kappa == pytest.approx(fleiss_of_statsmodels(table))
            assert kappa.texts == 90
            assert kappa.low is not None
            assert kappa.high is not None
            assert kappa.low < (kappa.kappa or 0) < kappa.high


def test_intervals_cover_what_the_raters_would_say_of_many_items() -> None:
    truth = figures(PARAPHRASE, "abc", simulated(1000, items=600))
    overall = {system: shares["overall"].percent or 0.0 for system, shares in truth.shares.items()}
    covered = 0
    for seed in range(20):
        found = figures(PARAPHRASE, "abc", simulated(seed))
        for system in "abc":
            share = found.shares[system]["overall"]
            assert share.low is not None
            assert share.high is not None
            covered += share.low <= overall[system] <= share.high
    assert covered >= 50  # of 60; 57 are expected


def test_holm_is_that_of_statsmodels() -> None:
    numbers = np.random.default_rng(0)
    for size in (1, 2, 5, 12):
        ps = numbers.random(size) ** 3
        assert holm(ps.tolist()) == pytest.approx(multipletests(ps, method="holm")[1].tolist())
    assert holm([]) == []


def means(pooled: np.ndarray) -> np.ndarray:
    return np.asarray(pooled[..., 0] / pooled[..., 1])


@pytest.mark.parametrize("rows", [3, 8, 40])
def test_permutations_give_the_p_of_scipy(rows: int) -> None:
    numbers = np.random.default_rng(rows)
    first, second = numbers.random((2, rows))
    second *= 0.8
    tried = permutation_test(
        (first, second), lambda x, y, axis: x.mean(axis) - y.mean(axis), permutation_type="samples",
        n_resamples=9_999, vectorized=True, rng=0,
    )  # fmt: skip
    ones = np.ones(rows)
    p = permutation_p(np.column_stack([first, ones]), np.column_stack([second, ones]), means, exchanges(rows))
    assert p == pytest.approx(tried.pvalue, abs=0 if rows < 10 else 0.015)


def test_a_permutation_test_worked_out_by_hand() -> None:
    """Three items, each one point better: of the 8 ways, only all and none exchanged give a difference as large."""
    first, second = np.column_stack([[1.0, 1, 1], [1.0, 1, 1]]), np.column_stack([[0.0, 0, 0], [1.0, 1, 1]])
    assert permutation_p(first, second, means, exchanges(3)) == 2 / 8
    assert permutation_p(first, first, means, exchanges(3)) == 1.0


def test_a_better_system_is_found_and_equal_ones_are_not() -> None:
    found = figures(PARAPHRASE, "abc", simulated(3, items=60))
    overall = {(item.first, item.second): item for item in found.differences if item.question == "overall"}
    assert overall["a", "b"].p_holm < 0.05
    assert overall["a", "b"].difference > 0
    assert overall["b", "c"].p_holm > 0.05
    assert len(found.differences) == 3 * 4
    for item in found.differences:
        assert item.p <= item.p_holm <= 1


def test_p_is_rarely_small_where_nothing_differs() -> None:
    small = 0
    for seed in range(40):
        renamed: dict[str, str] = {}
        numbers = np.random.default_rng(seed)
        ratings = []
        for item in simulated(seed, items=20):
            if item.item not in renamed:
                renamed[item.item] = "".join(numbers.permutation(list("abc")))
            (system,) = item.systems
            ratings.append(replace(item, systems=(renamed[item.item]["abc".index(system)],)))
        found = figures(PARAPHRASE, "abc", ratings)
        small += any(item.p_holm < 0.05 for item in found.differences if item.question == "overall")
    assert small <= 6  # of 40; 2 are expected


CHECKED = [
    *HAND,
    *(check("ann", place, (4, 4, 1)) for place in (1, 2)),
    check("ben", 1, (4, 4, 1)),
    check("ben", 2, (4, 1, 1)),
]


def test_raters_who_fail_the_checks_are_named_and_left_out_on_request() -> None:
    kept = figures(PARAPHRASE, "ab", CHECKED)
    assert [(item.name, item.rated, item.checks, item.passed, item.failed) for item in kept.raters] == [
        ("ann", 4, 2, 2, False),
        ("ben", 4, 2, 1, True),
    ]
    assert kept.excluded == ()
    assert kept.shares == figures(PARAPHRASE, "ab", HAND).shares  # checks count for no system
    without = figures(PARAPHRASE, "ab", CHECKED, exclude_failed=True)
    assert without.excluded == ("ben",)
    assert without.shares["b"]["overall"].percent == 0.0
    assert without.thresholded["overall"].kappa is None  # one rating of each text is left
    assert (without.fewest, without.most) == (1, 1)


def test_a_text_of_two_systems_counts_for_both_and_once_for_agreement() -> None:
    ratings = [rating(name, "1", ("a", "b"), (4, 4, 2)) for name in ("ann", "ben")]
    ratings += [rating(name, "2", ("a", "b"), (1, 4, 2)) for name in ("ann", "ben")]
    found = figures(PARAPHRASE, "ab", ratings)
    assert found.shares["a"] == found.shares["b"]
    assert found.thresholded["overall"].texts == 2
    assert {item.p for item in found.differences} == {1.0}


def test_a_study_that_has_just_begun_has_a_report_with_gaps() -> None:
    found: Figures = figures(PARAPHRASE, "ab", HAND[:1])
    assert found.shares["b"]["overall"].percent is None
    assert found.thresholded["overall"].kappa is None
    assert found.differences == ()


def test_no_answers_make_no_figures() -> None:
    with pytest.raises(InputError, match="no answers to report yet"):
        figures(PARAPHRASE, "ab", [])
    failed = [item for item in CHECKED if item.rater == "ben"]
    with pytest.raises(InputError, match="from raters who passed"):
        figures(PARAPHRASE, "ab", failed, exclude_failed=True)


def test_all_answers_alike_have_no_kappa_and_no_fault() -> None:
    ratings = [rating(name, str(item), "a", (4, 4, 4)) for name in ("ann", "ben") for item in range(3)]
    found = figures(PARAPHRASE, "a", ratings)
    assert {kappa.kappa for kappa in (*found.thresholded.values(), *found.graded.values())} == {None}
    assert found.shares["a"]["overall"].percent == 100.0
    assert (found.shares["a"]["overall"].low, found.shares["a"]["overall"].high) == (100.0, 100.0)


def test_fillings_are_good_where_raters_say_so_themselves() -> None:
    task = TASKS["infill"]
    answers = {"before": 4, "after": 3, "both": 2, "overall": 1}
    given = replace(rating("ann", "1", "a", (1, 1, 1)), answers=answers)
    found = figures(task, "a", [given, replace(given, rater="ben", answers=answers | {"overall": 4})])
    assert list(found.questions) == ["before", "after", "both", "overall"]
    assert [share.percent for share in found.shares["a"].values()] == [100.0, 100.0, 0.0, 50.0]
    assert found.shares["a"]["overall"].mean == 2.5
