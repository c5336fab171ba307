"""UPSA: paraphrases by simulated annealing over the words of the source (Liu et al. 2020).

The search climbs an objective: the meaning is kept, the words are others, and the sentence is fluent. While it is warm
it also goes down, and at the end only up. Its last sentence is the paraphrase.
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
from refdec.metrics.bleu import sentence_bleu
from refdec.settings import documented, setting

LEAST = 1e-200
"""What a term is at least, so that its logarithm exists."""

SPARE = 0.01
"""Added to the diversity, so that the source itself has an objective; as in the released program."""

BLEU_ORDER = 4


@documented
@dataclass(frozen=True, slots=True)
class UPSASettings(EditingSettings):
    """How UPSA anneals. The defaults are the released program's, but for fewer candidates."""

    task: ClassVar[str] = "upsa"

    temperature: float = setting(0.03, "temperature at the first step", symbol="T_init", low=0, high=1_000)
    cooling: float = setting(0.0003, "what the temperature falls per step", symbol="C", low=0, high=1_000)
    keyword_power: float = setting(8.0, "power of the keywords' match", low=0, high=1_000)
    sentence_power: float = setting(1.0, "power of the sentences' likeness", low=0, high=1_000)
    diversity_power: float = setting(1.0, "power of the diversity", low=0, high=1_000)

    def warmth(self, step: int) -> float:
        """The temperature of a step, counted from 0."""
        return max(0.0, self.temperature - self.cooling * step)


class Objective:
    """What UPSA maximises for one text."""

    def __init__(self, text: Text, settings: UPSASettings) -> None:
        self._text, self._settings = text, settings
        self._words = _plain(text.source)

    async def logarithms(self, sentences: Sequence[Sentence], hole: Hole | None = None) -> list[float]:
        """Logarithms of the objective: of how probable, how true and how different sentences are."""
        fluency = await self._text.reader.logprobs(sentences, hole)
        return [own + self._other_terms(one) for own, one in zip(fluency, sentences, strict=True)]

    def _other_terms(self, sentence: Sentence) -> float:
        meaning, powers = self._text.meaning, self._settings
        diversity = 1.0 - sentence_bleu(_plain(sentence), [self._words], BLEU_ORDER) / 100 + SPARE
        return (
            powers.keyword_power * _log(meaning.kept(sentence))
            + powers.sentence_power * _log(meaning.alike(sentence))
            + powers.diversity_power * _log(diversity)
        )


def per_piece(logarithm: float, sentence: Sentence) -> float:
    """The objective as sentences of different lengths are compared by: per word or mark, the end counted too."""
    return logarithm / (len(sentence.pieces) + 1)


def accepted(gain: float, warmth: float, uniform: float) -> bool:
    """Whether the search goes to a sentence whose value is higher by `gain`."""
    return gain >= 0 or (warmth > 0 and uniform < math.exp(gain / warmth))


class UPSA(Editor[UPSASettings]):
    """Paraphrases by simulated annealing."""

    async def edit(self, text: Text, draws: Sequence[Sequence[float]]) -> list[Proposal]:
        objective = Objective(text, self.settings)
        sentence = text.source
        (logarithm,) = await objective.logarithms([sentence])
        values = {sentence: per_piece(logarithm, sentence)}
        words = dict.fromkeys(text.source.words)  # that may be copied to any place: the source's, and those taken out
        for step, (edit_draw, place_draw, word_draw, acceptance) in enumerate(draws):
            edit = drawn(tuple(Edit), edit_draw)
            place = drawn(edit.places(sentence), place_draw)
            version, value = await self._version(text, objective, sentence, edit, place, tuple(words), word_draw)
            gain = value - values[sentence]
            if version != sentence and accepted(gain, self.settings.warmth(step), acceptance):
                if edit is not Edit.INSERT:
                    words[sentence.pieces[place].text] = None
                sentence, values[version] = version, value
        others = sorted((one for one in values if one != sentence), key=lambda one: -values[one])
        return [Proposal(str(one), values[one]) for one in (sentence, *others)]

    async def _version(
        self,
        text: Text,
        objective: Objective,
        sentence: Sentence,
        edit: Edit,
        place: int,
        copied: Sequence[str],
        uniform: float,
    ) -> tuple[Sentence, float]:
        """One edited sentence with its value, drawn by the objective; the sentence itself where the edit cannot be."""
        count = len(sentence.words)
        hole: Hole | None = None
        versions = [sentence]
        if edit is Edit.DELETE:
            if place != sentence.word_places[0]:  # the released program never takes the first word away
                versions = [sentence.without(place)]
        elif edit is Edit.REPLACE or count < text.most_words:
            base = sentence.without(place) if edit is Edit.REPLACE else sentence
            hole = await text.reader.hole(base, place)
            versions = [base.put(place, word) for word in dict.fromkeys((*hole.words, *copied))]
        logarithms = np.array(await objective.logarithms(versions, hole))
        chosen = weighed(range(len(versions)), np.exp(logarithms - logarithms.max()), uniform)
        return versions[chosen], per_piece(float(logarithms[chosen]), versions[chosen])


def _plain(sentence: Sentence) -> str:
    return " ".join(sentence.words)


def _log(value: float) -> float:
    return math.log(max(value, LEAST))
