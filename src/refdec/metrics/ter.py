"""Translation edit rate (Snover et al. 2006), by sacrebleu: edits to the nearest reference by words of a reference.

In per cent, and lower is better. This is TER, not the TERp of the paper's tables, which also knows paraphrases and
synonyms and cannot be had as a package. Its defaults: lower-cased, and punctuation stays on its word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.sacre import sacre


def ter_statistics(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """For each row: edits to the nearest reference, and the mean number of words of its references."""
    if not all(references):
        raise InputError("TER needs at least one reference for each text.")
    scorer = sacre("TER")
    found = [scorer.sentence_score(text, list(group)) for text, group in zip(candidates, references, strict=True)]
    return np.array([(score.num_edits, score.ref_length) for score in found], dtype=np.float64).reshape(-1, 2)


def ter_of(pooled: Numbers) -> Numbers:
    """TER of summed statistics, (..., 2) to (...). Where all references are empty, any edit at all is 100."""
    edits, words = pooled[..., 0], pooled[..., 1]
    return 100 * np.where(words > 0, edits / np.where(words > 0, words, 1), np.minimum(edits, 1))
