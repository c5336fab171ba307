"""A yardstick: a reference described by its contexts, ready to judge candidates, and a small store of such.

The figures of the reference and of unrelated texts are kept, so each candidate costs one pass. On a CPU the figures
of a text do not depend on the texts that are judged with it or before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import torch

from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import Shared, on_both_sides, together
from refdec.reflect.scoring import fits, own_both
from refdec.reflect.side import Side
from refdec.results import Explanation, Reason, Token
from refdec.settings import ScoreSettings
from refdec.tasks.describe import Stage, contexts_of, ensembles_of, prepare, shown_contexts, silent, weigh
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.frame import Frame
from refdec.tasks.reasons import explain_tokens
from refdec.text.cleaning import clean

UNRELATED = (
    "The museum closes at five on weekdays.",
    "She left her umbrella on the bus again.",
    "Our neighbours are painting their fence green.",
    "Add the flour slowly and stir until it is smooth.",
)
"""Texts that have nothing to do with a reference: their mean fit is the zero of the scale."""

MOST_YARDSTICKS = 64
"""Yardsticks that a store holds. Each takes some hundred KB for its contexts and their figures."""

Array = npt.NDArray[np.float64]


def passes(pair: Pair, texts: Iterable[str]) -> list[list[str]]:
    """Texts grouped into those that are computed together: on a GPU all of them, which fills it.

    On a CPU one by one: texts that share a pass round differently (in int8 that moves a score by up to 0.1 nats), and
    a few contexts fill a pass anyway.
    """
    listed = list(texts)
    if pair.forward.device.type == "cuda":
        return [listed] if listed else []
    return [[text] for text in listed]


@dataclass(frozen=True)
class Numbers:
    """(score, the score of the reference itself, that of unrelated texts): as measured, and for every resample."""

    value: Array  # (3,)
    draws: Array  # (resamples, 3)


@dataclass(frozen=True)
class FitTable:
    """Log-probabilities of contexts next to a candidate, the reference and unrelated texts, with their weights."""

    key: str
    sides: dict[str, tuple[Array, Array]]  # side -> (3, contexts), (contexts,)
    fluency: Array  # (3,), added to the score

    def numbers(self, resamples: int, seed: int) -> Numbers:
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
        return Numbers(value, draws)


@dataclass(frozen=True)
class _Contexts:
    """The contexts of one side that count, in an order that does not depend on how they were sampled."""

    side: Side
    ids: list[Ids]
    weights: Array


@dataclass(frozen=True)
class _TextFits:
    """The log-probability of each context next to a text, and the fluency of the text by itself."""

    sides: list[Array]  # (contexts,), in the order of the yardstick's sides
    fluency: float

    @classmethod
    def mean(cls, several: Sequence[_TextFits]) -> _TextFits:
        sides = zip(*(measured.sides for measured in several), strict=True)
        return cls([np.stack(rows).mean(0) for rows in sides], float(np.mean([item.fluency for item in several])))


@dataclass(eq=False)
class Yardstick:
    """A described reference. Holds ids and numbers, no caches of the models."""

    pair: Pair
    text: str
    frame: Frame
    settings: ScoreSettings
    sampled: list[tuple[Side, list[Ids]]] = field(default_factory=list)  # in the order of drawing
    ensembles: list[Ensemble] = field(default_factory=list)  # empty while no weights are needed
    _ends: tuple[_TextFits, _TextFits] | None = None  # of the scale: the reference itself, and unrelated texts

    @cached_property
    def sides(self) -> list[_Contexts]:
        weighting = self.settings.weighting
        if weighting == "none":
            every = self.sampled or [(item.side, [*item.contexts, *item.others]) for item in self.ensembles]
            return [_Contexts(side, sorted(ids), np.ones(len(ids))) for side, ids in every]
        return [
            _Contexts(
                item.side,
                list(item.contexts),
                item.weights.double().cpu().numpy() if weighting == "learned" else np.ones(len(item.contexts)),
            )
            for item in self.ensembles
        ]

    async def weigh(self) -> None:
        """Learn the weights of the contexts, if that was not done yet."""
        if not self.ensembles:
            framed = self.frame.encode(self.pair.tokens, self.text)
            self.ensembles = await together(weigh(side, framed, ids, self.settings) for side, ids in self.sampled)

    async def judge(self, candidates: Sequence[str]) -> dict[str, FitTable]:
        """The fit of texts with the reference's contexts, beside that of the reference and of unrelated texts."""
        unrelated = [text for text in UNRELATED if text != self.text]
        ends = [] if self._ends is not None else [self.text, *unrelated]
        by_text = await self._measure(dict.fromkeys([*ends, *(text for text in candidates if text != self.text)]))
        if self._ends is None:
            self._ends = by_text[self.text], _TextFits.mean([by_text[text] for text in unrelated])
        by_text[self.text] = self._ends[0]
        return {text: self._table(by_text[text], *self._ends) for text in candidates}

    async def explain(self, texts: Sequence[str], tables: Mapping[str, FitTable], mark: str) -> list[Explanation]:
        """The reasons for and against each text, with the reference as the yardstick."""
        await self.weigh()
        contexts = shown_contexts(self.pair, self.ensembles)
        everything = [self.text, *texts]
        explained = [row for group in passes(self.pair, everything) for row in await self._explained(group)]
        own_fits, own_tokens = explained[0]
        own = Reason(self.text, "reference", 0.0, (0.0,) * len(contexts), own_tokens)
        result = []
        for text, (fitting, tokens) in zip(texts, explained[1:], strict=True):
            value, reference, _ = tables[text].numbers(0, 0).value
            reason = Reason(text, "", float(value - reference), tuple((fitting - own_fits).tolist()), tokens)
            result.append(Explanation("score", "", "", contexts, (own, reason), mark))
        return result

    async def _explained(self, texts: Sequence[str]) -> list[tuple[torch.Tensor, tuple[Token, ...]]]:
        """The fit of each text with the kept contexts of all sides, and the surprise of its tokens."""
        ids = [self.pair.tokens.encode(self.frame.wrap(text)) for text in texts]
        fitting = torch.cat(await together(fits(item.side, item.contexts, ids) for item in self.ensembles), dim=1)
        tokens = await together(explain_tokens(self.pair, self.ensembles, self.frame, text) for text in texts)
        return list(zip(fitting, tokens, strict=True))

    async def _measure(self, texts: Iterable[str]) -> dict[str, _TextFits]:
        result = {}
        for group in passes(self.pair, texts):
            framed = [self.pair.tokens.encode(self.frame.wrap(text)) for text in group]
            fitting = await together(fits(contexts.side, contexts.ids, framed) for contexts in self.sides)
            by_text = zip(*(side.double().unbind() for side in fitting), strict=True)
            fluency = await self._fluency(framed)
            for text, sides, own in zip(group, by_text, fluency, strict=True):
                result[text] = _TextFits([row.numpy().copy() for row in sides], own)
        return result

    async def _fluency(self, framed: Sequence[Sequence[int]]) -> list[float]:
        """Log-probability per token of each framed text by itself, both directions added, times its weight."""
        weight = self.settings.fluency
        if not weight:
            return [0.0] * len(framed)
        return [weight * sum(float(row.double().mean()) for row in both) for both in await own_both(self.pair, framed)]

    def _table(self, *measured: _TextFits) -> FitTable:
        return FitTable(
            key=self.text,
            sides={
                contexts.side.name: (np.stack([item.sides[number] for item in measured]), contexts.weights)
                for number, contexts in enumerate(self.sides)
            },
            fluency=np.array([item.fluency for item in measured]),
        )


async def describe(pair: Pair, text: str, settings: ScoreSettings, stage: Stage = silent) -> Yardstick:
    """The yardstick of a reference, with the weights that its settings ask for."""
    source, frame, framed = prepare(pair, text, settings)

    async def sample(side: Side) -> tuple[Side, list[Ids]]:
        return side, await contexts_of(side, framed.all, source, source, settings)

    stage("sampling contexts")
    names = ("right", "left") if settings.sides == "both" else (settings.sides,)
    yardstick = Yardstick(pair, source, frame, settings, sampled=await on_both_sides(pair, sample, names))
    if settings.weighting != "none":
        await yardstick.weigh()
    return yardstick


def recall(pair: Pair, fingerprint: Fingerprint, settings: ScoreSettings) -> Yardstick:
    """The yardstick that a fingerprint was made from."""
    source, frame, _ = prepare(pair, fingerprint.text, settings)
    ensembles = [item for item in ensembles_of(pair, fingerprint) if settings.sides in ("both", item.side.name)]
    return Yardstick(pair, source, frame, settings, ensembles=ensembles)


class Yardsticks:
    """The yardsticks used last, so that calls with the same reference share one."""

    def __init__(self, pair: Pair, settings: ScoreSettings, fingerprint: Fingerprint | None = None) -> None:
        """With a fingerprint, its own text is the only reference."""
        self.pair, self.settings, self.fingerprint = pair, settings, fingerprint
        self._shared: dict[str, Shared[Yardstick]] = {}  # by text, the one used last at the end

    def are_of(self, pair: Pair, settings: ScoreSettings, fingerprint: Fingerprint | None) -> bool:
        """Whether a call with these arguments may use this store; a fingerprint need not be given again."""
        return self.pair is pair and self.settings == settings and fingerprint in (None, self.fingerprint)

    async def of(self, reference: str | None, stage: Stage = silent) -> Yardstick:
        """The yardstick of a reference; None stands for the fingerprint's own text."""
        made = self.fingerprint
        if made is not None:
            made.check(self.pair.name, None if reference is None else clean(reference), self.settings)
        text = clean(reference or "") if made is None else made.text
        yardstick = self._shared.pop(text, None) or Shared(partial(self._make, text, stage))
        self._shared[text] = yardstick
        if len(self._shared) > MOST_YARDSTICKS:
            del self._shared[next(iter(self._shared))]
        return await yardstick

    async def _make(self, text: str, stage: Stage) -> Yardstick:
        """A yardstick with the ends of its scale measured."""
        if self.fingerprint is not None:
            yardstick = recall(self.pair, self.fingerprint, self.settings)
        else:
            yardstick = await describe(self.pair, text, self.settings, stage)
        await yardstick.judge([])
        return yardstick
