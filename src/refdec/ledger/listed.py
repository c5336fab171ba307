"""How much of a rewording is made of listed changes: words that are interchangeable, and turns that say the same.

What is listed is surely the same; of everything else the ledger knows only that it may be.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache

from refdec.ledger.interchangeable import Step, swaps
from refdec.ledger.turns import turns

_PIECE = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")

Region = tuple[int, int, tuple[str, ...]]
"""Pieces of a text from one place to another, and what stands there in another text."""


def unlisted(source: str, text: str) -> int:
    """Words and marks of a text, or of its source, that changed in a way that is not listed."""
    pieces = _pieces(text)
    return min(_unlisted(base, pieces) for base in _turned(source))


def _unlisted(base: str, pieces: tuple[str, ...]) -> int:
    listed = _listed(base)
    changed = _regions(_pieces(base), pieces)
    return sum(max(end - start, len(new)) for start, end, new in changed if (start, end, new) not in listed)


@lru_cache(maxsize=64)
def _turned(source: str) -> tuple[str, ...]:
    """A source, and each turn of it as a whole."""
    return source, *(step.text for step in turns(source) if _is_whole(source, step))


@lru_cache(maxsize=256)
def _listed(base: str) -> frozenset[Region]:
    """What each listed step changes in a text."""
    steps = (step for step in (*turns(base), *swaps(base)) if not _is_whole(base, step))
    pieces = _pieces(base)
    return frozenset(
        region
        for step in steps
        for region in _regions(pieces, _pieces(base[: step.start] + step.text + base[step.end :]))
    )


def _is_whole(source: str, step: Step) -> bool:
    return step.start == 0 and step.end == len(source)


def _regions(pieces: tuple[str, ...], others: tuple[str, ...]) -> list[Region]:
    matcher = SequenceMatcher(None, pieces, others, autojunk=False)
    return [(i, j, others[m:n]) for kind, i, j, m, n in matcher.get_opcodes() if kind != "equal"]


def _pieces(text: str) -> tuple[str, ...]:
    return tuple(match.group().lower().replace("’", "'") for match in _PIECE.finditer(text))
