"""New candidates from parts of others: the beginning of one and the end of another, joined where they agree.

A long sentence rarely comes out right in all of its parts. One candidate has a good beginning, another a good end, and
the source itself is right everywhere: joined at two words that both have, they can say the whole, in more new words
than either. Works on text and its ledger; knows no models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Price = Callable[[str], float]
"""What the ledger charges for a candidate."""

MOST = 600
"""Joined texts per round whose price is asked for."""

PARTNERS = 24
"""Candidates that are joined with each other in the second round."""


def joined(source: str, priced: dict[str, float], price: Price, novelty: Price, faithful: float) -> dict[str, float]:
    """Joined texts that the ledger calls faithful, with their prices.

    Candidates are first repaired with parts of the source; then faithful ones are joined with each other, the most
    novel first.
    """
    result: dict[str, float] = {}
    hopeful = sorted((text for text in priced if text != source), key=lambda text: (priced[text], text))
    repairs = (text for other in hopeful for text in (*joints(other, source), *joints(source, other)))
    _add(result, repairs, priced, price, faithful)
    good = {text: cost for text, cost in (priced | result).items() if cost <= faithful and text != source}
    best = sorted(good, key=lambda text: (-novelty(text), text))[:PARTNERS]
    _add(result, (text for one in best for other in best if one != other for text in joints(one, other)), good, price, faithful)
    return result


def _add(
    result: dict[str, float], texts: Iterable[str], known: dict[str, float], price: Price, faithful: float
) -> None:
    tried: set[str] = set()
    for text in texts:
        if text in known or text in result or text in tried:
            continue
        tried.add(text)
        cost = price(text)
        if cost <= faithful:
            result[text] = cost
        if len(tried) >= MOST:
            return


def joints(first: str, second: str) -> list[str]:
    """The beginning of one text and the end of another, at each pair of neighbouring words that both have."""
    start, end = first.split(), second.split()
    places: dict[tuple[str, str], list[int]] = {}
    for place in range(1, len(end)):
        places.setdefault((end[place - 1], end[place]), []).append(place)
    return [
        " ".join([*start[:at], *end[place:]])
        for at in range(1, len(start))
        for place in places.get((start[at - 1], start[at]), ())
        if start[:at] != end[:place] and start[at:] != end[place:]
    ]


def shortlist(priced: dict[str, float], novelty: Price, faithful: float, most: int) -> list[str]:
    """The candidates worth reading closely: the faithful ones, most novel first; where they are few, the nearest."""
    good = sorted((text for text in priced if priced[text] <= faithful), key=lambda text: (-_worth(text, priced, novelty), text))
    others = sorted((text for text in priced if priced[text] > faithful), key=lambda text: (priced[text], text))
    return [*good[:most], *others[: max(most // 4, most - len(good))]][: most + most // 4]


def _worth(text: str, priced: dict[str, float], novelty: Price) -> float:
    return novelty(text) - 10 * priced[text]


def distinct(texts: Sequence[str]) -> list[str]:
    """Texts that differ in more than case and spacing, the first of each."""
    seen: dict[str, str] = {}
    for text in texts:
        seen.setdefault(" ".join(text.lower().split()), text)
    return list(seen.values())
