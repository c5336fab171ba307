"""What the words taken together say: negation, persons, modals, tense, number, questions, small words, roles.

Each check looks at two aligned readings and yields the changes that it finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment, counted
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import Verb, is_date, is_plural, verbs
from refdec.ledger.links import moved_modifiers
from refdec.ledger.reading import Reading, Word
from refdec.ledger.roles import numbers, roles
from refdec.ledger.wellformed import grammar


def negation(alignment: Alignment) -> Iterator[Change]:
    """Every "not" of one side must be on the other, and with the same word."""
    source, text = alignment.source, alignment.text
    here = [at for at, word in enumerate(source.words) if word.kind == "negation" and at not in alignment.used_source]
    there = [at for at, word in enumerate(text.words) if word.kind == "negation" and at not in alignment.used_text]
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
            if near > 2:
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
    for person, places in new.items():
        partner = next((other for other in lost if _confused(person, other)), None)
        if partner:
            cost = COSTS.person / 3 if question and {person, partner} <= closed.SPEAKERS else COSTS.person
            yield change("person", source, lost.pop(partner)[:1], text, places[:1], cost)
        elif person in closed.SPEAKERS:
            anyone = question or (person == "you" and not here)  # "Tickets can be bought", "You can buy tickets"
            yield change("person", source, (), text, places[:1], COSTS.pronoun if anyone else COSTS.person)
        else:
            yield change("person", source, (), text, places[:1], COSTS.pronoun / 2)
    for person, places in lost.items():
        speaker = person in closed.SPEAKERS and not question
        yield change("person", source, places[:1], text, (), COSTS.person / 2 if speaker else COSTS.pronoun / 2)


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
    soft = source.question and text.question
    here = [at for at in here if not _is_implied(source, at, text, alignment.to_text)]
    there = [at for at in there if not _is_implied(text, at, source, alignment.to_source)]
    for at in here:
        yield change("modal", source, (at,), text, (), COSTS.modal_near if soft else COSTS.modal)
    for at in there:
        yield change("modal", source, (), text, (at,), COSTS.modal_near if soft else COSTS.modal)


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
        here, there = _asked(source, alignment.used_source), _asked(text, alignment.used_text)
        lost, new = list((here - there).elements()), list((there - here).elements())
        for word, other in zip_longest(lost, new, fillvalue=""):
            choice = {word, other} == {"what", ""} and all(_has_word(side, "or") for side in (source, text))
            alike = choice or _asks_alike(word, other, alignment) or {word, other} == {"what", "how"}
            cost = COSTS.pronoun if alike else COSTS.asked
            yield Change("question", word, other, None, None, cost)


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
            yield change("condition", source, (at,), text, (), COSTS.near if _is_general(text, label) else cost)
    for label, at in there.items():
        if label not in here:
            yield change("condition", source, (), text, (at,), COSTS.near if _is_general(source, label) else cost)


def _is_general(reading: Reading, label: str) -> bool:
    """Whether "who" or "when" says what "if" says on the other side: "students who fail", "if students fail"."""
    return label == "if" and any(word.lower in ("who", "when", "whoever", "whenever") for word in reading.words)


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
            if cost and source.question and either == {"present", "future"}:
                cost = COSTS.perfect
            if cost:
                flagged = flagged or cost >= COSTS.tense
                yield change("tense", source, _group(at, here[at]), text, _group(other, there[other]), cost)
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


def _is_empty_copula(reading: Reading, at: int) -> bool:
    """Whether a form of be only joins what stands together elsewhere: "Ann, who is 28", "what is the reason"."""
    word, before = reading.words[at], reading.words[at - 1].lower if at else ""
    return word.lower in closed.BE and before in ("who", "which", "that", "what", "it")


def _group(at: int, verb: Verb) -> Sequence[int]:
    """A verb with its auxiliaries, where they stand before it."""
    return range(verb.first, at + 1) if at - verb.first < 4 else (at,)


def tense_cost(verb: Verb, other: Verb) -> float:
    either = verb.tenses | other.tenses
    if "" in either or "modal" in either or verb.tenses & other.tenses:  # modals are compared on their own
        return 0.0
    if either == {"present", "perfect"} and verb.ongoing != other.ongoing:
        return COSTS.tense  # "is filming", "has filmed"
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
        plural, other_plural = is_plural(word), is_plural(mate)
        if plural is None or other_plural is None or plural == other_plural or not _shares_noun(word, mate):
            continue
        if _is_each_or_all(source, at) and _is_each_or_all(text, other):
            continue
        if (
            _is_loose(source, at)
            or _is_loose(text, other)
            or _is_verb(here, source, at)
            or _is_verb(there, text, other)
        ):
            continue
        generic = source.question and not (_is_pointed_at(source, at) or _is_pointed_at(text, other))
        cost = COSTS.plural_generic if generic else COSTS.plural
        yield change("plural", source, (at,), text, (other,), cost)


def _shares_noun(word: Word, other: Word) -> bool:
    nouns = {base for base, part in word.bases if part == "n"}
    return any(part == "n" and base in nouns for base, part in other.bases)


def _is_verb(verb_places: dict[int, Verb], reading: Reading, at: int) -> bool:
    """Whether the word may well be a verb here."""
    verb = verb_places.get(at)
    if verb is None:
        return False
    before = reading.words[at - 1] if at else None
    after = reading.words[at + 1] if at + 1 < len(reading.words) else None
    if after is not None and after.kind in ("auxiliary", "modal") and verb.first == at:
        return False  # "horses are standing"
    if before is None or before.lower in closed.PERSONS or verb.first != at:
        return before is None or verb.first != at or before.lower not in closed.POSSESSIVES
    return before.kind not in ("determiner", "number", "preposition") and not before.is_part("a")


def _is_pointed_at(reading: Reading, at: int) -> bool:
    """Whether the noun is not any of its kind: "this show", "some shows"."""
    return any(word.lower in _POINTING for word in reading.words[max(0, at - 2) : at])


_POINTING = closed.words("this that these those some")


def _is_each_or_all(reading: Reading, at: int) -> bool:
    """Whether the noun stands for all of its kind: "every student", "all students"."""
    return any(word.lower in ("all", "every", "each", "any") for word in reading.words[max(0, at - 3) : at])


def _is_loose(reading: Reading, at: int) -> bool:
    words = reading.words
    after = words[at + 1] if at + 1 < len(words) else None
    before = words[at - 1] if at else None
    compound = (
        after is not None
        and (after.is_part("n") and after.kind in ("content", "name"))
        and words[at].end + 1 >= after.start
        and not is_plural(words[at])
    )
    return compound or (before is not None and before.kind == "number" and before.value not in ("1", "one"))


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
        return True  # "got invited", "became weaker"
    return any(
        match.step.kind in ("family", "form") and at < (match.source if in_source else match.text)[0] < at + 5
        for match in alignment.matches
    )


def is_any(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a word only goes with a negation: "nobody ever", "never by anyone"."""
    reading, other = (alignment.source, alignment.text) if in_source else (alignment.text, alignment.source)
    return reading.words[at].lower in ("ever", "anyone", "anybody", "anything", "any") and all(
        any(word.kind == "negation" for word in side.words) for side in (reading, other)
    )


def is_class(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a noun only says what a name is, or stands for it: "the town of Barley", "the country would pay"."""
    words = (alignment.source if in_source else alignment.text).words
    if at == 0 or words[at - 1].lower != "the" or words[at].meaning.names.isdisjoint(closed.CLASSES):
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
    if word == "after":
        first = next((mates[place] for place in range(at + 1, min(at + 6, len(reading.words))) if place in mates), None)
        return first is not None and any(
            item.lower in _NEXT and place > first and place not in used for place, item in enumerate(other.words)
        )
    return word in _NEXT and any(item.lower == "after" and place not in used for place, item in enumerate(other.words))


_NEXT = ("then", "afterwards", "afterward", "subsequently", "later", "next", "thereafter")


def is_particle(alignment: Alignment, at: int, in_source: bool) -> bool:
    """Whether a particle goes with a verb that has a counterpart: "cut up", "slice"."""
    reading, used = (alignment.source, alignment.used_source) if in_source else (alignment.text, alignment.used_text)
    if reading.words[at].lower not in closed.PARTICLES or at == 0 or at - 1 not in used:
        return False
    return any(phrase.places[-1] == at and at - 1 in phrase.places for phrase in reading.phrases)


_LIKE = [
    frozenset(group.split())
    for group in (
        "in at on within inside during into throughout",
        "by through via with",
        "to into toward towards onto",
        "about on over regarding",
        "about of",
        "of from in",
        "for to",
        "above over",
        "under below beneath underneath",
        "among between amongst",
        "as like",
        "since from",
        "near at by",
    )
]


def small_words(alignment: Alignment) -> Iterator[Change]:
    """Prepositions, auxiliaries and determiners between the same neighbours; elsewhere they may change freely."""
    source, text = alignment.source, alignment.text
    order = [-1, *(at for at in counted(source)), len(source.words)]
    other_order = [-1, *(at for at in counted(text)), len(text.words)]
    rank = {at: number for number, at in enumerate(other_order)}
    to_text = {-1: -1, len(source.words): len(text.words), **alignment.to_text}
    kept = {match.source[0] for match in alignment.matches if match.step.kind == "kept" and len(match.source) == 1}
    kept |= {-1, len(source.words)}
    auxiliaries: list[Change] = []
    for left, right in pairwise(order):
        other_left, other_right = to_text.get(left), to_text.get(right)
        if other_left not in rank or other_right not in rank or rank[other_right] != rank[other_left] + 1:
            continue
        gap = [at for at in range(left + 1, right) if at not in alignment.used_source]
        other_gap = [at for at in range(other_left + 1, other_right) if at not in alignment.used_text]
        number = any(
            0 <= at < len(source.words) and source.words[at].kind == "number" and not is_date(source, at)
            for at in (left, right)
        )
        same = left in kept and right in kept
        yield from _prepositions(alignment, gap, other_gap, number, same)
        yield from _determiners(alignment, gap, other_gap)
        if same:
            auxiliaries += _auxiliaries(alignment, gap, other_gap)
    lost, new = (Counter(getattr(item, side).lower() for item in auxiliaries) for side in ("source", "text"))
    for item in auxiliaries:
        moved = item.source.lower() in new if item.source else item.text.lower() in lost
        if not moved:
            yield item


def _of_kind(reading: Reading, places: Sequence[int], kind: str) -> list[int]:
    return [at for at in places if reading.words[at].kind == kind]


def _prepositions(
    alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int], number: bool, same: bool
) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = _of_kind(source, gap, "preposition"), _of_kind(text, other_gap, "preposition")
    names, others = [source.words[at].lower for at in here], [text.words[at].lower for at in there]
    if sorted(names) == sorted(others):
        return
    changed = {*names} ^ {*others}
    if not changed:
        return
    lost = tuple(at for at in here if source.words[at].lower in changed)
    new = tuple(at for at in there if text.words[at].lower in changed)
    alike = any(changed <= group for group in _LIKE) and lost and new
    day = (*lost, *new) and any(
        reading.words[at + 1].lower in closed.DAYS
        for reading, places in ((source, lost), (text, new))
        for at in places
        if at + 1 < len(reading.words)
    )
    share = changed == {"by"} and any(
        reading.words[at + 1].value.endswith("percent")
        for reading, places in ((source, lost), (text, new))
        for at in places
        if at + 1 < len(reading.words)
    )
    span = number and changed <= {"between", "from", "to"} and _is_span(source) and _is_span(text)
    if share or span or changed == {"of"} or (changed == {"per"} and not lost) or (changed == {"on"} and day):
        cost = COSTS.determiner
    elif number and changed & (closed.DIRECTIONS | {"of", "about", "around"}):
        cost = COSTS.number_preposition
    elif alike or not same:
        cost = COSTS.pronoun
    elif lost and new and changed & closed.DIRECTIONS:
        cost = COSTS.direction
    else:
        cost = COSTS.preposition
    yield change("preposition", source, lost, text, new, cost)


def _is_span(reading: Reading) -> bool:
    """Whether two numbers are the ends of a span: "5 to 10", "between 5 and 10"."""
    return any(
        one.kind == other.kind == "number"
        and (link.lower == "to" or (link.lower == "and" and at and reading.words[at - 1].lower == "between"))
        for at, (one, link, other) in enumerate(zip(reading.words, reading.words[1:], reading.words[2:], strict=False))
    )


def _determiners(alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int]) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = _of_kind(source, gap, "determiner"), _of_kind(text, other_gap, "determiner")
    names, others = {source.words[at].lower for at in here}, {text.words[at].lower for at in there}
    if (names ^ others) - {"a", "an"}:
        yield change("determiner", source, tuple(here), text, tuple(there), COSTS.determiner)


def _auxiliaries(alignment: Alignment, gap: Sequence[int], other_gap: Sequence[int]) -> Iterator[Change]:
    source, text = alignment.source, alignment.text
    here, there = _of_kind(source, gap, "auxiliary"), _of_kind(text, other_gap, "auxiliary")
    others = [at for at in gap if at not in here and source.words[at].kind != "mark"]
    text_others = [at for at in other_gap if at not in there and text.words[at].kind != "mark"]
    unchanged = [source.words[at].lower for at in others] == [text.words[at].lower for at in text_others]
    if bool(here) != bool(there) and unchanged:
        yield change("auxiliary", source, tuple(here), text, tuple(there), COSTS.auxiliary)


CHECKS = (
    negation,
    persons,
    modals,
    question,
    conditions,
    tenses,
    plurals,
    small_words,
    numbers,
    roles,
    moved_modifiers,
    grammar,
)
