"""How far the words of a text stand in another order than those of its source."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from refdec.ledger.alignment import align
from refdec.ledger.reading import read


@lru_cache(maxsize=4096)
def parted(source: str, text: str) -> int:
    """Neighbours among the words of the source that are no longer neighbours, in this order, among their counterparts.

    Words that were lost or are new do not count, so that swapped words part nobody; a phrase that moved parts three.
    """
    places = align(read(source), read(text)).to_text
    order = {place: number for number, place in enumerate(sorted(places.values()))}
    ranks = [order[places[at]] for at in sorted(places)]
    return sum(later != earlier + 1 for earlier, later in pairwise(ranks))
