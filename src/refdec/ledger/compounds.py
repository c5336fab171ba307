"""Two words in one text that are one word in the other: "shoot-out", "shootout"; "sledge hammer", "sledgehammer"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from refdec.ledger.reading import Word

SHORTEST = 6
"""Letters of the shortest compound."""


def compounds(
    words: Sequence[Word], used: Set[int], others: Sequence[Word], used_others: Set[int]
) -> Iterator[tuple[tuple[int, int], int]]:
    """Neighbours among free words, and the one free word that is both of them."""
    whole = {
        word.lower: at
        for at, word in enumerate(others)
        if at not in used_others and len(word.lower) >= SHORTEST and word.kind == "content"
    }
    if not whole:
        return
    for at in range(len(words) - 1):
        if at in used or at + 1 in used:
            continue
        one, two = words[at].lower, words[at + 1].lower
        for joined in (one + two, one + two.removesuffix("s"), one + two + "s"):
            if joined in whole:
                yield (at, at + 1), whole[joined]
                break
