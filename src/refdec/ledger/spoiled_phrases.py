"""Noun phrases that are right in the source and broken in a text: "economic service", "economy service".

Articles, adjectives, participles and possessives beside their noun. Verbs and clauses: `spoiled.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.grammar import verb_forms
from refdec.ledger.reading import Word, is_owner
from refdec.ledger.wellformed import Fault


def broken_phrases(alignment: Alignment) -> Iterator[Fault]:
    for check in _CHECKS:
        yield from check(alignment)


def _other_articles(alignment: Alignment) -> Iterator[Fault]:
    """A name that got an article or lost its own: "in the Lisbon", "Haiti, Dominican Republic and Cuba"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        first = source.words[at - 1].kind != "name" and text.words[other - 1].kind != "name"
        if not (at and other and first) or source.words[at].kind != "name" or text.words[other].kind != "name":
            continue
        before, other_before = source.words[at - 1], text.words[other - 1]
        bare = before.kind == "preposition" and _ends_phrase(source.words, at)
        if bare and other_before.lower == "the" and _ends_phrase(text.words, other):
            yield other - 1, other
        if before.lower == "the" and other_before.text == "," and source.words[at - 2].text == ",":
            yield other - 1, other


def _countries_and_peoples(alignment: Alignment) -> Iterator[Fault]:
    """A country that becomes a people or a language, or back: "in China", "in Chinese"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        word, mate = source.words[at], text.words[other]
        alone = at and other and _ends_phrase(source.words, at) and _ends_phrase(text.words, other)
        if not alone or word.kind != "name" or mate.kind != "name" or word.lower == mate.lower:
            continue
        before, other_before = source.words[at - 1], text.words[other - 1]
        related = word.lower in mate.meaning.family or mate.lower in word.meaning.family
        if related and before.kind in ("preposition", "content") and before.lower == other_before.lower:
            yield other - 1, other


_ADJECTIVE_ENDINGS = ("al", "ic", "ous", "ary")
_AS_GOOD = closed.words("governmental atomic metallic")
"""Adjectives whose noun does as well before another: "an atom bomb"."""


def _nouns_for_adjectives(alignment: Alignment) -> Iterator[Fault]:
    """A noun for its adjective before the same noun: "economic service", "economy service"; "Poland troops"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        word, mate = source.words[at], text.words[other]
        country = word.kind == mate.kind == "name" and word.is_part("a")
        quality = word.lower.endswith(_ADJECTIVE_ENDINGS) and word.lower not in _AS_GOOD and mate.is_part("n")
        if (
            (country or quality)
            and word.lower != mate.lower
            and word.lower[:3] == mate.lower[:3]
            and not mate.is_part("a")
            and alignment.to_text.get(at + 1) == other + 1
            and source.words[at + 1].is_part("n")
        ):
            yield other, other + 1


_BEFORE_NOUNS = ("determiner", "preposition", "name")


def _bare_participles(alignment: Alignment) -> Iterator[Fault]:
    """A participle by a noun that lost its ending or its place: "collapse answers", "watch games archived"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        if not at or "participle" not in verb_forms(source.words[at].lower):
            continue
        before = source.words[at - 1]
        by_noun = (before.kind in _BEFORE_NOUNS or before.is_part("a")) and at + 1 in alignment.to_text
        if not by_noun or not source.words[at + 1].is_part("n"):
            continue
        noun = alignment.to_text[at + 1]
        if noun == other + 1 and verb_forms(text.words[other].lower) == {"base"}:
            yield other, noun
        last = other + 1 == len(text.words) or text.words[other + 1].kind == "mark"
        if noun == other - 1 and last and source.words[at].lower == text.words[other].lower:
            yield noun, other


def _one_of_a_mass(alignment: Alignment) -> Iterator[Fault]:
    """An article for what is asked for in general: "what is language", "what is a language", "what is the language"."""
    source, text = alignment.source, alignment.text
    for at in range(2, len(text.words) - 1):
        if text.words[at].lower not in ("a", "an", "the") or text.words[at - 2].lower != "what":
            continue
        origin = alignment.to_source.get(at + 1)
        named = text.words[at + 1].text[0].isupper()
        if origin and not named and source.words[origin - 1].lower == text.words[at - 1].lower == "is":
            yield at, at + 1


def _run_together(alignment: Alignment) -> Iterator[Fault]:
    """Two words without the space between them: "in IPLWhat salary"."""
    known = {word.lower for word in alignment.source.words}
    for at, word in enumerate(alignment.text.words):
        if word.lower not in known and _TOGETHER.search(word.text):
            yield (at,)


_TOGETHER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[A-Z][a-z]{2}")


def _peoples_as_owners(alignment: Alignment) -> Iterator[Fault]:
    """An adjective of a people that becomes an owner: "Papuan calls for peace", "Papuan's calls for peace"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        word, mate = source.words[at], text.words[other]
        owns = is_owner(mate) and not is_owner(word)
        if owns and word.text[0].isupper() and word.is_part("a") and alignment.to_text.get(at + 1) == other + 1:
            yield other, other + 1


def _ends_phrase(words: Sequence[Word], at: int) -> bool:
    after = words[at + 1] if at + 1 < len(words) else None
    return after is None or (after.kind not in ("name", "content", "light", "number") and after.lower != "of")


_CHECKS = (
    _other_articles,
    _countries_and_peoples,
    _nouns_for_adjectives,
    _bare_participles,
    _one_of_a_mass,
    _run_together,
    _peoples_as_owners,
)
