"""Where a rewording differs from its source as it is written, apart from listed changes.

Listed changes are interchangeable words, and turns that say the same: they are surely right. Of everything else the
ledger knows only that it may be, and counts here what kind of words went or came: a lost "and" or a new "which" breaks
more sentences than another noun does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from refdec.ledger import function_words as closed
from refdec.ledger.interchangeable import swaps
from refdec.ledger.small_turns import small_turns
from refdec.ledger.whole_turns import whole_turns

Pieces = tuple[str, ...]
"""The words and marks of a text in lower case."""

Region = tuple[int, int, Pieces]
"""Pieces of a text from one place to another, and what stands there in another text."""


@dataclass(frozen=True, slots=True)
class Edits:
    """What changed in a way that is not listed.

    Attributes:
        unlisted: words and marks
        moved: words and marks that only stand elsewhere
        lost: words that went, by their class
        new: words that came, by their class
        shorter: how much shorter the text is, as a share of the source
        quotes: whether it has another number of quotation marks or apostrophes
        opening: whether it begins in lower case where the source does not
    """

    unlisted: int
    moved: int
    lost: Counter[str]
    new: Counter[str]
    shorter: float
    quotes: bool
    opening: bool


def edits(source: str, text: str) -> Edits:
    """The edits of a text against that turn of its source that it is nearest to."""
    pieces = _pieces(text)
    count, base, regions = min(
        ((_size(regions), base, regions) for base in _turned(source) for regions in [_unlisted(base, pieces)]),
        key=lambda item: item[0],
    )
    old = Counter(piece for start, end, _ in regions for piece in _pieces(base)[start:end])
    new = Counter(piece for _, _, there in regions for piece in there)
    return Edits(
        unlisted=count,
        moved=(old & new).total(),
        lost=_classes(old - new),
        new=_classes(new - old),
        shorter=max(0, len(_pieces(base)) - len(pieces)) / len(_pieces(base)),
        quotes=_quotes(text) != _quotes(source),
        opening=text[:1].islower() and not source[:1].islower(),
    )


def _quotes(text: str) -> int:
    return sum(text.count(mark) for mark in "\"'")


def _size(regions: Iterable[Region]) -> int:
    return sum(max(end - start, len(new)) for start, end, new in regions)


def _unlisted(base: str, pieces: Pieces) -> list[Region]:
    listed = _listed(base)
    return [region for region in _regions(_pieces(base), pieces) if not _is_listed(region, listed)]


def _is_listed(region: Region, listed: dict[int, list[Region]]) -> bool:
    """Whether a change is a listed one, or several side by side: "did not purchase", "didn't buy"."""
    start, end, new = region
    return (start == end and not new) or any(
        _is_listed((last, end, new[len(text) :]), listed)
        for first, last, text in listed.get(start, ())
        if last <= end and new[: len(text)] == text and (last > first or text)
    )


@lru_cache(maxsize=64)
def _turned(source: str) -> tuple[str, ...]:
    """A source, and each turn of it as a whole."""
    return source, *whole_turns(source)


@lru_cache(maxsize=256)
def _listed(base: str) -> dict[int, list[Region]]:
    """What each listed step changes in a text, by where that begins."""
    pieces = _pieces(base)
    changes: dict[int, list[Region]] = defaultdict(list)
    for step in (*small_turns(base), *swaps(base)):
        for region in _regions(pieces, _pieces(base[: step.start] + step.text + base[step.end :])):
            changes[region[0]].append(region)
    return dict(changes)


def _regions(pieces: Pieces, others: Pieces) -> list[Region]:
    matcher = SequenceMatcher(None, pieces, others, autojunk=False)
    return [(i, j, others[m:n]) for kind, i, j, m, n in matcher.get_opcodes() if kind != "equal"]


_PIECE = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")


@lru_cache(maxsize=1024)
def _pieces(text: str) -> Pieces:
    return tuple(match.group().lower().replace("’", "'") for match in _PIECE.finditer(text))


_CLASSES = (
    ("negation", closed.NEGATIONS),
    ("article", closed.words("a an the")),
    ("that", closed.words("that")),
    ("determiner", closed.DETERMINERS),
    ("auxiliary", frozenset(closed.AUXILIARIES)),
    ("modal", frozenset(closed.MODALS)),
    ("person", frozenset(closed.PERSONS)),
    ("preposition", closed.PREPOSITIONS),
    ("relative", closed.words("which who whom whose when where while as what why how")),
    ("link", closed.words("and or but so because although though if")),
)


@lru_cache(maxsize=4096)
def _class(piece: str) -> str:
    """What kind of word a piece is: the first class that has it, else "word", "comma" or "mark"."""
    if not piece[0].isalnum():
        return "comma" if piece == "," else "mark"
    return next((name for name, members in _CLASSES if piece in members), "word")


def _classes(pieces: Counter[str]) -> Counter[str]:
    classes: Counter[str] = Counter()
    for piece, count in pieces.items():
        classes[_class(piece)] += count
    return classes
