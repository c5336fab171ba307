"""The words of a text as the paper's metrics see them: NLTK's word tokenizer, lower-cased."""

from __future__ import annotations

from functools import cache
from typing import Protocol


class _Tokenizer(Protocol):
    def tokenize(self, text: str) -> list[str]: ...


def words(text: str) -> list[str]:
    return [word.lower() for word in _tokenizer().tokenize(text)]


@cache
def _tokenizer() -> _Tokenizer:
    # Imported on first use: models and the algorithm work without NLTK.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenizer: _Tokenizer = NLTKWordTokenizer()
    return tokenizer
