"""Which way a language model reads, and the one place where ids are reversed.

Ids are in text order (left to right) everywhere in refdec except in calls of a `LanguageModel`, which takes and
returns them in its own reading order. `Direction.arrange` converts between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")
Number = TypeVar("Number", bound=np.generic)


class Direction(Enum):
    """The order in which a model reads a text."""

    FORWARD = "forward"
    BACKWARD = "backward"

    @property
    def opposite(self) -> Direction:
        return Direction.BACKWARD if self is Direction.FORWARD else Direction.FORWARD

    def arrange(self, items: Sequence[Item]) -> list[Item]:
        """Turn text order into this direction's reading order, or reading order back into text order."""
        return list(items) if self is Direction.FORWARD else list(items)[::-1]

    def arrange_rows(self, rows: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The same for many rows at once, along the last axis."""
        return rows if self is Direction.FORWARD else rows[..., ::-1]
