"""A yardstick: a reference described by its contexts, ready to judge candidates, and a small store of such.

What it measures of its own text and of unrelated ones is kept, so that every candidate costs only itself. On a CPU a
number depends on its own text alone: not on what is judged with it, nor on what was judged before.
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
"""What is known of a reference by a text that has nothing to do with it: the zero of the scale."""

MOST_YARDSTICKS = 64
"""That a store holds. Each is its contexts and a few numbers about them, some hundred KB."""

Array = npt.NDArray[np.float64]


def passes(pair: Pair, texts: Iterable[str]) -> list[list[str]]:
    """Texts that are worked on at once: on a GPU all of them, which fills it.

    On a CPU one by one: what shares a pass rounds differently (in int8 that moves a score by up to 0.1 nats), and a few
    contexts fill a pass anyway.
    """
    listed = list(texts)
    if pair.forward.device.type == "cuda":
        return [listed] if listed else []
    return [[text] for text in listed]


@dataclass(frozen=True)
class Numbers:
    """(score, the reference's own, that of nothing): as measured, and for every resample."""

    value: Array  # (3,)
    draws: Array  # (resamples, 3)


@dataclass(frozen=True)
class Table:
    """Log-probabilities of contexts next to a candidate, the reference and nothing, with their weights."""

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
    """The contexts of one side that count, in an order that does not depend on how they were come by."""

    side: Side
    ids: list[Ids]
    weights: Array


@dataclass(frozen=True)
class _Measured:
    """The contexts next to a text, and the text by itself."""

    sides: list[Array]  # (contexts,), in the order of the yardstick's sides
    fluency: float

    @classmethod
    def mean(cls, several: Sequence[_Measured]) -> _Measured:
        sides = zip(*(measured.sides for measured in several), strict=True)
        return cls([np.stack(rows).mean(0) for rows in sides], float(np.mean([item.fluency for item in several])))


@dataclass(eq=False)
class Yardstick:
    """A described reference. Holds ids and numbers, and nothing of what models keep."""

    pair: Pair
    text: str
    frame: Frame
    settings: ScoreSettings
    sampled: list[tuple[Side, list[Ids]]] = field(default_factory=list)  # as they were drawn
    ensembles: list[Ensemble] = field(default_factory=list)  # empty while no weights are needed
    _ends: tuple[_Measured, _Measured] | None = None  # of the scale: the reference itself, and nothing

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

    async def judge(self, candidates: Sequence[str]) -> dict[str, Table]:
        """What the reference's contexts say of texts, beside what they say of itself and of nothing."""
        unrelated = [text for text in UNRELATED if text != self.text]
        ends = [] if self._ends is not None else [self.text, *unrelated]
        found = await self._measure(dict.fromkeys([*ends, *(text for text in candidates if text != self.text)]))
        if self._ends is None:
            self._ends = found[self.text], _Measured.mean([found[text] for text in unrelated])
        found[self.text] = self._ends[0]
        return {text: self._table(found[text], *self._ends) for text in candidates}

    async def explain(self, texts: Sequence[str], tables: Mapping[str, Table], mark: str) -> list[Explanation]:
        """What speaks for and against each text, the reference beside it."""
        await self.weigh()
        contexts = shown_contexts(self.pair, self.ensembles)
        everything = [self.text, *texts]
        found = [reason for group in passes(self.pair, everything) for reason in await self._explained(group)]
        own_fits, own_tokens = found[0]
        own = Reason(self.text, "reference", 0.0, (0.0,) * len(contexts), own_tokens)
        result = []
        for text, (fitting, tokens) in zip(texts, found[1:], strict=True):
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

    async def _measure(self, texts: Iterable[str]) -> dict[str, _Measured]:
        result = {}
        for group in passes(self.pair, texts):
            framed = [self.pair.tokens.encode(self.frame.wrap(text)) for text in group]
            fitting = await together(fits(contexts.side, contexts.ids, framed) for contexts in self.sides)
            by_text = zip(*(found.double().unbind() for found in fitting), strict=True)
            fluency = await self._fluency(framed)
            for text, sides, own in zip(group, by_text, fluency, strict=True):
                result[text] = _Measured([row.numpy().copy() for row in sides], own)
        return result

    async def _fluency(self, framed: Sequence[Sequence[int]]) -> list[float]:
        """Log-probability a token of each framed text by itself, both directions added, times its weight."""
        weight = self.settings.fluency
        if not weight:
            return [0.0] * len(framed)
        return [weight * sum(float(row.double().mean()) for row in both) for both in await own_both(self.pair, framed)]

    def _table(self, *measured: _Measured) -> Table:
        return Table(
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

    async def explore(side: Side) -> tuple[Side, list[Ids]]:
        stage(f"contexts on the {side.name}")
        return side, await contexts_of(side, Described(framed.all, source, source), settings)

    names = ("right", "left") if settings.sides == "both" else (settings.sides,)
    yardstick = Yardstick(pair, source, frame, settings, sampled=await on_both_sides(pair, explore, names))
    if settings.weighting != "none":
        await yardstick.weigh()
    return yardstick


def recall(pair: Pair, fingerprint: Fingerprint, settings: ScoreSettings) -> Yardstick:
    """The yardstick that a fingerprint was made from."""
    source, frame, _ = prepare(pair, fingerprint.text, settings)
    ensembles = [item for item in ensembles_of(pair, fingerprint) if settings.sides in ("both", item.side.name)]
    return Yardstick(pair, source, frame, settings, ensembles=ensembles)


class Yardsticks:
    """The yardsticks that were asked for last, so that whoever judges by the same reference shares one."""

    def __init__(self, pair: Pair, settings: ScoreSettings, fingerprint: Fingerprint | None = None) -> None:
        """With a fingerprint, there is only the yardstick that it was made from."""
        self.pair, self.settings, self.fingerprint = pair, settings, fingerprint
        self._known: dict[str, Shared[Yardstick]] = {}  # by text, the one asked for last at the end

    def are_of(self, pair: Pair, settings: ScoreSettings, fingerprint: Fingerprint | None) -> bool:
        """Whether a call with these may use them; a fingerprint need not be named again."""
        return self.pair is pair and self.settings == settings and fingerprint in (None, self.fingerprint)

    async def of(self, reference: str | None, stage: Stage = silent) -> Yardstick:
        """The yardstick of a reference; None stands for the fingerprint's own text."""
        made = self.fingerprint
        if made is not None:
            made.check(self.pair.name, None if reference is None else clean(reference), self.settings)
        text = clean(reference or "") if made is None else made.text
        found = self._known.pop(text, None) or Shared(partial(self._make, text, stage))
        self._known[text] = found
        if len(self._known) > MOST_YARDSTICKS:
            del self._known[next(iter(self._known))]
        return await found

    async def _make(self, text: str, stage: Stage) -> Yardstick:
        """A yardstick that knows the ends of its scale."""
        if self.fingerprint is not None:
            found = recall(self.pair, self.fingerprint, self.settings)
        else:
            found = await describe(self.pair, text, self.settings, stage)
        await found.judge([])
        return found
