"""Turns of a whole sentence that say the same: a clause at the front, who said it first or last, active for passive.

Patterns on text, like the small turns: offers, of which models decide how they read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from refdec.ledger import function_words as closed
from refdec.ledger.inflection import article, forms, tags
from refdec.ledger.lexicon import lemmas
from refdec.ledger.reading import read


def whole_turns(source: str) -> list[str]:
    """The sentence in other orders."""
    return [text for text in dict.fromkeys(text for offer in _OFFERS for text in offer(source)) if text != source]


_OPENING = (
    closed.DETERMINERS
    | set(closed.PERSONS)
    | closed.PREPOSITIONS
    | closed.words(
        "there no both all many some several more most each every one two three four five six seven eight nine ten "
        "other what if while after before because although when as few"
    )
)


def lowered(sentence: str) -> str | None:
    """A sentence as it reads after another word; None where nobody can say whether its first word is a name."""
    first = sentence.split()[0]
    if first in ("I", "I'm", "I've", "I'll", "I'd") or (len(first) > 1 and not first[1:].islower()):
        return sentence
    if first.lower() in _OPENING:
        return first.lower() + sentence[len(first) :]
    return sentence if read(sentence).words[0].kind == "name" else None


def _raised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


_NAME = r"[A-Z][\w.'’-]{0,20}(?: (?:de |von |van |of the |of )?[A-Z][\w.'’-]{0,20}){0,4}"
_WHO = rf"(?:{_NAME}|he|she|they|officials|police)"
_WHEN = r"(?P<when> [A-Z][a-z]+day)?"
_SAID_LAST = re.compile(rf"(?P<what>[^\"“”]{{20,}}), (?P<who>{_WHO}) said{_WHEN}\.")
_SAID_FIRST = re.compile(rf"(?P<who>(?:[\w.'’-]+ ){{0,4}}[\w.'’-]+) said{_WHEN} (?:that )?(?P<what>[^\"“”]{{20,}})\.")
_QUOTE_FIRST = re.compile(rf"\"(?P<what>[^\"]+)(?P<mark>[,?!])\" (?P<who>{_NAME}) said\.")
_QUOTE_SAID = re.compile(r"\"(?P<what>[^\"]+)(?P<mark>[,?!])\" said (?P<who>[A-Z][^\"]{0,60})\.")
_ABBREVIATED = re.compile(r"(?:\b(?:Jr|Sr|Inc|Co|Corp|Ltd|[A-Z])|-\w+)$")
_REPORTED = closed.DETERMINERS | set(closed.PERSONS) | closed.words("there no many some all most in people children")


def _attributions(source: str) -> Iterator[str]:
    """Who said it, before or after what was said."""
    if match := _SAID_LAST.fullmatch(source):
        what = lowered(match["what"])
        for that in ("that ", "") if what is not None else ():
            yield f"{_raised(match['who'])} said{match['when'] or ''} {that}{what}."
    elif (match := _SAID_FIRST.fullmatch(source)) and match["what"].split()[0].lower() in _REPORTED:
        who = lowered(match["who"])
        if who is not None and " said " not in match["what"]:
            yield f"{_raised(match['what'])}, {who} said{match['when'] or ''}."
    for pattern, order in ((_QUOTE_FIRST, "said {}"), (_QUOTE_SAID, "{} said")):
        if match := pattern.fullmatch(source):
            if _ABBREVIATED.search(match["who"]):
                continue  # the full stop is that of an abbreviation too
            who = match["who"] + "," * ("," in match["who"])  # "Ann Lee, the head of the school, said"
            last = who if pattern is _QUOTE_SAID else match["who"]
            yield f'"{match["what"]}{match["mark"]}" {order.format(last)}.'
            yield f'{who} said: "{match["what"]}{"." if match["mark"] == "," else match["mark"]}"'


_CLAUSE = (
    "because|although|even though|though|after|before|when|while|since|if|unless|until|as soon as|once|despite|"
    "in spite of|according to|during|following|without"
)
_LAST_CLAUSE = re.compile(rf"(?P<main>[^,;:\"“”()]{{12,}}),? (?P<clause>(?:{_CLAUSE}) [^,;:\"“”()]{{8,}})\.")
_FIRST_CLAUSE = re.compile(
    rf"(?P<clause>(?:{_CLAUSE}|in|on|at|for|as of|by|under|with) [^,;:\"“”()]{{4,}}), (?P<main>[^,;:\"“”()]{{12,}})\.",
    re.IGNORECASE,
)
_JOINT = re.compile(rf"\b(?:{_CLAUSE}|and|but|or|which|who|that)\b")
_SPEAKING = closed.words("said says reports reported told announced added found shows showed")
_CONTRARY = ("although", "though", "while", "despite")


def _clauses(source: str) -> Iterator[str]:
    """A subordinate clause, or a phrase of time and place, before or after the main clause."""
    if (match := _LAST_CLAUSE.fullmatch(source)) and len(_JOINT.findall(source)) <= 2:
        main = lowered(match["main"])
        spoken = not _SPEAKING.isdisjoint(match["main"].split())  # it is not the speaking that the clause is about
        joined = match["main"].endswith((" and", " or", " but"))
        if main is not None and len(match["clause"].split()) > 2 and not spoken and not joined:
            yield f"{_raised(match['clause'])}, {main}."
    if (match := _FIRST_CLAUSE.fullmatch(source)) and len(_JOINT.findall(match["main"])) <= 1:
        clause = lowered(match["clause"])
        if clause is not None:
            yield f"{_raised(match['main'])}{',' * clause.startswith(_CONTRARY)} {clause}."


_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_LAST_TIME = re.compile(
    r"(?P<main>[^\"“”;:]{15,}?) (?P<time>(?:last|this|next) (?:week|month|year|night)|on \w+day|in \d{4}|yesterday|"
    rf"(?:in|on) {_MONTH}(?: \d{{1,2}})?(?:,? \d{{4}})?)\."
)


def _times(source: str) -> Iterator[str]:
    """When it was, at the beginning: "On Friday, …"."""
    if match := _LAST_TIME.fullmatch(source):
        main = lowered(match["main"])
        words = match["main"].lower().split()
        bound = words[-1] in closed.PREPOSITIONS | _BOUND or not _RANGE.isdisjoint(words)
        if main is not None and not bound and "," not in match["main"]:
            yield f"{_raised(match['time'])}, {main}."


_BOUND = closed.words("and or late early since")
_RANGE = closed.words("from than that which who until since after before")
"""Where one of these stands before a time, the time may belong to something else than the main verb."""

_FULL_NAME = r"[A-Z][\w.'’-]*(?: (?:de |van |von )?[A-Z][\w.'’-]*)+"
_TITLE_FIRST = re.compile(
    rf"(?P<title>(?:The )?(?:[\w'’-]+ ){{0,6}}?(?P<head>[a-z]{{3,}})) (?P<name>{_FULL_NAME}) (?P<rest>[a-z][^\"“”]*\.)"
)
_COMMON_TITLES = closed.words(
    "former actor actress singer writer author painter president director prime chief senior police state local head "
    "coach captain lawyer attorney prosecutor professor scientist researcher journalist reporter guitarist drummer "
    "composer striker goalkeeper defender midfielder retired veteran fellow architect engineer poet novelist filmmaker"
)
_NO_TITLE = closed.PREPOSITIONS | set(closed.AUXILIARIES) | set(closed.PERSONS) | set(closed.MODALS) | {"that"}


def _titles(source: str) -> Iterator[str]:
    """ "Danish painter Ole Holm died", "Ole Holm, a Danish painter, died"."""
    match = _TITLE_FIRST.fullmatch(source)
    if match is None:
        return
    words = match["title"].split()
    given = words[0].lower() == "the"
    words = words[given:]
    verb = match["rest"].split()[0]
    if not words or not _NO_TITLE.isdisjoint(word.lower() for word in words) or verb in closed.PREPOSITIONS | {"and"}:
        return
    if not read(match["head"]).words[0].is_part("n") or match["head"].endswith("s"):
        return
    if words[0].lower() in _COMMON_TITLES:
        words[0] = words[0].lower()
    elif words[0][0].isupper() and "-" not in words[0] and read(source).words[0].kind != "name":
        return  # it may be a name or not
    title = " ".join(words)
    for determiner in ("the",) if given else (article(title), "the"):
        yield f"{match['name']}, {determiner} {title}, {match['rest']}"


_PASSIVE = re.compile(
    r"(?P<what>It|He|She|They|(?:The|A|An) [a-z][\w' -]{2,40}) (?:was|were) (?P<verb>[a-z]+)(?P<when>(?: in \d{4})?)"
    rf" by (?P<who>(?:the [a-z]+ )?{_FULL_NAME}|[A-Z]\w+|the [a-z]+)(?P<later>(?: in \d{{4}})?)\."
)
_OBJECTS = {"It": "it", "He": "him", "She": "her", "They": "them"}


def _actives(source: str) -> Iterator[str]:
    """ "It was discovered in 1949 by Walter Baade", "Walter Baade discovered it in 1949"."""
    match = _PASSIVE.fullmatch(source)
    if match is None:
        return
    what = _OBJECTS.get(match["what"]) or lowered(match["what"])
    bases = [base for base, part in lemmas(match["verb"]) if part == "v" and "VBN" in tags(match["verb"], base, "v")]
    if what is None or not closed.PREPOSITIONS.isdisjoint(what.split()):
        return
    for base in bases[:1]:
        yield f"{_raised(match['who'])} {forms(base, 'VBD')[0]} {what}{match['when'] or match['later']}."


_OFFERS = (_attributions, _clauses, _times, _titles, _actives)
