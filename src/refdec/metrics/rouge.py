"""ROUGE (Lin 2004), by Google's `rouge-score`: F1 of shared words, pairs of words, or the longest common subsequence.

The best reference of each item counts; a corpus has the mean of its items, from 0 to 100. That package lower-cases
and keeps runs of a-z and 0-9 as words, so it is made for English. Precision and recall weigh the same; the COCO
caption scripts let recall weigh more and give other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from refdec.errors import InputError
from refdec.metrics.packages import require


def check_rouge() -> None:
    """Refuses where the package is missing, before anything is computed."""
    require("ROUGE", "rouge_score", "rouge-score")


def rouge_rows(
    candidates: Sequence[str], references: Sequence[Sequence[str]], kind: str = "rougeL", stem: bool = False
) -> list[float]:
    """F1 of each item; the kind is rouge1, rouge2 or rougeL."""
    check_rouge()
    from rouge_score.rouge_scorer import RougeScorer

    if not candidates or not all(references):
        raise InputError("ROUGE needs at least one text, and at least one reference for each.")
    scorer = RougeScorer([kind], use_stemmer=stem)
    return [
        100 * float(scorer.score_multi(group, candidate)[kind].fmeasure)
        for candidate, group in zip(candidates, references, strict=True)
    ]
