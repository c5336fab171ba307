"""A text as the ledger sees it: its words one by one, each with its kind, its base forms and its value.

Contractions are taken apart, numbers in words become values, and phrases of the lexicon are marked. Knows nothing of a
second text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from refdec.ledger import function_words as closed
from refdec.ledger.lexicon import OWNER, Lemma, Meaning, begins_phrase, entry, lemmas, meaning, own_groups
from refdec.text.stems import stem


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text, or a run of words that means one thing. Words are equal wherever they stand.

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
        parts: parts of speech of its base forms
        names: what a phrase may call it: the word, its base forms, and OWNER for "my", "your" and so on
    """

    text: str
    lower: str
    kind: str
    start: int = field(compare=False)
    end: int = field(compare=False)
    bases: tuple[Lemma, ...] = ()
    value: str = ""
    opens: bool = False
    parts: frozenset[str] = field(init=False, repr=False, compare=False)
    names: frozenset[str] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts, names = _known_by(self.lower, self.bases)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "_hash", hash((self.text, self.kind, self.bases)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def meaning(self) -> Meaning:
        return meaning(self.bases)

    def is_part(self, part: str) -> bool:
        return part in self.parts


@lru_cache(maxsize=1 << 14)
def _known_by(lower: str, bases: tuple[Lemma, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The parts of speech and the names of a word."""
    owner = [OWNER] if lower in closed.POSSESSIVES else []
    return frozenset(part for _, part in bases), frozenset([lower, *(base for base, _ in bases), *owner])


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
    """A text in words. What is found out about one is remembered by what it is, not by what it says."""

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
    chunks = text.split(" ")
    starts = itertools.accumulate((len(chunk) + 1 for chunk in chunks), initial=0)
    words = _in_context(_words(chunks, list(starts)))
    return Reading(text, tuple(words), tuple(_phrases(words)), text.rstrip("\"'”’) ").endswith("?"))


def read_part(chunks: Sequence[str]) -> Reading:
    """The words of a part of a text, cut at its spaces: each word has the number of its chunk for a place.

    Only phrases whose words stand side by side are found.
    """
    words: list[Word] = []
    opens, capitals, plain = True, 0, True
    for number, chunk in enumerate(chunks):
        part = _part(chunk, number, opens)
        if part is None or capitals + part.capital > MOST_CAPITALS:
            words, plain = _words(chunks, range(len(chunks)), 0), False
            break
        words += part.words
        opens, capitals, plain = part.opens, capitals + part.capital, plain and part.plain
    if not plain:
        words = _in_context(words)
    may_have_phrases = not plain or any(map(_may_begin, ("", *chunks), chunks))
    return Reading("", tuple(words), tuple(_phrases(words, apart=False)) if may_have_phrases else (), False)


class _Part(NamedTuple):
    """A chunk by itself."""

    words: tuple[Word, ...]
    opens: bool  # whether the next word opens a sentence
    capital: bool
    plain: bool  # whether its neighbours cannot change it


MOST_CAPITALS = 2
"""So many chunks with a capital do not make a headline."""


@lru_cache(maxsize=1 << 14)
def _part(chunk: str, number: int, opens: bool) -> _Part | None:
    """A chunk of a part of a text; None where its neighbours tell where its words are."""
    pieces = _alone(chunk)
    if pieces is None or chunk.split() != [chunk]:
        return None
    words, opens = _words_of(pieces, number, 0, opens, False)
    return _Part(words, opens, chunk[:1].isupper(), not (_counts(words) or _may_name(words) or _is_told(words)))


@lru_cache(maxsize=1 << 15)
def _may_begin(chunk: str, after: str) -> bool:
    """Whether a phrase may go on from one chunk to the next, or begin inside the next; chunks that are plain."""
    for opens in (True, False):
        parts = [part for part in (_part(chunk, 0, opens), _part(after, 0, opens)) if part is not None]
        words = [word for part in parts for word in part.words]
        for word, second in pairwise(words):
            for first, own, longest, _ in _openings(word.lower, word.bases):
                if not own.keys().isdisjoint(second.names) or (longest and begins_phrase(f"{first}_{second.lower}")):
                    return True
    return False


def _counts(words: Sequence[Word]) -> bool:
    """Whether a number may have parts among these words."""
    return any(word.kind == "number" or word.lower in ("half", "quarter") for word in words)


def _may_name(words: Sequence[Word]) -> bool:
    return any(word.opens and word.kind == "content" and word.text[:1].isupper() for word in words)


def _is_told(words: Sequence[Word]) -> bool:
    """Whether a neighbour tells the kind of one of these words."""
    return any(word.lower in _TOLD_BY_PLACE for word in words)


def _words(chunks: Sequence[str], starts: Sequence[int], width: int = 1) -> list[Word]:
    """The words of chunks that begin at these places, each by itself; a character is so wide."""
    text = " ".join(chunks)
    shouted = not text.islower() and _is_shouted(text)
    alone: Sequence[tuple[Piece, ...] | None] = [_alone(chunk) for chunk in chunks]
    if None in alone:  # what comes after 's tells what it is
        alone = _pieces_by_chunk(text, len(chunks))
    words: list[Word] = []
    opens = True
    for pieces, start in zip(alone, starts, strict=False):
        if pieces:
            more, opens = _words_of(pieces, start, width, opens, shouted)
            words += more
    return words


Piece = tuple[str, str, int, int, str]
"""A word as written and in lower case, its place, and what kind of piece it is."""


@lru_cache(maxsize=1 << 14)
def _alone(chunk: str) -> tuple[Piece, ...] | None:
    """The pieces of a text without spaces; None where its neighbours may have a say in what they are."""
    if "%" in chunk and not chunk[0].isdigit():
        return None
    pieces = tuple(_pieces(chunk))
    if any(raw.lower() == "cent" or _is_open(raw.lower().replace("’", "'")) for raw, *_ in pieces):
        return None
    return pieces


def _is_open(lower: str) -> bool:
    """Whether what comes after a contraction tells what it stands for."""
    return lower.endswith(("'s", "'d")) and lower not in closed.CONTRACTED


def _pieces_by_chunk(text: str, count: int) -> list[tuple[Piece, ...]]:
    """The pieces of a text by the chunk in which they begin, their places counted from its beginning."""
    number, start = 0, 0
    chunks: list[list[Piece]] = [[] for _ in range(count)]
    for raw, lower, first, last, kind in _pieces(text):
        while number + 1 < count and (space := text.index(" ", start)) < first:
            number, start = number + 1, space + 1
        chunks[number].append((raw, lower, first - start, last - start, kind))
    return [tuple(chunk) for chunk in chunks]


@lru_cache(maxsize=1 << 15)
def _words_of(
    pieces: tuple[Piece, ...], start: int, width: int, opens: bool, shouted: bool
) -> tuple[tuple[Word, ...], bool]:
    """The words of a chunk, and whether the next word opens a sentence."""
    words = []
    for raw, lower, first, last, kind in pieces:
        word = _word(raw, lower, start + width * first, start + width * last, kind, opens, shouted)
        if word.kind != "mark":
            opens = False
        elif raw in _SENTENCE_END or raw in '"“:':
            opens = True
        words.append(word)
    return tuple(words), opens


def _in_context(words: list[Word]) -> list[Word]:
    """The words as their neighbours tell them: numbers and units together, and kinds that depend on the place."""
    if _counts(words):
        words = _with_units(_with_numbers(words))
    if _may_name(words):
        words = _with_names(words)
    return [_in_place(words, at) for at in range(len(words))] if _is_told(words) else words


def _pieces(text: str) -> list[Piece]:
    """Each word as written and in lower case, with its place and what kind of piece it is."""
    pieces: list[Piece] = []
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


def _is_dot_of_abbreviation(pieces: list[Piece], number: int) -> bool:
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
    pieces = (piece.strip("(\"'“‘.,;:") for piece in text.split())
    long = [piece for piece in pieces if len(piece) > 3 and piece[0].isalpha()]
    small = sum(piece[0].islower() for piece in long)
    plain = sum(piece[0].islower() and not _closed_kind(piece) for piece in long)
    return len(long) > 2 and small < 0.2 * len(long) and plain < 0.1 * len(long)


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

_TOLD_BY_PLACE = frozenset({*_ELSEWHERE, *_PARTS, *_AGES, *closed.HAVE, "yet", "nor"})


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


class _Opening(NamedTuple):
    """What a word, or one of its base forms, may begin."""

    first: str
    own: dict[str, tuple[tuple[str, ...], ...]]  # phrases of synonyms.txt by their second word, the longest first
    longest: int  # words of the longest phrase of the lexicon
    takes_particles: bool


@lru_cache(maxsize=1 << 14)
def _openings(lower: str, bases: tuple[Lemma, ...]) -> tuple[_Opening, ...]:
    """The phrases that may begin with a word."""
    _, own = own_groups()
    openings = []
    for first in dict.fromkeys((lower, *(base for base, _ in bases))):
        known = entry(first)
        longest = known.longest if known else 0
        seconds: dict[str, list[tuple[str, ...]]] = {}
        for phrase in own.get(first, ()):
            seconds.setdefault(phrase[1], []).append(phrase)
        if longest or seconds:
            by_second = {second: tuple(phrases) for second, phrases in seconds.items()}
            takes_particles = bool(longest) and known is not None and "v" in known.common
            openings.append(_Opening(first, by_second, longest, takes_particles))
    return tuple(openings)


@lru_cache(maxsize=1 << 14)
def _known_phrase(joined: str) -> tuple[Lemma, ...]:
    """The base forms of a phrase whose words are joined; none where it is no phrase."""
    groups, _ = own_groups()
    known = entry(joined)
    if known is None and joined not in groups:
        return ()
    return tuple((joined, part) for part in (known.common if known else ("?",)))


def _phrases(words: list[Word], apart: bool = True) -> list[Phrase]:
    """Phrases of the lexicon and of synonyms.txt, also those whose words stand apart."""
    phrases: dict[tuple[tuple[int, ...], str], Phrase] = {}

    def add(places: tuple[int, ...], joined: str) -> None:
        bases = _known_phrase(joined)
        if bases:
            phrases[places, joined] = Phrase(places, bases)

    for at, word in enumerate(words[:-1]):
        if word.kind in ("mark", "number"):
            continue
        for first, own, longest, takes_particles in _openings(word.lower, word.bases):
            for phrase in () if own.keys().isdisjoint(words[at + 1].names) else _beginning(own, words[at + 1]):
                run = words[at + 1 : at + len(phrase)]
                if len(run) == len(phrase) - 1 and all(map(_is, run, phrase[1:])):
                    add(tuple(range(at, at + len(phrase))), "_".join(phrase))
            joined = first
            begins = longest and begins_phrase(f"{first}_{words[at + 1].lower}")
            for place in range(at + 1, min(at + longest, len(words))) if begins else ():
                if words[place].kind in ("mark", "number"):
                    break
                joined = f"{joined}_{words[place].lower}"
                add(tuple(range(at, place + 1)), joined)
            if apart and takes_particles and word.kind != "auxiliary":
                for place in range(at + 2, min(at + 5, len(words))):  # "put the meeting off"
                    if words[place].kind == "mark":
                        break
                    if words[place].lower in closed.PARTICLES:
                        add((at, place), f"{first}_{words[place].lower}")
                        break
    return list(phrases.values())


def _beginning(own: dict[str, tuple[tuple[str, ...], ...]], second: Word) -> list[tuple[str, ...]]:
    """The phrases with this second word, the longest first."""
    found = [phrase for name in sorted(second.names) for phrase in own.get(name, ())]
    return sorted(found, key=len, reverse=True)


def _is(word: Word, wanted: str) -> bool:
    return wanted in word.names
