"""BLEU as sacrebleu reports it (Post 2018): up to four-grams, its own tokens, case kept, from 0 to 100.

Its defaults, so that its signature says everything; the counts of each row come from its sentence scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.sacre import sacre

ORDER = 4


def sacre_bleu_statistics(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """For each row: matched n-grams and n-grams of each length, words, words of the closest reference."""
    if not all(references):
        raise InputError("BLEU needs at least one reference for each text.")
    scorer = sacre(
        "BLEU", effective_order=True
    )  # changes sentence scores, not counts; without it each one is warned of
    rows = []
    for text, group in zip(candidates, references, strict=True):
        score = scorer.sentence_score(text, list(group))
        rows.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
    return np.array(rows, dtype=np.float64).reshape(len(rows), 2 * ORDER + 2)


def sacre_bleu_of(pooled: Numbers) -> Numbers:
    """BLEU of summed statistics, (..., statistics) to (...), by sacrebleu and with its smoothing."""
    scorer = sacre("BLEU")

    def bleu(row: Sequence[int]) -> float:
        counts, totals, (said, wanted) = row[:ORDER], row[ORDER : 2 * ORDER], row[2 * ORDER :]
        return float(scorer.compute_bleu(counts, totals, said, wanted, smooth_method=scorer.smooth_method).score)

    rows = pooled.reshape(-1, pooled.shape[-1]).astype(np.int64).tolist()
    return np.array([bleu(row) for row in rows]).reshape(pooled.shape[:-1])
