"""The probability that a candidate keeps the meaning of its source: a logistic function of what ranking knows.

The coefficients were fitted to the verdicts of a judge that is independent of the models. In cross-validation the share
of results that keep the meaning differs from their confidence by 0.01 on average (`pretrained/confidence.json`). They
belong to one pair of models; results of other pairs have no confidence. Knows nothing of models or judges.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from refdec.errors import SettingsError
from refdec.results import Paraphrase
from refdec.settings import ParaphraseSettings
from refdec.text.words import bare_words

CALIBRATIONS = Path(__file__).resolve().parent.parent / "pretrained" / "confidence.json"

GOOD = 0.5
"""A result below this has more likely lost the meaning than kept it."""

FIT_NATS = 2.0
"""Fits count in nats up to about here, and in ratios beyond: from -20 to -40 is no more than from -2 to -6."""

FEATURES = ("fit", "shared", "lost", "words", "choice", "behind")
"""What speaks for and against a candidate. All of it is known with any settings, also with a prior of 0.

fit     how well the contexts of the source fit the candidate, less how well they fit the source
shared  share of the source's words that the candidate has
lost    1 where a number or a name of the source is missing
words   logarithm of the number of words in the source: a long text can lose a word and still say nearly the same
choice  logarithm of contexts sampled per context kept: the best of many describe the source better
behind  logarithm of one plus the number of candidates that are at least as novel and rank before it
"""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic function of the features, for one pair of models."""

    intercept: float
    coefficients: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...]  # of the features when fitted; values beyond count as the end of the range

    @classmethod
    def of(cls, content: dict[str, Any]) -> Calibration:
        coefficients, ranges = (tuple(content[part][name] for name in FEATURES) for part in ("coefficients", "ranges"))
        return cls(content["intercept"], coefficients, tuple((low, high) for low, high in ranges))

    def confidence(self, features: Sequence[float]) -> float:
        clipped = [min(max(value, low), high) for value, (low, high) in zip(features, self.ranges, strict=True)]
        log_odds = self.intercept + sum(one * other for one, other in zip(self.coefficients, clipped, strict=True))
        odds = math.exp(-abs(log_odds))  # of the less likely outcome, so that nothing overflows
        return (1 if log_odds > 0 else odds) / (1 + odds)


@cache
def _calibrations() -> dict[str, Calibration]:
    fitted = json.loads(CALIBRATIONS.read_text(encoding="utf-8"))
    return {pair: Calibration.of(content) for pair, content in fitted.items()}


def calibration(pair: str) -> Calibration | None:
    """The calibration of a pair by its name, which contains a digest of the weights; None for other pairs."""
    return _calibrations().get(pair)


def check_calibrated(pair: str) -> None:
    """Refuse to choose results by confidence where the pair has none."""
    if calibration(pair) is None:
        raise SettingsError(
            f"Results of the pair {pair} have no confidence, because the pair was not calibrated. "
            "Leave the confidence out, or use the pair that comes with refdec."
        )


def with_confidence(
    pair: str, source: str, ranked: Sequence[Paraphrase], settings: ParaphraseSettings
) -> list[Paraphrase]:
    """All candidates of a source, best first, with their confidence where the pair is calibrated."""
    fitted = calibration(pair)
    if fitted is None:
        return list(ranked)
    rows = iter(features(source, ranked, settings))
    return [replace(item, confidence=1.0 if item.copy else fitted.confidence(next(rows))) for item in ranked]


def features(source: str, ranked: Sequence[Paraphrase], settings: ParaphraseSettings) -> list[tuple[float, ...]]:
    """The features of all candidates of a source, best first, without its copies, whose confidence is 1."""
    source_words = _words(source)
    choice = math.log(settings.contexts / min(settings.contexts, settings.kept_contexts))
    rows: list[tuple[float, ...]] = []
    novelties: list[float] = []  # of the candidates that rank before, rising
    for item in ranked:
        if item.copy:
            continue
        place = bisect_left(novelties, item.novelty)
        rows.append(
            (
                _fit(item, settings.loss),
                len(set(source_words) & set(_words(item.text))) / len(set(source_words)),
                float(bool(item.lost)),
                math.log(len(source_words)),
                choice,
                math.log1p(len(novelties) - place),
            )
        )
        novelties.insert(place, item.novelty)
    return rows


def _fit(item: Paraphrase, loss: float) -> float:
    """The part of the score that contexts gave, on a scale that is linear up to FIT_NATS and logarithmic beyond."""
    nats = item.relative - item.prior + loss * bool(item.lost)
    return math.copysign(math.log1p(abs(nats) / FIT_NATS), nats)


def _words(text: str) -> list[str]:
    return bare_words(text) or text.split()  # emoji have no words
