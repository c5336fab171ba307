"""Words without their endings: "flowers" and "flower" have one stem."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any


@lru_cache(maxsize=4096)  # a text says most of its words again and again
def stem(word: str) -> str:
    """A lower-cased word without its endings, by Porter's algorithm."""
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
