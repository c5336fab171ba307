"""How varied texts are, and whether one says a sentence twice. Needs no references."""

from __future__ import annotations

from collections.abc import Iterable

from refdec.metrics.words import bare_words, words
from refdec.tasks.sentences import split_sentences


def distinct(texts: Iterable[str], length: int = 2) -> float:
    """Distinct-n (Li et al. 2016): different n-grams of this length by all n-grams of the texts, from 0 to 1.

    It falls as a corpus grows. Compare sets of the same size only.
    """
    everything = [
        tuple(row[start : start + length])
        for row in (words(text) for text in texts)
        for start in range(len(row) - length + 1)
    ]
    return len(set(everything)) / len(everything) if everything else 0.0


def bare_sentences(text: str) -> list[tuple[str, ...]]:
    """The words of each sentence, without case and punctuation; what has no words is no sentence."""
    return [row for sentence in split_sentences(text) if (row := tuple(bare_words(sentence)))]


def repeats_a_sentence(text: str) -> bool:
    sentences = bare_sentences(text)
    return len(set(sentences)) < len(sentences)
