"""Plainly broken grammar that the words of a text show: "had went", "jobs was", "the that", "to to".

A few sure rules, no parser. Knows nothing of meaning, and nothing of a second text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refdec.ledger import function_words as closed
from refdec.ledger.grammar import clauses, is_plural, verb_forms
from refdec.ledger.inflection import article
from refdec.ledger.reading import Reading, Word

Fault = tuple[int, ...]
"""The places of the words that do not go together."""


def faults(reading: Reading) -> Iterator[Fault]:
    """Every fault of a text by itself."""
    words = reading.words
    for at, word in enumerate(words):
        after = _next(words, at)
        if after is not None and (word.kind in ("auxiliary", "modal") or word.lower == "to"):
            yield from _verb_group(words, at, after)
        if at + 1 < len(words):
            yield from _neighbours(words, at)
        if word.lower in _REGULARISED:
            yield (at,)
    yield from _agreement(words)
    if reading.question:
        yield from _question(words)


def _next(words: Sequence[Word], at: int) -> int | None:
    """The next word that is no adverb and no negation, if no mark comes first."""
    for place in range(at + 1, min(at + 4, len(words))):
        word = words[place]
        if word.kind == "mark":
            return None
        if word.kind != "negation" and word.lower not in ADVERBS and not word.lower.endswith("ly"):
            return place
    return None


ADVERBS = closed.words("also only still already always often never ever just even now soon once again then not")
_FINITE = closed.words("am is are was were has does did")
_INVERTING = closed.QUESTION_WORDS | closed.words("long much many often far old")


def _verb_group(words: Sequence[Word], at: int, after: int) -> Iterator[Fault]:
    """An auxiliary and the form of the verb that comes next: "will leaving", "had went", "did answered", "to went"."""
    word, verb = words[at], words[after]
    before = words[at - 1] if at else None
    noun = before is not None and (before.kind in ("determiner", "preposition") or before.lower in closed.POSSESSIVES)
    if noun and word.kind == "modal":
        return  # "the will"
    opens = before is None or word.opens or before.kind == "mark" or before.lower in _INVERTING
    forms = verb_forms(verb.lower) if verb.kind in ("content", "light") else frozenset()
    only_verb = bool(forms) and not verb.is_part("n") and not verb.is_part("a")
    said = word.text.lower() if word.lower == "have to" else word.lower
    if word.kind == "modal" and word.lower != "have to":
        finite = verb.text.lower() in _FINITE | {"been", "being", "had"}
        second = verb.kind == "modal" and verb.lower != "have to"
        if not opens and (finite or second or (forms and "base" not in forms)):
            yield at, after
    elif said in closed.HAVE and word.lower != "have to":
        finite = verb.lower in ("be", "being", "is", "was", "are", "were")
        if not opens and (finite or (only_verb and forms.isdisjoint({"participle", "ing"}))):
            yield at, after
    elif word.lower in closed.BE:
        second = verb.kind == "auxiliary" and verb.lower in _FINITE | {"be"} and word.lower != "being" and not opens
        if second or (only_verb and forms == {"past"}):
            yield at, after
    elif word.lower in ("do", "does", "did") and only_verb and "base" not in forms and "ing" not in forms:
        yield at, after
    elif word.lower == "to" and after == at + 1:
        follows = words[after + 1] if after + 1 < len(words) else None
        has_object = follows is not None and follows.kind in ("determiner", "person")
        past = "past" in forms and "base" not in forms
        if (past and has_object) or (only_verb and forms <= {"past", "s"}) or verb.lower in _FINITE:
            yield at, after


_SUBJECTS = closed.words("i he she they we")
_NO_NOUN = closed.words("the a an that and is are was were except because who which")
_DOUBLED = closed.words("that had very so many no ha bye more her")
_NO_OWNED = closed.words("is are was were has a an the")
_NO_SECOND = closed.words("of from at with by into")
_NO_FIRST = closed.words("of from at with during into")
_PLURAL_SINGULAR = closed.words(
    "means series species crossroads works news politics economics headquarters barracks athletics physics sports "
    "data media police people staff lots scissors glasses trousers thanks"
)


def _neighbours(words: Sequence[Word], at: int) -> Iterator[Fault]:
    """Two words that cannot stand side by side."""
    word, after = words[at], words[at + 1]
    third = words[at + 2] if at + 2 < len(words) else None
    if _is_other_article(word, after) or (
        after.kind != "name"
        and (
            _is_doubled(word, after)
            or _is_article_alone(word, after, third)
            or _is_owner_alone(word, after)
            or _is_preposition_too_many(words, at)
            or _is_relative_alone(word, after, third)
        )
    ):
        yield at, at + 1


def _is_doubled(word: Word, after: Word) -> bool:
    counts = word.kind not in ("name", "number", "light", "mark") and word.lower not in _DOUBLED
    return (word.lower == after.lower and counts) or {word.lower, after.lower} == {"who", "which"}


def _is_other_article(word: Word, after: Word) -> bool:
    """ "A apple", "an book"; letters that are spelled out sound otherwise."""
    spelled = after.text.isupper() or not after.text.isalpha() or len(after.text) == 1
    return word.text in ("a", "an", "A", "An") and not spelled and article(after.text) != word.lower


def _is_article_alone(word: Word, after: Word, third: Word | None) -> bool:
    """ "The that", "a from", "the he", "a shows"."""
    if word.lower not in ("the", "a", "an") or word.text.lower() != word.lower:
        return False
    if after.lower in _NO_NOUN | _NO_SECOND or (after.lower in _SUBJECTS and not after.text.isupper()):
        return True
    ends = third is None or third.kind not in ("content", "name", "light") or third.is_part("v")
    return word.lower != "the" and _is_sure_plural(after) and ends


def _is_owner_alone(word: Word, after: Word) -> bool:
    """ "Its is", "their of"."""
    return word.lower in ("my", "your", "its", "our", "their") and after.lower in _NO_OWNED | _NO_SECOND


def _is_preposition_too_many(words: Sequence[Word], at: int) -> bool:
    """ "Of from", "for of", "deadly on in"; not "from in front of"."""
    first, second = words[at].lower, words[at + 1].lower
    if first == "for":
        return second in ("of", "from", "with")
    if first in _NO_FIRST:
        return second in _NO_SECOND | {"in", "on", "to"} and not (first == "from" and second in ("at", "in", "on"))
    return first in ("on", "in", "over") and second in ("in", "of", "at", "by") and _is_plain_noun(words, at)


def _is_relative_alone(word: Word, after: Word, third: Word | None) -> bool:
    """ "Who sitting", "said that would she"."""
    if word.lower == "who":
        return after.lower.endswith("ing") and not after.is_part("n")
    return word.lower == "that" and after.kind == "modal" and third is not None and third.lower in _SUBJECTS


def _is_sure_plural(word: Word) -> bool:
    if word.lower in _PLURAL_SINGULAR or not is_plural(word):
        return False
    return word.lower.endswith("s") and not any(base == word.lower for base, _ in word.bases)


def _is_plain_noun(words: Sequence[Word], at: int) -> bool:
    """Whether the word before is a noun or an adjective and no verb, so that no particle can follow it."""
    return at > 0 and words[at - 1].kind == "content" and not words[at - 1].is_part("v")


_ONE = closed.words("he she it")
_MANY = closed.words("they we you these those")
_SINGULAR_FORMS = closed.words("is was has does")
_PLURAL_FORMS = closed.words("are have do")
_RAISING = closed.words("let make help see hear watch have did does do")


def _agreement(words: Sequence[Word]) -> Iterator[Fault]:
    """A subject and its verb: "she do", "they stands", "240 jobs was", "there are a man"."""
    for at in range(len(words) - 1):
        word, after = words[at], words[at + 1]
        before = words[at - 1] if at else None
        free = before is None or (
            before.kind not in ("auxiliary", "modal", "preposition")
            and before.lower not in ("and", "or", "to")
            and _RAISING.isdisjoint(base for base, _ in before.bases)
        )
        finite = after.text.lower() if after.lower == "have to" else after.lower
        if word.lower in _ONE and free and finite in _PLURAL_FORMS:
            inverted = any(item.kind in ("auxiliary", "modal") for item in words[max(0, at - 4) : at])
            if not inverted:
                yield at, at + 1
        elif word.lower in _MANY and free:
            forms = verb_forms(after.lower)
            sure = word.lower == "they" or not after.is_part("n")
            if finite in _SINGULAR_FORMS or (forms == {"s"} and after.kind == "content" and sure):
                yield at, at + 1
        elif word.lower == "i" and word.text == "I" and finite in ("is", "are", "has", "does") and free:
            yield at, at + 1
        elif word.lower == "there" and after.lower in ("are", "were"):
            place = _next(words, at + 1)
            if place is not None and [item.lower for item in words[place : place + 2]] == ["a", "single"]:
                yield at, at + 1
    for clause in clauses(words):
        yield from _clause_agreement(words, clause)


_OPENERS = closed.words("because although though when if where while whether")


def _clause_agreement(words: Sequence[Word], clause: range) -> Iterator[Fault]:
    """The first noun of a clause and its auxiliary."""
    start = clause.start
    first = words[start]
    if first.text in ".;!?" or first.lower in _OPENERS:
        start += 1
    elif start:
        return
    if start >= clause.stop or words[start].kind not in ("determiner", "number", "content", "name", "person"):
        return
    if words[start].kind == "person" and words[start].lower not in closed.POSSESSIVES:
        return
    head = None
    ended = False
    for at in range(start, clause.stop):
        word = words[at]
        if word.kind in ("auxiliary", "modal"):
            if head is not None and word.lower in _SINGULAR_FORMS and _is_sure_plural(words[head]):
                yield head, at
            return
        if word.kind == "person" and at > start:
            return
        if word.kind == "preposition":
            ended = True
        elif not ended and word.kind == "content" and word.is_part("n"):
            head = at
        elif not ended and word.kind in ("name", "mark"):
            head = None
        if word.kind == "content" and word.is_part("v") and not word.is_part("n") and not word.is_part("a"):
            return
        if word.kind in ("link", "condition") and at > start:
            return


def _question(words: Sequence[Word]) -> Iterator[Fault]:
    """Order and agreement of a question: "Why is the shops closed", "Is he is", "did he went", "how long it takes"."""
    yield from _asked_forms(words)
    for clause in clauses(words):
        at = clause.start + (words[clause.start].kind == "mark")
        asked = at < clause.stop and words[at].lower in closed.QUESTION_WORDS
        if asked:
            at += 1
            if at < clause.stop and words[at].lower in _INVERTING:
                at += 1
        if at >= clause.stop or (clause.start and not asked and words[clause.start].text not in ".!?,"):
            continue
        word = words[at]
        told = asked and words[clause.start].lower in ("why", "how", ",") and word.lower in _SUBJECTS | {"it"}
        if told and not any(item.kind in ("auxiliary", "modal") for item in words[:at]):
            yield at - 1, at
        elif asked and at == 1 and words[0].lower in ("why", "when", "where") and _is_not_inverted(words, clause):
            yield 0, 1
        if word.kind not in ("auxiliary", "modal") or (not asked and not word.opens and clause.start):
            continue
        yield from _after_inversion(words, at, clause.stop)


def _is_not_inverted(words: Sequence[Word], clause: range) -> bool:
    """Whether a subject and its auxiliary follow the question word, and no other clause: "Why the shop is closed?"."""
    if words[1].kind not in ("determiner", "name") or any(word.text == "," for word in words):
        return False
    subject = next((at for at in clause[1:] if words[at].kind in ("auxiliary", "modal", "preposition")), None)
    return subject is not None and words[subject].kind != "preposition"


def _asked_forms(words: Sequence[Word]) -> Iterator[Fault]:
    """ "Will I needs", "do I to go", "how can I do to learn it"."""
    for at in range(len(words) - 2):
        helper, subject, verb = words[at : at + 3]
        follows = words[at + 3].lower if at + 3 < len(words) else ""
        if (helper.kind == "modal" or helper.lower in ("do", "does", "did")) and subject.lower in closed.PERSONS:
            forms = verb_forms(verb.lower) if verb.kind in ("content", "light") else frozenset()
            wrong = bool(forms) and forms.isdisjoint({"base", "ing"}) and subject.lower not in closed.POSSESSIVES
            if wrong or verb.lower == "to":
                yield at, at + 2
            elif at and (words[at - 1].lower, verb.lower, follows) == ("how", "do", "to"):
                yield at - 1, at + 2


def _after_inversion(words: Sequence[Word], at: int, end: int) -> Iterator[Fault]:
    opening = words[at]
    head = None
    for place in range(at + 1, end):
        word = words[place]
        if word.kind == "auxiliary" and word.lower in _FINITE and place > at + 1:
            yield at, place
            return
        if word.kind == "preposition" or word.lower == "to":
            break
        forms = verb_forms(word.lower) if word.kind in ("content", "light") else frozenset()
        only_verb = bool(forms) and not word.is_part("n") and not word.is_part("a")
        if "ing" in forms or ("base" in forms and place > at + 2):
            break
        if (opening.lower in closed.DO or opening.kind == "modal") and place > at + 1 and only_verb:
            if "base" not in forms and "ing" not in forms:
                yield at, place
            return
        if opening.lower in closed.DO and place > at + 1 and words[place - 1].kind == "person" and forms == {"s"}:
            yield at, place
            return
        if word.kind == "content" and word.is_part("n") and word.text.islower():
            head = place
        elif word.kind not in ("determiner", "name", "number", "content"):
            break
    lone = head is not None and all(item.kind in ("determiner", "name", "content") for item in words[at + 1 : head])
    if head is not None and lone and opening.lower in ("is", "was") and _is_sure_plural(words[head]):
        yield at, head


_IRREGULAR = (
    "sell tell buy bring catch teach think seek fight feel keep sleep leave lose send spend build lend go come give "
    "take make find hold stand understand win meet shoot sit speak break choose steal write drive ride rise fall grow "
    "know throw fly draw blow begin drink sing swim run see eat forget get put cut hit hurt let shut feed become"
)
_REGULARISED = frozenset(base + ("d" if base.endswith("e") else "ed") for base in _IRREGULAR.split()) | closed.words(
    "winned swimmed runned getted putted cutted hitted letted shutted sitted beginned forgetted"
)
"""Forms that no verb has: "selled", "shooted"."""
