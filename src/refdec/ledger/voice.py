"""Whether a verb stays active or passive around the same words: "Ann was visited", "Ann visited".

A voice may change when the thing that it is done to changes its side, too. Where a participle may only describe a noun
("the drug, approved in 2019,"), nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.forms import verb_group
from refdec.ledger.grammar import Verb, verbs
from refdec.ledger.reading import Reading, is_owner

_REACH = 4
"""Words after a verb among which its object begins."""


def voices(alignment: Alignment) -> Iterator[Change]:
    """A passive that became active, or the other way, with the same words before it: "was visited", "visited"."""
    source, text = alignment.source, alignment.text
    here, there = verbs(source), verbs(text)
    for match in alignment.matches:
        if len(match.source) > 1 or len(match.text) > 1:
            continue  # "took place", "was held"
        at, other = match.source[0], match.text[0]
        if at not in here or other not in there or here[at].passive == there[other].passive:
            continue
        if _may_describe(here, at) or _may_describe(there, other):
            continue
        if _shares_auxiliary(source, here, at) or _shares_auxiliary(text, there, other):
            continue
        first, other_first = here[at].first, there[other].first
        before = [place for place in alignment.to_text if place < first]
        if not before or alignment.to_text[max(before)] >= other_first:
            continue
        owner = is_owner(text.words[alignment.to_text[max(before)]])  # "the company will", "the company's vans will"
        if not owner and not _object_moved(alignment, at, other_first) and not _in_clause(text, there, other_first):
            yield change("roles", source, verb_group(at, here[at]), text, verb_group(other, there[other]), COSTS.voice)


def _may_describe(found: Mapping[int, Verb], at: int) -> bool:
    """Whether a participle without an auxiliary may belong to a noun, because another word is surely a verb."""
    verb = found[at]
    if verb.first != at or not (verb.passive or "" in verb.tenses):
        return False
    return any("" not in other.tenses for place, other in found.items() if place != at) or verb.tenses == {""}


def _shares_auxiliary(reading: Reading, found: Mapping[int, Verb], at: int) -> bool:
    """Whether a participle after "and" may go with the auxiliary of a passive before: "was stolen and found"."""
    words = reading.words
    joined = any(word.lower in ("and", "or", "but") for word in words[max(0, at - 3) : at])
    return (
        joined
        and found[at].first == at
        and any(verb.passive and place < at and verb.first < place for place, verb in found.items())
    )


def _object_moved(alignment: Alignment, at: int, other_first: int) -> bool:
    """Whether something after the verb of the source stands before the verb of the text."""
    return any(
        alignment.to_text[place] < other_first for place in range(at + 1, at + 1 + _REACH) if place in alignment.to_text
    )


def _in_clause(reading: Reading, found: Mapping[int, Verb], at: int) -> bool:
    """Whether the verb has a subject of its own in a clause: "the site that people visited"."""
    for place in range(at - 1, max(-1, at - _REACH), -1):
        word = reading.words[place]
        if word.kind == "person" or word.kind == "link":
            return True
        if word.lower == "that":
            return True
        if word.kind == "mark" or (place in found and not word.is_part("n")):
            return False
    return False
