"""An automatic stand-in for people who judge paraphrases: is it fluent, consistent with the source, novel, all three?

The paper asked raters whether a text can be understood, has at most minor differences in meaning from its source, and
at least minor differences in word choice. Here each question has a number and a threshold:

- fluent: the weakest joints between its words, by a pair of language models (`joints.py`);
- consistent: the cosine of sentence embeddings with the source, and the same numbers and negations (`wording.py`);
- novel: the share of the words of both texts that only one of them has.

The thresholds give the references of the data sets about the rates that the paper's raters gave them, and then come
near to what the raters said of another system. So shares of systems mean something; the verdict on a single text is
often not a person's. What it does not see:

- who does what to whom, conditions, and most words that became their opposite (advantages, disadvantages);
- a negation inside a word (unsafe), and that "cannot" and "unable to" are the same;
- that a text which was cut short could have gone on, where what is left is a sentence;
- whether a fluent text that has nothing to do with its source is fluent: one in seven is called broken.

Its embedding may have seen duplicates from Quora when it was trained, and is at home there. What a pair of refdec wrote
is fluent in the eyes of that same pair: compare the fluency of such systems with that of others with care.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import refdec
from refdec.errors import InputError, SettingsError
from refdec.evaluate.judging.joints import WEAKEST, weakest_joints
from refdec.evaluate.judging.metric import Metric, Outputs, mean_of, to_mean
from refdec.evaluate.judging.wording import different_words, same_negation, same_numbers, written_alike
from refdec.lm.pair import Pair
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.similarity import check_similarity, similarities

Verdicts = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least that is still fluent, consistent and novel. The defaults are made for questions as on Quora."""

    joints: float = -0.3  # nats, mean of the weakest joints
    similarity: float = 0.843  # cosine
    different_words: float = 0.125  # share
    numbers: bool = True  # they must be those of the source
    negations: bool = True

    def __post_init__(self) -> None:
        for name, low, high in (("joints", -np.inf, np.inf), ("similarity", -1, 1), ("different_words", 0, 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingsError(f"The threshold {name} is {value}; it must lie between {low} and {high}.")

    def describe(self) -> str:
        kept = [name for name in ("numbers", "negations") if getattr(self, name)]
        return (
            f"joints:{WEAKEST}>={self.joints:g}|similarity>={self.similarity:g}|different>={self.different_words:g}"
            f"|same:{'+'.join(kept) or 'nothing'}"
        )


QUORA = Thresholds()
TWITTER = Thresholds(joints=-2.15, similarity=0.74, numbers=False, negations=False)
"""For headlines and tweets. Their references leave out or add numbers, and six raters did not mind."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The numbers of each row, and the verdicts that thresholds make of them."""

    thresholds: Thresholds
    joints: Numbers
    similarity: Numbers
    different_words: Numbers
    same_numbers: Verdicts
    same_negation: Verdicts

    @property
    def fluent(self) -> Verdicts:
        return self.joints >= self.thresholds.joints

    @property
    def consistent(self) -> Verdicts:
        least = self.thresholds
        return (
            (self.similarity >= least.similarity)
            & (self.same_numbers | (not least.numbers))
            & (self.same_negation | (not least.negations))
        )

    @property
    def novel(self) -> Verdicts:
        return self.different_words >= self.thresholds.different_words

    @property
    def all_three(self) -> Verdicts:
        return self.fluent & self.consistent & self.novel


JUDGED = ("fluent", "consistent", "novel", "all-three")
"""Metrics that are verdicts of the stand-in."""


class StandIn:
    """Judges the outputs of systems."""

    def __init__(self, pair: Pair, thresholds: Thresholds = QUORA) -> None:
        check_similarity()
        self.pair = pair
        self.thresholds = thresholds
        self._judged: dict[Outputs, Judgement] = {}
        self._read: dict[tuple[str, str], float] = {}

    @property
    def signature(self) -> str:
        """What a stranger needs to come to the same verdicts."""
        return (
            f"stand-in|pair:{self.pair.name}|precision:{self.pair.precision}|embedding:all-MiniLM-L6-v2"
            f"|{self.thresholds.describe()}|refdec:{refdec.__version__}"
        )

    def judge(self, outputs: Outputs) -> Judgement:
        """Verdicts on each text; the same outputs are judged once."""
        if outputs not in self._judged:
            self._judged[outputs] = self._judge(outputs)
        return self._judged[outputs]

    def _judge(self, outputs: Outputs) -> Judgement:
        sources, texts = outputs.sources, outputs.texts
        if not texts or len(sources) != len(texts):
            raise InputError(f"There are {len(texts)} texts to judge and {len(sources)} sources; each needs its own.")
        return Judgement(
            self.thresholds,
            joints=self._joints(sources, texts),
            similarity=meaning_kept(sources, texts),
            different_words=np.array([different_words(*row) for row in zip(texts, sources, strict=True)]),
            same_numbers=np.array([same_numbers(*row) for row in zip(texts, sources, strict=True)]),
            same_negation=np.array([same_negation(*row) for row in zip(texts, sources, strict=True)]),
        )

    def _joints(self, sources: Sequence[str], texts: Sequence[str]) -> Numbers:
        """Each text beside its source is read once: outputs of a system at several cutoffs are mostly the same."""
        pairs = list(zip(sources, texts, strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._read]
        if new:
            weakest = weakest_joints(self.pair, [source for source, _ in new], [text for _, text in new])
            self._read.update(zip(new, weakest.tolist(), strict=True))
        return np.array([self._read[pair] for pair in pairs])

    def metrics(self) -> dict[str, Metric]:
        """The four shares as metrics of `refdec evaluate`; they have one judgement between them."""
        return {name: self._share(name) for name in JUDGED}

    def _share(self, name: str) -> Metric:
        def rows(outputs: Outputs) -> Numbers:
            return to_mean(100.0 * getattr(self.judge(outputs), name.replace("-", "_")))

        title = f"{name.replace('-', ' ')} %"
        return Metric(title, "higher", 1, f"{name}|{self.signature}", rows, mean_of, needs_references=False)


def meaning_kept(sources: Sequence[str], texts: Sequence[str]) -> Numbers:
    """Cosine of each text with its source, both written alike."""
    alike = [written_alike(*row) for row in zip(sources, texts, strict=True)]
    return np.array(similarities([text for _, text in alike], [source for source, _ in alike]))
