"""How far the stand-in agrees with people: on pairs that they called duplicates, and on pairs that they voted on.

Works on numbers and on lists of pairs that somebody else has read. People never saw the non-pairs that are made here:
that another question's duplicate is no paraphrase is taken for granted, and holds where every question has one partner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from refdec.errors import InputError, SettingsError
from refdec.evaluate.judging.stand_in import QUORA, Thresholds, Verdicts, meaning_kept
from refdec.evaluate.judging.wording import different_share, same_negation, same_numbers, word_set
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.fleiss import fleiss_kappa
from refdec.metrics.similarity import embed
from refdec.metrics.spearman import ranks
from refdec.settings import did_you_mean

Pairs = Sequence[tuple[str, str]]
"""Source and text."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of verdicts with people's labels; `auc` is that of the scores behind the verdicts, at any threshold."""

    pairs: int
    positive: int
    balanced_accuracy: float
    precision: float
    recall: float
    f1: float
    kappa: float
    auc: float


def agreement(labels: Verdicts, accepted: Verdicts, scores: Numbers) -> Agreement:
    """Labels are people's, `accepted` are our verdicts; higher scores should go with true labels."""
    if not labels.any() or labels.all():
        raise InputError("Agreement needs pairs that people accept and pairs that they do not.")
    recall, wrongly = float(accepted[labels].mean()), float(accepted[~labels].mean())
    precision = float(labels[accepted].mean()) if accepted.any() else 0.0
    return Agreement(
        pairs=len(labels),
        positive=int(labels.sum()),
        balanced_accuracy=(recall + 1 - wrongly) / 2,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        kappa=_kappa(float((labels == accepted).mean()), float(labels.mean()), float(accepted.mean())),
        auc=area_under_curve(labels, scores),
    )


def area_under_curve(labels: Verdicts, scores: Numbers) -> float:
    """The chance that a pair that people accept has a higher score than one that they do not; half for a tie."""
    positive, negative = int(labels.sum()), int((~labels).sum())
    above = float(ranks(scores.tolist())[labels].sum()) - positive * (positive - 1) / 2  # ranks count from 0
    return above / (positive * negative)


@dataclass(frozen=True, slots=True)
class VoteAgreement:
    """With several raters of each pair: how far they agree among themselves, and the stand-in with one of them."""

    of_raters: float  # Fleiss' kappa
    with_raters: float  # kappa of the stand-in and a rater drawn at random
    with_stand_in: float  # Fleiss' kappa, the stand-in counted as one more rater


def vote_agreement(votes: Sequence[int], accepted: Verdicts, raters: int = 6) -> VoteAgreement:
    """Votes are how many of the raters accept each pair."""
    counts = np.array(votes)
    share = counts / raters
    observed = float(np.where(accepted, share, 1 - share).mean())
    more = counts + accepted
    return VoteAgreement(
        of_raters=fleiss_kappa(np.column_stack([counts, raters - counts]).tolist()),
        with_raters=_kappa(observed, float(share.mean()), float(accepted.mean())),
        with_stand_in=fleiss_kappa(np.column_stack([more, raters + 1 - more]).tolist()),
    )


def _kappa(observed: float, first: float, second: float) -> float:
    """Cohen's, from the share of equal answers and what share of them is yes on either side."""
    chance = first * second + (1 - first) * (1 - second)
    return (observed - chance) / (1 - chance) if chance < 1 else 0.0


def consistency(pairs: Pairs, thresholds: Thresholds = QUORA) -> tuple[Numbers, Verdicts]:
    """Scores and verdicts of the stand-in's consistency, without its language models.

    A pair whose numbers or negations differ, where these must be the same, has a score below all others.
    """
    similarity = meaning_kept([source for source, _ in pairs], [text for _, text in pairs])
    refused = np.array(
        [
            (thresholds.numbers and not same_numbers(*pair)) or (thresholds.negations and not same_negation(*pair))
            for pair in pairs
        ]
    )
    scores: Numbers = np.where(refused, similarity - 2, similarity)
    return scores, scores >= thresholds.similarity


def pair_agreement(pairs: Pairs, kind: str = "nearest", thresholds: Thresholds = QUORA) -> Agreement:
    """On pairs that people called duplicates, against as many non-pairs."""
    scores, accepted = consistency([*pairs, *non_pairs(pairs, kind)], thresholds)
    return agreement(np.arange(len(scores)) < len(pairs), accepted, scores)


def non_pairs(pairs: Pairs, kind: str = "nearest") -> list[tuple[str, str]]:
    """Each source with the text of another one: by embedding the nearest, with the most words in common, or any."""
    if kind not in NON_PAIRS:
        raise SettingsError(f"There are no non-pairs {kind!r}{did_you_mean(kind, NON_PAIRS)}: {', '.join(NON_PAIRS)}.")
    if len(pairs) < 2:
        raise InputError("Non-pairs are made from at least two pairs.")
    alike = NON_PAIRS[kind](pairs)  # (sources, texts)
    np.fill_diagonal(alike, -np.inf)
    return [(source, pairs[place][1]) for (source, _), place in zip(pairs, alike.argmax(1), strict=True)]


def _by_embedding(pairs: Pairs) -> Numbers:
    alike: Numbers = (embed([source for source, _ in pairs]) @ embed([text for _, text in pairs]).T).double().numpy()
    return alike


def _by_words(pairs: Pairs) -> Numbers:
    sources, texts = ([word_set(pair[side]) for pair in pairs] for side in (0, 1))
    return np.array([[-different_share(source, text) for text in texts] for source in sources])


def _by_chance(pairs: Pairs) -> Numbers:
    return np.random.default_rng(0).random((len(pairs), len(pairs)))


NON_PAIRS: dict[str, Callable[[Pairs], Numbers]] = {"nearest": _by_embedding, "words": _by_words, "random": _by_chance}
