"""How much of a text is copied from another: shared pairs of neighbouring words, without case and punctuation."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from refdec.text.words import bare_words


def copied_share(text: str, other: str) -> float:
    """Share of the bigrams of `text` that occur in `other`, from 0 to 1.

    A text of one word has no bigram, so the word itself counts. A text without words copies nothing.
    """
    mine, theirs = bare_words(text), bare_words(other)
    if len(mine) < 2:
        return float(bool(mine) and mine[0] in theirs)
    known = set(pairwise(theirs))
    found = [pair in known for pair in pairwise(mine)]
    return sum(found) / len(found)


def copies(text: str, others: Iterable[str], most: float = 0.5) -> bool:
    """Whether more than this share of its bigrams occurs in a single one of the others."""
    return any(copied_share(text, other) > most for other in others)
