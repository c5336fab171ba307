"""Whether a text is English: by its small words, and by how many of its words the lexicon knows."""

from __future__ import annotations

import re
from functools import lru_cache

from refdec.ledger import function_words as closed
from refdec.ledger.lexicon import lemmas

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CONTRACTED = re.compile(r"n['’]t$|['’].*$")
_CODE = re.compile(r"[{}<>=;\\|^~]|\w\(|\)\.|::|_\w")

KNOWN = 0.6
"""The share of words that must be English; names and new words are the rest."""

CODE = 0.15
"""Marks of program text per word above which a text is code."""

_SMALL = (
    closed.NEGATIONS
    | closed.PERSONS.keys()
    | closed.AUXILIARIES.keys()
    | closed.MODALS.keys()
    | closed.DETERMINERS
    | closed.PREPOSITIONS
    | closed.LINKS
    | closed.QUESTION_WORDS
    | closed.CONDITIONS
    | closed.STRICT
)


@lru_cache(maxsize=4096)
def is_english(text: str) -> bool:
    """Whether most words of a text are English words; code and strings of letters are not."""
    words = _WORD.findall(text)
    if not words:
        return False
    if len(_CODE.findall(text)) > CODE * len(words):
        return False
    plain = [
        word for number, word in enumerate(words) if not word[0].isupper() or (not number and _is_known(word.lower()))
    ]
    if not plain:
        return text.isascii() and all(len(word) > 1 for word in words)  # names alone
    lowered = [_CONTRACTED.sub("", word.lower()) for word in plain]
    small = sum(word in _SMALL for word in lowered)
    known = sum(map(_is_known, lowered))
    if len(lowered) >= 5 and not small:
        return False
    return known >= KNOWN * len(lowered)


def _is_known(lower: str) -> bool:
    return lower in _SMALL or any(part == "v" or len(lower) > 2 for _, part in lemmas(lower))
