"""Which candidates can still win after the first context, so that the others need not be read further.

A candidate wins by having the best score at some Novelty: results are chosen by score among those that are novel
enough. So it is out only when several that are at least as novel are ahead of it. Works on numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence

AHEAD = 8
"""A candidate with this many ahead of it is out. The best is kept in 99 of 100 texts (docs/performance.md)."""


def in_race(scores: Sequence[float], novelty: Sequence[float], copies: Sequence[bool], ahead: int = AHEAD) -> list[int]:
    """Indices of the candidates that stay; copies of the source stay, and are ahead of nobody."""
    rivals = [index for index, copy in enumerate(copies) if not copy]

    def beaten(index: int) -> int:
        own_score, own_novelty = scores[index], novelty[index]
        return sum(scores[other] > own_score and novelty[other] >= own_novelty for other in rivals)

    return [index for index, copy in enumerate(copies) if copy or beaten(index) < ahead]
