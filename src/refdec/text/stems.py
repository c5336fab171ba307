"""Words without their endings, so that "flowers" and "flower" count as one."""

from __future__ import annotations

from functools import cache
from typing import Protocol


@cache
def stem(word: str) -> str:
    """A lower-cased word without its endings (Porter's algorithm): flowers and flower are one."""
    return str(_stemmer().stem(word))


class _Stemmer(Protocol):
    def stem(self, word: str) -> str: ...


@cache
def _stemmer() -> _Stemmer:
    from nltk.stem.porter import PorterStemmer

    stemmer: _Stemmer = PorterStemmer()
    return stemmer
