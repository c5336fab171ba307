"""DiPS (Kumar et al. 2019): what survives a step of the beam is chosen by a monotone submodular function.

The function rewards likeness to the source and difference among what is chosen, and is maximised greedily. Runs on the
weights of `copynet`, or of `denoise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from refdec.baselines.beam import Hypothesis, Search, search
from refdec.baselines.method import Proposal, own_signature
from refdec.baselines.writer import Writer
from refdec.lm.tokens import Ids
from refdec.reflect.randomness import uniforms
from refdec.settings import Settings, documented, setting

NGRAMS = (1, 2, 3)


@documented
@dataclass(frozen=True, slots=True)
class DipsSettings(Settings):
    """How diverse texts are chosen. The defaults are those of the paper and its released code."""

    task: ClassVar[str] = "dips"

    texts: int = setting(10, "hypotheses that are chosen at every step", symbol="k", low=1, high=100)
    candidates: int = setting(30, "hypotheses that they are chosen from", symbol="3k", low=1, high=1_000)
    fidelity: float = setting(0.5, "weight of likeness to the source against diversity", symbol="λ", low=0, high=1)
    least_tokens: int = setting(5, "tokens of a paraphrase, at least, where the source has as many", low=1, high=100)
    seed: int = setting(0, "seed of the choice of one text", low=0, high=2**63 - 1)


@dataclass(frozen=True)
class Terms:
    """A monotone submodular function of sets of candidates, as concave functions of sums, and a coverage.

    Attributes:
        likeness: (candidates,) how much each has of the source's words or words near them
        shared: (candidates,) weighted n-grams that each shares with the source
        ngrams: of each candidate
        nearness: (candidates,) how near each is to all candidates by edits, summed
        fidelity: the weight of the first two against the last two
    """

    likeness: NDArray[np.float64]
    shared: NDArray[np.float64]
    ngrams: Sequence[frozenset[Ids]]
    nearness: NDArray[np.float64]
    fidelity: float

    def value(self, chosen: Sequence[int]) -> float:
        """The function of a set; each of its four terms is 1 for all candidates together."""
        everything = range(len(self.ngrams))
        parts = (
            _share(math.sqrt, self.likeness, chosen),
            _share(math.sqrt, self.shared, chosen),
            self._distinct(chosen) / max(1e-12, self._distinct(everything)),
            _share(math.sqrt, self.nearness, chosen),
        )
        return self.fidelity * (parts[0] + parts[1]) + (1 - self.fidelity) * (parts[2] + parts[3])

    def _distinct(self, chosen: Iterable[int]) -> float:
        """Different n-grams, each of length n counted 1/n."""
        return sum(1 / len(gram) for gram in frozenset().union(*(self.ngrams[number] for number in chosen)))


def greedy(value: Callable[[Sequence[int]], float], candidates: int, size: int) -> list[int]:
    """Add what raises the value most until `size` are chosen; at least 1 - 1/e of the best for such a function."""
    chosen: list[int] = []
    while len(chosen) < min(size, candidates):
        rest = [number for number in range(candidates) if number not in chosen]
        chosen.append(max(rest, key=lambda number: value([*chosen, number])))
    return chosen


@dataclass(frozen=True)
class Dips:
    """Diverse texts of an encoder-decoder; one of them, drawn by the seed, comes first."""

    writer: Writer
    settings: DipsSettings

    @property
    def signature(self) -> str:
        return own_signature(self.settings, self.writer.name, str(self.writer.device))

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        settings, model = self.settings, self.writer.seq2seq
        vectors = model.embed_tokens.weight.float()
        vectors = (vectors / vectors.norm(dim=-1, keepdim=True)).cpu().numpy()
        how = Search(settings.texts, settings.candidates, settings.least_tokens)
        for texts, ids in self.writer.groups(sources):
            originals = [self.writer.ids_of(text) for text in texts]

            def choose(number: int, candidates: list[Hypothesis], originals: list[Ids] = originals) -> list[Hypothesis]:
                return self._chosen(originals[number], candidates, vectors)

            memory = model.remember(ids, model.encode(ids))
            for number, (text, hypotheses) in enumerate(zip(texts, search(model, memory, how, choose), strict=True)):
                diverse = self._chosen(originals[number], hypotheses, vectors)
                proposals = self.writer.proposals(text, sorted(diverse, key=lambda item: -item.score))
                draw = float(uniforms(settings.seed, text, "dips", 1, 1))
                first = proposals.pop(int(draw * len(proposals)))
                yield [first, *proposals]

    def _chosen(self, source: Ids, candidates: Sequence[Hypothesis], vectors: NDArray[np.float32]) -> list[Hypothesis]:
        if len(candidates) <= self.settings.texts:
            return list(candidates)
        terms = terms_of(source, [item.ids for item in candidates], vectors, self.settings.fidelity)
        return [candidates[number] for number in greedy(terms.value, len(candidates), self.settings.texts)]


def terms_of(source: Ids, candidates: Sequence[Ids], vectors: NDArray[np.float32], fidelity: float) -> Terms:
    """The paper's four terms; `vectors` (vocabulary, width), of length one, say which tokens are near."""
    of_source = _ngrams(source)
    grams = [_ngrams(ids) for ids in candidates]
    shared = [sum(1 / (4 - len(gram)) for gram in of_source & item) for item in grams]
    likeness = [_likeness(vectors[list(source)], vectors[list(ids)]) if ids else 0.0 for ids in candidates]
    return Terms(np.array(likeness), np.array(shared), grams, _nearness(candidates), fidelity)


def _likeness(source: NDArray[np.float32], candidate: NDArray[np.float32]) -> float:
    """For each token of the source, the nearest of the candidate by a radial basis function; the mean."""
    squared = 2 - 2 * source @ candidate.T
    return float(np.exp(-squared).max(1).mean())


def _nearness(candidates: Sequence[Ids]) -> NDArray[np.float64]:
    near = np.eye(len(candidates))
    for first, ids in enumerate(candidates):
        for second in range(first):
            near[first, second] = near[second, first] = SequenceMatcher(None, ids, candidates[second]).ratio()
    total: NDArray[np.float64] = near.sum(0)
    return total


def _ngrams(ids: Ids) -> frozenset[Ids]:
    return frozenset(ids[first : first + size] for size in NGRAMS for first in range(len(ids) - size + 1))


def _share(concave: Callable[[float], float], weights: NDArray[np.float64], chosen: Sequence[int]) -> float:
    return concave(float(weights[list(chosen)].sum())) / max(1e-12, concave(float(weights.sum())))


def make_dips(settings: DipsSettings, folder: Path, device: str | None = None) -> Dips:
    return Dips(Writer.load(folder, device, ("copynet", "denoise")), settings)
