"""Score: how alike texts are, measured by how well candidates fit the contexts of a reference (equation 3).

The contexts are samples, so a bootstrap over them gives every number an interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.lm.pair import Pair
from refdec.reflect.schedule import together
from refdec.results import Explanation, Score
from refdec.settings import ScoreSettings
from refdec.tasks.describe import Stage, prepare, silent
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.signature import signature
from refdec.tasks.yardstick import Array, FitTable, Yardstick, Yardsticks, describe, passes


async def score(
    pair: Pair,
    reference: str | None,
    candidates: Sequence[str],
    settings: ScoreSettings,
    *,
    fingerprint: Fingerprint | None = None,
    yardsticks: Yardsticks | None = None,
    explain: bool = False,
    stage: Stage = silent,
) -> list[Score]:
    """The Reflective Score of each candidate against a reference, in the order given.

    A fingerprint of the reference stands for sampling its contexts, and for the reference itself if that is None.
    Calls with the same yardsticks describe a reference once; these must have been made with the same pair, settings and
    fingerprint. In the symmetric form each candidate is also a reference, and judges the other text.
    """
    if yardsticks is None:
        yardsticks = Yardsticks(pair, settings, fingerprint)
    elif not yardsticks.are_of(pair, settings, fingerprint):
        raise ValueError("These yardsticks are of other models, other settings or another fingerprint.")
    texts = [prepare(pair, candidate, settings)[0] for candidate in candidates]
    yardstick = await yardsticks.of(reference, stage)
    returned: dict[str, FitTable] = {}
    if settings.symmetric:
        stage("contexts of the candidates")
        returned = await _returned(yardstick, list(dict.fromkeys(texts)))
    stage(f"scoring {len(texts)} candidates")
    forth = await yardstick.judge(texts)
    mark = signature("score", pair, settings)
    reasons = await yardstick.explain(texts, forth, mark) if explain else [None] * len(texts)
    return [
        _make_score(yardstick, text, [forth[text], *([returned[text]] if text in returned else [])], mark, reason)
        for text, reason in zip(texts, reasons, strict=True)
    ]


async def _returned(yardstick: Yardstick, texts: Sequence[str]) -> dict[str, FitTable]:
    """The fit of the reference with the contexts of each text."""
    result: dict[str, FitTable] = {}
    for group in passes(yardstick.pair, texts):
        back = await together(describe(yardstick.pair, text, yardstick.settings) for text in group)
        tables = await together(other.judge([yardstick.text]) for other in back)
        result |= {text: table[yardstick.text] for text, table in zip(group, tables, strict=True)}
    return result


def _make_score(
    yardstick: Yardstick, text: str, judged: Sequence[FitTable], mark: str, explanation: Explanation | None
) -> Score:
    settings = yardstick.settings
    whole = [table.numbers(settings.resamples, settings.seed) for table in judged]
    value, own, nothing = np.mean([numbers.value for numbers in whole], axis=0)
    draws = np.mean([numbers.draws for numbers in whole], axis=0)  # (resamples, 3)
    scaled = float(np.mean([_scaled(*numbers.value) for numbers in whole]))
    scaled_draws = np.mean([_scaled(*numbers.draws.T) for numbers in whole], axis=0)
    low, high = _interval(draws[:, 0], value)
    relative_low, relative_high = _interval(draws[:, 0] - draws[:, 1], value - own)
    scaled_low, scaled_high = (float(np.clip(end, 0, 100)) for end in _interval(scaled_draws, scaled))
    return Score(
        reference=yardstick.text,
        candidate=text,
        score=float(value),
        low=low,
        high=high,
        relative=float(value - own),
        relative_low=relative_low,
        relative_high=relative_high,
        span=float(own - nothing),
        scaled=float(np.clip(scaled, 0, 100)),
        scaled_low=scaled_low,
        scaled_high=scaled_high,
        fluency=float(np.mean([table.fluency[0] for table in judged])),
        signature=mark,
        explanation=explanation,
    )


def _scaled(value: Array, own: Array, nothing: Array) -> Array:
    """100 at the reference's own fit, 0 at that of unrelated texts; still 100 where unrelated texts fit better."""
    return 100 + 100 * (value - own) / np.maximum(own - nothing, 1e-6)


def _interval(draws: Array, value: float) -> tuple[float, float]:
    if not len(draws):
        return float(value), float(value)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
