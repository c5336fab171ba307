"""Grammar that is right in the source and broken in a text: "was printed", "was print".

Verbs and clauses; noun phrases are in `spoiled_phrases.py`, and what a text shows by itself is in `wellformed.py`. A
fault that the source has too is its own way of speaking.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import verb_forms, verbs, verbs_by_neighbours
from refdec.ledger.reading import Reading, Word
from refdec.ledger.spoiled_phrases import broken_phrases
from refdec.ledger.wellformed import ADVERBS, Fault, faults


def grammar(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    known = {_said(source, fault) for fault in faults(source)}
    new = [fault for fault in faults(text) if _said(text, fault) not in known]
    new += [fault for check in _CHECKS for fault in check(alignment)]
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


def _mixed_auxiliaries(alignment: Alignment) -> Iterator[Fault]:
    """A form of be for one of do in a question, or both: "what is it mean", "why does it is a success"."""
    source, text = alignment.source, alignment.text
    if not (source.question and text.question):
        return
    here, there = _first_auxiliary(source), _first_auxiliary(text)
    if here is None or there is None:
        return
    first, other_first = source.words[here].lower, text.words[there].lower
    last = next((word for word in reversed(text.words) if word.kind != "mark"), text.words[0])
    bare = verb_forms(last.lower) == {"base"} and last.lower in {word.lower for word in source.words}
    other_clause = any(word.lower in ("that", "who", "which") or word.lower in closed.DO for word in text.words)
    meant = first in closed.DO and other_first in closed.BE and bare and not other_clause and not _has_participle(text)
    counts = [sum(word.lower == first for word in reading.words) for reading in (source, text)]
    both = first in closed.BE and other_first in closed.DO and counts[0] <= counts[1]
    if meant or both:
        yield (there,)


def _first_auxiliary(reading: Reading) -> int | None:
    return next((at for at, word in enumerate(reading.words) if word.kind in ("auxiliary", "modal")), None)


def _has_participle(reading: Reading) -> bool:
    return any(verb_forms(word.lower) & {"participle", "ing"} for word in reading.words)


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
    if _conjunctions(text) > _conjunctions(source):  # "the pups, which are white, swim", "the pups are white and swim"
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


def _conjunctions(reading: Reading) -> int:
    return sum(word.lower in ("and", "but", "so", ";") for word in reading.words)


def _asked_as_a_noun(alignment: Alignment) -> Iterator[Fault]:
    """A participle that became a noun behind "how is": "how is it calculated", "how is its calculation"."""
    source, text = alignment.source, alignment.text
    if not source.question or source.words[0].lower != "how":
        return
    for at, other in alignment.to_text.items():
        if "participle" in verb_forms(source.words[at].lower) and not text.words[other].is_part("v"):
            yield (other,)


def _bare_after_be(alignment: Alignment) -> Iterator[Fault]:
    """A form of be that lost the preposition after it: "is not on Quora", "is not Quora"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        if not other or at < 2 or source.words[at - 1].kind != "preposition":
            continue
        ahead, behind = source.words[at - 2], text.words[other - 1]
        if behind.lower == ahead.lower and (behind.kind == "negation" or behind.lower in closed.BE):
            yield other - 1, other


def _parted_from_of(alignment: Alignment) -> Iterator[Fault]:
    """A form of be between a noun and its "of": "the future of Swift", "will the future be of Swift"."""
    source, text = alignment.source, alignment.text
    for at, other in alignment.to_text.items():
        follows = at + 1 < len(source.words) and source.words[at + 1].lower == "of"
        after = [word.lower for word in text.words[other + 1 : other + 3]]
        if follows and len(after) == 2 and after[0] in closed.BE and after[1] == "of":
            yield other, other + 1, other + 2


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


_CHECKS = (
    _bare_forms,
    _lost_agreement,
    _asked_by_its_mark,
    _bent_after_do,
    _mixed_auxiliaries,
    _only_gerunds,
    _lost_relatives,
    _asked_as_a_noun,
    _bare_after_be,
    _parted_from_of,
    broken_phrases,
)
