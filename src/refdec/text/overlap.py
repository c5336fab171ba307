"""How much of a text is copied from another: shared pairs of neighbouring words, without case and punctuation."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from refdec.text.words import bare_words


def copied_share(text: str, other: str) -> float:
    """Share of the bigrams of `text` that occur in `other`, from 0 to 1.

    A text of one word has no bigram, so the word itself counts. A text without words copies nothing.
    """
    words, other_words = bare_words(text), bare_words(other)
    if len(words) < 2:
        return float(bool(words) and words[0] in other_words)
    other_pairs = set(pairwise(other_words))
    copied = [pair in other_pairs for pair in pairwise(words)]
    return sum(copied) / len(copied)


def copies(text: str, others: Iterable[str], most: float = 0.5) -> bool:
    """Whether a single one of the others contains more than this share of the text's bigrams."""
    return any(copied_share(text, other) > most for other in others)
