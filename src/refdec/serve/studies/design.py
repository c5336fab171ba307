"""Who rates what, and in which order.

A rater who rates an item rates the texts of all systems on it, so that a strict rater is strict with every system.
Items are dealt out like the blocks of a block design: each to the same number of raters, all raters have the same
number of items or one more, and any two of them share about the same number. Works on numbers; the order belongs to a
seed and a rater, so the same seed gives the same study.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from refdec.errors import SettingsError


def deal(items: int, raters: int, per_item: int, random: Random) -> list[list[int]]:
    """For each rater the items that they rate."""
    if not 1 <= per_item <= raters:
        raise SettingsError(
            f"Each item is to have {per_item} raters, and there are {raters}. Name more raters, or fewer per item."
        )
    hands: list[list[int]] = [[] for _ in range(raters)]
    together = [[0] * raters for _ in range(raters)]  # items that two raters share
    for item in range(items):
        chosen: list[int] = []
        for _ in range(per_item):
            # The fewest items first, so that hands differ by one at most; then who has met the chosen ones least.
            rater = min(
                (rater for rater in range(raters) if rater not in chosen),
                key=lambda rater: (len(hands[rater]), sum(together[rater][other] for other in chosen), random.random()),
            )
            for other in chosen:
                together[rater][other] += 1
                together[other][rater] += 1
            chosen.append(rater)
        for rater in chosen:
            hands[rater].append(item)
    return hands


def order(items: Sequence[int], texts: Sequence[Sequence[int]], checks: Sequence[int], random: Random) -> list[int]:
    """The texts of a rater's items, item after item in random order, the texts of each in random order.

    Checks stand among them, one at a random place in each of as many stretches, and never first.
    """
    shuffled = random.sample(items, len(items))
    ordered = [text for item in shuffled for text in random.sample(texts[item], len(texts[item]))]
    places = [
        random.randint(1 + len(ordered) * number // len(checks), max(1, len(ordered) * (number + 1) // len(checks)))
        for number in range(len(checks))
    ]
    for place, check in sorted(zip(places, random.sample(checks, len(checks)), strict=True), reverse=True):
        ordered.insert(place, check)
    return ordered
