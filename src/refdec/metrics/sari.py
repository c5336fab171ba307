"""SARI (Xu et al. 2016): how well the words kept, deleted and added agree with the references.

Computed as the script does that the paper links to: F1 for kept and added n-grams, precision for deleted
ones, mean over n = 1 to 4, then over the three; a corpus has the mean of its sentences. From 0 to 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from refdec.text.words import ngrams, words

Counts = Counter[tuple[str, ...]]


def sari(source: str, candidate: str, references: Sequence[str]) -> float:
    source_words, candidate_words = words(source), words(candidate)
    reference_words = [words(reference) for reference in references]
    total = 0.0
    for length in range(1, 5):
        total += sum(
            _operations(
                _times(ngrams(source_words, length), len(references)),
                _times(ngrams(candidate_words, length), len(references)),
                sum((ngrams(reference, length) for reference in reference_words), Counter()),
            )
        )
    return 100 * total / 12


def _operations(source: Counts, candidate: Counts, reference: Counts) -> tuple[float, float, float]:
    """Keep F1, deletion precision, addition F1. Source and candidate are counted once per reference."""
    kept, should_keep = source & candidate, source & reference
    well_kept = kept & reference
    keep = _f1(_mean_share(well_kept, kept), _mean_share(well_kept, should_keep))
    deleted = source - candidate
    delete = _mean_share(deleted - reference, deleted)
    added, should_add = candidate.keys() - source.keys(), reference.keys() - source.keys()
    well_added = len(added & reference.keys())
    add = _f1(well_added / len(added) if added else 0.0, well_added / len(should_add) if should_add else 0.0)
    return keep, delete, add


def _mean_share(part: Counts, whole: Counts) -> float:
    return sum(part[ngram] / whole[ngram] for ngram in part) / len(whole) if whole else 0.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _times(counts: Counts, factor: int) -> Counts:
    return Counter({ngram: count * factor for ngram, count in counts.items()})
