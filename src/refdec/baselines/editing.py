"""What the two systems that edit word by word share: the source, its versions, and the choice of an edit.

One edit is a replacement, an insertion or a deletion at a place, each as likely as the others. Knows no objective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from refdec.baselines.meaning import Meaning, WordVectors
from refdec.baselines.method import Proposal, on_pair, pair_signature
from refdec.baselines.proposals import Reader
from refdec.baselines.vocabulary import Vocabulary
from refdec.baselines.words import Sentence
from refdec.lm.pair import Pair
from refdec.reflect.randomness import uniforms
from refdec.settings import Settings, documented, setting

DRAWS = 4
"""Random numbers per step: for the edit, its place, the word, and whether it is accepted."""


class Edit(Enum):
    """What is done to a sentence."""

    REPLACE = "replace"
    INSERT = "insert"
    DELETE = "delete"

    def places(self, sentence: Sentence) -> list[int]:
        return sentence.gaps if self is Edit.INSERT else sentence.word_places


@documented
@dataclass(frozen=True, slots=True)
class EditingSettings(Settings):
    """How a sentence is edited word by word."""

    task: ClassVar[str] = "editing"

    steps: int = setting(100, "edits that are tried", low=1, high=100_000)
    candidates: int = setting(30, "most expected words that are read at a place", low=1, high=10_000)
    most_words: int = setting(14, "words of a version, at most; or as many as the source has", low=1, high=1_000)
    frame: str = setting("quoted", "what stands around a sentence: quotes or a line", choices=("quoted", "line"))
    seed: int = setting(0, "seed of every random draw", low=0, high=2**63 - 1)


AnySettings = TypeVar("AnySettings", bound=EditingSettings)


class Text:
    """A source, and what its versions say and how probable they are."""

    def __init__(self, text: str, pair: Pair, vocabulary: Vocabulary, vectors: WordVectors, settings: EditingSettings):
        self.reader = Reader(pair, vocabulary, settings.candidates, settings.frame)
        self.source = self.reader.source(text)
        self.meaning = Meaning(self.source, vectors)
        self.most_words = max(settings.most_words, len(self.source.words))


class Editor(ABC, Generic[AnySettings]):
    """A paraphraser that edits word by word."""

    def __init__(self, pair: Pair, settings: AnySettings) -> None:
        self._pair, self.settings = pair, settings

    @property
    def signature(self) -> str:
        return pair_signature(self.settings, self._pair)

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        return on_pair(self._pair, (self._task(text) for text in sources))

    async def _task(self, text: str) -> list[Proposal]:
        draws = uniforms(self.settings.seed, text, self.settings.task, self.settings.steps, DRAWS).tolist()
        return await self.edit(Text(text, self._pair, self._vocabulary, self._vectors, self.settings), draws)

    @abstractmethod
    async def edit(self, text: Text, draws: Sequence[Sequence[float]]) -> list[Proposal]:
        """Edit a source as often as there are rows of draws; what the system proposes, best first."""

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._pair)

    @cached_property
    def _vectors(self) -> WordVectors:
        return WordVectors(self._pair, self._vocabulary)


Option = TypeVar("Option")


def drawn(options: Sequence[Option], uniform: float) -> Option:
    """One of several options that are equally likely."""
    return options[min(int(uniform * len(options)), len(options) - 1)]


def weighed(options: Sequence[Option], weights: npt.NDArray[np.float64], uniform: float) -> Option:
    """One of several options by weights, which need not sum to one."""
    sums = np.cumsum(weights)
    return options[min(int(np.searchsorted(sums, uniform * sums[-1], side="right")), len(options) - 1)]
