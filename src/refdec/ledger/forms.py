"""Tense of verbs and number of nouns in two aligned readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import Verb, is_plural, verbs
from refdec.ledger.logic import quoted
from refdec.ledger.reading import Reading, Word


def tenses(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = verbs(source), verbs(text)
    said: set[str] = {tense for verb in here.values() if "" not in verb.tenses for tense in verb.tenses}
    flagged = False
    for match in sorted(alignment.matches, key=lambda match: match.source):
        at = next((place for place in match.source if place in here), None)
        other = next((place for place in match.text if place in there), None)
        if at is not None and other is not None:
            cost = tense_cost(here[at], there[other])
            either = there[other].tenses | here[at].tenses
            if cost and _is_retold(source, text, here[at], there[other]):
                cost = COSTS.perfect
            if cost and source.question and either == {"present", "future"}:
                cost = COSTS.perfect
            both = here[at].tenses & there[other].tenses
            goes_on = _goes_on(source, at, here[at]), _goes_on(text, other, there[other])
            if source.question and both == {"present"} and goes_on[0] != goes_on[1]:
                cost = COSTS.tense  # "What causes it?", "What is causing it?"
            if either == {"", "past"} and _stands_for_now(source, here, at):
                cost = COSTS.tense
            if cost:
                flagged = flagged or cost >= COSTS.tense
                yield change("tense", source, verb_group(at, here[at]), text, verb_group(other, there[other]), cost)
    alone = {at: verb for at, verb in here.items() if at not in alignment.used_source}
    others = {at: verb for at, verb in there.items() if at not in alignment.used_text}
    copulas = [at for at in alone if source.words[at].kind == "auxiliary"]
    other_copulas = [at for at in others if text.words[at].kind == "auxiliary"]
    if copulas and other_copulas and not flagged:
        tenses_here = {tense for at in copulas for tense in alone[at].tenses}
        for at in other_copulas:
            if not any(_compatible(tense, mine) for tense in others[at].tenses for mine in tenses_here):
                flagged = True
                yield change("tense", source, copulas[:1], text, (at,), COSTS.tense)
    if not flagged and said - {"modal"}:
        for at, verb in others.items():
            certain = verb.tenses - {"modal", "perfect"}
            sure = len(certain) == 1 == len(verb.tenses) and "" not in certain
            if (
                sure
                and not _is_empty_copula(text, at)
                and not any(_compatible(tense, mine) for tense in certain for mine in said)
            ):
                yield change("tense", source, (), text, (at,), COSTS.tense)
                break


def _goes_on(reading: Reading, at: int, verb: Verb) -> bool:
    return verb.ongoing and reading.words[at - 1].kind not in ("determiner", "strict")


def _stands_for_now(reading: Reading, verb_places: Mapping[int, Verb], at: int) -> bool:
    """Whether a participle is the first verb of a sentence, as under a picture: "A dog crossing a road"."""
    finite_before = any("" not in verb.tenses for place, verb in verb_places.items() if place < at)
    return reading.words[at].lower.endswith("ing") and not reading.words[at].opens and not finite_before


_SHIFTS = {"present": "past", "perfect": "pluperfect", "past": "pluperfect"}


def _is_retold(source: Reading, text: Reading, verb: Verb, other: Verb) -> bool:
    """Whether one text quotes what the other one reports: "I am ready," she said. She said she was ready."""
    if quoted(source) == quoted(text):
        return False
    spoken, told = (verb, other) if quoted(source) else (other, verb)
    return any(_SHIFTS.get(tense) in told.tenses for tense in spoken.tenses)


def _is_empty_copula(reading: Reading, at: int) -> bool:
    """Whether a form of be only joins what stands together elsewhere: "Ann, who is 28", "what is the reason"."""
    word, before = reading.words[at], reading.words[at - 1].lower if at else ""
    return word.lower in closed.BE and before in ("who", "which", "that", "what", "it")


def verb_group(at: int, verb: Verb) -> Sequence[int]:
    """A verb with its auxiliaries, where they stand before it."""
    return range(verb.first, at + 1) if at - verb.first < 4 else (at,)


def tense_cost(verb: Verb, other: Verb) -> float:
    either = verb.tenses | other.tenses
    if "" in either or "modal" in either or verb.tenses & other.tenses:  # modals are compared on their own
        return 0.0
    if either == {"present", "perfect"} and (verb.ongoing != other.ongoing or not (verb.passive or other.passive)):
        return COSTS.tense  # "is filming", "has filmed"; "works", "has worked"
    if any(_compatible(one, two) for one in verb.tenses for two in other.tenses):
        return COSTS.perfect
    return COSTS.tense


_NEAR_TENSES = ({"past", "perfect"}, {"present", "perfect"}, {"past", "pluperfect"})


def _compatible(tense: str, other: str) -> bool:
    return tense == other or "modal" in (tense, other) or {tense, other} in _NEAR_TENSES


def plurals(alignment: Alignment) -> Iterator[Change]:
    """One thing or several: not where a number says it, nor in a compound ("car sales", "sales of cars")."""
    source, text = alignment.source, alignment.text
    here, there = verbs(source), verbs(text)
    for at, other in sorted(alignment.to_text.items()):
        word, mate = source.words[at], text.words[other]
        shorter, longer = sorted((word.lower, mate.lower), key=len)
        if word.kind == mate.kind == "name" and longer == shorter + "s":  # "Remington Arms"
            yield change("plural", source, (at,), text, (other,), COSTS.plural)
        plural, other_plural = is_plural(word), is_plural(mate)
        if plural is None or other_plural is None or plural == other_plural or not _shares_noun(word, mate):
            continue
        if _is_each_or_all(source, at) and _is_each_or_all(text, other):
            continue
        compound = _is_compound(source, at) and alignment.to_text.get(at + 1) == other + 1
        if not compound and (
            _is_loose(source, at)
            or _is_loose(text, other)
            or _is_verb(here, source, at)
            or _is_verb(there, text, other)
        ):
            continue
        pointed = _is_pointed_at(source, at) or _is_pointed_at(text, other) or _is_asked_for(source, at)
        generic = source.question and not pointed
        cost = COSTS.plural_generic if generic else COSTS.plural
        yield change("plural", source, (at,), text, (other,), cost)


def _shares_noun(word: Word, other: Word) -> bool:
    nouns = {base for base, part in word.bases if part == "n"}
    return any(part == "n" and base in nouns for base, part in other.bases)


def _is_verb(verb_places: Mapping[int, Verb], reading: Reading, at: int) -> bool:
    """Whether the word may well be a verb here."""
    verb = verb_places.get(at)
    if verb is None:
        return False
    before = reading.words[at - 1] if at else None
    after = reading.words[at + 1] if at + 1 < len(reading.words) else None
    if after is not None and after.kind in ("auxiliary", "modal") and verb.first == at:
        return False  # "horses are standing"
    if before is not None and before.kind == "content" and (mate := verb_places.get(at - 1)) and "" not in mate.tenses:
        return False  # "carried boxes"
    if before is None or before.lower in closed.PERSONS or verb.first != at:
        return before is None or verb.first != at or before.lower not in closed.POSSESSIVES
    return before.kind not in ("determiner", "number", "preposition") and not before.is_part("a")


def _is_pointed_at(reading: Reading, at: int) -> bool:
    """Whether the noun is not any of its kind: "this show", "some shows", "my first show"."""
    return any(word.lower in _POINTING for word in reading.words[max(0, at - 2) : at])


def _is_asked_for(reading: Reading, at: int) -> bool:
    """Whether the noun is what a question asks for: "What are the best games for a child?"."""
    opening = reading.words[:at]
    return (
        bool(opening)
        and opening[0].lower in ("what", "which")
        and all(word.lower == "of" or (word.kind != "preposition" and word.lower != "to") for word in opening)
        and sum(word.kind in ("auxiliary", "modal") for word in opening) < 2
        and not any(word.kind == "person" or word.kind == "name" for word in opening)
    )


_POINTING = closed.words("this that these those some first last")


def _is_each_or_all(reading: Reading, at: int) -> bool:
    """Whether the noun stands for all of its kind: "every student", "all students"."""
    return any(word.lower in ("all", "every", "each", "any") for word in reading.words[max(0, at - 3) : at])


def _is_loose(reading: Reading, at: int) -> bool:
    if _is_compound(reading, at) and not is_plural(reading.words[at]):
        return True
    before = reading.words[at - 1] if at else None
    counted = before is not None and before.kind == "number" and before.value not in ("1", "one")
    return counted and not reading.words[at - 1].value.endswith(".")  # "the first things"


def _is_compound(reading: Reading, at: int) -> bool:
    """Whether another noun or a name comes right after a noun."""
    words = reading.words
    after = words[at + 1] if at + 1 < len(words) else None
    return (
        after is not None
        and (after.kind == "name" or (after.kind == "content" and after.is_part("n")))
        and words[at].end + 1 >= after.start
    )
