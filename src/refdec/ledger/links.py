"""Words that belong together in the source: an adjective and its noun. In another text it may not go with another noun.

Looks at two aligned readings. Where a word stands alone after a verb, as in "the house is large", nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.reading import Word


def moved_modifiers(alignment: Alignment) -> Iterator[Change]:
    """A modifier that stands before another noun of the source: "a big dog and a cat", "a dog and a big cat"."""
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        if not _is_modifier(source.words[at]) or not _is_modifier(text.words[other]):
            continue
        own, new = _run(source.words, at), _run(text.words, other)
        if len(own) < 2 or len(new) < 2:
            continue
        heads = {alignment.to_text.get(place) for place in own[1:]}
        origin = alignment.to_source.get(new[-1])
        if None in heads or heads & {*new} or origin is None or origin in own or origin == own[0]:
            continue
        if source.words[origin].lower != source.words[own[-1]].lower and source.words[origin].is_part("n"):
            yield change("moved", source, (at, own[-1]), text, (other, new[-1]), COSTS.moved)


def _is_modifier(word: Word) -> bool:
    return word.kind == "content" and word.is_part("a") and not word.lower.endswith("ly")


def _run(words: Sequence[Word], at: int) -> list[int]:
    """The words from here to the end of the noun phrase, if it ends in a noun."""
    run = [at]
    while run[-1] + 1 < len(words):
        word = words[run[-1] + 1]
        if word.kind == "name" and word.is_part("a"):
            run.append(run[-1] + 1)  # "young Danish side"
            continue
        if word.kind != "content" or not (word.is_part("n") or word.is_part("a")) or word.lower.endswith("ly"):
            break
        run.append(run[-1] + 1)
    while len(run) > 1 and not words[run[-1]].is_part("n"):
        run.pop()
    return run
