"""One side of a framed source: the models' roles there, and the source as each of them reads it.

To the right of a source, the forward model reads outward from it into its contexts, and the backward model
reads inward from a context to the source. To the left the roles are exchanged. The rest of `reflect` is
written once, for both. Ids here are in text order; they meet a model only in that model's reading order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from refdec.lm.direction import Direction
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel


@dataclass(frozen=True, slots=True)
class FramedIds:
    """A source between two static parts, which are held while the source is rewritten; ids in text order."""

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
        """The static part next to the contexts, the source, and the static part beyond, in inward reading order."""
        near, far = (framed.right, framed.left) if self.name == "right" else (framed.left, framed.right)
        arrange = self.inward.direction.arrange
        return arrange(near), arrange(framed.middle), arrange(far)

    def allowed(self, model: LanguageModel, framed: FramedIds) -> torch.Tensor:
        """Tokens that may be generated or weighed: no line breaks and no special tokens, unless the source has them."""
        usual = self.pair.speakable[model.direction]
        exceptions = sorted(self.pair.unspoken & set(framed.all))
        if not exceptions:
            return usual  # the same tensor for all such sources, so that a batch holds it once
        mask = usual.clone()
        mask[exceptions] = True
        return mask


def both_sides(pair: Pair) -> tuple[Side, Side]:
    return Side(pair, "right"), Side(pair, "left")
