"""Novelty: how little of the source's wording a text repeats. 100 - BLEU(text, source), from 0 to 100."""

from __future__ import annotations

from collections.abc import Sequence

from refdec.metrics.bleu import bigram_bleu, corpus_bleu
from refdec.text.words import words


def novelty(candidate: str, source: str) -> float:
    """Of one text against its source. Zero for the same words in the same order, whatever their case."""
    candidate_words, source_words = words(candidate), words(source)
    if candidate_words == source_words:
        return 0.0  # one word has no bigram, so BLEU alone would not see that it is the same
    return 100 - bigram_bleu(candidate_words, source_words)


def corpus_novelty(candidates: Sequence[str], sources: Sequence[str]) -> float:
    """Of a whole set, with the counts pooled as corpus BLEU pools them (the paper's Novelty column)."""
    return 100 - corpus_bleu(candidates, [[source] for source in sources])
