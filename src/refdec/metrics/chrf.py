"""chrF (Popović 2015) of single texts, by sacrebleu: F-score of character n-grams up to six, from 0 to 100.

Recall weighs beta times as much as precision. WMT18 reports beta 3; sacrebleu's own default is 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from refdec.errors import InputError
from refdec.metrics.sacre import sacre


def sentence_chrf(texts: Sequence[str], references: Sequence[Sequence[str]], beta: int = 3) -> list[float]:
    """One score a text, with the best of its references."""
    if len(texts) != len(references) or not all(references):
        raise InputError("chrF needs at least one reference for each text.")
    scorer = sacre("CHRF", beta=beta)
    return [
        float(scorer.sentence_score(text, list(group)).score) for text, group in zip(texts, references, strict=True)
    ]
