"""The probability that a candidate says what its source says, in good English: a logistic function of what is known.

The coefficients were fitted to what strict readers said of the program's own candidates, and to pairs of sentences
whose verdicts are certain: rewordings written by hand, and the same broken on purpose (`benchmarks/faithfulness`).
They belong to one pair of models; results of other pairs have no confidence, and neither has text that is not English,
because the ledger knows no other language.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from refdec.errors import SettingsError
from refdec.ledger.comparison import compare
from refdec.ledger.costs import FAITHFUL
from refdec.ledger.edits import edits
from refdec.ledger.language import is_english
from refdec.metrics.novelty import novelty
from refdec.results import Flow, Paraphrase

CALIBRATIONS = Path(__file__).resolve().parent.parent / "pretrained" / "confidence.json"

GOOD = 0.5
"""A result below this has more likely lost the meaning than kept it."""

LEAST_WHOLE, MOST_WHOLE = -12.0, 4.0
"""Nats beyond which a text that is less probable than its source is no worse, and one that is more probable no better:
it may have lost something."""

FEATURES = (
    "small",
    "large",
    "whole",
    "worst",
    "broken",
    "novelty",
    "listed",
    "unlisted",
    "moved",
    "shorter",
    "quotes",
    "opening",
    "lost links",
    "lost prepositions",
    "lost persons",
    "lost words",
    "new links",
    "new relatives",
    "new persons",
    "new commas",
    "new words",
)
"""What speaks for and against a candidate. All of it is known with any settings.

small     what the ledger charges, up to the limit of what it calls faithful
large     where it charges more than that, one plus the logarithm of what it charges
whole     how much more probable the whole text is than the source, in nats
worst     the same per token, of its least probable five tokens
broken    log-odds that its grammar is broken, less those of the source
novelty   share of the source's word pairs that it does not have: where much is new, more can be wrong
listed    whether every change is a listed one (`refdec.ledger.edits`)
unlisted  logarithm of one plus the words and marks that changed otherwise; the others are their kinds
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

    def log_odds(self, features: Sequence[float]) -> float:
        clipped = [min(max(value, low), high) for value, (low, high) in zip(features, self.ranges, strict=True)]
        return self.intercept + sum(one * other for one, other in zip(self.coefficients, clipped, strict=True))

    def confidence(self, features: Sequence[float]) -> float:
        log_odds = self.log_odds(features)
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


def with_confidence(pair: str, source: str, ranked: Sequence[Paraphrase]) -> list[Paraphrase]:
    """Candidates of a source with their confidence, where the pair is calibrated and the source is English.

    Those that were not compared with the source have none.
    """
    fitted = calibration(pair)
    if fitted is None or not is_english(source):
        return list(ranked)
    return [
        replace(item, confidence=1.0)
        if item.copy
        else item
        if item.cost is None
        else replace(item, confidence=fitted.confidence(features_of(source, item)))
        for item in ranked
    ]


def log_odds(pair: str, source: str, text: str, cost: float, flow: Flow) -> float:
    """How much more probable it is that a text is good than that it is not, for ranking candidates of any pair."""
    fitted = calibration(pair) or next(iter(_calibrations().values()))  # ranks those of other pairs; no confidence
    return fitted.log_odds(features(source, text, cost, flow))


def features_of(source: str, item: Paraphrase) -> tuple[float, ...]:
    """The features of a candidate that was read by itself; one without a cost is compared with the source here."""
    assert item.flow is not None
    cost = compare(source, item.text).cost if item.cost is None else item.cost
    return features(source, item.text, cost, item.flow)


def features(source: str, text: str, cost: float, flow: Flow) -> tuple[float, ...]:
    """The features of a text, by what the ledger charges for it, what was edited, and how it reads."""
    small, large = (cost, 0.0) if cost <= FAITHFUL else (FAITHFUL, 1 + math.log(cost))
    changed = edits(source, text)
    values = {
        "small": small,
        "large": large,
        "whole": min(max(flow.whole, LEAST_WHOLE), MOST_WHOLE),
        "worst": flow.worst,
        "broken": flow.broken,
        "novelty": novelty(text, source) / 100,
        "listed": float(not changed.unlisted),
        "unlisted": math.log1p(changed.unlisted),
        "moved": math.log1p(changed.moved),
        "shorter": changed.shorter,
        "quotes": float(changed.quotes),
        "opening": float(changed.opening),
        **{f"lost {name}s": float(changed.lost[name]) for name in ("link", "preposition", "person", "word")},
        **{f"new {name}s": float(changed.new[name]) for name in ("link", "relative", "person", "comma", "word")},
    }
    return tuple(values[name] for name in FEATURES)
