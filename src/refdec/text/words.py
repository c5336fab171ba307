"""The words of a text: `words` as the paper's metrics see them (NLTK's tokenizer, lower-cased), punctuation included.

`bare_words` leaves the punctuation out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any


def words(text: str) -> list[str]:
    """Lower-cased words and punctuation marks, in order."""
    return list(_words(text))


@lru_cache(maxsize=4096)  # a source is compared with each of its candidates, and a candidate is looked at twice
def _words(text: str) -> tuple[str, ...]:
    lowered = text.lower()
    if _PLAIN.fullmatch(text) and _SPLIT_BY_NLTK.isdisjoint(pieces := lowered.split()):
        return tuple(pieces) if lowered[-1].isalpha() else (*pieces[:-1], pieces[-1][:-1], lowered[-1])
    return tuple(word.lower() for word in _tokenizer().tokenize(text))


_PLAIN = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*[?!.]?")
"""Letters, single spaces and one mark at the end: here NLTK's forty rules only cut at spaces, and take longer."""

_SPLIT_BY_NLTK = frozenset(
    word + mark
    for word in ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna", "whaddya", "whatcha")
    for mark in ("", "?", "!", ".")
)
"""Words that NLTK cuts in two."""


def bare_words(text: str) -> list[str]:
    """Lower-cased words without punctuation; "don't" is one word, with either apostrophe.

    NLTK's tokenizer does not fit here: it takes a text for one sentence and leaves full stops inside it on their words.
    """
    return re.findall(r"\w+(?:'\w+)*", text.lower().replace("’", "'"))


def ngrams(items: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    """How often each run of `length` words occurs."""
    return Counter(zip(*(items[start:] for start in range(length)), strict=False))


@cache
def _tokenizer() -> Any:
    # Imported on first use, because it takes a while.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()
