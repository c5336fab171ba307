"""A text as the ledger sees it: its words one by one, each with its kind, its base forms and its value.

Contractions are taken apart, numbers in words become values, and phrases of the lexicon are marked. Knows nothing of a
second text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from refdec.ledger import function_words as closed
from refdec.ledger.lexicon import OWNER, Lemma, Meaning, entry, lemmas, meaning, own_groups
from refdec.text.stems import stem


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text, or a run of words that means one thing.

    Attributes:
        text: as written
        lower: in lower case, with contractions spelled out
        kind: content, name, number, strict, light, negation, modal, person, auxiliary, determiner, preposition, link,
            condition or mark
        start: place of the first character in the text
        end: place after the last character
        bases: base forms it may have
        value: of a number, with "%" or a currency, and "." after an ordinal
        opens: whether it is the first word of a sentence
    """

    text: str
    lower: str
    kind: str
    start: int
    end: int
    bases: tuple[Lemma, ...] = ()
    value: str = ""
    opens: bool = False

    @property
    def meaning(self) -> Meaning:
        return meaning(self.bases)

    def is_part(self, part: str) -> bool:
        return any(own == part for _, own in self.bases)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Neighbouring words, or a verb and its particle, that mean one thing."""

    places: tuple[int, ...]
    bases: tuple[Lemma, ...]

    @property
    def meaning(self) -> Meaning:
        return meaning(self.bases)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A text in words. Two readings are never equal, so that they are quick to look up."""

    text: str
    words: tuple[Word, ...]
    phrases: tuple[Phrase, ...]
    question: bool


_PIECE = re.compile(
    r"(?P<fraction>(?<![\d/])\d{1,2}/\d{1,2}(?![\d/]))"
    r"|(?P<number>[$€£¥]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?::\d\d)?(?:st|nd|rd|th|%|[kmb]n?\b|tn\b|['’]?s\b)?)"
    r"|(?P<initials>(?:[A-Za-z]\.){2,})"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*\d*)"
    r"|(?P<mark>[.,;:!?()\"“”—–]|--)"
    r"|(?P<other>[^\s\w]|_)",
)
_JOINED = re.compile(r"^(re|co|e|pre|non|anti|ex|un|multi|semi|sub|inter|over|under)$", re.I)
_SENTENCE_END = frozenset(".!?")


@lru_cache(maxsize=2048)
def read(text: str) -> Reading:
    """The words of a text, with what is known of each."""
    pieces = _pieces(text)
    shouted = _is_shouted(text)
    words: list[Word] = []
    opens = True
    for raw, lower, start, end, kind in pieces:
        word = _word(raw, lower, start, end, kind, opens, shouted)
        if word.kind != "mark":
            opens = False
        elif raw in _SENTENCE_END or raw in '"“:':
            opens = True
        words.append(word)
    words = _with_units(_with_numbers(words))
    words = _with_names(words)
    words = [_in_place(words, at) for at in range(len(words))]
    return Reading(text, tuple(words), tuple(_phrases(words)), text.rstrip("\"'”’) ").endswith("?"))


def _pieces(text: str) -> list[tuple[str, str, int, int, str]]:
    """Each word as written and in lower case, with its place and what kind of piece it is."""
    pieces: list[tuple[str, str, int, int, str]] = []
    glued = False
    for match in _PIECE.finditer(text):
        raw, start, end, kind = match.group(), match.start(), match.end(), str(match.lastgroup)
        lower = raw.lower().replace("’", "'")
        between = (
            bool(pieces) and pieces[-1][3] == start and pieces[-1][4] == "number" and text[end : end + 1].isdigit()
        )
        if raw in "-–" and between:
            pieces.append((raw, "to", start, end, "word"))  # 2-1, 1990–1995
            continue
        if kind == "other":
            if raw in "-−" and text[end : end + 1].isdigit() and not text[start - 1 : start].strip():
                pieces.append((raw, "minus", start, end, "word"))
            elif raw == "°":
                pieces.append((raw, "degrees", start, end, "word"))
            elif raw == "%" and pieces:
                pieces.append((raw, "percent", start, end, "word"))
            elif raw == "&":
                pieces.append((raw, "and", start, end, "word"))
            glued = raw == "-" and bool(pieces) and pieces[-1][3] == start and _JOINED.match(pieces[-1][0]) is not None
            continue
        if glued and kind == "word" and pieces[-1][3] == start - 1:
            first = pieces.pop()
            pieces.append((text[first[2] : end], first[1] + lower, first[2], end, kind))
        elif lower == "cent" and pieces and pieces[-1][1] == "per":
            first = pieces.pop()
            pieces.append((text[first[2] : end], "percent", first[2], end, kind))
        elif kind == "word":
            opening, *rest = _apart(lower, text[end : end + 40])
            pieces.append((raw, opening, start, end, kind))
            pieces.extend((raw.lower(), part, start, end, kind) for part in rest)  # "They've": "have" is no name
        elif kind == "initials":
            bare = lower.replace(".", "")
            pieces.append((raw, bare if bare in ("am", "pm", "eg", "ie") else lower, start, end, "word"))
        else:
            pieces.append((raw, lower, start, end, kind))
        glued = False
    return [piece for number, piece in enumerate(pieces) if not _is_dot_of_abbreviation(pieces, number)]


_DOTTED = closed.words(
    "mr mrs ms dr prof sr jr st sen rep gov gen col lt capt inc ltd co corp dept jan feb mar apr jun jul aug sep sept "
    "oct nov dec mt vs no"
)


def _is_dot_of_abbreviation(pieces: list[tuple[str, str, int, int, str]], number: int) -> bool:
    raw, _, start, _, _ = pieces[number]
    return raw == "." and number > 0 and pieces[number - 1][3] == start and pieces[number - 1][1] in _DOTTED


def _apart(lower: str, after: str) -> tuple[str, ...]:
    """A contraction in its words; what comes after tells what 's and 'd are."""
    if "'" not in lower:
        return closed.CONTRACTED.get(lower, (lower,))
    if lower in closed.CONTRACTED:
        return closed.CONTRACTED[lower]
    words = re.findall(r"[a-z']+|[.,;:!?)]", after.lower())
    for ending, full in closed.ENDINGS.items():
        if lower.endswith(ending) and len(lower) > len(ending):
            had = ending == "'d" and _follows_had(words)
            return lower[: -len(ending)], "had" if had else full
    if lower.endswith("'s"):
        owner = lower[:-2]
        if owner in closed.TAKE_IS or _follows_is(words):
            return owner, "has" if words[:1] in (["been"], ["got"], ["had"]) else "is"
        return (owner,)
    return (lower.rstrip("'"),)


_BETWEEN = closed.words("not never already just always also really still only ever")


def _follows_had(words: list[str]) -> bool:
    """Whether the words after 'd ask for "had": a participle, or "better"."""
    verb = next((word for word in words if word not in _BETWEEN), "")
    forms = lemmas(verb)
    base = any(name == verb and part == "v" for name, part in forms)
    return verb in ("better", "been") or (not base and any(part == "v" for _, part in forms))


def _follows_is(words: list[str]) -> bool:
    """Whether the words after 's ask for a verb: "the dog's asleep", "Ann's not here", "the road's closed."."""
    if not words:
        return False
    if words[0] in _AFTER_IS:
        return True
    parts = {part for _, part in lemmas(words[0])}
    ends = len(words) == 1 or not words[1].isalpha() or words[1] in closed.PREPOSITIONS or words[1] in closed.LINKS
    return ends and bool(parts) and "n" not in parts


_AFTER_IS = closed.words("not been got a an the here there gone going too very so never always already still now")


def _is_shouted(text: str) -> bool:
    """Whether capitals tell nothing: a headline, or a text all in capitals."""
    letters = [piece for piece in text.split() if piece[:1].isalpha() and len(piece) > 3]
    return len(letters) > 2 and sum(piece[0].isupper() for piece in letters) > 0.8 * len(letters)


def _word(raw: str, lower: str, start: int, end: int, kind: str, opens: bool, shouted: bool) -> Word:
    if kind == "mark":
        return Word(raw, lower, "mark", start, end)
    if kind in ("number", "fraction"):
        return Word(raw, lower, "number", start, end, (), _value(lower), opens)
    capital = raw[:1].isupper() and (not shouted or raw == "US")
    inside = capital and not opens
    if lower in closed.NUMBER_WORDS or lower in closed.SCALES or (lower in closed.ORDINALS and not inside):
        return Word(raw, lower, "number", start, end, (), _value(lower), opens)
    if lower in closed.TIMES_OVER or lower in closed.DECADES or (len(raw) > 1 and _ROMAN_NUMBER.fullmatch(raw)):
        return Word(raw, lower, "number", start, end, (), _value(lower), opens)
    name = inside and lower != "i"
    group = _closed_kind(lower)
    if group and (not name or group == "negation" or (raw.isupper() and lower not in _CAPITAL_NAMES)):
        return Word(raw, lower, group, start, end, _known(lower, group), "", opens)
    if name or (capital and opens and not lemmas(lower) and len(lower) > 1):
        return Word(raw, lower, "name", start, end, _known(lower, "name"), "", opens)
    kind = "light" if lower in closed.LIGHT else "content"
    return Word(raw, lower, kind, start, end, _known(lower, kind), "", opens)


_ROMAN = {"i": 1, "v": 5, "x": 10}
_ROMAN_NUMBER = re.compile(r"X{0,3}(?:IX|IV|VI{0,3}|I{1,3})")
_CAPITAL_NAMES = frozenset({"who", "us", "it", "may"})
"""Small words that are names when they are written in capitals."""


@lru_cache(maxsize=4096)
def _known(lower: str, kind: str) -> tuple[Lemma, ...]:
    """Base forms; an unknown word that means something has its stem, too."""
    return lemmas(lower) or ((lower, "?"), *(((stem(lower), "?"),) if kind == "content" else ()))


@lru_cache(maxsize=4096)
def _closed_kind(lower: str) -> str:
    if lower in closed.NEGATIONS:
        return "negation"
    if lower in closed.MODALS:
        return "modal"
    if lower in closed.PERSONS:
        return "person"
    if lower in closed.AUXILIARIES:
        return "auxiliary"
    if lower in closed.CONDITIONS:
        return "condition"
    if lower in closed.STRICT:
        return "strict"
    if lower in closed.DETERMINERS:
        return "determiner"
    if lower in closed.PREPOSITIONS:
        return "preposition"
    if lower in closed.QUESTION_WORDS or lower in closed.LINKS or lower in closed.CONNECTIVES:
        return "link"
    return ""


def _value(lower: str) -> str:
    """A number in its plain form: "1,200" is 1200, "12th" is 12., "IV" is 4."""
    if lower in closed.TIMES_OVER:
        return closed.TIMES_OVER[lower]
    if lower in closed.DECADES:
        return f"{closed.DECADES[lower]}s"
    if "/" in lower:
        part, whole = map(int, lower.split("/"))
        return _fraction(part, whole)
    if lower[0] in "ivx":
        return str(
            sum(
                _ROMAN[one] if _ROMAN[one] >= _ROMAN.get(two, 0) else -_ROMAN[one] for one, two in pairwise(lower + " ")
            )
        )
    if lower in closed.NUMBER_WORDS:
        return str(closed.NUMBER_WORDS[lower])
    if lower in closed.SCALES:
        return str(closed.SCALES[lower])
    if lower in closed.ORDINALS:
        return f"{closed.ORDINALS[lower]}."
    currency = closed.CURRENCIES.get(lower[0], "")
    plain = lower.lstrip("$€£¥").replace(",", "")
    digits = re.match(r"[\d.:]+", plain)
    number, rest = (digits.group(), plain[digits.end() :]) if digits else (plain, "")
    if rest in ("st", "nd", "rd", "th"):
        return f"{number}."
    if rest.endswith("s"):
        return f"{number}s"
    if ":" not in number:
        number = _plain(float(number) * closed.SCALE_MARKS.get(rest, 1))
    return number + (f" {currency}" if currency else "") + (" percent" if rest == "%" else "")


_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5,
    "tenth": 10, "tenths": 10,
}  # fmt: skip


def _fraction(part: int, whole: int) -> str:
    """Two thirds are 2/3, three quarters 75 percent."""
    return f"{100 * part // whole} percent" if part < whole and whole in (2, 4, 5, 10) else f"{part}/{whole}"


def _plain(amount: float) -> str:
    return f"{amount:.10g}" if amount < 10**9 else str(int(amount))


def _with_numbers(words: list[Word]) -> list[Word]:
    """Numbers of several words as one: "twenty-five", "two hundred", "1.5 million", "12 percent", "five dollars"."""
    joined: list[Word] = []
    for word in words:
        last = joined[-1] if joined else None
        if last is not None and last.kind == "number":
            value = _together(last, word)
            if value:
                joined[-1] = Word(
                    f"{last.text} {word.text}",
                    f"{last.lower} {word.lower}",
                    "number",
                    last.start,
                    word.end,
                    (),
                    value,
                    last.opens,
                )
                continue
        joined.append(word)
    return joined


def _together(number: Word, word: Word) -> str:
    """The value of a number and the word after it, if they are one number."""
    value, _, unit = number.value.partition(" ")
    if word.lower in ("percent", "percentage") and not unit:
        return f"{value} percent"
    if word.lower in closed.MONEY and not unit:
        return f"{value} {closed.MONEY[word.lower]}"
    if word.lower in _PARTS and re.fullmatch(r"\d+", value) and not unit:  # "two thirds"
        return _fraction(int(value), _PARTS[word.lower])
    if word.lower in closed.DECADES:  # "nineteen-nineties"
        return f"{value}{closed.DECADES[word.lower]}s" if re.fullmatch(r"1\d|20", value) else ""
    if word.kind != "number" or not re.fullmatch(r"[\d.]+", value) or value.endswith("."):
        return ""
    scale = closed.SCALES.get(word.lower)
    amount = float(value)
    if scale:
        return _plain(amount * scale) + (f" {unit}" if unit else "")
    if number.lower.split()[-1] in closed.NUMBER_WORDS or number.lower.split()[-1] in closed.SCALES:
        small = closed.NUMBER_WORDS.get(word.lower)
        if small is not None and ((amount >= 20 and amount % 10 == 0 and small < 10) or amount % 100 == 0):
            return f"{amount + small:.10g}"
        ordinal = closed.ORDINALS.get(word.lower)
        if ordinal is not None and amount >= 20 and amount % 10 == 0 and ordinal < 10:
            return f"{amount + ordinal:.10g}."
    return ""


_HALF = ("and", "a", "half")


def _with_units(words: list[Word]) -> list[Word]:
    """A number and its unit as one: "2 hours and 30 minutes", "two and a half hours", "1.8 m", "half past nine"."""
    joined: list[Word] = []
    at = 0
    while at < len(words):
        found = _clock(words, at) or _measure(words, at)
        if found is None:
            joined.append(words[at])
            at += 1
            continue
        value, end = found
        first, last = words[at], words[end - 1]
        said, lower = (" ".join(getattr(word, form) for word in words[at:end]) for form in ("text", "lower"))
        joined.append(Word(said, lower, "number", first.start, last.end, (), value, first.opens))
        at = end
    return joined


def _measure(words: list[Word], at: int) -> tuple[str, int] | None:
    """The value of a measure that begins here, and the place after it."""
    found = _amount(words, at)
    if found is None:
        return None
    amount, unit, end = found
    if unit == "month" and end < len(words) and words[end].lower == "old":
        return words[at].value, end + 1  # "a 9-year-old boy", "a boy, 9"
    more = _amount(words, end + 1) if end + 1 < len(words) and words[end].lower == "and" else None
    if more is not None and more[1] == unit and more[0] < amount:
        amount, end = amount + more[0], more[2]
    return f"{amount:.10g} {unit}".rstrip(), end


def _amount(words: list[Word], at: int) -> tuple[float, str, int] | None:
    """A number with its unit, the unit, and the place after it; one hour is left as it is."""
    lower = [word.lower for word in words[at : at + 6]]
    if not lower:
        return None
    if lower[0] == "quarter" and lower[1:3] in (["of", "an"], ["of", "a"]):
        amount, rest = 0.25, 3
    elif lower[0] == "half":
        amount, rest = 0.5, 2 if lower[1:2] in (["a"], ["an"]) else 1
        if rest < len(lower) and lower[rest].split()[0] in closed.SCALES:  # "half a million euros"
            value, _, unit = words[at + rest].value.partition(" ")
            return amount * float(value), unit, at + rest + 1
    elif words[at].kind == "number" and re.fullmatch(r"[\d.]+", words[at].value) and words[at].value[-1] != ".":
        amount, rest = float(words[at].value), 1
        if tuple(lower[1:4]) == _HALF:
            amount, rest = amount + 0.5, 4
            if lower[4:5] == ["million"] or lower[4:5] == ["billion"]:
                return amount * closed.SCALES[lower[4]], "", at + 5
    elif lower[0] in ("a", "an") and tuple(lower[2:5]) == _HALF and lower[1] in closed.UNITS:
        size, unit = closed.UNITS[lower[1]]
        return 1.5 * size, unit, at + 5
    else:
        return None
    name = lower[rest] if rest < len(lower) else ""
    if name not in closed.UNITS or amount == 1:
        return (amount, "", at + rest) if rest == 4 else None
    size, unit = closed.UNITS[name]
    return amount * size, unit, at + rest + 1


def _clock(words: list[Word], at: int) -> tuple[str, int] | None:
    """A time of day, "21:30", and the place after it: "9:30 p.m.", "9 pm", "half past nine", "nine o'clock"."""
    lower = [word.lower for word in words[at : at + 4]]
    shift, start = 0, at
    if lower[0] in ("half", "quarter") and lower[1:2] in (["past"], ["to"], ["after"]):
        shift = (30 if lower[0] == "half" else 15) * (-1 if lower[1] == "to" else 1)
        start = at + 2
    if start >= len(words) or words[start].kind != "number":
        return None
    match = re.fullmatch(r"(\d{1,2})(?::(\d\d))?", words[start].value)
    if match is None or int(match.group(1)) > 24:
        return None
    end = start + 1
    after = words[end].lower if end < len(words) else ""
    if not (shift or match.group(2) or after in ("am", "pm", "o'clock")):
        return None
    minutes = 60 * int(match.group(1)) + int(match.group(2) or 0) + shift
    if after in ("am", "pm", "o'clock"):
        end += 1
    if after == "pm" and minutes < 720:
        minutes += 720
    half = " am" if after == "am" else ""
    return f"{minutes // 60}:{minutes % 60:02}{half}", end


def is_owner(word: Word) -> bool:
    """Whether a word has the ending of a possessive: "Ann's", "the workers'"."""
    return word.text.endswith(("'s", "’s", "s'", "s’")) and word.kind in ("name", "content")


def sharing_names(reading: Reading, other: Reading) -> Reading:
    """The reading in which the first word of a sentence is a name, too, if the other text knows it as one."""
    names = {word.lower for word in other.words if word.kind == "name"}
    if not any(word.opens and word.kind == "content" and word.lower in names for word in reading.words):
        return reading
    words = [
        replace(word, kind="name") if word.opens and word.kind == "content" and word.lower in names else word
        for word in reading.words
    ]
    return replace(reading, words=tuple(words))


def _in_place(words: list[Word], at: int) -> Word:
    """A word whose kind its neighbour tells: "about" is strict before a number, and "has to" is a modal."""
    word, after = words[at], words[at + 1] if at + 1 < len(words) else None
    if word.lower in _ELSEWHERE and word.kind != "name":
        counts = any(other.kind == "number" for other in words[at + 1 : at + (5 if word.lower in _BOUNDS else 2)])
        return replace(word, kind="strict" if counts else _ELSEWHERE[word.lower])
    share = at > 0 and words[at - 1].lower == "a" and after is not None and after.lower == "of"
    if share and word.value.endswith(".") and word.lower in _PARTS:
        return replace(word, value=_fraction(1, _PARTS[word.lower]))  # "a third of"
    if word.lower in _AGES and any(other.kind == "number" for other in words[max(0, at - 3) : at + 4]):
        return replace(word, kind="light")
    if word.lower in closed.HAVE and after is not None and after.lower == "to":
        return replace(word, lower="have to", kind="modal", bases=(("have_to", "?"),))
    if word.lower == "yet" and any(other.kind == "negation" for other in words[:at]):
        return replace(word, lower="so far", kind="light")
    if word.lower == "nor" and any(other.kind == "negation" for other in words[:at]):
        return replace(word, lower="or", kind="link")
    return word


_BOUNDS = ("over", "under", "above", "below")
_ELSEWHERE = {
    "about": "preposition",
    "around": "preposition",
    "some": "determiner",
    **dict.fromkeys(_BOUNDS, "preposition"),
}
"""Words that are strict where they go with a number, and what they are elsewhere."""

_AGES = ("age", "aged", "old", "older")
"""Words that add nothing to the number of years beside them."""


def _with_names(words: list[Word]) -> list[Word]:
    """A word that opens a sentence is a name, too, if it is one elsewhere or stands before a name and is unknown."""
    names = {word.lower for word in words if word.kind == "name"}
    return [
        Word(word.text, word.lower, "name", word.start, word.end, word.bases, "", True)
        if word.opens
        and word.kind == "content"
        and word.text[:1].isupper()
        and (
            word.lower in names or (at + 1 < len(words) and words[at + 1].kind == "name" and not _is_plain(word.lower))
        )
        else word
        for at, word in enumerate(words)
    ]


def _is_plain(lower: str) -> bool:
    """Whether a word is surely no name: it has common senses."""
    known = entry(lower)
    return known is None or any(known.common.values()) or bool(known.bases)


def _phrases(words: list[Word]) -> list[Phrase]:
    """Phrases of the lexicon and of synonyms.txt."""
    groups, own = own_groups()
    phrases: dict[tuple[tuple[int, ...], str], Phrase] = {}

    def add(places: tuple[int, ...], joined: str) -> None:
        known = entry(joined)
        if known or joined in groups:
            parts = known.common if known else ("?",)
            phrases[places, joined] = Phrase(places, tuple((joined, part) for part in parts))

    for at, word in enumerate(words):
        if word.kind in ("mark", "number"):
            continue
        for first in {word.lower, *(base for base, _ in word.bases)}:
            for phrase in own.get(first, ()):
                run = words[at : at + len(phrase)]
                if len(run) == len(phrase) and all(map(_is, run[1:], phrase[1:])):
                    add(tuple(range(at, at + len(phrase))), "_".join(phrase))
            known = entry(first)
            if known is None or not known.longest:
                continue
            joined = first
            for place in range(at + 1, min(at + known.longest, len(words))):
                if words[place].kind in ("mark", "number"):
                    break
                joined = f"{joined}_{words[place].lower}"
                add(tuple(range(at, place + 1)), joined)
            if "v" in known.common and word.kind != "auxiliary":
                for place in range(at + 2, min(at + 5, len(words))):  # "put the meeting off"
                    if words[place].kind == "mark":
                        break
                    if words[place].lower in closed.PARTICLES:
                        add((at, place), f"{first}_{words[place].lower}")
                        break
    return list(phrases.values())


def _is(word: Word, wanted: str) -> bool:
    if wanted == OWNER:
        return word.lower in closed.POSSESSIVES
    return word.lower == wanted or any(base == wanted for base, _ in word.bases)
