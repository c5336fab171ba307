"""What is claimed: negation, persons, modals, questions and conditions of two aligned readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment, counted
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import verb_forms
from refdec.ledger.reading import Reading, Word


def negation(alignment: Alignment) -> Iterator[Change]:
    """Every "not" of one side must be on the other, and with the same word."""
    source, text = alignment.source, alignment.text
    every, other_every = (
        tuple(at for at, word in enumerate(reading.words) if word.kind == "negation") for reading in (source, text)
    )
    here = [at for at in every if at not in alignment.used_source]
    there = [at for at in other_every if at not in alignment.used_text]
    if not here and not there and len(every) != len(other_every):
        yield change("negation", source, every, text, other_every, COSTS.restated)
    undone = _undone(alignment, here, there)
    if undone is not None:
        here, there = undone
    for at in here[len(there) :]:
        yield change("negation", source, (at,), text, (), COSTS.negation)
    for at in there[len(here) :]:
        yield change("negation", source, (), text, (at,), COSTS.negation)
    if here and len(here) == len(there):
        targets = [alignment.to_text.get(_target(source, at)) for at in here]
        others = [_target(text, at) for at in there]
        rank = {at: number for number, at in enumerate(counted(text))}
        if all(at in rank for at in targets) and all(at in alignment.to_source for at in others):
            near = min(abs(rank[at] - rank[other]) for at in targets for other in others if at is not None)
            crossed = any(
                _left_the_infinitive(alignment, *pair) or _left_the_cause(source, text, *pair)
                for pair in zip(here, there, strict=True)
            )
            if near > 2 or crossed:
                yield change("negation", source, tuple(here), text, tuple(there), COSTS.negation_moved)


def _undone(alignment: Alignment, here: list[int], there: list[int]) -> tuple[list[int], list[int]] | None:
    """Negations without those that an opposite makes good: "not happy", "unhappy"."""
    left, right = list(here), list(there)
    for match in alignment.matches:
        if match.step.kind != "opposite" or len(match.source) != 1:
            continue
        near = [at for at in left if 0 < match.source[0] - at <= 3]
        other_near = [at for at in right if 0 < match.text[0] - at <= 3]
        if bool(near) != bool(other_near):
            if near:
                left.remove(near[-1])
            else:
                right.remove(other_near[-1])
    return (left, right) if (left, right) != (here, there) else None


_RAISING = closed.words("want wish think believe expect seem appear plan intend suppose tend use aim mean likely")
"""Words that mean the same with the negation before or after them: "not want to go", "want not to go"."""


def _left_the_infinitive(alignment: Alignment, here: int, there: int) -> bool:
    """Whether only one text denies an infinitive: "it is rude not to finish", "it is not rude to finish"."""
    source, text = alignment.source, alignment.text
    if _denies_infinitive(source, here) == _denies_infinitive(text, there):
        return False
    target, other = _target(source, here), _target(text, there)
    crossed = source.words[target if _denies_infinitive(text, there) else alignment.to_source[other]]
    return alignment.to_text.get(target) != other and _RAISING.isdisjoint(crossed.names)


_CAUSING = closed.words("make get keep let leave")


def _left_the_cause(source: Reading, text: Reading, here: int, there: int) -> bool:
    """Whether "not" denies in one text only that something is caused: "not make you tired", "make you not tired"."""
    pair = (source.words, here), (text.words, there)
    if any(words[at].lower != "not" for words, at in pair):
        return False  # "it does not make sense", "it makes no sense"
    causes = [any(not _CAUSING.isdisjoint(word.names) for word in words[at + 1 : at + 4]) for words, at in pair]
    return causes[0] != causes[1]


def _denies_infinitive(reading: Reading, at: int) -> bool:
    return at + 1 < len(reading.words) and reading.words[at + 1].lower == "to"


def _target(reading: Reading, at: int) -> int:
    """The word that a negation denies: the next one that counts, or the one before it."""
    for place in range(at + 1, min(at + 5, len(reading.words))):
        if reading.words[place].kind == "mark":
            break
        if reading.words[place].kind in ("content", "name", "number"):
            return place
    return next((place for place in range(at - 1, -1, -1) if reading.words[place].kind in ("content", "name")), -1)


def persons(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here = _persons(source)
    there = _persons(text)
    lost = {person: places for person, places in here.items() if person not in there}
    new = {person: places for person, places in there.items() if person not in here}
    question = source.question and text.question
    retold = quoted(source) != quoted(text)
    for person, places in new.items():
        partner = next((other for other in lost if _confused(person, other)), None)
        if partner:
            cost = COSTS.person / 3 if question and {person, partner} <= closed.SPEAKERS else COSTS.person
            if retold and len({person, partner} & closed.SPEAKERS) == 1:
                cost = COSTS.pronoun  # "I am ready," she said. She said she was ready.
            yield change("person", source, lost.pop(partner)[:1], text, places[:1], cost)
        elif person in closed.SPEAKERS and not retold:
            anyone = question or (person == "you" and not here)  # "Tickets can be bought", "You can buy tickets"
            owner = not here and all(text.words[at].lower in closed.POSSESSIVES for at in places)  # "your values"
            cost = COSTS.owner if owner else COSTS.pronoun if anyone else COSTS.person
            yield change("person", source, (), text, places[:1], cost)
        else:
            yield change("person", source, (), text, places[:1], COSTS.pronoun / 2)
    for person, places in lost.items():
        speaker = person in closed.SPEAKERS and not question
        yield change("person", source, places[:1], text, (), COSTS.person / 2 if speaker else COSTS.pronoun / 2)


def quoted(reading: Reading) -> bool:
    """Whether a text gives somebody's own words."""
    return any(word.text in '"“”' for word in reading.words) and any(
        word.lower in closed.REPORTED for word in reading.words
    )


def _confused(person: str, other: str) -> bool:
    """Whether one person stands for another one; "it" may be an empty subject."""
    if "it" in (person, other):
        return False
    return person in closed.SPEAKERS or other in closed.SPEAKERS or {person, other} == {"he", "she"}


def _persons(reading: Reading) -> dict[str, tuple[int, ...]]:
    places: dict[str, tuple[int, ...]] = {}
    for at, word in enumerate(reading.words):
        if word.kind == "person":
            person = closed.PERSONS[word.lower]
            places[person] = (*places.get(person, ()), at)
    return places


def modals(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here = [at for at, word in enumerate(source.words) if word.kind == "modal" and at not in alignment.used_source]
    there = [at for at, word in enumerate(text.words) if word.kind == "modal" and at not in alignment.used_text]
    names, other_names = (
        [closed.MODALS[source.words[at].lower] for at in here],
        [closed.MODALS[text.words[at].lower] for at in there],
    )
    for at, name in list(zip(here, names, strict=True)):
        if name in other_names:
            place = other_names.index(name)
            here.remove(at)
            del other_names[place], there[place]
    for at in list(here):
        if not there:
            break
        other = there.pop(0)
        here.remove(at)
        cost = modal_cost(source.words[at], text.words[other], source.words, source.question)
        yield change("modal", source, (at,), text, (other,), cost)
    both = source.question and text.question
    here = [at for at in here if not _is_implied(source, at, text, alignment.to_text)]
    there = [at for at in there if not _is_implied(text, at, source, alignment.to_source)]
    for at in here:
        yield change("modal", source, (at,), text, (), _unpaired_modal(source, at, both))
    for at in there:
        yield change("modal", source, (), text, (at,), _unpaired_modal(text, at, both))


def _unpaired_modal(reading: Reading, modal: int, questions: bool) -> float:
    """What a modal of one text alone costs: little in "how can I" for "how do I", not in "should he" for "does he".

    Nor where it opens the question: "can things change" asks something else than "do things change".
    """
    words = reading.words
    name = closed.MODALS[words[modal].lower]
    if modal == 0:
        return COSTS.modal
    duty = name in ("should", "must")
    speaker = modal + 1 < len(words) and closed.PERSONS.get(words[modal + 1].lower) in closed.SPEAKERS
    if name in ("will", "would") and not speaker:
        return COSTS.tense
    return COSTS.modal_near if questions and (speaker or not duty) else COSTS.modal


def _is_implied(reading: Reading, modal: int, other: Reading, mates: dict[int, int]) -> bool:
    """Whether the other text says a modal by "to" or by a verb of advice.

    "He expects sales to rise" is "He expects that sales will rise"; "They advise that you go", "You should go".
    """
    words = reading.words
    name = closed.MODALS[words[modal].lower]
    if name == "should":
        return any(not closed.ADVISING.isdisjoint(base for base, _ in word.bases) for word in other.words)
    if name not in ("will", "would"):
        return False
    for at in range(modal + 1, min(modal + 4, len(words))):
        place = mates.get(at)
        if place is not None and place > 0:
            if other.words[place].lower.endswith("ing") and not reading.words[at].lower.endswith("ing"):
                return True  # "creating a firm", "which will create a firm"
            return other.words[place - 1].lower == "to" and not (place > 1 and other.words[place - 2].kind == "modal")
    return False


def modal_cost(modal: Word, other: Word, sentence: Sequence[Word], question: bool) -> float:
    """What it costs to say another modal; reported speech turns "will" into "would"."""
    pair = frozenset({closed.MODALS[modal.lower], closed.MODALS[other.lower]})
    if len(pair) == 1:
        return 0.0
    shifts = bool(pair & {"will", "can"})  # as tenses do
    loose = question or not shifts or any(word.lower in closed.REPORTED for word in sentence)
    return COSTS.modal_near if loose and pair in closed.NEAR_MODALS else COSTS.modal


def question(alignment: Alignment) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    if source.question != text.question:
        mark = "?" if text.question else ""
        yield Change("question", "?" if source.question else "", mark, None, None, COSTS.question)
    elif source.question:
        yield from _asked_otherwise(alignment)
        here, there = _asked(source, alignment.used_source), _asked(text, alignment.used_text)
        lost, new = list((here - there).elements()), list((there - here).elements())
        for word, other in zip_longest(lost, new, fillvalue=""):
            choice = {word, other} == {"what", ""} and all(_has_word(side, "or") for side in (source, text))
            alike = choice or _asks_alike(word, other, alignment) or _asks_what_to_do(word, other, alignment)
            cost = COSTS.pronoun if alike else COSTS.asked
            yield Change("question", word, other, None, None, cost)
    else:
        told = _ways_told(source, text, alignment.used_source)
        others = _ways_told(text, source, alignment.used_text)
        if len(told) != len(others):
            yield change("question", source, told[:1], text, others[:1], COSTS.asked)


def _asked_otherwise(alignment: Alignment) -> Iterator[Change]:
    """Two questions with the same question word that ask for a way and for a degree, or for then and for always."""
    source, text = alignment.source, alignment.text
    ways, other_ways = _asks_how_much(source), _asks_how_much(text)
    if ways and other_ways and ways != other_ways:
        yield Change("question", "how", "how", None, None, COSTS.asked)
    if {_opening(source), _opening(text)} == {"have", "do"} or _is_unreal(source) != _is_unreal(text):
        yield change("tense", source, (0,), text, (0,), COSTS.tense)
    if _asks_what_is_done(source) != _asks_what_is_done(text):
        yield Change("question", "do", "do", None, None, COSTS.asked)


def _is_unreal(reading: Reading) -> bool:
    """Whether a modal has "have" behind it: "could they have won"."""
    modal = next((at for at, word in enumerate(reading.words) if word.kind == "modal"), len(reading.words))
    following = pairwise(reading.words[modal + 1 :])
    return any(one.lower == "have" and "participle" in verb_forms(two.lower) for one, two in following)


def _asks_what_is_done(reading: Reading) -> bool:
    """ "What do call centers do?" """
    said = [word.lower for word in reading.words if word.kind != "mark"]
    return said[:1] == ["what"] and said[-1] == "do"


def choices(alignment: Alignment) -> Iterator[Change]:
    """What a question chooses from stands by itself: "which is best, tea or milk", "which is best for tea or milk"."""
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items() if source.question else ()):
        before, other_before = source.words[at - 1] if at else None, text.words[other - 1] if other else None
        kinds = {item.kind for item in (before, other_before) if item}
        if kinds == {"mark", "preposition"} and _begins_choice(source, at) and _begins_choice(text, other):
            yield change("roles", source, (at - 1, at), text, (other - 1, other), COSTS.roles)


def _begins_choice(reading: Reading, at: int) -> bool:
    return any(word.lower == "or" for word in reading.words[at + 1 : at + 4])


def _ways_told(reading: Reading, other: Reading, used: set[int]) -> list[int]:
    """Where a statement has a "how" that nothing in the other text stands for: "I know how they are made".

    "How many" may be a number, "how to" an infinitive alone, and "how" a way.
    """
    words = reading.words
    if any(not _WAYS.isdisjoint(word.meaning.names) for word in other.words):
        return []
    return [
        at
        for at, word in enumerate(words[:-1])
        if word.lower == "how" and at not in used and words[at + 1].kind in ("determiner", "person", "name")
    ]


_WAYS = closed.words("way manner method means fashion degree extent")


def _opening(reading: Reading) -> str:
    """The auxiliary that opens a question: "have you ever seen it", "do you ever see it"."""
    first = reading.words[0].lower
    return "have" if first in ("have", "has") else "do" if first in ("do", "does") else first


def _asks_how_much(reading: Reading) -> set[bool]:
    """Whether "how" asks for a degree, "how different is it", or for a way, "how is it different"; for each."""
    closed_kinds = ("auxiliary", "modal", "light")
    return {
        (two.is_part("a") or two.is_part("r")) and two.kind not in closed_kinds
        for one, two in pairwise(reading.words)
        if one.lower == "how"
    }


def _asks_what_to_do(word: str, other: str, alignment: Alignment) -> bool:
    """Whether "what" asks for a way: "how can I learn", "what do I do to learn"; "how is it", "what is it like"."""
    if {word, other} != {"what", "how"}:
        return False
    words = (alignment.source if word == "what" else alignment.text).words
    doing = any(
        two.lower in closed.DO and (one.lower == "to" or one.lower in closed.PERSONS) for one, two in pairwise(words)
    )
    return doing or any(not _CALLING.isdisjoint(item.names) for item in words)


_CALLING = closed.words("like call name say think done doing happen mean")
"""Words with which "what" asks for more than a thing."""


def _has_word(reading: Reading, lower: str) -> bool:
    return any(word.lower == lower for word in reading.words)


_PARAPHRASED = {
    "how": {"way", "method", "mean", "procedure", "step"},
    "why": {"reason", "cause", "purpose", "make"},
    "when": {"time", "date", "year"},
    "where": {"place", "location", "origin"},
}


def _asks_alike(word: str, other: str, alignment: Alignment) -> bool:
    """Whether "what" and a noun ask for the same as another question word: "what is the reason", "why"."""
    return asked_noun(word, other, alignment.text) is not None or asked_noun(other, word, alignment.source) is not None


def asked_noun(word: str, other: str, reading: Reading) -> int | None:
    """The noun that turns "what" into the other question word."""
    if other not in ("what", ""):
        return None
    nouns = _PARAPHRASED.get(word, set())
    return next((at for at, item in enumerate(reading.words) if nouns & item.meaning.names), None)


def _asked(reading: Reading, used: set[int]) -> Counter[str]:
    """The question words that open a clause; "which" and "what" ask the same."""
    asked = Counter[str]()
    for at, word in enumerate(reading.words):
        opening = (
            at == 0 or reading.words[at - 1].kind in ("mark", "preposition") or reading.words[at - 1].lower == "and"
        )
        if word.lower in closed.QUESTION_WORDS and opening and at not in used:
            asked["what" if word.lower == "which" else word.lower] += 1
    return asked


def conditions(alignment: Alignment) -> Iterator[Change]:
    """If and unless are kept; because, although and or are lost or new at a lower price."""
    source, text = alignment.source, alignment.text
    yield from _links(
        alignment, lambda word: word.lower.replace("whether", "if") if word.kind == "condition" else "", COSTS.condition
    )
    here, there = _connectives(source, alignment.used_source), _connectives(text, alignment.used_text)
    if ("or" in here) != ("or" in there):
        at, other = here.get("or"), there.get("or")
        yield change(
            "connective",
            source,
            (at,) if at is not None else (),
            text,
            (other,) if other is not None else (),
            COSTS.modal,
        )
    for name in ("cause", "contrast"):
        if name in here and name not in there and not _has(text, name):
            yield change("connective", source, (here[name],), text, (), COSTS.connective / 2)
        if name in there and name not in here and not _has(source, name):
            yield change("connective", source, (), text, (there[name],), COSTS.connective)


def sequence(alignment: Alignment) -> Iterator[Change]:
    """ "Then" at the beginning of a sentence, if nothing else says what came first."""
    source, text = alignment.source, alignment.text
    here, there = _then(source), _then(text)
    if (here is None) != (there is None) and not any(_says_order(reading) for reading in (source, text)):
        lost, new = ((here,) if here is not None else ()), ((there,) if there is not None else ())
        yield change("connective", source, lost, text, new, COSTS.sequence)


def _then(reading: Reading) -> int | None:
    return next((at for at, word in enumerate(reading.words) if word.lower == "then" and word.opens), None)


_ORDER = closed.words("if when after afterwards later next subsequently before once since")


def _says_order(reading: Reading) -> bool:
    return any(word.lower in _ORDER for word in reading.words)


def _connectives(reading: Reading, used: set[int]) -> dict[str, int]:
    return {
        closed.CONNECTIVES[word.lower]: at
        for at, word in enumerate(reading.words)
        if word.lower in closed.CONNECTIVES and at not in used
    }


def _has(reading: Reading, name: str) -> bool:
    """Whether a text may say it in another way: "as" and verbs such as "lead to" can give a cause."""
    return name == "cause" and any(
        word.lower in ("as", "since", "for", "due") or says_cause(word) for word in reading.words
    )


def says_cause(word: Word) -> bool:
    return not closed.CAUSING.isdisjoint(base for base, _ in word.bases)


def gives_cause(reading: Reading) -> bool:
    return any(
        closed.CONNECTIVES.get(word.lower) == "cause" or word.lower in ("due", "owing", "thanks")
        for word in reading.words
    )


def _links(alignment: Alignment, name: Callable[[Word], str], cost: float) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here = {
        label: at for at, word in enumerate(source.words) if (label := name(word)) and at not in alignment.used_source
    }
    there = {label: at for at, word in enumerate(text.words) if (label := name(word)) and at not in alignment.used_text}
    for label, at in here.items():
        if label not in there:
            loose = _is_general(text, label) or _is_gerund(source, at, text, alignment.to_text)
            yield change("condition", source, (at,), text, (), COSTS.modal_near if loose else cost)
    for label, at in there.items():
        if label not in here:
            loose = _is_general(source, label) or _is_gerund(text, at, source, alignment.to_source)
            yield change("condition", source, (), text, (at,), COSTS.modal_near if loose else cost)


def _is_gerund(reading: Reading, condition: int, other: Reading, mates: dict[int, int]) -> bool:
    """Whether the other text says a condition by a gerund: "if you drink coffee", "drinking coffee"."""
    for at in range(condition + 1, min(condition + 4, len(reading.words))):
        if reading.words[at].is_part("v") and at in mates:
            return other.words[mates[at]].lower.endswith("ing") and not reading.words[at].lower.endswith("ing")
    return False


def _is_general(reading: Reading, label: str) -> bool:
    """Whether "who" or "when" says what "if" says on the other side: "students who fail", "if students fail"."""
    return label == "if" and any(word.lower in ("who", "when", "whoever", "whenever") for word in reading.words)
