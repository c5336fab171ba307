"""Grammar that is right in the source and broken in a text: "was printed", "was print"; "in China", "in Chinese".

A fault that the source has too is its own way of speaking. Faults that a text shows by itself: `wellformed.py`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import verb_forms, verbs, verbs_by_neighbours
from refdec.ledger.reading import Reading, Word, is_owner
from refdec.ledger.wellformed import ADVERBS, Fault, faults


def grammar(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    known = {_said(source, fault) for fault in faults(source)}
    new = [fault for fault in faults(text) if _said(text, fault) not in known]
    new += [*_bare_forms(alignment), *_other_articles(alignment), *_countries_and_peoples(alignment)]
    new += [*_lost_agreement(alignment), *_asked_by_its_mark(alignment), *_bent_after_do(alignment)]
    new += [*_nouns_for_adjectives(alignment), *_parted_from_of(alignment), *_peoples_as_owners(alignment)]
    new += [*_bare_participles(alignment), *_only_gerunds(alignment), *_lost_relatives(alignment)]
    new += [*_run_together(alignment), *_asked_as_a_noun(alignment), *_one_of_a_mass(alignment)]
    new += [*_bare_after_be(alignment)]
    if new:
        yield change("grammar", source, (), text, new[0], COSTS.grammar)
    elif _lost_its_verb(source, text):
        yield change("grammar", source, (), text, (0,), COSTS.grammar)


def _said(reading: Reading, fault: Fault) -> tuple[str, ...]:
    return tuple(reading.words[at].lower for at in fault)


def _bare_forms(alignment: Alignment) -> Iterator[Fault]:
    """A verb that lost its ending after an auxiliary, or got one elsewhere: "was print", "to diving", "and going"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        if other == 0 or text.words[other].kind not in ("content", "light"):
            continue
        forms, other_forms = verb_forms(source.words[at].lower), verb_forms(text.words[other].lower)
        helper = _helper(text.words, other)
        base_only = (
            other_forms == {"base"} and bool(forms) and "base" not in forms and not text.words[other].is_part("a")
        )
        there = helper is not None and helper > 0 and text.words[helper - 1].lower == "there"
        if helper is not None and base_only and not there:
            yield helper, other
        before, other_before = source.words[at - 1] if at else None, text.words[other - 1]
        if before is None:
            continue
        kept = before.lower == other_before.lower
        diving = kept and before.lower == "to" and "base" in forms and other_forms == {"ing"}
        post = kept and forms == {"ing"} and other_forms == {"base"} and _is_only_verb(before)  # "keeps post"
        parted = kept and before.lower == "and" and other_forms == {"ing"} and bool(forms) and "ing" not in forms
        if parted and _gerunds(text) == _gerunds(source) + 1:  # "takes care and delivering"
            yield other - 1, other
        turn = before.lower == "to" and "base" in other_forms and alignment.to_text.get(at - 2) == other - 1
        if diving or post or (turn and other_before.is_part("v") and _takes_to(other_before)):  # "plans turn"
            yield other - 1, other


def _gerunds(reading: Reading) -> int:
    return sum(word.lower.endswith("ing") for word in reading.words)


_BARE = closed.words("help helps helped go come let make dare need")
"""Verbs that take another verb without "to"."""


def _takes_to(word: Word) -> bool:
    return word.lower not in _BARE and word.kind != "modal"


def _is_only_verb(word: Word) -> bool:
    return word.is_part("v") and not word.is_part("a")


def _helper(words: Sequence[Word], at: int) -> int | None:
    """The form of be or have right before a verb, adverbs and negations between."""
    for place in range(at - 1, max(-1, at - 4), -1):
        word = words[place]
        if word.lower in closed.BE or word.lower in closed.HAVE:
            return place
        if word.kind != "negation" and word.lower not in ADVERBS and not word.lower.endswith("ly"):
            return None
    return None


def _bent_after_do(alignment: Alignment) -> Iterator[Fault]:
    """A verb after "do" in another form: "does a car use", "does a car uses", "does a car used"."""
    source, text = alignment.source, alignment.text
    for at, verb in verbs(source).items():
        other = alignment.to_text.get(at)
        if other is None or source.words[verb.first].lower not in closed.DO or verb.first == at:
            continue
        before = text.words[:other]
        helped = any(word.lower in closed.BE or word.kind == "preposition" or word.lower == "to" for word in before)
        done = next((place for place, word in enumerate(before) if word.lower in closed.DO), None)
        base, form = source.words[at].lower, text.words[other].lower
        bent = (form.endswith("ing") and not base.endswith("ing")) or form in (f"{base}s", f"{base}es")
        bent = bent or (form != base and bool(verb_forms(form)) and verb_forms(form) <= {"past", "participle"})
        if bent and done is not None and not helped:
            yield done, other


def _asked_by_its_mark(alignment: Alignment) -> Iterator[Fault]:
    """A question that only its mark asks, where the source begins with an auxiliary: "The idol is old?"."""
    source, text = alignment.source, alignment.text
    if source.question and text.question and _is_helper(source.words[0]):
        openers = [text.words[0], *(two for one, two in pairwise(text.words) if one.kind in ("mark", "link"))]
        if not any(_is_helper(word) or word.lower in closed.QUESTION_WORDS for word in [*openers, *text.words[:3]]):
            yield (0,)


def _is_helper(word: Word) -> bool:
    return word.kind in ("auxiliary", "modal")


_NUMBERS = (("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"))


def _lost_agreement(alignment: Alignment) -> Iterator[Fault]:
    """An auxiliary of the other number with the same subject: "what does Ann use", "what do Ann use"."""
    source, text = alignment.source, alignment.text
    here, there = _auxiliaries(source), _auxiliaries(text)
    for pair in _NUMBERS:
        for form, other in (pair, pair[::-1]):
            if len(here[form]) != len(there[form]) + 1 or len(there[other]) != len(here[other]) + 1:
                continue
            subjects = {_subject(source, at) for at in here[form]} - {None}
            yield from ((at,) for at in there[other] if _subject(text, at) in subjects)


def _auxiliaries(reading: Reading) -> dict[str, list[int]]:
    """Where each auxiliary stands."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, word in enumerate(reading.words):
        if word.kind == "auxiliary":
            places[word.lower].append(at)
    return places


def _subject(reading: Reading, auxiliary: int) -> str | None:
    """The noun nearest to an auxiliary: before it, in a question after it."""
    words = reading.words
    places = range(auxiliary + 1, len(words)) if reading.question else range(auxiliary - 1, -1, -1)
    return next((words[at].lower for at in places if _may_be_subject(words[at])), None)


def _may_be_subject(word: Word) -> bool:
    return word.kind in ("name", "number", "person") or (word.kind in ("content", "light") and word.is_part("n"))


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


def _only_gerunds(alignment: Alignment) -> Iterator[Fault]:
    """A verb right after its subject that became a gerund, with no other verb: "people feel", "people feeling"."""
    source, text = alignment.source, alignment.text
    if any(word.kind in ("auxiliary", "modal") for word in (*source.words, *text.words)):
        return
    for at, other in alignment.to_text.items():
        subject = at > 0 and alignment.to_text.get(at - 1) == other - 1 and source.words[at - 1].is_part("n")
        forms = verb_forms(source.words[at].lower), verb_forms(text.words[other].lower)
        if subject and forms == (frozenset({"base"}), frozenset({"ing"})):
            yield other - 1, other


def _lost_relatives(alignment: Alignment) -> Iterator[Fault]:
    """A clause that lost its relative: "in low gear, which is ploughing", "in low gear is ploughing"."""
    source, text = alignment.source, alignment.text
    if _joined(text) > _joined(source):  # "the pups, which are white, swim", "the pups are white and swim"
        return
    for at in range(1, len(source.words) - 1):
        link = at - 1 if source.words[at - 1].kind == "preposition" else at
        if source.words[at].lower not in ("which", "who") or not link or source.words[link - 1].text != ",":
            continue
        before = max((place for place in alignment.to_text if place < at), default=None)
        after = min((place for place in alignment.to_text if place > at), default=None)
        if before is None or after is None:
            continue
        first, last = alignment.to_text[before], alignment.to_text[after]
        between = text.words[first + 1 : last]
        if between and all(word.kind == "auxiliary" or (link < at and word.text == ",") for word in between):
            yield tuple(range(first, last + 1))


def _joined(reading: Reading) -> int:
    return sum(word.lower in ("and", "but", "so", ";") for word in reading.words)


def _asked_as_a_noun(alignment: Alignment) -> Iterator[Fault]:
    """A participle that became a noun behind "how is": "how is it calculated", "how is its calculation"."""
    source, text = alignment.source, alignment.text
    if not source.question or source.words[0].lower != "how":
        return
    for at, other in alignment.to_text.items():
        if "participle" in verb_forms(source.words[at].lower) and not text.words[other].is_part("v"):
            yield (other,)


def _one_of_a_mass(alignment: Alignment) -> Iterator[Fault]:
    """An article for what cannot be counted: "what is figurative language", "what is a figurative language"."""
    source, text = alignment.source, alignment.text
    for at in range(2, len(text.words) - 1):
        if text.words[at].lower not in ("a", "an") or text.words[at - 2].lower != "what":
            continue
        origin = alignment.to_source.get(at + 1)
        if origin and source.words[origin - 1].lower in closed.BE and text.words[at - 1].lower in closed.BE:
            yield at, at + 1


def _bare_after_be(alignment: Alignment) -> Iterator[Fault]:
    """A form of be that lost the preposition after it: "is not on Quora", "is not Quora"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        if not other or at < 2 or source.words[at - 1].kind != "preposition":
            continue
        ahead, behind = source.words[at - 2], text.words[other - 1]
        if behind.lower == ahead.lower and (behind.kind == "negation" or behind.lower in closed.BE):
            yield other - 1, other


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


def _parted_from_of(alignment: Alignment) -> Iterator[Fault]:
    """A form of be between a noun and its "of": "the future of Swift", "will the future be of Swift"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        follows = at + 1 < len(source.words) and source.words[at + 1].lower == "of"
        after = [word.lower for word in text.words[other + 1 : other + 3]]
        if follows and len(after) == 2 and after[0] in closed.BE and after[1] == "of":
            yield other, other + 1, other + 2


def _ends_phrase(words: Sequence[Word], at: int) -> bool:
    after = words[at + 1] if at + 1 < len(words) else None
    return after is None or (after.kind not in ("name", "content", "light", "number") and after.lower != "of")


def _lost_its_verb(source: Reading, text: Reading) -> bool:
    """Whether only the source surely has the verb of a sentence: "The term was coined", "The term coined by them"."""
    sure = any(item.kind == "modal" for item in source.words) or any(
        "" not in verb.tenses for verb in verbs_by_neighbours(source.words).values()
    )
    return sure and not _may_have_verb(text)


def _may_have_verb(reading: Reading) -> bool:
    words = reading.words
    if any(word.kind == "modal" for word in words):
        return True
    for at, verb in verbs(reading).items():
        before = words[at - 1] if at else None
        noun = before is not None and (before.kind in ("determiner", "number", "preposition") or before.is_part("a"))
        bare = verb.tenses == {"present", ""} and noun
        if verb.tenses != {""} and not bare and not (verb.passive and verb.first == at):
            return True
    return False
