"""CGMH: paraphrases sampled by Metropolis-Hastings over the words of the source (Miao et al. 2019).

The chain begins at the source, and has a stationary distribution: how probable the forward model finds a sentence,
times how well it keeps the keywords. Every move is proposed and accepted so that detailed balance holds exactly, which
tests verify on a distribution that can be enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from refdec.baselines.editing import Edit, EditingSettings, Editor, Text, drawn, weighed
from refdec.baselines.method import Proposal
from refdec.baselines.proposals import Hole
from refdec.baselines.words import Sentence
from refdec.settings import documented, setting

FADE = 0.05
"""Range of cosines above the lowest in which the match fades in, as in the released program."""


@documented
@dataclass(frozen=True, slots=True)
class CGMHSettings(EditingSettings):
    """How CGMH samples. The defaults are the released program's, but for fewer candidates."""

    task: ClassVar[str] = "cgmh"

    least_match: float = setting(0.65, "cosine at and below which a keyword is lost", low=0, high=0.95)


Outcomes = list[tuple[Sentence, float]]
"""Where a move may end, and how probably."""


class Chain:
    """The moves of one text's chain."""

    def __init__(self, text: Text, settings: CGMHSettings) -> None:
        self._text, self._least = text, settings.least_match
        self._own = tuple(dict.fromkeys(text.source.words))
        self._outcomes: dict[tuple[Sentence, Edit, int], Outcomes] = {}

    async def density(self, sentences: Sequence[Sentence], hole: Hole | None = None) -> list[float]:
        """Logarithms of the stationary distribution, not normalised; sentences that lose a keyword are not read."""
        matches = [self._match(sentence) for sentence in sentences]
        kept = [sentence for sentence, match in zip(sentences, matches, strict=True) if match > 0]
        read = iter(await self._text.reader.logprobs(kept, hole))
        return [math.log(match) + next(read) if match > 0 else -math.inf for match in matches]

    async def step(self, sentence: Sentence, draws: Sequence[float]) -> Sentence:
        """Where the chain is after one move."""
        edit = drawn(tuple(Edit), draws[0])
        outcomes = await self.outcomes(sentence, edit, drawn(edit.places(sentence), draws[1]))
        stay = max(0.0, 1.0 - sum(probability for _, probability in outcomes))
        options = [(sentence, stay), *outcomes]
        weights = np.array([probability for _, probability in options])
        return weighed(options, weights, draws[2])[0]

    async def outcomes(self, sentence: Sentence, edit: Edit, place: int) -> Outcomes:
        """Where a move from a sentence may end; what is missing to one is the probability to stay."""
        key = (sentence, edit, place)
        if key not in self._outcomes:
            self._outcomes[key] = await self._move(sentence, edit, place)
        return self._outcomes[key]

    async def _move(self, sentence: Sentence, edit: Edit, place: int) -> Outcomes:
        if edit is Edit.INSERT:
            return await self._insert(sentence, place)
        base = sentence.without(place)
        hole = await self._text.reader.hole(base, place)
        words = self._candidates(hole)
        # A word that would not be proposed here could not come back, so it may not go.
        if sentence.pieces[place].text not in words:
            return []
        if edit is Edit.DELETE:
            return await self._delete(sentence, hole, words)
        versions = [base.put(place, word) for word in words]
        densities = await self.density(versions, hole)
        return _shares(versions, densities, _log_sum(densities))

    async def _insert(self, sentence: Sentence, place: int) -> Outcomes:
        count = len(sentence.words)
        if count >= self._text.most_words:
            return []
        hole = await self._text.reader.hole(sentence, place)
        versions = [sentence.put(place, word) for word in self._candidates(hole)]
        before, *densities = await self.density([sentence, *versions], hole)
        total = _log_sum(densities)
        # Proposed with the share of all versions; coming back is to choose this word among one more.
        ratio = math.log(len(sentence.gaps)) - math.log(count + 1) + total - before
        return _shares(versions, densities, total - min(0.0, ratio))

    async def _delete(self, sentence: Sentence, hole: Hole, words: Sequence[str]) -> Outcomes:
        base, count = hole.sentence, len(sentence.words)
        if count == 1 or hole.place not in base.gaps:
            return []
        (after,) = await self.density([base], hole)
        if after == -math.inf:
            return []
        total = _log_sum(await self.density([base.put(hole.place, word) for word in words], hole))
        ratio = math.log(count) - math.log(len(base.gaps)) + after - total
        return [(base, math.exp(min(0.0, ratio)))]

    def _candidates(self, hole: Hole) -> tuple[str, ...]:
        """What may be put into a hole: the same whatever stood there."""
        return tuple(dict.fromkeys((*hole.words, *self._own)))

    def _match(self, sentence: Sentence) -> float:
        kept = self._text.meaning.kept(sentence)
        return kept * min(1.0, max(0.0, kept - self._least) / FADE)


def _log_sum(logarithms: Sequence[float]) -> float:
    return float(np.logaddexp.reduce(logarithms))


def _shares(versions: Sequence[Sentence], densities: Sequence[float], total: float) -> Outcomes:
    pairs = zip(versions, densities, strict=True)
    return [(version, math.exp(density - total)) for version, density in pairs if density > -math.inf]


class CGMH(Editor[CGMHSettings]):
    """Paraphrases by Metropolis-Hastings."""

    async def edit(self, text: Text, draws: Sequence[Sequence[float]]) -> list[Proposal]:
        chain = Chain(text, self.settings)
        sentence = text.source
        visited = {sentence: None}
        for step_draws in draws:
            sentence = await chain.step(sentence, step_draws)
            visited[sentence] = None
        others = [one for one in visited if one != text.source] or [text.source]
        densities = await chain.density(others)
        ranked = sorted(zip(others, densities, strict=True), key=lambda item: -item[1])
        return [Proposal(str(one), density) for one, density in ranked]
