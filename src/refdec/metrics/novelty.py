"""Novelty: how little of the source's wording a text repeats. 100 - BLEU(text, source), from 0 to 100."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

from refdec.metrics.bleu import corpus_bleu
from refdec.metrics.words import words


def novelty(candidate: str, source: str) -> float:
    """Of one text against its source. Zero for the same words in the same order, whatever their case."""
    said, given = words(candidate), words(source)
    if said == given:
        return 0.0  # one word has no bigram, so BLEU alone would not see that it is the same
    return 100 - _bleu(said, given)


def _bleu(said: list[str], given: list[str]) -> float:
    """BLEU up to bigrams against one reference: what `sentence_bleu` gives, without the time that NLTK takes for it.

    Every candidate of every text is compared with its source, so here it counts.
    """
    pairs = Counter(itertools.pairwise(said)) & Counter(itertools.pairwise(given))
    singles = Counter(said) & Counter(given)
    if not pairs:
        return 0.0
    precision = math.sqrt(singles.total() / len(said) * pairs.total() / (len(said) - 1))
    return 100 * precision * min(1.0, math.exp(1 - len(given) / len(said)))


def corpus_novelty(candidates: Sequence[str], sources: Sequence[str]) -> float:
    """Of a whole set, with the counts pooled as corpus BLEU pools them (the paper's Novelty column)."""
    return 100 - corpus_bleu(candidates, [[source] for source in sources])
