"""Which words of a text its source does not have, or not there. Case does not count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import groupby


def changes(source: str, text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces that make it up, each with whether it is new. A run of new words is one piece."""
    given, said = _words(source), _words(text)
    matcher = SequenceMatcher(None, [key for key, _ in given], [key for key, _ in said], autojunk=False)
    kept = {place for match in matcher.get_matching_blocks() for place in range(match.b, match.b + match.size)}
    pieces: list[tuple[str, bool]] = []
    for index, (_, piece) in enumerate(said):
        new = index not in kept
        space = piece[: len(piece) - len(piece.lstrip())]
        if space:
            pieces.append((space, new and bool(pieces) and pieces[-1][1]))
        pieces.append((piece.lstrip(), new))
    for new, run in groupby(pieces, key=lambda piece: piece[1]):
        yield "".join(piece for piece, _ in run), new


def _words(text: str) -> list[tuple[str, str]]:
    """Words and single signs, each as it is compared and as it stands, with the space before it."""
    pieces = re.findall(r"\s*(?:\w+(?:['’]\w+)*|[^\w\s])|\s+\Z", text)
    return [(piece.strip().lower().replace("’", "'"), piece) for piece in pieces]
