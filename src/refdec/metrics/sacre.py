"""Scorers of the package sacrebleu, made where they are needed, and the signatures that it gives them."""

from __future__ import annotations

from typing import Any

from refdec.errors import ModelError


def sacre(kind: str, **options: Any) -> Any:
    """A scorer of this kind: BLEU, TER or CHRF."""
    try:
        from sacrebleu import metrics
    except ImportError:
        raise ModelError(f"{kind} needs a package that is not installed: pip install 'refdec[evaluate]'.") from None
    return getattr(metrics, kind)(**options)


def sacre_signature(kind: str) -> str:
    """Its own signature of the scorer as it is by default, for all references that a row has."""
    scorer = sacre(kind)
    scorer.corpus_score(["a"], [["a"]])  # it signs only what it has computed
    signature = scorer.get_signature()
    signature.update("nrefs", "all")
    return str(signature)
