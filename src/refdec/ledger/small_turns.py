"""Small turns of a sentence that say the same: "that" after "said", "did not" for "didn't", "5%" for "5 percent".

Patterns on text. They know no grammar beyond what stands in them, so a turn is an offer: whether the sentence reads
well after it, models decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from refdec.ledger import function_words as closed
from refdec.ledger.interchangeable import Step


def small_turns(source: str) -> list[Step]:
    """Every small turn of a sentence."""
    found = dict.fromkeys(step for offer in _OFFERS for step in offer(source))
    return [step for step in found if source[step.start : step.end] != step.text]


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_SAYING = _any_of(
    "said say says estimated believe believes believed think thinks thought hope hopes hoped announced argued agreed "
    "warned claimed claims know knew felt found showed shows reported predicted expects suggested confirmed insisted "
    "acknowledged admitted promised"
)
_SUBJECT = _any_of(
    "the a an it he she they we you I his her its their there this these those all some many most no people children "
    "[A-Z][a-z]+"
)
_THAT = re.compile(rf"\b{_SAYING} (?P<that>that )?(?={_SUBJECT}\b)")


def _said_that(source: str) -> Iterator[Step]:
    for match in _THAT.finditer(source):
        if source[: match.start()].endswith('" '):
            continue  # "…," said Ann Lee
        if match["that"]:
            yield Step(match.start("that"), match.end("that"), "")
        elif source[match.end() : match.end() + 5] != "that ":
            yield Step(match.end(), match.end(), "that ")


_NEGATED = closed.words("did does do is are was were could would should has have had")
_SHORT = {
    **{f"{word} not": f"{word}n't" for word in sorted(_NEGATED)},
    "cannot": "can't",
    "will not": "won't",
    **{f"{word} is": f"{word}'s" for word in ("it", "that", "there", "what", "he", "she")},
    **{f"{word} are": f"{word}'re" for word in ("we", "you", "they")},
    **{f"{word} will": f"{word}'ll" for word in ("i", "we", "you", "they", "he", "she", "it")},
    **{f"{word} have": f"{word}'ve" for word in ("i", "we", "you", "they")},
    "i am": "i'm",
}
_LONG = {short: whole for whole, short in _SHORT.items() if not short.endswith("'s") or short == "it's"}
_CONTRACTION = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, [*_SHORT, *_LONG]))})(?![\w'’])(?! (?:been|got)\b)", re.IGNORECASE
)


def _contractions(source: str) -> Iterator[Step]:
    for match in _CONTRACTION.finditer(source.replace("’", "'")):
        written = match.group()
        if written.lower() == "it's" and source[match.end() : match.end() + 1] != " ":
            continue
        if written.lower().endswith("n't") and source.endswith("?"):
            continue  # "Why doesn't he": "not" would stand elsewhere
        text = {**_SHORT, **_LONG}[written.lower()]
        yield Step(match.start(), match.end(), text[0].upper() + text[1:] if written[0].isupper() else text)


_DAY = re.compile(
    r"(?P<before>[a-z]\w*) (?P<day>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)(?=[ .,])"
    r"(?! (?:night|morning|evening|afternoon|and|or|to|through))"
)
_NO_DAY_AFTER = closed.PREPOSITIONS | closed.words("the next last this every each and or until late early that a")


def _weekdays(source: str) -> Iterator[Step]:
    """ "Died Saturday", "died on Saturday"; without "on" it is newspaper style only."""
    for match in _DAY.finditer(source):
        if match["before"] not in _NO_DAY_AFTER:
            yield Step(match.start("day"), match.start("day"), "on ")


_PERCENT = re.compile(r"(?<=\d)(?: per cent| percent|%)(?=[ ,.;)])")
_MONEY = re.compile(r"(?P<amount>[$€£]\d+(?:\.\d+)?)(?P<unit>m|bn)\b")


def _figures(source: str) -> Iterator[Step]:
    """ "4.5 percent", "4.5%", all of them alike; "$5m", "$5 million"."""
    found = list(_PERCENT.finditer(source))
    for text in (" percent", "%") if found else ():
        start, end = found[0].start(), found[-1].end()
        pieces = [source[one.end() : other.start()] for one, other in pairwise(found)]
        yield Step(start, end, text + "".join(piece + text for piece in pieces))
    for match in _MONEY.finditer(source):
        yield Step(match.start("unit"), match.end(), {"m": " million", "bn": " billion"}[match["unit"]])


_WHO_IS = re.compile(
    r", (?P<who>(?:which|who) (?:is|are|was|were) )(?=(?:a|an|the|one|based|located|known|born|called)\b)"
)


def _short_relatives(source: str) -> Iterator[Step]:
    """ "Ann Lee, who is the head of the school", "Ann Lee, the head of the school"."""
    for match in _WHO_IS.finditer(source):
        yield Step(match.start("who"), match.end("who"), "")


_ENDS = _any_of("in at of was were will would had has have is are and by after since")
_DAY_OF = re.compile(rf"\b(?P<day>[A-Z][a-z]+day)['’]s (?P<what>(?:[a-z-]+ ){{0,2}}[a-z-]+)(?=[,.]| {_ENDS}\b)")
_PLACE = _any_of("country nation world city state region company industry")
_PLACE_OF = re.compile(
    rf"\bthe (?P<place>{_PLACE})['’]s (?P<most>(?:second-|third-)?[a-z]+est) (?P<what>(?:[a-z-]+ )?[a-z-]+)"
    rf"(?=[,.]| {_ENDS}\b)"
)


def _owners(source: str) -> Iterator[Step]:
    """ "Tuesday's hearing", "the hearing on Tuesday"; "the city's oldest school", "the oldest school in the city"."""
    for match in _DAY_OF.finditer(source):
        before = source[: match.start()].split()[-1:]
        if before and before[0].lower() not in ("the", "a", "last", "next", "on"):
            yield Step(match.start(), match.end(), f"the {match['what']} on {match['day']}")
    for match in _PLACE_OF.finditer(source):
        if "said" not in match["what"].split():
            yield Step(match.start(), match.end(), f"the {match['most']} {match['what']} in the {match['place']}")


_WORD = r"[A-Z][\w-]+|[a-z]{4,}"
_PAIR = re.compile(
    rf"(?<= (?:of|by|in|to) )(?<!(?:ranked|sorted) by )(?<!ordered by )(?P<one>{_WORD}) and (?P<other>{_WORD})"
    r"(?=[.,;?]| (?:in|at|on|for|from)\b)"
)


def _pairs(source: str) -> Iterator[Step]:
    """ "By Kubota and Leopoldt", "by Leopoldt and Kubota"; not after "sorted by", where the order counts."""
    for match in _PAIR.finditer(source):
        if match["one"][0].isupper() == match["other"][0].isupper():
            yield Step(match.start(), match.end(), f"{match['other']} and {match['one']}")


_OFFERS = (_said_that, _contractions, _weekdays, _figures, _short_relatives, _owners, _pairs)
