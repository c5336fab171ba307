"""Words that belong together in the source: an adjective and its noun, a quantifier and what it counts, a noun and its
name. In another text they may not go with other words.

Looks at two aligned readings. Where a word stands alone after a verb, as in "the house is large", nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment, name_runs
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import verbs
from refdec.ledger.reading import Reading, Word


def moved_modifiers(alignment: Alignment) -> Iterator[Change]:
    """A modifier that stands before another noun of the source: "a big dog and a cat", "a dog and a big cat".

    Or one that something only becomes: "married men have affairs", "men get married".
    """
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        own, new = _run(source.words, at), _run(text.words, other)
        if len(own) < 2 or not _is_modifier(source.words[at]):
            continue
        if _becomes(text.words, other) and not _becomes(source.words, at):
            yield change("moved", source, (at, own[-1]), text, (other,), COSTS.moved)
        if len(new) < 2 or not _is_modifier(text.words[other]):
            continue
        heads = {alignment.to_text.get(place) for place in own[1:]}
        origin = alignment.to_source.get(new[-1])
        if None in heads or heads & {*new} or origin is None or origin in own or origin == own[0]:
            continue
        if source.words[origin].lower != source.words[own[-1]].lower and source.words[origin].is_part("n"):
            yield change("moved", source, (at, own[-1]), text, (other, new[-1]), COSTS.moved)


def _becomes(words: Sequence[Word], at: int) -> bool:
    return any(not {"get", "become"}.isdisjoint(word.names) for word in words[max(0, at - 1) : at + 1])


_QUANTIFIERS = closed.words("most all both several many few each every no half")
_REACH = 3
"""Words from a quantifier to what it counts: "most of the people"."""


def moved_quantifiers(alignment: Alignment) -> Iterator[Change]:
    """A quantifier that counts something else: "most people know the tools", "people know the most tools".

    What can be counted as "many" cannot be as "much": "so many people like it", "people like it so much".
    """
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        if {source.words[at].lower, text.words[other].lower} == {"many", "much"}:
            yield change("moved", source, (at,), text, (other,), COSTS.moved)
        if source.words[at].lower not in _QUANTIFIERS or source.words[at].lower != text.words[other].lower:
            continue
        counted = at + 1
        if counted >= len(source.words) or not source.words[counted].is_part("n"):
            continue
        new = alignment.to_text.get(counted)
        if new is not None and not 0 < new - other <= _REACH:
            yield change("moved", source, (at, counted), text, (other,), COSTS.moved)


def moved_focus(alignment: Alignment) -> Iterator[Change]:
    """An "alone" that goes with another word: "with a link alone", "alone with a link"."""
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        if source.words[at].lower == "alone" == text.words[other].lower and alignment.to_text.get(at - 1) != other - 1:
            yield change("moved", source, (at,), text, (other,), COSTS.moved)


def moved_places(alignment: Alignment) -> Iterator[Change]:
    """A place of the verb that became one of its subject: "Ann was held in Bonn", "Ann in Bonn was held"."""
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        here = _preposition(source.words, at) if source.words[at].text[0].isupper() else 0
        there = _preposition(text.words, other) if here else 0
        if not there or source.words[here].lower != text.words[there].lower:
            continue
        of_verb = here - 1 in alignment.to_text and _is_surely_verb(source.words[here - 1])
        of_noun = there - 1 in alignment.to_source and not _is_surely_verb(text.words[there - 1])
        if of_verb and of_noun and _begins_verb(text, other + 1):
            yield change("moved", source, (here, at), text, (there, other), COSTS.moved)


def _begins_verb(reading: Reading, at: int) -> bool:
    """Whether a finite verb or its auxiliary stands here."""
    return at < len(reading.words) and (reading.words[at].kind in ("auxiliary", "modal") or at in verbs(reading))


OPENING = 9
"""Words of an opening phrase or clause, at most."""

REST = 14
"""Words and marks of a sentence behind whose end an opening is still understood."""

_COMMENTS = closed.words("fact addition short turn contrast particular")
"""What "in" makes a comment with, which cannot end a sentence."""


def moved_openings(alignment: Alignment) -> Iterator[Change]:
    """An opening that moved to the end and goes with what stands there: "On Monday, he said that it rained"."""
    source, text = alignment.source, alignment.text
    comma = next((at for at, word in enumerate(source.words[:OPENING]) if word.text == ","), 0)
    rest = source.words[comma + 1 :]
    reports = any(word.lower == "that" and rest[at].is_part("v") for at, word in enumerate(rest[1:]))
    comments = comma == 2 and source.words[1].lower in _COMMENTS
    opening = [alignment.to_text[at] for at in range(comma) if at in alignment.to_text]
    if not opening or not (reports or comments or len(rest) > REST):
        return
    others = [other for at, other in alignment.to_text.items() if at > comma]
    if others and min(opening) > max(others):
        yield change("moved", source, range(comma), text, (min(opening), max(opening)), COSTS.moved)


def _preposition(words: Sequence[Word], at: int) -> int:
    """Where "in", "at" or "near" stands before a noun phrase of up to three words that ends here; 0 for none."""
    for place in range(at - 1, max(0, at - 4), -1):
        if words[place].lower in ("in", "at", "near"):
            return place
        if words[place].kind not in ("determiner", "content", "name", "number"):
            return 0
    return 0


def _is_surely_verb(word: Word) -> bool:
    return word.is_part("v") and not word.is_part("n")


def moved_appositions(alignment: Alignment) -> Iterator[Change]:
    """A name beside its noun that belongs to another one: "the chief, Ann Lee, left", "the chief of Ann Lee left"."""
    source, text = alignment.source, alignment.text
    for run in name_runs(source, ()):
        first, last = run[0], run[-1]
        if first < 2 or last + 1 >= len(source.words) or first not in alignment.to_text:
            continue
        noun, new = source.words[first - 2], alignment.to_text[first]
        beside = noun.is_part("n") and _stands_between(source.words, first, last, (",",), ",")
        if beside and _stands_between(text.words, new, new + last - first, ("of", "for", "with", "against")):
            yield change("moved", source, run, text, (new - 1, new), COSTS.roles)


def _stands_between(words: Sequence[Word], first: int, last: int, before: tuple[str, ...], after: str = "") -> bool:
    """Whether these words stand after one of some words, and before a mark, or with none named, before no comma."""
    following = words[last + 1].text if last + 1 < len(words) else "."
    return first > 0 and words[first - 1].lower in before and (following == after if after else following != ",")


def _is_modifier(word: Word) -> bool:
    return word.kind in ("content", "name") and word.is_part("a") and not word.lower.endswith("ly")


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
