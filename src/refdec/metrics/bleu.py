"""BLEU as the paper reports it: NLTK's, up to bigrams, on lower-cased words, times 100.

With four-grams the paper's Source row would stand at 38 instead of its 56. Infilling (aNLG) is reported with
four-grams, so the order can be chosen.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Sequence

from refdec.errors import SettingsError
from refdec.metrics.words import words


def sentence_bleu(candidate: str, references: Sequence[str], order: int = 2) -> float:
    return corpus_bleu([candidate], [references], order)


def bigram_bleu(said: Sequence[str], given: Sequence[str]) -> float:
    """Of the words of one text against those of another: as `sentence_bleu`, without the time that NLTK takes.

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
    from nltk.translate.bleu_score import corpus_bleu as nltk_corpus_bleu

    if order < 1:
        raise SettingsError(f"The order of BLEU is {order}; it must be 1 or more.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns where no n-gram is shared; that is a BLEU of zero
        value = nltk_corpus_bleu(
            [[words(reference) for reference in group] for group in references],
            [words(candidate) for candidate in candidates],
            weights=(1 / order,) * order,
        )
    return 100 * float(value)
