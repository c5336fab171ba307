"""Score: how well candidates fit the contexts of a reference, which tells how alike they are (equation 3).

The contexts are samples, so a bootstrap over them gives every number an interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from refdec.explanation import Explanation, Reason
from refdec.fingerprint import Fingerprint
from refdec.lm.pair import Pair
from refdec.reflect.contexts import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.randomness import uniforms
from refdec.reflect.scoring import fits, fits_of_groups, own_logprobs
from refdec.reflect.side import Side, on_both_sides
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


def score(
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
    """
    texts = [prepare(pair, candidate, settings)[0] for candidate in candidates]
    if fingerprint is not None:
        yardstick = _recall(pair, reference, settings, fingerprint)
    else:
        (yardstick,) = _describe(pair, [reference or ""], settings, explain, stage)
    back = _describe_each(pair, texts, settings, stage) if settings.symmetric else {}
    stage(f"scoring {len(texts)} candidates")
    return _scores([(yardstick, texts)], back, explain)[0]


def score_groups(
    pair: Pair,
    groups: Iterable[tuple[str, Sequence[str]]],
    settings: ScoreSettings,
    *,
    together: int = 16,
    stage: Stage = silent,
) -> Iterator[list[Score]]:
    """Scores for many references, each with its candidates, whose contexts are sampled together.

    Much faster on a GPU. Sampled together, texts can round differently from one alone, and a context can take
    another path for it: the scores are as good, but not digit for digit those of `score`.
    """
    waiting = iter(groups)
    while part := list(itertools.islice(waiting, together)):
        texts = [[prepare(pair, candidate, settings)[0] for candidate in candidates] for _, candidates in part]
        yardsticks = _describe(pair, [reference for reference, _ in part], settings, False, stage)
        back: dict[str, _Yardstick] = {}
        if settings.symmetric:
            everything = list(dict.fromkeys(text for group in texts for text in group))
            for some in (everything[start : start + together] for start in range(0, len(everything), together)):
                back |= zip(some, _describe(pair, some, settings, False, stage), strict=True)
        yield from _scores(list(zip(yardsticks, texts, strict=True)), back, False)


def _scores(
    groups: Sequence[tuple[_Yardstick, Sequence[str]]], back: Mapping[str, _Yardstick], explain: bool
) -> list[list[Score]]:
    """What yardsticks say of their texts, and, in the symmetric form, what each text says of its yardstick."""
    forth = _judge(groups)
    pairs = [(back[text], [yardstick.text]) for yardstick, texts in groups for text in texts if text in back]
    returned = iter(_judge(pairs) if pairs else [])
    results = []
    for (yardstick, texts), tables in zip(groups, forth, strict=True):
        mark = signature("score", yardstick.pair, yardstick.settings)
        scores = []
        for text in texts:
            judged = [tables[text], *([next(returned)[yardstick.text]] if text in back else [])]
            explanation = yardstick.explain(text, tables[text], mark) if explain else None
            scores.append(_make_score(yardstick, text, judged, mark, explanation))
        results.append(scores)
    return results


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

    def explain(self, text: str, table: _Table, mark: str) -> Explanation:
        own, contexts = self._own_reason, shown_contexts(self.pair, self.ensembles)
        relative: list[float] = []
        for scored, mine in zip(self._fits(text), self._own_fits, strict=True):
            relative += (scored - mine).tolist()
        value, reference, _ = table.numbers(0, 0).value
        tokens = explain_tokens(self.pair, self.ensembles, self.frame, text)
        reason = Reason(text, "", float(value - reference), tuple(relative), tokens)
        return Explanation("score", "", "", contexts, (own, reason), mark)

    def _fits(self, text: str) -> list[torch.Tensor]:
        """The fit of a text with the kept contexts of each side."""
        ids = self.pair.tokens.encode(self.frame.wrap(text))
        return [fits(ensemble.side, ensemble.contexts, [ids])[0] for ensemble in self.ensembles]

    @cached_property
    def _own_fits(self) -> list[torch.Tensor]:
        return self._fits(self.text)

    @cached_property
    def _own_reason(self) -> Reason:
        nothing = (0.0,) * sum(len(ensemble.contexts) for ensemble in self.ensembles)
        tokens = explain_tokens(self.pair, self.ensembles, self.frame, self.text)
        return Reason(self.text, "reference", 0.0, nothing, tokens)


def _judge(groups: Sequence[tuple[_Yardstick, Sequence[str]]]) -> list[dict[str, _Table]]:
    """What each yardstick says of each of its texts, of itself and of nothing; everything is read together."""
    pair, settings = groups[0][0].pair, groups[0][0].settings
    texts = [list(dict.fromkeys((yardstick.text, *candidates))) for yardstick, candidates in groups]
    unrelated = [[text for text in UNRELATED if text != yardstick.text] for yardstick, _ in groups]
    framed = [
        [pair.tokens.encode(yardstick.frame.wrap(text)) for text in (*own, *others)]
        for (yardstick, _), own, others in zip(groups, texts, unrelated, strict=True)
    ]
    sides = [contexts.side for contexts in groups[0][0].sides]
    measured = [
        fits_of_groups(
            side, [(yardstick.sides[number].ids, ids) for (yardstick, _), ids in zip(groups, framed, strict=True)]
        )
        for number, side in enumerate(sides)
    ]
    fluency = _fluency(pair, framed, settings.fluency)
    results = []
    for number, (yardstick, _) in enumerate(groups):
        known = len(texts[number])
        tables = [
            (contexts, measured[place][number].double().numpy()) for place, contexts in enumerate(yardstick.sides)
        ]
        own = fluency[number]
        results.append(
            {
                text: _Table(
                    key=yardstick.text,
                    sides={
                        contexts.side.name: (np.stack([table[row], table[0], table[known:].mean(0)]), contexts.weights)
                        for contexts, table in tables
                    },
                    fluency=np.array([own[row], own[0], own[known:].mean()]),
                )
                for row, text in enumerate(texts[number])
            }
        )
    return results


def _fluency(pair: Pair, framed: Sequence[Sequence[Sequence[int]]], weight: float) -> list[Array]:
    """Log-probability a token of each framed text by itself, both directions added, times a weight; by group."""
    if not weight:
        return [np.zeros(len(group)) for group in framed]
    everything = [ids for group in framed for ids in group]
    total = np.zeros(len(everything))
    for model in (pair.forward, pair.backward):
        rows = own_logprobs(model, [model.direction.arrange(ids) for ids in everything])
        total += weight * np.array([float(row.double().mean()) for row in rows])
    ends = np.cumsum([len(group) for group in framed])
    return np.split(total, ends[:-1])


def _describe(
    pair: Pair, texts: Sequence[str], settings: ScoreSettings, explain: bool, stage: Stage
) -> list[_Yardstick]:
    """Contexts of references, sampled together, with the weights that are asked for."""
    prepared = [prepare(pair, text, settings) for text in texts]

    def explore(side: Side) -> list[tuple[_Contexts, Ensemble | None]]:
        stage(f"contexts on the {side.name}")
        sources = [Described(framed.all, source, source) for source, _, framed in prepared]
        found: list[tuple[_Contexts, Ensemble | None]] = []
        for (_, _, framed), contexts in zip(prepared, contexts_of(side, sources, settings), strict=True):
            if explain or settings.weighting != "none":
                ensemble = weigh(side, framed, contexts, settings)
                found.append((_Contexts.of(ensemble, settings), ensemble))
            else:
                found.append((_Contexts(side, sorted(contexts), None), None))
        return found

    explored = on_both_sides(pair, explore, ("right", "left") if settings.sides == "both" else (settings.sides,))
    return [
        _Yardstick(
            pair,
            source,
            frame,
            settings,
            [side[number][0] for side in explored],
            [ensemble for side in explored if (ensemble := side[number][1]) is not None],
        )
        for number, (source, frame, _) in enumerate(prepared)
    ]


def _describe_each(pair: Pair, texts: Sequence[str], settings: ScoreSettings, stage: Stage) -> dict[str, _Yardstick]:
    """Every text as a yardstick of its own, described alone."""
    result = {}
    for number, text in enumerate(dict.fromkeys(texts), start=1):
        stage(f"contexts of candidate {number}")
        (result[text],) = _describe(pair, [text], settings, False, silent)
    return result


def _recall(pair: Pair, text: str | None, settings: ScoreSettings, fingerprint: Fingerprint) -> _Yardstick:
    """The yardstick that a fingerprint was made from."""
    fingerprint.check(pair.name, None if text is None else clean(text), settings)
    source, frame, _ = prepare(pair, fingerprint.text, settings)
    ensembles = [item for item in ensembles_of(pair, fingerprint) if settings.sides in ("both", item.side.name)]
    return _Yardstick(pair, source, frame, settings, [_Contexts.of(item, settings) for item in ensembles], ensembles)
