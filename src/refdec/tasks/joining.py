"""New candidates from parts of others: the beginning of one and the end of another, joined where they agree.

A long sentence rarely comes out right in all of its parts. One candidate has a good beginning, another a good end, and
the source itself is right everywhere: joined at two words that both have, they can say the whole, in more new words
than either. Works on text and prices; knows no models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from refdec.metrics.novelty import novelty
from refdec.text.words import bare_words, ngrams

Price = Callable[[str], float]
"""What the ledger charges for a candidate; more than any faithful one costs may be infinite."""

MOST = 300
"""Joined texts per round whose price is asked for."""

LONG = 4
"""Letters of a word that a text does not say again for nothing."""

COMMON = frozenset(
    "that which with from have been were will would when this they their there than them what".split()  # noqa: SIM905
)
"""Longer words of which a sentence may have several."""

PARTNERS = 24
"""Candidates that are joined with each other."""


def joined(source: str, priced: Mapping[str, float], price: Price, faithful: float) -> dict[str, float]:
    """Joined texts that the ledger calls faithful, with their prices.

    Candidates are first repaired with parts of the source, the cheapest first; then faithful ones are joined with each
    other, the most novel first.
    """
    others = sorted((text for text in priced if text != source), key=lambda text: (priced[text], text))
    repairs = (text for other in others for text in (*joints(other, source), *joints(source, other)))
    repaired = _faithful(source, repairs, priced, price, faithful)
    good = [text for text, cost in (*priced.items(), *repaired.items()) if cost <= faithful and text != source]
    best = sorted(good, key=lambda text: (-novelty(text, source), text))[:PARTNERS]
    pairs = (text for one in best for other in best if one != other for text in joints(one, other))
    return repaired | _faithful(source, pairs, {**priced, **repaired}, price, faithful)


def _faithful(
    source: str, texts: Iterable[str], known: Mapping[str, float], price: Price, faithful: float
) -> dict[str, float]:
    """The first so many new texts that the ledger calls faithful."""
    prices: dict[str, float] = {}
    for text in texts:
        if text not in known and text not in prices and not says_again(text, source):
            prices[text] = price(text)
            if len(prices) >= MOST:
                break
    return {text: cost for text, cost in prices.items() if cost <= faithful}


def joints(first: str, second: str) -> list[str]:
    """The beginning of one text and the end of another, at each pair of neighbouring words that both have."""
    start, end = first.split(), second.split()
    places: dict[tuple[str, str], list[int]] = {}
    for place in range(1, len(end)):
        places.setdefault((end[place - 1], end[place]), []).append(place)
    texts = (
        " ".join([*start[:at], *end[place:]])
        for at in range(1, len(start))
        for place in places.get((start[at - 1], start[at]), ())
        if start[:at] != end[:place] and start[at:] != end[place:]
    )
    return list(dict.fromkeys(texts))


def says_again(text: str, source: str) -> bool:
    """Whether a text says a longer word, or three words in a row, more often than the source does, and than once."""
    words, runs = _counted(bare_words(text))
    again = {word for word, count in words.items() if count > 1 and len(word) >= LONG and word not in COMMON}
    runs_again = {run for run, count in runs.items() if count > 1}
    if not again and not runs_again:
        return False
    own, own_runs = _counted(bare_words(source))
    return any(words[word] > own[word] for word in again) or any(runs[run] > own_runs[run] for run in runs_again)


def _counted(words: Sequence[str]) -> tuple[Counter[str], Counter[tuple[str, ...]]]:
    """How often a text has each word, and each three words in a row."""
    return Counter(words), ngrams(words, 3)


def distinct(texts: Sequence[str]) -> list[str]:
    """Texts that differ in more than case and spacing, the first of each."""
    seen: dict[str, str] = {}
    for text in texts:
        seen.setdefault(" ".join(text.lower().split()), text)
    return list(seen.values())
