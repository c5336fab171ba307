"""How large a method with weights of its own is, and how it is trained: two sizes. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass

from refdec.train.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Size:
    """A size of an encoder-decoder.

    Attributes:
        recipe: its shape, as many layers in the encoder as in the decoder; learning rates; tokens per step
        dropout: share of the states that are left out while it learns
        passes: times that the pairs are read, at most; more would be learned by heart
        characters: of plain text to learn from, at most
    """

    recipe: Recipe
    dropout: float
    passes: int
    characters: int


SIZES: dict[str, Size] = {
    "small": Size(
        Recipe(
            vocabulary=6_000, layers=2, width=256, heads=4, inner=1_024, positions=128, batch_tokens=2_048,
            matrix_rate=0.02, other_rate=0.004, weight_decay=0.1, warm_up=0.02, decay=0.6,
        ),
        dropout=0.1, passes=12, characters=8_000_000,
    ),
    "medium": Size(
        Recipe(
            vocabulary=16_000, layers=6, width=512, heads=8, inner=2_048, positions=128, batch_tokens=16_384,
            matrix_rate=0.01, other_rate=0.002, weight_decay=0.1, warm_up=0.02, decay=0.6,
        ),
        dropout=0.2, passes=24, characters=400_000_000,
    ),
}  # fmt: skip
"""For minutes on a CPU core, and for 20 minutes on a GPU."""
