"""How much of a source's meaning a version keeps, by word vectors: its keywords, and the sentence as a whole.

A word's vector is the mean of its tokens' rows in the output matrix of the forward model. All such rows have much in
common; without their mean and the three directions in which they differ most, unrelated words have a cosine of about 0
(Mu and Viswanath 2018, "All-but-the-Top").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from refdec.baselines.vocabulary import Vocabulary
from refdec.baselines.words import Sentence
from refdec.ledger import function_words as closed
from refdec.lm.pair import Pair

Vector = npt.NDArray[np.float64]

COMMON_DIRECTIONS = 3
"""Directions taken out of all vectors: with these ours, the cosine of two random words is 0.00, give or take 0.05."""

MOST_KEYWORDS = 0.5
"""Share of the words that are keywords, at most; and LEAST_MOST at least may be, as in both released programs."""

LEAST_MOST = 3

STOP_WORDS = (
    frozenset().union(
        closed.AUXILIARIES, closed.MODALS, closed.NEGATIONS, closed.PERSONS, closed.POSSESSIVES, closed.DETERMINERS,
        closed.PREPOSITIONS, closed.CONDITIONS, closed.CONNECTIVES, closed.LINKS, closed.QUESTION_WORDS,
        closed.PARTICLES, closed.STRICT, closed.LIGHT, closed.CONTRACTED,
    )
    | closed.words("like best better good many much way know want need see think tell ask say said using become")
)  # fmt: skip
"""Words that are no keywords: those between which RAKE looks for phrases."""


class WordVectors:
    """Vectors of words, for one pair."""

    def __init__(self, pair: Pair, vocabulary: Vocabulary) -> None:
        self._pair = pair
        self._vectors: dict[str, Vector] = {}
        ids = vocabulary.ways(apart=True, begins=False)[1]
        rows = self._rows(ids.tolist())
        self._mean = rows.mean(0)
        rows = (rows - self._mean).astype(np.float32)
        _, directions = np.linalg.eigh((rows.T @ rows).astype(np.float64))
        self._common = directions[:, -COMMON_DIRECTIONS:] if len(rows) > len(directions) else None

    def of(self, word: str) -> Vector:
        if word not in self._vectors:
            vector = self._rows(self._pair.tokens.encode(f" {word}")).mean(0) - self._mean
            if self._common is not None:
                vector = vector - self._common @ (self._common.T @ vector)
            self._vectors[word] = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return self._vectors[word]

    def _rows(self, ids: Sequence[int]) -> Vector:
        model = self._pair.forward
        index = torch.tensor(list(ids), dtype=torch.long, device=model.device)
        places = torch.zeros(1, model.cost.width, device=model.device).expand(len(ids), -1)
        return np.asarray(model.head.rows(places, index).cpu(), dtype=np.float64)


class Meaning:
    """What one source means, to compare its versions with."""

    def __init__(self, source: Sentence, vectors: WordVectors) -> None:
        self._vectors = vectors
        self.keywords = keywords(source.words)
        self._keys = np.stack([vectors.of(word) for word in self.keywords])
        self._near: dict[str, Vector] = {}
        self._whole = self._sum(source)

    def kept(self, version: Sentence) -> float:
        """The cosine of the keyword that is kept worst with the word nearest to it; 0 without words."""
        near = [self._nearness(word) for word in version.words]
        return float(np.max(near, axis=0).min()) if near else 0.0

    def alike(self, version: Sentence) -> float:
        """The cosine of both sentences, as sums of the vectors of their words."""
        vector = self._sum(version)
        lengths = float(np.linalg.norm(vector) * np.linalg.norm(self._whole))
        return float(vector @ self._whole) / lengths if lengths else 0.0

    def _nearness(self, word: str) -> Vector:
        """Cosines of all keywords with a word; the same word in another case is the same."""
        if word not in self._near:
            same = np.array([word.lower() == key.lower() for key in self.keywords])
            self._near[word] = np.where(same, 1.0, self._keys @ self._vectors.of(word))
        return self._near[word]

    def _sum(self, sentence: Sentence) -> Vector:
        vectors = [self._vectors.of(word) for word in sentence.words]
        total: Vector = np.sum(vectors or [np.zeros(self._keys.shape[1])], axis=0)
        return total


def keywords(words: Sequence[str]) -> list[str]:
    """The words between stop words, the first half of the words at most; the first word where there is none."""
    content = list(dict.fromkeys(word for word in words if not _is_stop(word)))
    return content[: max(int(MOST_KEYWORDS * len(words)), LEAST_MOST)] or list(words[:1])


def _is_stop(word: str) -> bool:
    lowered = word.lower().replace("’", "'")
    stem, mark, _ = lowered.partition("'")
    return lowered in STOP_WORDS or lowered.endswith("n't") or (bool(mark) and stem in STOP_WORDS)
