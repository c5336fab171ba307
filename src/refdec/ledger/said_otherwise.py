"""Words without a counterpart that the grammar of the other text says: "each year" and "a year", "after" and "then".

Each function looks at one word of one side (`in_source` tells which) of an alignment."""

from __future__ import annotations

from itertools import pairwise

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.grammar import verb_forms
from refdec.ledger.reading import Reading


def is_degree(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether an ending says what "more" or "most" says: "more quickly", "faster"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates = alignment.to_text if in_source else alignment.to_source
    place = mates.get(at + 1)
    ending = {"more": "er", "most": "est"}.get(reading.words[at].lower)
    return ending is not None and place is not None and other.words[place].lower.endswith(ending)


def is_each(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether "each" or "every" says what "a" or "per" says on the other side: "each year", "a year"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates = alignment.to_text if in_source else alignment.to_source
    place = mates.get(at + 1)
    if reading.words[at].lower not in ("each", "every") or not place:
        return False
    return other.words[place - 1].lower in ("a", "an", "per")


def is_support(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a verb only carries a noun that is a verb on the other side: "received invitations", "was invited"."""
    reading = alignment.source if in_source else alignment.text
    if closed.SUPPORTING.isdisjoint(base for base, _ in reading.words[at].bases):
        return False
    if reading.words[at].meaning.names & {"get", "become"} and at + 1 in (
        alignment.used_source if in_source else alignment.used_text
    ):
        state = reading.words[at + 1].lower
        return "participle" in verb_forms(state) or state.endswith("er")  # "got invited", "became weaker"
    return any(
        match.step.kind in ("family", "form") and at < (match.source if in_source else match.text)[0] < at + 5
        for match in alignment.matches
    )


def is_any(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a word only goes with a negation: "nobody ever", "never by anyone"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    if reading.words[at].lower == "ever" and _both_ask(alignment):
        return True
    return reading.words[at].lower in ("ever", "anyone", "anybody", "anything", "any") and all(
        any(word.kind == "negation" for word in side.words) for side in (reading, other)
    )


def _both_ask(alignment: Alignment) -> bool:
    return alignment.source.question and alignment.text.question


def is_class(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a noun only says what a name is, or stands for it: "the town of Barley", "the country would pay"."""
    words = (alignment.source if in_source else alignment.text).words
    if at == 0 or words[at - 1].lower != "the" or words[at].meaning.names.isdisjoint(closed.CLASSES):
        return False
    if words[at].text[0].isupper():  # a part of the name: "the State Parliament"
        return False
    after = words[at + 1 : at + 3]
    named = bool(after) and (after[0].kind == "name" or (after[0].lower == "of" and after[-1].kind == "name"))
    alone = not after or after[0].kind in ("auxiliary", "modal", "mark")
    return named or (alone and any(word.kind == "name" for word in words))


def is_split(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether "also" only joins what one sentence says on the other side."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    ends, other_ends = (sum(word.text in ".;!?" for word in side.words) for side in (reading, other))
    return reading.words[at].lower in ("also", "too") and ends > other_ends


def is_lasting(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a word only says that a number is a length: "lasted two hours", "was two hours long", "for two hours"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates = alignment.to_text if in_source else alignment.to_source
    if reading.words[at].meaning.names.isdisjoint(_LASTING):
        return False
    for near in range(max(0, at - 1), min(at + 3, len(reading.words))):
        place = mates.get(near)
        if place is not None and reading.words[near].kind == other.words[place].kind == "number":
            around = other.words[max(0, place - 2) : place + 2]
            return any(word.lower == "for" or not word.meaning.names.isdisjoint(_LASTING) for word in around)
    return False


_LASTING = frozenset({"last", "long", "length", "take", "go_on"})


def is_order_in_time(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether "after" says what "then" says on the other side: "A came. Then B left", "After A came, B left"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates, used = (
        (alignment.to_text, alignment.used_text) if in_source else (alignment.to_source, alignment.used_source)
    )
    word = reading.words[at].lower
    if word == "before":
        return any(item.lower in _NEXT and place not in used for place, item in enumerate(other.words))
    if word == "after":
        first = next((mates[place] for place in range(at + 1, min(at + 6, len(reading.words))) if place in mates), None)
        return first is not None and any(
            item.lower in _NEXT and place > first and place not in used for place, item in enumerate(other.words)
        )
    return word in _NEXT and any(
        item.lower in ("after", "before") and place not in used for place, item in enumerate(other.words)
    )


_NEXT = ("then", "afterwards", "afterward", "subsequently", "later", "next", "thereafter")


def is_particle(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a particle goes with a verb that has a counterpart: "cut up", "slice"."""
    reading, used = (alignment.source, alignment.used_source) if in_source else (alignment.text, alignment.used_text)
    if reading.words[at].lower not in closed.PARTICLES - {"down"} or at == 0 or at - 1 not in used:
        return False
    return any(phrase.places[-1] == at and at - 1 in phrase.places for phrase in reading.phrases)


def is_article(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether "one" says what "a" says on the other side: "one year before", "a year before"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates = alignment.to_text if in_source else alignment.to_source
    place = mates.get(at + 1)
    return reading.words[at].lower == "one" and bool(place) and other.words[(place or 1) - 1].lower in ("a", "an")


def is_named_again(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a pronoun stands for a name that the text has in another place: "Ann's brother", "her brother"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    used = alignment.used_source if in_source else alignment.used_text
    word = reading.words[at]
    again = word.kind == "name" and any(
        place in used and item.lower == word.lower for place, item in enumerate(reading.words)
    )
    persons = [sum(item.kind == "person" for item in side.words) for side in (other, reading)]
    return again and persons[0] > persons[1]


def is_posture(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a verb only says that a thing is there: "a plate sits on the table", "there is a plate on the table"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    used = alignment.used_text if in_source else alignment.used_source
    after = reading.words[at + 1] if at + 1 < len(reading.words) else None
    if after is None or after.kind != "preposition" or reading.words[at].meaning.names.isdisjoint(_POSTURES):
        return False
    return any(
        word.lower in closed.BE and place not in used and _is_place(other, place)
        for place, word in enumerate(other.words)
    )


_POSTURES = frozenset({"sit", "lie", "stand", "park", "hang", "locate", "situate", "place", "live", "base"})


def _is_place(reading: Reading, copula: int) -> bool:
    """Whether a form of be says where a thing is: "there is", "is on"."""
    around = reading.words[max(0, copula - 1) : copula + 2]
    return any(word.lower == "there" or word.kind == "preposition" for word in around)


def is_having(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether "have", "with" or "there is" says what a verb says: "holding a baby", "contains ten pens"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates, used = (
        (alignment.to_text, alignment.used_text) if in_source else (alignment.to_source, alignment.used_source)
    )
    if reading.words[at].meaning.names.isdisjoint(_HAVING):
        return False
    thing = next((mates[place] for place in range(at + 1, min(at + 4, len(reading.words))) if place in mates), None)
    if thing is None:
        return False
    before = [place for place in range(max(0, thing - 4), thing) if place not in used]
    return any(other.words[place].lower in (*closed.HAVE, "with", "there", "of") for place in before)


_HAVING = frozenset({"hold", "contain", "wear", "possess", "own", "include", "feature", "comprise", "count", "carry"})


def is_becoming(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether "became the first" says what "was the first" says."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    mates = alignment.to_text if in_source else alignment.to_source
    after = [word.lower for word in reading.words[at + 1 : at + 3]]
    place = mates.get(at + 2)
    if at and reading.words[at - 1].lower == "to" and "become" in reading.words[at].meaning.names:
        return any(one.lower == "to" and two.lower == "be" for one, two in pairwise(other.words))
    if "become" not in reading.words[at].meaning.names or after[:1] != ["the"] or not place:
        return False
    return any(word.lower in closed.BE for word in other.words[max(0, place - 2) : place])


def is_collective(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a noun only says that there are several: "a group of tourists", "tourists"."""
    reading = alignment.source if in_source else alignment.text
    used = alignment.used_source if in_source else alignment.used_text
    group = reading.words[at].lower in ("group", "bunch", "number", "set")
    return (
        group
        and [word.lower for word in reading.words[at + 1 : at + 2]] == ["of"]
        and not used.isdisjoint({at + 2, at + 3})
    )


SAID_OTHERWISE = (
    is_becoming,
    is_collective,
    is_article,
    is_named_again,
    is_posture,
    is_having,
    is_each,
    is_degree,
    is_support,
    is_particle,
    is_any,
    is_lasting,
    is_order_in_time,
    is_class,
    is_split,
)
