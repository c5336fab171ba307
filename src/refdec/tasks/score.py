"""Score: how well candidates fit the contexts of a reference, which tells how alike they are (equation 3).

The contexts are samples, so a bootstrap over them gives every number an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from refdec.explanation import Explanation, Reason
from refdec.fingerprint import Fingerprint
from refdec.lm.pair import Pair
from refdec.reflect.contexts import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import on_both_sides, together
from refdec.reflect.scoring import fits, own_both
from refdec.reflect.side import Side
from refdec.results import Score
from refdec.settings import ScoreSettings
from refdec.signature import signature
from refdec.tasks.describe import (
    Described,
    Stage,
    contexts_of,
    ensembles_of,
    prepare,
    shown_contexts,
    silent,
    weigh,
)
from refdec.tasks.frame import Frame
from refdec.tasks.reasons import explain_tokens
from refdec.tasks.text import clean

UNRELATED = (
    "The museum closes at five on weekdays.",
    "She left her umbrella on the bus again.",
    "Our neighbours are painting their fence green.",
    "Add the flour slowly and stir until it is smooth.",
)
"""What is known of a reference by a text that has nothing to do with it: the zero of the scale."""

Array = npt.NDArray[np.float64]


async def score(
    pair: Pair,
    reference: str | None,
    candidates: Sequence[str],
    settings: ScoreSettings,
    *,
    fingerprint: Fingerprint | None = None,
    explain: bool = False,
    stage: Stage = silent,
) -> list[Score]:
    """The Reflective Score of each candidate against a reference, in the order given.

    A fingerprint of the reference stands for sampling its contexts, and for the reference itself if that is None.
    In the symmetric form each candidate is a reference too, and judges the other one.
    """
    texts = [prepare(pair, candidate, settings)[0] for candidate in candidates]
    if fingerprint is not None:
        yardstick = _recall(pair, reference, settings, fingerprint)
    else:
        yardstick = await _describe(pair, reference or "", settings, explain, stage)
    returned: dict[str, _Table] = {}
    if settings.symmetric:
        stage("contexts of the candidates")
        different = list(dict.fromkeys(texts))
        back = await together(_describe(pair, text, settings, False, silent) for text in different)
        tables = await together(_judge(other, [yardstick.text]) for other in back)
        returned = {text: table[yardstick.text] for text, table in zip(different, tables, strict=True)}
    stage(f"scoring {len(texts)} candidates")
    forth = await _judge(yardstick, texts)
    mark = signature("score", pair, settings)
    reasons = await yardstick.explain(texts, forth, mark) if explain else [None] * len(texts)
    return [
        _make_score(yardstick, text, [forth[text], *([returned[text]] if text in returned else [])], mark, reason)
        for text, reason in zip(texts, reasons, strict=True)
    ]


def _make_score(
    yardstick: _Yardstick, text: str, judged: Sequence[_Table], mark: str, explanation: Explanation | None
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
    """100 at the reference's own fit, 0 at that of unrelated texts; the first holds even where these fit better."""
    return 100 + 100 * (value - own) / np.maximum(own - nothing, 1e-6)


def _interval(draws: Array, value: float) -> tuple[float, float]:
    if not len(draws):
        return float(value), float(value)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True)
class _Numbers:
    """(score, the reference's own, that of nothing): as measured, and for every resample."""

    value: Array  # (3,)
    draws: Array  # (resamples, 3)


@dataclass(frozen=True)
class _Table:
    """Log-probabilities of contexts next to a candidate, the reference and nothing, with their weights."""

    key: str
    sides: dict[str, tuple[Array, Array]]  # side -> (3, contexts), (contexts,)
    fluency: Array  # (3,), added to the score

    def numbers(self, resamples: int, seed: int) -> _Numbers:
        value = self.fluency.copy()
        draws = np.tile(self.fluency, (resamples, 1))
        for name, (table, weights) in self.sides.items():
            value += table @ weights / weights.sum()
            count = len(weights)
            uniform = uniforms(seed, self.key, f"bootstrap {name}", resamples, count).numpy()
            chosen = (uniform * count).astype(int)  # (resamples, contexts)
            mass = weights[chosen]
            total = mass.sum(1)
            usable = total > 0  # a resample can miss every context with weight
            shares = mass[usable] / total[usable, None]
            draws[usable] += np.einsum("tnc,nc->nt", table[:, chosen[usable]], shares)
            draws[~usable] += table @ weights / weights.sum()
        return _Numbers(value, draws)


@dataclass(frozen=True)
class _Contexts:
    """The contexts of one side that count, in an order that does not depend on how they were come by."""

    side: Side
    ids: list[Ids]
    learned: Array | None  # their weights, None where all count alike

    @classmethod
    def of(cls, ensemble: Ensemble, settings: ScoreSettings) -> _Contexts:
        if settings.weighting == "none":
            return cls(ensemble.side, sorted(ensemble.contexts + ensemble.others), None)
        weights = ensemble.weights.double().cpu().numpy() if settings.weighting == "learned" else None
        return cls(ensemble.side, list(ensemble.contexts), weights)

    @property
    def weights(self) -> Array:
        return np.ones(len(self.ids)) if self.learned is None else self.learned


@dataclass(frozen=True)
class _Yardstick:
    """A described reference, ready to judge candidates."""

    pair: Pair
    text: str
    frame: Frame
    settings: ScoreSettings
    sides: list[_Contexts]
    ensembles: list[Ensemble]  # for explanations; empty where no weights were needed

    async def explain(self, texts: Sequence[str], tables: Mapping[str, _Table], mark: str) -> list[Explanation]:
        """What speaks for and against each text, the reference beside it."""
        contexts = shown_contexts(self.pair, self.ensembles)
        everything = [self.text, *texts]
        fitting = await self._fits(everything)
        tokens = await together(explain_tokens(self.pair, self.ensembles, self.frame, text) for text in everything)
        own = Reason(self.text, "reference", 0.0, (0.0,) * len(contexts), tokens[0])
        result = []
        for text, relative, pieces in zip(texts, fitting[1:] - fitting[0], tokens[1:], strict=True):
            value, reference, _ = tables[text].numbers(0, 0).value
            reason = Reason(text, "", float(value - reference), tuple(relative.tolist()), pieces)
            result.append(Explanation("score", "", "", contexts, (own, reason), mark))
        return result

    async def _fits(self, texts: Sequence[str]) -> torch.Tensor:
        """The fit of texts with the kept contexts of all sides, (texts, contexts)."""
        ids = [self.pair.tokens.encode(self.frame.wrap(text)) for text in texts]
        return torch.cat(await together(fits(item.side, item.contexts, ids) for item in self.ensembles), dim=1)


async def _judge(yardstick: _Yardstick, candidates: Sequence[str]) -> dict[str, _Table]:
    """What a yardstick says of texts, of itself and of nothing."""
    pair, settings = yardstick.pair, yardstick.settings
    texts = list(dict.fromkeys((yardstick.text, *candidates)))
    unrelated = [text for text in UNRELATED if text != yardstick.text]
    framed = [pair.tokens.encode(yardstick.frame.wrap(text)) for text in (*texts, *unrelated)]
    measured = await together(fits(contexts.side, contexts.ids, framed) for contexts in yardstick.sides)
    own = await _fluency(pair, framed, settings.fluency)
    known = len(texts)
    tables = [(contexts, found.double().numpy()) for contexts, found in zip(yardstick.sides, measured, strict=True)]
    return {
        text: _Table(
            key=yardstick.text,
            sides={
                contexts.side.name: (np.stack([table[row], table[0], table[known:].mean(0)]), contexts.weights)
                for contexts, table in tables
            },
            fluency=np.array([own[row], own[0], own[known:].mean()]),
        )
        for row, text in enumerate(texts)
    }


async def _fluency(pair: Pair, framed: Sequence[Sequence[int]], weight: float) -> Array:
    """Log-probability a token of each framed text by itself, both directions added, times a weight."""
    if not weight:
        return np.zeros(len(framed))
    return weight * np.array([sum(float(row.double().mean()) for row in both) for both in await own_both(pair, framed)])


async def _describe(pair: Pair, text: str, settings: ScoreSettings, explain: bool, stage: Stage) -> _Yardstick:
    """The contexts of a reference, with the weights that are asked for."""
    source, frame, framed = prepare(pair, text, settings)

    async def explore(side: Side) -> tuple[_Contexts, Ensemble | None]:
        stage(f"contexts on the {side.name}")
        contexts = await contexts_of(side, Described(framed.all, source, source), settings)
        if not explain and settings.weighting == "none":
            return _Contexts(side, sorted(contexts), None), None
        ensemble = await weigh(side, framed, contexts, settings)
        return _Contexts.of(ensemble, settings), ensemble

    names = ("right", "left") if settings.sides == "both" else (settings.sides,)
    explored = await on_both_sides(pair, explore, names)
    ensembles = [ensemble for _, ensemble in explored if ensemble is not None]
    return _Yardstick(pair, source, frame, settings, [contexts for contexts, _ in explored], ensembles)


def _recall(pair: Pair, text: str | None, settings: ScoreSettings, fingerprint: Fingerprint) -> _Yardstick:
    """The yardstick that a fingerprint was made from."""
    fingerprint.check(pair.name, None if text is None else clean(text), settings)
    source, frame, _ = prepare(pair, fingerprint.text, settings)
    ensembles = [item for item in ensembles_of(pair, fingerprint) if settings.sides in ("both", item.side.name)]
    return _Yardstick(pair, source, frame, settings, [_Contexts.of(item, settings) for item in ensembles], ensembles)
