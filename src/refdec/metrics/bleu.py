"""BLEU as the paper reports it: NLTK's, up to bigrams, on lower-cased words, times 100.

With four-grams the paper's Source row would stand at 38 instead of its 56. Infilling (aNLG) is reported with
four-grams, so the order can be chosen. NLTK gives a figure alone; here its counts are kept row by row, so that rows
can be drawn again. Tests hold the two equal.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import or_

import numpy as np

from refdec.errors import InputError, SettingsError
from refdec.metrics.bootstrap import Numbers
from refdec.text.words import ngrams, words


def sentence_bleu(candidate: str, references: Sequence[str], order: int = 2) -> float:
    return corpus_bleu([candidate], [references], order)


def bigram_bleu(said: Sequence[str], given: Sequence[str]) -> float:
    """Of the words of one text against those of another: as `sentence_bleu`, in a quarter of its time.

    Every candidate of every text is compared with its source, so there it counts.
    """
    pairs = Counter(itertools.pairwise(said)) & Counter(itertools.pairwise(given))
    singles = Counter(said) & Counter(given)
    if not pairs:
        return 0.0
    precision = math.sqrt(singles.total() / len(said) * pairs.total() / (len(said) - 1))
    return 100 * precision * min(1.0, math.exp(1 - len(given) / len(said)))


def corpus_bleu(candidates: Sequence[str], references: Sequence[Sequence[str]], order: int = 2) -> float:
    """BLEU up to n-grams of this order, each length weighing the same."""
    return float(bleu_of(bleu_statistics(candidates, references, order).sum(0)))


def bleu_statistics(candidates: Sequence[str], references: Sequence[Sequence[str]], order: int = 2) -> Numbers:
    """What BLEU sums over rows: matched n-grams and n-grams of each length, words, words of the closest reference."""
    if order < 1:
        raise SettingsError(f"The order of BLEU is {order}; it must be 1 or more.")
    if not all(references):
        raise InputError("BLEU needs at least one reference for each text.")
    rows = [
        _row(words(candidate), [words(reference) for reference in group], order)
        for candidate, group in zip(candidates, references, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 2 * order + 2)


def bleu_of(pooled: Numbers) -> Numbers:
    """BLEU of summed statistics, (..., statistics) to (...)."""
    order = pooled.shape[-1] // 2 - 1
    matched, said, wanted = pooled[..., :order], pooled[..., -2], pooled[..., -1]
    totals = np.maximum(pooled[..., order : 2 * order], 1)
    # A length without a match is the smallest float to NLTK, not zero: with short texts it still shows in BLEU.
    precisions = np.where(matched > 0, matched / totals, sys.float_info.min)
    brevity = np.exp(np.minimum(1 - wanted / np.maximum(said, 1), 0))
    bleu = 100 * brevity * np.exp(np.log(precisions).mean(-1))
    return np.where(matched[..., 0] > 0, bleu, 0.0)


def statistics_row(matched: Sequence[int], said: int, wanted: int) -> list[int]:
    """One row of statistics. As in NLTK, a text too short for an n-gram counts as one that is not matched."""
    totals = [max(1, said - length) for length in range(len(matched))]
    return [*matched, *totals, said, wanted]


def closest(length: int, others: Sequence[int]) -> int:
    """The length nearest to this one, the shorter of two that are as near."""
    return min(others, key=lambda other: (abs(other - length), other))


def _row(said: Sequence[str], given: Sequence[Sequence[str]], order: int) -> list[int]:
    matched = []
    for length in range(1, order + 1):
        most = reduce(or_, (ngrams(reference, length) for reference in given))
        matched.append((ngrams(said, length) & most).total())
    return statistics_row(matched, len(said), closest(len(said), [len(reference) for reference in given]))
