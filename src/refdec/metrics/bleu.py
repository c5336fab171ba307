"""BLEU as the paper reports it: NLTK's, up to bigrams, on lower-cased words, times 100.

With four-grams the paper's Source row would stand at 38 instead of its 56.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from refdec.metrics.words import words

BIGRAMS = (0.5, 0.5)


def sentence_bleu(candidate: str, references: Sequence[str]) -> float:
    return corpus_bleu([candidate], [references])


def corpus_bleu(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    from nltk.translate.bleu_score import corpus_bleu as nltk_corpus_bleu

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns where no bigram is shared; that is a BLEU of zero
        value = nltk_corpus_bleu(
            [[words(reference) for reference in group] for group in references],
            [words(candidate) for candidate in candidates],
            weights=BIGRAMS,
        )
    return 100 * float(value)
