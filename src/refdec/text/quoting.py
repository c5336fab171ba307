"""Which contexts say the source again: word for word, or nearly so.

Text in, yes or no out. Hundreds of contexts of every source are asked, so it searches bytes instead of counting words.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

_PLAIN = bytes(
    code if chr(code).isalnum() or chr(code) in "'_" or code >= 128 else ord(" ") for code in range(256)
)  # UTF-8: everything beyond ASCII is taken for letters


def quoting(source: str, most: float) -> Callable[[str], bool]:
    """A test whether a text says the source verbatim, or more than this share of its pairs of neighbouring words.

    Case does not count, nor what stands between the words. A source of one word has no pairs: only it itself counts.
    """
    pairs = {b" %s %s " % pair for pair in pairwise(_words(source))}
    allowed = most * len(pairs)

    def says_it_again(text: str) -> bool:
        if source in text:
            return True
        if most >= 1 or not pairs:
            return False
        plain = b" %s " % b" ".join(_words(text))
        return sum([pair in plain for pair in pairs]) > allowed

    return says_it_again


def _words(text: str) -> list[bytes]:
    return text.lower().encode(errors="replace").translate(_PLAIN).split()
