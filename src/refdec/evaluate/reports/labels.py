"""Where the labels of points go, so that they cover neither each other nor what is drawn.

Each label in turn takes the cheapest of the places around its point, a few times over, so that the first also see
where the last went. Works on boxes and numbers alone, in any unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Pair = tuple[float, float]
Box = tuple[float, float, float, float]  # left, bottom, right, top
Place = tuple[int, int]  # of a label from its point: -1, 0 or 1 to the right, and up

NEAR, FAR = 1.0, 2.5  # times the gap
PLACES: tuple[Place, ...] = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
CHOICES = tuple(product((NEAR, FAR), PLACES))
ROUNDS = 4
COVERED_LABEL, OUTSIDE, DISTANT, LATER = 30.0, 50.0, 1.5, 0.05


def place_labels(
    points: Sequence[Pair], sizes: Sequence[Pair], drawn: NDArray[np.float64], area: Box, gap: float
) -> list[tuple[Place, Pair]]:
    """For each label its place, and the step from its point to the side or corner that faces the point.

    `drawn` (n, 3) are spots better left free: x, y, and how bad it is to cover them.
    """
    boxes = [
        [_box(point, size, _step(choice, gap), choice[1]) for choice in CHOICES]
        for point, size in zip(points, sizes, strict=True)
    ]
    alone = [[_own_cost(box, drawn, area) + _taste(index) for index, box in enumerate(row)] for row in boxes]
    chosen: dict[int, int] = {}
    for label in list(range(len(points))) * ROUNDS:
        others = [boxes[other][index] for other, index in chosen.items() if other != label]
        costs = [
            cost + COVERED_LABEL * _overlaps(box, others) for cost, box in zip(alone[label], boxes[label], strict=True)
        ]
        chosen[label] = costs.index(min(costs))
    return [(CHOICES[index][1], _step(CHOICES[index], gap)) for _, index in sorted(chosen.items())]


def _step(choice: tuple[float, Place], gap: float) -> Pair:
    distance, (right, up) = choice
    length = gap * distance * (0.7 if right and up else 1.0)
    return length * right, length * up


def _box(point: Pair, size: Pair, step: Pair, place: Place) -> Box:
    left, bottom = (
        start + move + (side - 1) / 2 * extent
        for start, move, side, extent in zip(point, step, place, size, strict=True)
    )
    return left, bottom, left + size[0], bottom + size[1]


def _taste(index: int) -> float:
    return LATER * index + (DISTANT if CHOICES[index][0] == FAR else 0.0)


def _overlaps(box: Box, others: Iterable[Box]) -> int:
    left, bottom, right, top = box
    return sum(left < other[2] and other[0] < right and bottom < other[3] and other[1] < top for other in others)


def _own_cost(box: Box, drawn: NDArray[np.float64], area: Box) -> float:
    left, bottom, right, top = box
    x, y, bad = drawn.T
    covered = float(bad[(left < x) & (x < right) & (bottom < y) & (y < top)].sum())
    outside = left < area[0] or bottom < area[1] or right > area[2] or top > area[3]
    return covered + OUTSIDE * outside
