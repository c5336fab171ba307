"""Who does it: the subjects of two verbs exchanged, a question that asks for the other side, a speaker who is told.

Looks at two aligned readings, at verbs that are surely verbs, and at the words right beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import Verb, verbs
from refdec.ledger.reading import Word

_RELATIVE = closed.words("who whom which that")
_ASKING = closed.words("who what which")


def doers(alignment: Alignment) -> Iterator[Change]:
    """The first sign that somebody else does it."""
    source, text = alignment.source, alignment.text
    here, there = verbs(source), verbs(text)
    pairs = [(at, other) for at, other in sorted(alignment.to_text.items()) if at in here and other in there]
    for at, other in pairs:
        if here[at].passive or there[other].passive:
            continue
        if _turned(source.words, text.words, here[at], there[other], (at, other)):
            yield change("roles", source, (at,), text, (other,), COSTS.roles)
            return
    spoken = _told(alignment)
    if spoken is not None:
        yield change("roles", source, spoken[0], text, spoken[1], COSTS.roles)
        return
    subjects = {at: _subject(source.words, here, at) for at, _ in pairs}
    others = {other: _subject(text.words, there, other) for _, other in pairs}
    for (one, two), (first, second) in combinations(pairs, 2):
        mine, theirs = subjects[one], subjects[first]
        if mine is None or theirs is None or mine == theirs:
            continue
        exchanged = alignment.to_text.get(mine) == others[second] and alignment.to_text.get(theirs) == others[two]
        if exchanged and others[two] is not None and others[two] != others[second]:
            yield change("roles", source, (mine, theirs), text, (two, second), COSTS.roles)
            return


def _turned(words: Sequence[Word], others: Sequence[Word], verb: Verb, other: Verb, places: tuple[int, int]) -> bool:
    """Whether "who" does it on one side and suffers it on the other: "Who hit Tom?", "Who did Tom hit?"."""
    one, two = (
        _pronoun_role(side, found, at) for side, found, at in zip((words, others), (verb, other), places, strict=True)
    )
    return bool(one) and bool(two) and one != two


def _pronoun_role(words: Sequence[Word], verb: Verb, at: int) -> str:
    """What "who" or "which" before a verb is to it: "doer" right before it, "sufferer" before its subject."""
    first = verb.first
    before = words[first - 1].lower if first else ""
    after = words[at + 1] if at + 1 < len(words) else None
    has_object = after is not None and after.kind in ("determiner", "name", "person", "content", "number")
    if before in _ASKING | _RELATIVE and first == at and "" not in verb.tenses:
        return "doer" if has_object else ""
    if first < at and words[first].lower in closed.DO and before in _ASKING:
        return "" if has_object else "sufferer"
    start = next((place for place in range(at - 1, max(-1, at - 4), -1) if words[place].lower in _RELATIVE), None)
    if start is None or first != at or start == at - 1 or not start or words[start - 1].kind not in ("content", "name"):
        return ""
    between = words[start + 1 : at]
    noun = all(word.kind in ("determiner", "content", "name", "person") for word in between)
    return "sufferer" if noun and between[-1].kind != "determiner" and not has_object and _is_thing(between[-1]) else ""


def _is_thing(word: Word) -> bool:
    return word.kind in ("name", "person") or (word.kind == "content" and word.is_part("n") and not word.is_part("v"))


def _told(alignment: Alignment) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """A speaker who is spoken to in the text: "said Olsen", "he told Olsen"."""
    source, text = alignment.source.words, alignment.text.words
    for at, other in sorted(alignment.to_text.items()):
        if at == 0 or other == 0 or source[at].kind != "name" or text[other].kind != "name":
            continue
        before, other_before = (_before_title(side, place) for side, place in ((source, at), (text, other)))
        if {before, other_before} in ({"said", "told"}, {"says", "tells"}):
            return (at,), (other,)
    return None


def _before_title(words: Sequence[Word], at: int) -> str:
    place = at - 1
    while place > 0 and (words[place].lower in closed.TITLES or words[place].kind in ("name", "determiner")):
        place -= 1
    return words[place].lower


def _subject(words: Sequence[Word], found: Mapping[int, Verb], at: int) -> int | None:
    """The noun or name right before a verb and its auxiliaries, or after "by"; None where that is unsure."""
    verb = found[at]
    if verb.passive:
        if at + 1 >= len(words) or words[at + 1].lower != "by":
            return None
        return _noun_from(words, at + 2)
    if "" in verb.tenses:
        return None
    place = verb.first - 1
    while place >= 0 and (words[place].lower.endswith("ly") or words[place].kind in ("negation", "strict")):
        place -= 1
    if (
        place < 0
        or words[place].kind not in ("name", "content")
        or not (words[place].kind == "name" or words[place].is_part("n"))
    ):
        return None
    start = place
    while start > 0 and words[start - 1].kind in ("name", "content", "number", "determiner"):
        start -= 1
    if start > 0 and (words[start - 1].kind == "preposition" and words[start - 1].lower not in closed.CONNECTIVES):
        return None
    return place


def _noun_from(words: Sequence[Word], start: int) -> int | None:
    """The last word of the noun phrase that begins here."""
    head = None
    for at in range(start, min(start + 5, len(words))):
        if words[at].kind not in ("determiner", "name", "content", "number"):
            break
        if words[at].kind == "name" or (words[at].kind == "content" and words[at].is_part("n")):
            head = at
    return head
