"""Metrics of generated texts and of agreement with people: values worked out by hand, and how outputs are read.

METEOR's own values need its program (extra `evaluate`) and Java; everything else always runs.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import infill_figures, wmt_figures

from refdec.errors import InputError, ModelError, SettingsError
from refdec.metrics import meteor
from refdec.metrics.bleu import corpus_bleu, sentence_bleu
from refdec.metrics.diversity import distinct, repeats_a_sentence
from refdec.metrics.kendall import kendall_like, tau_interval
from refdec.metrics.meteor import corpus_meteor
from refdec.metrics.overlap import copied_share, copies
from refdec.metrics.rouge import corpus_rouge_l, rouge_l
from refdec.metrics.words import bare_words


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
    assert rouge_l("a b c d", ["a x c d e f"]) == pytest.approx(60)


def test_rouge_l_takes_the_best_reference_and_the_mean_of_items() -> None:
    found = corpus_rouge_l(["a b c d", "q"], [["z", "a x c d e f", "b"], ["r"]])
    assert found == pytest.approx((60 + 0) / 2)


def test_rouge_l_sees_words_without_case_and_punctuation_and_does_not_stem() -> None:
    assert rouge_l("The Dogs!", ["the dogs"]) == pytest.approx(100)
    assert rouge_l("jumping", ["jumped"]) == 0
    assert rouge_l("jumping", ["jumped"], stem=True) == pytest.approx(100)


def test_rouge_l_needs_references() -> None:
    with pytest.raises(InputError, match="at least one reference"):
        corpus_rouge_l(["a"], [[]])


@pytest.mark.skipif(bool(_why_no_meteor()), reason=_why_no_meteor() or "nothing is missing")
def test_meteor_is_that_of_its_authors_program() -> None:
    # English parameters of METEOR 1.5: alpha 0.85, beta 0.2, gamma 0.6. Precision 1, recall 2/3, two matched words in
    # one chunk.
    mean = (2 / 3) / (0.85 + 0.15 * 2 / 3)
    assert corpus_meteor(["red house"], [["red house garden"]]) == pytest.approx(100 * mean * (1 - 0.6 * 0.5**0.2))
    # The best reference counts, and what a text has inside does not reach the program's own syntax.
    tricky = ["red ||| house\nblue", "the cat sat"]
    assert corpus_meteor(tricky, [["nothing alike", "red ||| house\r\nblue"], ["the cat sat"]]) == pytest.approx(100)


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


def test_meteor_gets_one_line_a_text_and_as_many_references_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _stub_java(tmp_path, monkeypatch, "print(0.25)")
    assert corpus_meteor(["a\r\nb \u2028 c", ""], [["d ||| e"], ["f", "g\n"]]) == pytest.approx(25)
    (texts, references), arguments = json.loads(seen.read_text())
    assert texts == ["a b c", ""]
    assert references == ["d ||| e", "d ||| e", "f", "g"]
    assert arguments[arguments.index("-l") :] == ["-l", "en", "-norm", "-q", "-r", "2"]
    assert not Path(arguments[arguments.index("-l") - 1]).exists()


@pytest.mark.parametrize("ending", ["sys.exit('no memory left')", "print('no memory left')"])
def test_meteor_that_fails_says_what_the_program_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    _stub_java(tmp_path, monkeypatch, ending)
    with pytest.raises(ModelError, match="no memory left"):
        corpus_meteor(["a"], [["a"]])


def test_meteor_without_java_or_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_real_one = meteor._jar
    _stub_java(tmp_path, monkeypatch, "print(1)")
    monkeypatch.setattr(meteor, "_jar", the_real_one)
    monkeypatch.setattr(meteor, "PACKAGE", "a-package-that-nobody-has")
    with pytest.raises(ModelError, match="pip install"):
        corpus_meteor(["a"], [["a"]])
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ModelError, match="Install a Java runtime"):
        corpus_meteor(["a"], [["a"]])


@pytest.mark.parametrize(("texts", "references"), [([], []), (["a"], [[]]), (["a"], [["a"], ["b"]])])
def test_meteor_refuses_texts_without_references(texts: list[str], references: list[list[str]]) -> None:
    with pytest.raises(InputError, match="METEOR"):
        corpus_meteor(texts, references)


def test_distinct_counts_different_ngrams_of_the_whole_corpus() -> None:
    # a b, b a, a b; then a b: four bigrams, two of them different.
    assert distinct(["a b a b", "A b"]) == pytest.approx(2 / 4)
    assert distinct(["a b a b", "A b"], length=1) == pytest.approx(2 / 6)
    assert distinct(["a"]) == 0


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


AROUND = {"left": "It rained. Ann was out.", "right": "She was wet.", "references": ["Ann had no coat."]}


@pytest.mark.parametrize(
    "line",
    [
        AROUND | {"text": "No coat.", "passes": True},
        AROUND | {"results": [{"text": "No coat.", "score": 1.0, "passes": True}, {"text": "x"}], "signature": "s"},
        {"id": "one", "output": "No coat.", "passes": True},
    ],
)
def test_outputs_are_read_in_each_of_their_forms(tmp_path: Path, line: dict[str, Any]) -> None:
    known = {"one": {"id": "one", "o1": AROUND["left"], "o2": AROUND["right"], "references": AROUND["references"]}}
    path = tmp_path / "outputs.jsonl"
    path.write_text((json.dumps(line) + "\n") * 3)
    rows = infill_figures.read(path, known, 2)
    assert rows == [AROUND | {"text": "No coat.", "passes": True}] * 2


def test_no_result_is_an_empty_output_that_does_not_pass(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(json.dumps(AROUND | {"results": []}))
    assert infill_figures.read(path, {}) == [AROUND | {"text": "", "passes": False}]


def test_an_output_without_its_references_is_named(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(json.dumps(AROUND | {"text": "a"}) + "\n" + json.dumps({"id": "one", "output": "a"}))
    with pytest.raises(InputError, match=r"outputs.jsonl, line 2 has no left, right, references"):
        infill_figures.read(path, {})


def test_infill_figures_worked_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infill_figures, "corpus_meteor", lambda *_: 12.34)
    texts = ["Ann had no coat.", "ann was out", "She ran. She ran.", "Rain fell on Ann."]
    rows: list[dict[str, Any]] = [AROUND | {"text": text, "passes": text != texts[1]} for text in texts]
    found = infill_figures.figures(rows)
    # Copies: the second alone. Repeats: the second (a sentence of the left), the third (its own). Bare words: 4, 3,
    # 4, 4. ROUGE-L: 1; ann is 1 of 3 and of 4 (F1 2/7); 0; ann is 1 of 4 and of 4 (1/4).
    assert (found["copies"], found["repeats"], found["passes"], found["words"]) == (25.0, 50.0, 75.0, 3.8)
    assert found["rouge_l"] == pytest.approx(100 * (1 + 2 / 7 + 1 / 4) / 4, abs=0.05)
    assert found["meteor"] == 12.3
    del rows[0]["passes"]
    assert "passes" not in infill_figures.figures(rows)


def test_wmt_figures_of_a_few_pairs() -> None:
    darr = [{"sid": 1, "better": "a", "worse": "b"}, {"sid": 1, "better": "a", "worse": "c"}]
    darr += [{"sid": 2, "better": "b", "worse": "a"}, {"sid": 2, "better": "c", "worse": "a"}]
    scores = {(1, "a"): 3.0, (1, "b"): 2.0, (1, "c"): 1.0, (2, "a"): 1.0, (2, "b"): 2.0, (2, "c"): 1.0}
    found = wmt_figures.figures(darr, scores)
    assert (found["tau"], found["pairs"], found["segments"]) == (0.5, 4, 2)
    assert (found["low"], found["high"]) == (0, 1)
    del scores[2, "b"]
    with pytest.raises(InputError, match="segment 2 of b"):
        wmt_figures.figures(darr, scores)
