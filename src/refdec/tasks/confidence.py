"""How sure one can be that a candidate keeps the meaning of its source: a logistic function of what ranking knows.

The coefficients were fitted (`refdec.evaluate.confidence`) so that of a hundred results with confidence 0.9 about
ninety keep the meaning, by a judge that the models have no hand in. They belong to one pair of models; results of any
other have no confidence. Knows nothing of models or judges, and needs nothing but the standard library.
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
"""Fits are counted in nats up to about here, and in ratios beyond: from -20 to -40 is no more than from -2 to -6."""

FEATURES = ("fit", "shared", "lost", "words", "choice", "behind")
"""What speaks for and against a candidate. All of it is known with any settings, also where the prior counts nothing.

fit     how well the contexts of the source fit it, against the source itself; 0 is as well
shared  share of the source's words that it has
lost    1 where a number or a name of the source is missing
words   of the source, logarithm: a long text can lose a word and still say nearly the same
choice  contexts sampled for each one kept, logarithm: the best of many describe the source better
behind  candidates that are at least as novel and rank before it, one added, logarithm
"""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic function of the features, for one pair of models."""

    intercept: float
    coefficients: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...]  # as seen when fitted; what lies beyond counts as the end of the range

    @classmethod
    def of(cls, content: dict[str, Any]) -> Calibration:
        coefficients, ranges = (tuple(content[part][name] for name in FEATURES) for part in ("coefficients", "ranges"))
        return cls(content["intercept"], coefficients, tuple((low, high) for low, high in ranges))

    def confidence(self, features: Sequence[float]) -> float:
        seen = [min(max(value, low), high) for value, (low, high) in zip(features, self.ranges, strict=True)]
        log_odds = self.intercept + sum(one * other for one, other in zip(self.coefficients, seen, strict=True))
        odds = math.exp(-abs(log_odds))  # of the less likely, so that nothing overflows
        return (1 if log_odds > 0 else odds) / (1 + odds)


def calibration(pair: str) -> Calibration | None:
    """The calibration of a pair by its name, which contains a digest of the weights; None for other pairs."""
    return _calibrations().get(pair)


@cache
def _calibrations() -> dict[str, Calibration]:
    content = json.loads(CALIBRATIONS.read_text(encoding="utf-8"))
    return {pair: Calibration.of(fitted) for pair, fitted in content.items()}


def check_calibrated(pair: str) -> None:
    """Refuse to choose by a confidence that no result will have."""
    if calibration(pair) is None:
        raise SettingsError(
            f"Results of the pair {pair} have no confidence, because it was not calibrated. "
            "Leave the confidence out, or use the pair that comes with refdec."
        )


def with_confidence(
    pair: str, source: str, ranked: Sequence[Paraphrase], settings: ParaphraseSettings
) -> list[Paraphrase]:
    """All candidates of a source, best first, with their confidence where the pair is calibrated."""
    known = calibration(pair)
    if known is None:
        return list(ranked)
    found = iter(features(source, ranked, settings))
    return [replace(item, confidence=1.0 if item.copy else known.confidence(next(found))) for item in ranked]


def features(source: str, ranked: Sequence[Paraphrase], settings: ParaphraseSettings) -> list[tuple[float, ...]]:
    """Of all candidates of a source, best first, but for its copies: those need no function to keep the meaning."""
    said = _words(source)
    choice = math.log(settings.contexts / min(settings.contexts, settings.kept_contexts))
    found: list[tuple[float, ...]] = []
    novelties: list[float] = []  # of those that rank before, rising
    for item in ranked:
        if item.copy:
            continue
        place = bisect_left(novelties, item.novelty)
        found.append(
            (
                _fit(item, settings.loss),
                len(set(said) & set(_words(item.text))) / len(set(said)),
                float(bool(item.lost)),
                math.log(len(said)),
                choice,
                math.log1p(len(novelties) - place),
            )
        )
        novelties.insert(place, item.novelty)
    return found


def _fit(item: Paraphrase, loss: float) -> float:
    """The part of the score that contexts gave."""
    nats = item.relative - item.prior + loss * bool(item.lost)
    return math.copysign(math.log1p(abs(nats) / FIT_NATS), nats)


def _words(text: str) -> list[str]:
    return bare_words(text) or text.split()  # emoji have no words
