"""The words of a text as the paper's metrics see them: NLTK's word tokenizer, lower-cased.

Where only the words count, `bare_words` leaves the punctuation out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol


class _Tokenizer(Protocol):
    def tokenize(self, text: str) -> list[str]: ...


def words(text: str) -> list[str]:
    return list(_words(text))


@lru_cache(maxsize=1 << 17)
def _words(text: str) -> tuple[str, ...]:
    low = text.lower()
    if _PLAIN.fullmatch(text) and _SPLIT_BY_NLTK.isdisjoint(own := low.split()):
        return tuple(own) if low[-1].isalpha() else (*own[:-1], own[-1][:-1], low[-1])
    return tuple(word.lower() for word in _tokenizer().tokenize(text))


_PLAIN = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*[?!.]?")
"""Letters, single spaces and one mark at the end: NLTK's forty rules only cut at spaces, and take longer."""

_SPLIT_BY_NLTK = frozenset(
    word + mark
    for word in ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna", "whaddya", "whatcha")
    for mark in ("", "?", "!", ".")
)
"""Words that NLTK cuts in two."""


def bare_words(text: str) -> list[str]:
    """Lower-cased words without punctuation; "don't" is one word, whichever apostrophe it is written with.

    Not NLTK's: that one takes a text for a single sentence and leaves full stops inside it on their words.
    """
    return re.findall(r"\w+(?:'\w+)*", text.lower().replace("’", "'"))


def ngrams(items: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    """How often each run of so many words occurs."""
    return Counter(zip(*(items[start:] for start in range(length)), strict=False))


@cache
def _tokenizer() -> _Tokenizer:
    # Imported on first use: models and the algorithm work without NLTK.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenizer: _Tokenizer = NLTKWordTokenizer()
    return tokenizer
