"""Who does what to whom: numbers, names and nouns that stand in the place of others, in two aligned readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment, name_runs
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import Verb, is_date, verbs
from refdec.ledger.reading import Reading, Word, is_owner


def numbers(alignment: Alignment) -> Iterator[Change]:
    """A number stays with its thing."""
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        if source.words[at].kind != "number" or text.words[other].kind != "number":
            continue
        thing = _thing(source, at)
        place = alignment.to_text.get(thing, -1) if thing is not None else -1
        if place < 0:
            continue
        mine = abs(place - other)
        rivals = [
            abs(place - rival)
            for rival, word in enumerate(text.words)
            if word.kind == "number" and rival != other and not is_date(text, rival)
        ]
        if rivals and min(rivals) < mine and mine > 2 and _thing(text, other) != place:
            yield change("number", source, (at, thing or 0), text, (other,), COSTS.number_moved)


def units(alignment: Alignment) -> Iterator[Change]:
    """A number gets no unit that the other text does not have: "fell 2.52", "fell 2.52 percent"."""
    source, text = alignment.source, alignment.text
    for at, other in sorted(alignment.to_text.items()):
        word, mate = source.words[at], text.words[other]
        here, there = (number.value.partition(" ")[2] for number in (word, mate))
        if word.kind == mate.kind == "number" and bool(here) != bool(there):
            unit, bare = (here, text) if here else (there, source)
            if not any(word.value.endswith(unit) or word.lower == unit for word in bare.words):
                yield change("number", source, (at,), text, (other,), COSTS.number)


def turned_spans(alignment: Alignment) -> Iterator[Change]:
    """ "From 10 to 20" that became "from 20 to 10"."""
    source, text = alignment.source, alignment.text
    ends: dict[str, tuple[int, int]] = {}
    for at, other in alignment.to_text.items():
        if source.words[at].kind == text.words[other].kind == "number" and at and other:
            before, other_before = source.words[at - 1].lower, text.words[other - 1].lower
            if {before, other_before} == {"from", "to"}:
                ends[before] = at, other
    if len(ends) == 2:
        places = zip(*ends.values(), strict=True)
        yield change("number", source, next(places), text, next(places), COSTS.number_moved)


def _thing(reading: Reading, at: int) -> int | None:
    """What a number counts: the next word that counts, else the one before."""
    words = reading.words
    if is_date(reading, at):
        return None
    for place in range(at + 1, min(at + 4, len(words))):
        if words[place].kind in ("mark", "preposition", "link"):
            break
        if words[place].kind == "name" or (words[place].kind == "content" and words[place].is_part("n")):
            return place
    return None


def roles(alignment: Alignment) -> Iterator[Change]:
    """Who does what to whom: two words exchanged around a verb, or in each other's place."""
    source, text = alignment.source, alignment.text
    here, there = verbs(source), verbs(text)
    for at, other in sorted(alignment.to_text.items()):
        if at in here and other in there and _is_sure(here[at]) and _is_sure(there[other]):
            doer, sufferer = _sides(source, at, here)
            other_doer, other_sufferer = _sides(text, other, there)
            mapped_doer = {alignment.to_text[place] for place in doer if place in alignment.to_text}
            if sufferer and mapped_doer & other_sufferer and not mapped_doer & other_doer:
                places = tuple(sorted(doer | sufferer)), tuple(sorted(other_doer | other_sufferer))
                yield change("roles", source, places[0], text, places[1], COSTS.roles)
                return
    exchanged = next(_exchanged(alignment), None) or next(_exchanged_names(alignment), None)
    if exchanged:
        yield exchanged
    for run in name_runs(source, ()):
        new = [alignment.to_text.get(at, -1) for at in run]
        beside = max(new) - min(new) == len(new) - 1
        if -1 not in new and beside and new != sorted(new):  # "John Paul", "Paul John"
            yield change("name", source, run, text, tuple(sorted(new)), COSTS.name)


def _is_sure(verb: Verb) -> bool:
    return verb.passive or "" not in verb.tenses


def _sides(reading: Reading, at: int, found: Mapping[int, Verb]) -> tuple[set[int], set[int]]:
    """The names and nouns before and after a verb, as doer and sufferer."""
    words = reading.words
    left: set[int] = set()
    first = found[at].first
    inverted = any(_is_thing(word) for word in words[first + 1 : at])  # "Do men love": the subject stands between
    for place in range(at - 1, first, -1) if inverted else range(first - 1, -1, -1):
        word = words[place]
        if _ends_side(words, place) or (place in found and not word.is_part("n")):
            break
        if _is_thing(word) and _is_bare(words, place):
            left.add(place)
    right: set[int] = set()
    agent: set[int] = set()
    by = False
    for place in range(at + 1, len(words)):
        word = words[place]
        if _ends_side(words, place) or (place in found and not word.is_part("n")):
            break
        by = by or word.lower == "by"
        if _is_thing(word) and (by or _is_bare(words, place, at)):
            (agent if by else right).add(place)
    return (agent, left) if found[at].passive else (left, right | agent)


def _ends_side(words: Sequence[Word], place: int) -> bool:
    return words[place].text in ".,;:!?" or words[place].lower in (
        "that",
        "which",
        "who",
        "because",
        "although",
        "but",
        "when",
        "while",
    )


def _is_bare(words: Sequence[Word], at: int, verb: int = -1) -> bool:
    """Whether no preposition stands before the noun phrase of this word, as far back as its verb."""
    for place in range(at - 1, max(verb, at - 5, -1), -1):
        word = words[place]
        if word.kind == "preposition" or word.lower in closed.PREPOSITIONS:
            return False
        if word.kind not in ("determiner", "person", "number", "content", "name") or (
            word.is_part("v") and not word.is_part("n")
        ):
            return True
    return True


def _is_thing(word: Word) -> bool:
    if is_owner(word):
        return False  # "the court's decision"
    if word.lower in closed.DAYS or word.lower in closed.MONTHS or any(base in closed.TIMES for base, _ in word.bases):
        return False
    return word.kind == "name" or (word.kind == "content" and word.is_part("n"))


def _exchanged(alignment: Alignment) -> Iterator[Change]:
    """Two names or nouns, each of which now stands between the neighbours of the other."""
    source, text = alignment.source, alignment.text
    spans = [span for span in _spans(source) if all(at in alignment.to_text for at in span)]
    moved = []
    for span in spans:
        places = [alignment.to_text[at] for at in span]
        moved.append((span, (min(places), max(places))))
    for number, (span, (first, last)) in enumerate(moved):
        context, other_context = _around(source, span[0], span[-1]), _around(text, first, last)
        for other_span, (other_first, other_last) in moved[number + 1 :]:
            rival, other_rival = _around(source, other_span[0], other_span[-1]), _around(text, other_first, other_last)
            crossed = _alike(context, other_rival) + _alike(rival, other_context)
            own = _alike(context, other_context) + _alike(rival, other_rival)
            between = source.words[span[-1] + 1 : other_span[0]]
            same = source.words[span[-1]].lower == source.words[other_span[-1]].lower
            if not same and crossed >= 3 and crossed >= own + 2 and not _is_loose_link(between):
                yield change("roles", source, (*span, *other_span), text, (first, other_first), COSTS.roles)
                return


def _spans(reading: Reading) -> list[list[int]]:
    names = [[at for at in run if reading.words[at].kind == "name"] for run in name_runs(reading)]
    taken = {at for run in names for at in run}
    nouns = [
        [at]
        for at, word in enumerate(reading.words)
        if at not in taken and word.kind in ("content", "number") and (word.kind == "number" or word.is_part("n"))
    ]
    return sorted(names + nouns)


def _around(reading: Reading, first: int, last: int) -> tuple[str, str]:
    """The neighbours of a run of words, articles left out."""
    words = reading.words
    while first and words[first - 1].kind == "determiner":
        first -= 1
    before = words[first - 1].lower if first else "^"
    after = words[last + 1].lower if last + 1 < len(words) else "$"
    return before, "$" if after in ".!?" else after


def _alike(context: tuple[str, str], other: tuple[str, str]) -> int:
    return (context[0] == other[0]) + (context[1] == other[1])


def _is_loose_link(between: Sequence[Word]) -> bool:
    """Whether only "and", "or", a comma or a form of be stands between: these may be turned round."""
    if any(word.lower in ("and", "or") for word in between):
        between = [word for word in between if word.kind != "preposition"]  # "in a city or in the country"
    return all(
        word.lower in ("and", "or", ",", "the", "a", "an", "both", "as", "well") or word.lower in closed.BE
        for word in between
    )


Label = str
Fact = tuple[Label, "int | str"]
"""How a name stands to another word: subject, object, of, with, is or near; and that word, a place or a name."""

_MARGIN = 1.0
"""So much better must the exchanged names fit before they count as exchanged."""

_NEAR_LABELS = {
    frozenset({"subject", "of"}): 0.8,
    frozenset({"object", "of"}): 0.7,
    frozenset({"object", "with"}): 0.7,
    frozenset({"of", "with"}): 0.8,
    frozenset({"of", "is"}): 0.5,
    frozenset({"of", "near"}): 0.7,
    frozenset({"with", "near"}): 0.5,
    frozenset({"object", "near"}): 0.7,
    frozenset({"subject", "near"}): 0.3,
    frozenset({"is", "near"}): 0.7,
}


def _exchanged_names(alignment: Alignment) -> Iterator[Change]:
    """Two names that fit each other's place better than their own."""
    source, text = alignment.source, alignment.text
    places, other_places = _names(source), _names(text)
    shared = [name for name in places if name in other_places]
    if len(shared) < 2:
        return
    facts = _facts(source, places, {at: at for at in range(len(source.words))})
    others = _facts(text, other_places, _counterparts(alignment))
    for one, two in combinations(shared, 2):
        own = _fit(facts[one], others[one]) + _fit(facts[two], others[two])
        crossed = _fit(facts[one], others[two]) + _fit(facts[two], others[one])
        if crossed >= own + _MARGIN:
            here, there = (*places[one][0], *places[two][0]), (*other_places[one][0], *other_places[two][0])
            yield change("roles", source, here, text, there, COSTS.roles)
            return


def _counterparts(alignment: Alignment) -> dict[int, int]:
    """For each matched word of the text, a phrase included, the first word of its counterpart."""
    return {at: match.source[0] for match in alignment.matches for at in match.text}


def _names(reading: Reading) -> dict[str, list[list[int]]]:
    """The places of each name, called by its last word; a country and its people have one name."""
    names: dict[str, list[list[int]]] = defaultdict(list)
    for run in name_runs(reading, ()):
        start = 0
        for end in range(len(run)):  # "Kenya's Faith Muthoni" are two names
            word = reading.words[run[end]]
            if end + 1 == len(run) or is_owner(word):
                if word.lower not in closed.DAYS and word.lower not in closed.MONTHS:
                    names[_name(word)].append(run[start : end + 1])
                start = end + 1
    return dict(names)


def _name(word: Word) -> str:
    return f"group {min(word.meaning.own)}" if word.meaning.own else word.lower.removesuffix("'s")


def _facts(reading: Reading, names: dict[str, list[list[int]]], known: dict[int, int]) -> dict[str, list[Fact]]:
    """What each name has to do with other words, which are called by their places in the source."""
    words, found = reading.words, verbs(reading)
    name_of = {at: name for name, runs in names.items() for run in runs for at in run}
    facts: dict[str, list[Fact]] = defaultdict(list)

    def note(name: str, label: Label, at: int | None) -> None:
        if at is None or name_of.get(at) == name:
            return
        if at in name_of:
            facts[name].append((label, name_of[at]))
        elif at in known:
            facts[name].append((label, known[at]))

    for at in found:
        doers, sufferers = _sides(reading, at, found)
        for label, side in (("subject", doers | _antecedent(words, at, found)), ("object", sufferers)):
            for name in sorted({name_of[place] for place in side if place in name_of}):
                note(name, label, at)
    for name, runs in names.items():
        for run in runs:
            first, last = run[0], run[-1]
            if _is_modifier(words, last):  # "past the Irish goalkeeper": the preposition is the goalkeeper's
                note(name, "of", _head_after(words, last))
                continue
            before = first - 1
            while before >= 0 and (words[before].kind == "determiner" or words[before].lower in closed.TITLES):
                before -= 1
            if before >= 0 and words[before].lower in closed.PREPOSITIONS:
                governor = _governor(words, before, known)
                label = "of" if words[before].lower in ("of", "from", "in", "at") else "with"
                if words[before].lower == "by":
                    label = "subject"
                note(name, label, governor)
            elif before >= 0 and words[before].kind == "content":
                note(name, "near", before)
            if is_owner(words[last]):
                head = _head_after(words, last)
                by = head is not None and head + 1 < len(words) and words[head + 1].lower == "by"
                note(name, "object" if by else "of", head)
            else:
                note(name, "is", _apposition(words, last))
            for place in _own_clause(words, last):
                note(name, "clause", place)
    return facts


def _fit(facts: Sequence[Fact], others: Sequence[Fact]) -> float:
    """How much of what is said of one name is said of the other."""
    return sum(max((_same(fact, other) for other in others), default=0.0) for fact in dict.fromkeys(facts))


def _same(fact: Fact, other: Fact) -> float:
    if fact[1] != other[1]:
        return 0.0
    if fact[0] == other[0]:
        return 0.4 if fact[0] == "clause" else 1.0
    return _NEAR_LABELS.get(frozenset({fact[0], other[0]}), 0.0)


def _governor(words: Sequence[Word], preposition: int, known: dict[int, int]) -> int | None:
    """What a preposition belongs to: the word before it that counts and that the other text has."""
    for place in range(preposition - 1, max(-1, preposition - 7), -1):
        word = words[place]
        if word.text in ".;:!?":
            return None
        if word.kind in ("content", "name", "number") and place in known:
            return place
    return None


def _head_after(words: Sequence[Word], at: int) -> int | None:
    """The last word of the noun phrase that begins after this place."""
    head = None
    for place in range(at + 1, min(at + 6, len(words))):
        word = words[place]
        if word.kind == "name" or (word.kind in ("content", "number", "light") and not _is_only_verb(word)):
            head = place
            if is_owner(word):
                break
        else:
            break
    return head


def _is_modifier(words: Sequence[Word], last: int) -> bool:
    """Whether a name stands before its noun: "the Irish goalkeeper"."""
    after = words[last + 1] if last + 1 < len(words) else None
    return after is not None and after.kind == "content" and after.is_part("n") and not after.is_part("v")


def _is_only_verb(word: Word) -> bool:
    return word.is_part("v") and not word.is_part("n") and not word.is_part("a")


def _apposition(words: Sequence[Word], last: int) -> int | None:
    """The noun that says what a name is, after a comma or a form of be: "Ann Lee, the head of the school"."""
    place = last + 1
    if place < len(words) and words[place].text == ",":
        place += 1
    if place < len(words) and words[place].lower in ("who", "which"):
        place += 1
    if place < len(words) and words[place].lower in closed.BE:
        place += 1
    if place >= len(words) or (words[place].kind != "determiner" and words[place].lower not in closed.POSSESSIVES):
        return None
    return _head_after(words, place)


def _own_clause(words: Sequence[Word], last: int) -> list[int]:
    """The words of the clause with "where" or "who" that belongs to a name."""
    place = last + 1 + (last + 1 < len(words) and words[last + 1].text == ",")
    if place >= len(words) or words[place].lower not in ("where", "who", "which"):
        return []
    inside = []
    for at in range(place + 1, len(words)):
        if words[at].kind == "mark":
            break
        if words[at].kind in ("content", "name", "number"):
            inside.append(at)
    return inside


def _antecedent(words: Sequence[Word], at: int, found: Mapping[int, Verb]) -> set[int]:
    """The name before "who" or "which", if this verb follows at once and is active."""
    first = found[at].first
    if first < 2 or words[first - 1].lower not in ("who", "which", "that") or found[at].passive:
        return set()
    place = first - 2 - (words[first - 2].text == ",")
    return {place} if place >= 0 and words[place].kind == "name" else set()
