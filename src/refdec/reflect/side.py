"""One side of a framed source: the models' roles there, and the source as each of them reads it.

To the right of a source, the forward model reads outward from it into its contexts, and the backward model
reads inward from a context to the source. To the left the roles are exchanged. The rest of `reflect` is
written once, for both. Ids here are in text order; they meet a model only in that model's reading order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import torch

from refdec.lm.direction import Direction
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FramedIds:
    """A source between the two static parts that are held while it is rewritten; ids in text order."""

    left: tuple[int, ...]
    middle: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        return self.left + self.middle + self.right


@dataclass(frozen=True)
class Side:
    """The right side (contexts after the source) or the left side (contexts before it)."""

    pair: Pair
    name: str  # "right" or "left"

    @cached_property
    def outward(self) -> LanguageModel:
        """Samples contexts and judges candidates by them."""
        return self.pair.reading(Direction.FORWARD if self.name == "right" else Direction.BACKWARD)

    @cached_property
    def inward(self) -> LanguageModel:
        """Reads a context and then generates towards the source's place."""
        return self.pair.reading(self.outward.direction.opposite)

    def outward_prefix(self, framed: Sequence[int]) -> list[int]:
        return self.outward.direction.arrange(framed)

    def inward_parts(self, framed: FramedIds) -> tuple[list[int], list[int], list[int]]:
        """The static part next to the contexts, the source, the static part beyond: as the inward model meets them."""
        near, far = (framed.right, framed.left) if self.name == "right" else (framed.left, framed.right)
        arrange = self.inward.direction.arrange
        return arrange(near), arrange(framed.middle), arrange(far)

    def allowed(self, model: LanguageModel, framed: FramedIds) -> torch.Tensor:
        """Which tokens may be generated or weighed: no line breaks, no marks, unless the source itself has them."""
        tokens = self.pair.tokens
        mask = torch.ones(model.vocabulary, dtype=torch.bool)
        mask[list(tokens.containing("\n\r") | tokens.special)] = False
        mask[tokens.vocabulary :] = False
        mask[list(framed.all)] = True
        return mask.to(model.device)


def both_sides(pair: Pair) -> tuple[Side, Side]:
    return Side(pair, "right"), Side(pair, "left")


def on_both_sides(
    pair: Pair, work: Callable[[Side], Result], names: Collection[str] = ("right", "left")
) -> list[Result]:
    """The same work on the right and on the left; at the same time on a CPU, where single steps fill no two cores.

    Each side then has half of torch's threads, also where only one is asked for, so that a side gives the same
    whatever else runs.
    """
    sides = [side for side in both_sides(pair) if side.name in names]
    threads = torch.get_num_threads()
    if pair.forward.device.type != "cpu" or threads < 2:
        return [work(side) for side in sides]
    torch.set_num_threads(threads // 2)
    try:
        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(work, sides))
    finally:
        torch.set_num_threads(threads)
