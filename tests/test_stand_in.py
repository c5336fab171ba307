"""The stand-in for raters: what its numbers are, what they mean, and how its agreement with people is counted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from refdec import Pair
from refdec.errors import InputError, SettingsError
from refdec.evaluate.judging import agreement as agreeing
from refdec.evaluate.judging import joints, stand_in
from refdec.evaluate.judging.agreement import (
    agreement,
    area_under_curve,
    consistency,
    non_pairs,
    pair_agreement,
    vote_agreement,
)
from refdec.evaluate.judging.contrasts import CONTRASTS
from refdec.evaluate.judging.joints import weakest_joints
from refdec.evaluate.judging.metric import Metric, Outputs
from refdec.evaluate.judging.stand_in import QUORA, TWITTER, StandIn, Thresholds
from refdec.evaluate.judging.wording import different_words, plain, same_negation, same_numbers, written_alike
from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from tests.table_model import TableModel, random_table

SOURCE = "How can I keep my basil plant alive in winter?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what 's the best way , really ?", "what's the best way, really"),
        ("Why isn 't it so?", "why isn't it so"),
        ("why do n't cats ( big ones ) swim", "why don't cats (big ones) swim"),
        ("  “It’s   late”  ", "“it's late”"),
        ("", ""),
    ],
)
def test_texts_are_written_alike_whatever_a_system_does_to_marks(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("source", "mark"),
    [("Is it late?", "?"), ("It is late.", "."), ("is it late", "?"), ("so , what now", "?"), ("it is late", ".")],
)
def test_both_texts_get_the_mark_of_the_source(source: str, mark: str) -> None:
    assert [line[-1] for line in written_alike(source, "Who knows!")] == [mark, mark]


def test_different_words_worked_out_by_hand() -> None:
    # how, can, i, swim against how, do, i, swim, well: 3 of 6 words are in both.
    assert different_words("How do I swim well?", "how can i swim") == pytest.approx(3 / 6)
    assert different_words("Swim I can how?", "how can i swim") == 0.0
    assert different_words("", "") == 0.0


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("Two eggs for 10,000 people", "10000 people and 2 eggs", True),
        ("a phone of 2016", "a phone of 2017", False),
        ("windows 8 . 1", "Windows 8.1", True),
        ("no one there", "no 1 there", False),
    ],
)
def test_numbers_are_compared_in_digits_and_words(text: str, other: str, same: bool) -> None:
    assert same_numbers(text, other) is same


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("Can it swim?", "can 't it swim", False),
        ("I dont know nothing", "I know", True),
        ("Is it good or not?", "Is it good?", True),
        ("Do it without me", "do it with me", False),
    ],
)
def test_an_odd_number_of_negations_turns_the_meaning(text: str, other: str, same: bool) -> None:
    assert same_negation(text, other) is same


LETTERS = "\nab ?."


def table_pair() -> Pair:
    """Models of six characters whose probabilities can be looked up."""
    tokenizer = Tokenizer(WordLevel({letter: index for index, letter in enumerate(LETTERS)}, unk_token=" "))
    tokenizer.pre_tokenizer = Split(Regex(r"[\s\S]"), "isolated")
    forward, backward = (
        TableModel(random_table(len(LETTERS), seed), direction) for seed, direction in enumerate(Direction)
    )
    return Pair(forward, backward, Tokens(tokenizer, 0), "tables")


def test_joints_are_what_the_tables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joints, "ANY_TEXT", "ab")
    pair = table_pair()
    (found,) = weakest_joints(pair, ["a b."], ["ba."])
    ahead, behind = (model.table.double() for model in (pair.forward, pair.backward) if isinstance(model, TableModel))
    start, (a, b), line = -1, (LETTERS.index("a"), LETTERS.index("b")), [LETTERS.index(letter) for letter in "\nba.\n"]
    usual_ahead = (ahead[start] + ahead[a]) / 2  # before "a" and before "b"
    usual_behind = (behind[start] + behind[b]) / 2
    strengths = sorted(
        (math.log(ahead[left, right] / usual_ahead[right]) + math.log(behind[right, left] / usual_behind[left])) / 2
        for left, right in itertools.pairwise(line)
    )
    assert found == pytest.approx(sum(strengths[:3]) / 3, abs=1e-5)


def test_broken_texts_have_weaker_joints(pair: Pair) -> None:
    fluent = "What should I do so that my basil survives the winter?"
    broken = [
        "What should I so my do that winter basil the survives?",
        "What should I do so that my basil survives the?",
    ]
    found = weakest_joints(pair, [SOURCE] * 3, [fluent, *broken])
    assert found[0] > QUORA.joints
    assert (found[1:] < QUORA.joints).all()


def test_case_spaces_and_closing_marks_do_not_matter(pair: Pair) -> None:
    texts = ["Don't basil plants die in winter, usually?", "don 't basil plants die in winter , usually"]
    found = weakest_joints(pair, [SOURCE] * 2, texts)
    assert found[0] == pytest.approx(found[1], abs=1e-4)


def test_a_text_is_judged_alike_alone_and_among_others(pair: Pair) -> None:
    texts = [
        "How do I get basil through the winter?",
        "Basil?",
        "Why does basil need so much more light than mint does?",
    ]
    together = weakest_joints(pair, [SOURCE] * 3, texts)
    alone = [weakest_joints(pair, [SOURCE], [text])[0] for text in texts]
    assert together == pytest.approx(np.array(alone), abs=1e-4)


def test_a_text_without_words_is_never_fluent() -> None:
    assert weakest_joints(table_pair(), ["ab"], ["?"]).tolist() == [-math.inf]


def test_what_models_cannot_read_is_refused() -> None:
    with pytest.raises(InputError, match=r"Text 2 .* 100\."):
        weakest_joints(table_pair(), ["a", "a" * 60], ["a", "b" * 60])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Similarities and joints made up from the length of a text, and how many texts were asked for, call by call."""
    calls: list[int] = []

    def similarities(texts: Sequence[str], _: Sequence[str]) -> list[float]:
        return [1 - len(text) / 100 for text in texts]

    def joint_strengths(_: Pair, __: Sequence[str], texts: Sequence[str]) -> np.ndarray:
        calls.append(len(texts))
        return np.array([5.0 - len(text.split()) for text in texts])

    monkeypatch.setattr(stand_in, "check_similarity", lambda: None)
    monkeypatch.setattr(stand_in, "similarities", similarities)
    monkeypatch.setattr(stand_in, "weakest_joints", joint_strengths)
    return calls


TEXTS = ("ab ab", "a 2 b", "b a", "a b a b a b a b")
OUTPUTS = Outputs(("a b",) * 4, TEXTS, ((),) * 4)


@pytest.mark.usefixtures("counted")
def test_verdicts_follow_from_numbers_and_thresholds() -> None:
    judged = StandIn(table_pair(), Thresholds(joints=0.0, similarity=0.9)).judge(OUTPUTS)
    assert judged.fluent.tolist() == [True, True, True, False]
    assert judged.consistent.tolist() == [True, False, True, False]  # a number too many; too far
    assert judged.novel.tolist() == [True, True, False, False]  # the same words in another order are not novel
    assert judged.all_three.tolist() == [True, False, False, False]


def test_four_metrics_share_one_judgement(counted: list[int]) -> None:
    metrics: dict[str, Metric] = StandIn(table_pair(), Thresholds(joints=0.0, similarity=0.9)).metrics()
    figures = {item.title: float(item.value(item.statistics(OUTPUTS).sum(0))) for item in metrics.values()}
    assert figures == {"fluent %": 75.0, "consistent %": 50.0, "novel %": 50.0, "all three %": 25.0}
    assert counted == [4]
    assert {(item.better, item.digits) for item in metrics.values()} == {("higher", 1)}
    rows = metrics["fluent"].statistics(OUTPUTS)
    assert set(rows[:, 0]) == {0.0, 100.0}
    drawn = metrics["fluent"].value(np.stack([rows[:3].sum(0), rows[3:].sum(0)]))  # of resamples
    assert drawn.tolist() == [100.0, 0.0]


@pytest.mark.usefixtures("counted")
def test_a_signature_tells_models_and_thresholds() -> None:
    item = StandIn(table_pair(), Thresholds(similarity=0.75, negations=False)).metrics()["all-three"]
    for part in ("all-three|", "pair:tables", "all-MiniLM-L6-v2", "similarity>=0.75", "same:numbers|", "refdec:"):
        assert part in item.signature


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("outputs", [Outputs((), (), ()), Outputs(("a",), ("a", "b"), ((), ()))])
def test_texts_without_their_sources_are_refused(outputs: Outputs) -> None:
    with pytest.raises(InputError, match="each needs its own"):
        StandIn(table_pair()).judge(outputs)


@pytest.mark.parametrize(("name", "value"), [("similarity", 1.5), ("different_words", -0.1), ("joints", math.nan)])
def test_a_threshold_out_of_range_is_named(name: str, value: float) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(SettingsError, match=name):
        replace(QUORA, **changed)


def test_tweets_are_judged_more_gently_than_questions() -> None:
    assert TWITTER.joints < QUORA.joints
    assert TWITTER.similarity < QUORA.similarity


LABELS = np.array([True, True, True, False, False])
SCORES = np.array([0.9, 0.8, 0.3, 0.8, 0.1])


def test_agreement_worked_out_by_hand() -> None:
    # Accepted: two of three rightly, one of two wrongly. Of six mixed pairs 0.9 wins two, 0.8 one and a half, 0.3 one.
    found = agreement(LABELS, SCORES >= 0.5, SCORES)
    assert (found.pairs, found.positive) == (5, 3)
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.precision == found.recall == found.f1 == pytest.approx(2 / 3)
    assert found.kappa == pytest.approx((3 / 5 - 13 / 25) / (1 - 13 / 25))
    assert found.auc == area_under_curve(LABELS, SCORES) == pytest.approx(4.5 / 6)


def test_agreement_needs_both_answers() -> None:
    with pytest.raises(InputError, match="accept"):
        agreement(np.ones(2, dtype=bool), np.ones(2, dtype=bool), np.ones(2))


def test_a_stand_in_that_votes_with_the_majority_agrees_better_than_one_that_does_not() -> None:
    votes = [6, 5, 5, 1, 0, 0]
    with_them = vote_agreement(votes, np.array([True, True, True, False, False, False]))
    against = vote_agreement(votes, np.array([False, False, False, True, True, True]))
    # Yes of 17 in 36 votes; the stand-in's three yes meet 16, its three no meet 18 - 1.
    chance = 17 / 36 / 2 + 19 / 36 / 2
    assert with_them.with_raters == pytest.approx(((16 + 17) / 36 - chance) / (1 - chance))
    assert against.with_raters == pytest.approx(-with_them.with_raters)
    assert against.with_stand_in < with_them.of_raters < with_them.with_stand_in


PAIRS = [("a b c", "a b d"), ("a b e", "a x e"), ("x y", "x z")]


@pytest.mark.parametrize(
    ("kind", "expected"), [("nearest", ["x z", "x z", "a x e"]), ("words", ["a x e", "a b d", "a x e"])]
)
def test_non_pairs_are_the_likest_of_others(monkeypatch: pytest.MonkeyPatch, kind: str, expected: list[str]) -> None:
    places = {
        text: [math.cos(angle), math.sin(angle)]
        for angle, text in enumerate(["a b c", "x z", "a b e", "a x e", "x y", "a b d"])
    }
    monkeypatch.setattr(agreeing, "embed", lambda texts: torch.tensor([places[text] for text in texts]))
    assert [text for _, text in non_pairs(PAIRS, kind)] == expected


def test_random_non_pairs_are_never_pairs() -> None:
    assert not set(non_pairs(PAIRS, "random")) & set(PAIRS)
    with pytest.raises(SettingsError, match="nearest"):
        non_pairs(PAIRS, "neares")
    with pytest.raises(InputError, match="two pairs"):
        non_pairs(PAIRS[:1], "random")


def test_pairs_are_told_from_non_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        agreeing,
        "meaning_kept",
        lambda sources, texts: np.array([1.0 - different_words(*pair) for pair in zip(sources, texts, strict=True)]),
    )
    found = pair_agreement(PAIRS, "random", Thresholds(similarity=0.3))
    assert (found.pairs, found.positive) == (6, 3)
    assert found.recall == 1.0
    scores, accepted = consistency([("a 1", "a 2"), ("a", "a")], Thresholds(similarity=-1.0))
    assert accepted.tolist() == [False, True]
    assert scores[0] < -1


def test_contrasts_in_numbers_and_most_in_negations_are_seen_without_a_model() -> None:
    assert not any(same_numbers(*row) for row in CONTRASTS["number"])
    assert sum(same_negation(*row) for row in CONTRASTS["negation"]) == 1  # a negation inside a word is not seen
    assert all(same_numbers(*row) for row in CONTRASTS["same"])
