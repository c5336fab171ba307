"""Whether a text quotes a source: word for word, or nearly so.

Each source is compared with hundreds of contexts, so this searches bytes instead of counting words.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

_PLAIN = bytes(
    code if chr(code).isalnum() or chr(code) in "'_" or code >= 128 else ord(" ") for code in range(256)
)  # bytes of UTF-8; those beyond ASCII count as letters


def quoting(source: str, most: float) -> Callable[[str], bool]:
    """A test whether a text contains the source verbatim, or more than this share of its pairs of neighbouring words.

    Pairs are compared without case and punctuation. A source of one word has no pairs: only the verbatim word counts.
    """
    pairs = {b" %s %s " % pair for pair in pairwise(_words(source))}
    allowed = most * len(pairs)

    def quotes(text: str) -> bool:
        if source in text:
            return True
        if most >= 1 or not pairs:
            return False
        plain = b" %s " % b" ".join(_words(text))
        return sum([pair in plain for pair in pairs]) > allowed

    return quotes


def _words(text: str) -> list[bytes]:
    return text.lower().encode(errors="replace").translate(_PLAIN).split()
