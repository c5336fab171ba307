"""How varied texts are, and whether one says a sentence twice. Needs no references."""

from __future__ import annotations

import bisect
import random
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bleu import bleu_of, closest, statistics_row
from refdec.text.sentences import split_sentences
from refdec.text.words import bare_words, ngrams, words

SAMPLE = 500


def distinct(texts: Iterable[str], length: int = 2) -> float:
    """Distinct-n (Li et al. 2016): different n-grams of this length by all n-grams of the texts, from 0 to 1.

    It falls as a corpus grows. Compare sets of the same size only.
    """
    everything: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        everything.update(ngrams(words(text), length))
    return len(everything) / everything.total() if everything else 0.0


def self_bleu(texts: Sequence[str], order: int = 4, sample: int = SAMPLE, seed: int = 0) -> float:
    """Self-BLEU (Zhu et al. 2018): BLEU of each text with all others as its references, from 0 (varied) to 100.

    Counts are pooled as in corpus BLEU, where Zhu et al. take the mean of smoothed sentence values. It rises with the
    number of texts, so a large set is sampled, and sets can be compared that have as many texts.
    """
    if len(texts) < 2:
        raise InputError("Self-BLEU needs at least two texts.")
    chosen = random.Random(seed).sample(list(texts), sample) if len(texts) > sample else texts
    rows = [words(text) for text in chosen]
    matched = [_matched_elsewhere(rows, length) for length in range(1, order + 1)]
    lengths = sorted(len(row) for row in rows)
    statistics = [
        statistics_row(counts, len(row), _closest_other(len(row), lengths))
        for row, *counts in zip(rows, *matched, strict=True)
    ]
    return float(bleu_of(np.array(statistics, dtype=np.float64).sum(0)))


def _matched_elsewhere(rows: Sequence[Sequence[str]], length: int) -> list[int]:
    """For each row, how many of its n-grams occur in another, each as often as the one that has it most often."""
    counts = [ngrams(row, length) for row in rows]
    highest: dict[tuple[str, ...], tuple[int, int]] = {}  # the two highest counts: one of them is in another row
    for row in counts:
        for ngram, count in row.items():
            first, second = highest.get(ngram, (0, 0))
            highest[ngram] = (count, first) if count > first else (first, max(second, count))
    return [sum(min(count, _other(count, highest[ngram])) for ngram, count in row.items()) for row in counts]


def _other(count: int, highest: tuple[int, int]) -> int:
    """The highest count in other rows: that of the row itself is left out, and equal counts are all alike."""
    first, second = highest
    return second if count == first else first


def _closest_other(length: int, lengths: Sequence[int]) -> int:
    """The length closest to one of these, which itself is left out once."""
    place = bisect.bisect_left(lengths, length)
    return closest(length, [*lengths[max(0, place - 1) : place], *lengths[place + 1 : place + 2]])


def bare_sentences(text: str) -> list[tuple[str, ...]]:
    """The words of each sentence, without case and punctuation; what has no words is no sentence."""
    return [row for sentence in split_sentences(text) if (row := tuple(bare_words(sentence)))]


def repeats_a_sentence(text: str) -> bool:
    sentences = bare_sentences(text)
    return len(set(sentences)) < len(sentences)
