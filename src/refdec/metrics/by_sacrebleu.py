"""BLEU, TER and chrF as the package sacrebleu computes them (Post 2018), with its defaults and its signatures.

- BLEU: up to four-grams, the package's tokens, case kept, from 0 to 100.
- TER (Snover et al. 2006): edits to the nearest reference by words of a reference, in per cent; lower is better. It is
  lower-cased, and punctuation stays on its word. The paper's tables have TERp, which also knows paraphrases and
  synonyms and exists in no package.
- chrF (Popović 2015): F-score of character n-grams up to six, from 0 to 100. Recall weighs beta times as much as
  precision; WMT18 reports beta 3, the package's default is 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refdec.errors import InputError
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.packages import require

ORDER = 4


def scorer(kind: str, **options: Any) -> Any:
    """A scorer of the package: BLEU, TER or CHRF."""
    require(kind, "sacrebleu")
    from sacrebleu import metrics

    return getattr(metrics, kind)(**options)


def scorer_signature(kind: str) -> str:
    """The package's signature of the scorer with its defaults, for all references that a row has."""
    by_default = scorer(kind)
    by_default.corpus_score(["a"], [["a"]])  # it signs only what it has computed
    signature = by_default.get_signature()
    signature.update("nrefs", "all")
    return str(signature)


def sacre_bleu_statistics(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """For each row: matched n-grams and n-grams of each length, words, words of the closest reference."""
    # Effective order changes sentence scores, not counts; without it the package warns of each sentence.
    scores = _scores("BLEU", candidates, references, effective_order=True)
    rows = [[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 2 * ORDER + 2)


def sacre_bleu_of(pooled: Numbers) -> Numbers:
    """BLEU of summed statistics, (..., statistics) to (...), with the package's smoothing."""
    bleu = scorer("BLEU")

    def value(row: Sequence[int]) -> float:
        counts, totals, (length, wanted) = row[:ORDER], row[ORDER : 2 * ORDER], row[2 * ORDER :]
        return float(bleu.compute_bleu(counts, totals, length, wanted, smooth_method=bleu.smooth_method).score)

    rows = pooled.reshape(-1, pooled.shape[-1]).astype(np.int64).tolist()
    return np.array([value(row) for row in rows]).reshape(pooled.shape[:-1])


def ter_statistics(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """For each row: edits to the nearest reference, and the mean number of words of its references."""
    scores = _scores("TER", candidates, references)
    return np.array([(score.num_edits, score.ref_length) for score in scores], dtype=np.float64).reshape(-1, 2)


def ter_of(pooled: Numbers) -> Numbers:
    """TER of summed statistics, (..., 2) to (...). Where all references are empty, any edit at all is 100."""
    edits, words = pooled[..., 0], pooled[..., 1]
    return 100 * np.where(words > 0, edits / np.where(words > 0, words, 1), np.minimum(edits, 1))


def sentence_chrf(texts: Sequence[str], references: Sequence[Sequence[str]], beta: int = 3) -> list[float]:
    """One score per text, with the best of its references."""
    return [float(score.score) for score in _scores("CHRF", texts, references, beta=beta)]


def _scores(kind: str, texts: Sequence[str], references: Sequence[Sequence[str]], **options: Any) -> list[Any]:
    """The package's score of each text."""
    if len(texts) != len(references) or not all(references):
        raise InputError(f"{kind} needs at least one reference for each text.")
    score = scorer(kind, **options).sentence_score
    return [score(text, list(group)) for text, group in zip(texts, references, strict=True)]
