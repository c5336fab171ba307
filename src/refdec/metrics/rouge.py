"""ROUGE-L (Lin 2004): F1 of the longest common subsequence of words, by Google's `rouge-score`.

The best reference of each item counts; a corpus has the mean of its items, from 0 to 100. That package lower-cases
and keeps runs of a-z and 0-9 as words, so it is made for English. Precision and recall weigh the same; the COCO
caption scripts let recall weigh more and give other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from refdec.errors import InputError, ModelError


def rouge_l(candidate: str, references: Sequence[str], stem: bool = False) -> float:
    return corpus_rouge_l([candidate], [references], stem)


def corpus_rouge_l(candidates: Sequence[str], references: Sequence[Sequence[str]], stem: bool = False) -> float:
    """Mean ROUGE-L F1, words compared as they stand, or by their Porter stems."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise ModelError("ROUGE-L needs a package that is not installed: pip install 'refdec[evaluate]'.") from None
    if not candidates or not all(references):
        raise InputError("ROUGE-L needs at least one text, and at least one reference for each.")
    scorer = RougeScorer(["rougeL"], use_stemmer=stem)
    scores = [
        float(scorer.score_multi(group, candidate)["rougeL"].fmeasure)
        for candidate, group in zip(candidates, references, strict=True)
    ]
    return 100 * sum(scores) / len(scores)
