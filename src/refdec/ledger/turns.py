"""Turns of a sentence that say the same: a clause at the front, "that" after "said", "did not" for "didn't".

Patterns on text. They know no grammar beyond what stands in them, so a turn is an offer: whether the sentence reads well
after it, models decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from refdec.ledger import function_words as closed
from refdec.ledger.inflection import article, forms, tags
from refdec.ledger.interchangeable import Step
from refdec.ledger.lexicon import lemmas
from refdec.ledger.reading import read


def turns(source: str) -> list[Step]:
    """Every turn of a sentence; those of a whole sentence replace all of it."""
    found = [step for offer in _OFFERS for step in offer(source)]
    return [step for step in dict.fromkeys(found) if source[step.start : step.end] != step.text]


_SAYING = "|".join(
    "said say says estimated believe believes believed think thinks thought hope hopes hoped announced argued agreed "
    "warned claimed claims know knew felt found showed shows reported predicted expects suggested confirmed insisted "
    "acknowledged admitted promised".split()  # noqa: SIM905
)
_SUBJECT = (
    "(?:the|a|an|it|he|she|they|we|you|I|his|her|its|their|there|this|these|those|all|some|many|most|no|people|children|"
    "[A-Z][a-z]+)"
)
_THAT = re.compile(rf"\b(?:{_SAYING}) (?P<that>that )?(?={_SUBJECT}\b)")


def _said_that(source: str) -> Iterator[Step]:
    for match in _THAT.finditer(source):
        if source[: match.start()].endswith('" '):
            continue
        if match["that"]:
            yield Step(match.start("that"), match.end("that"), "", "that")
        elif source[match.end() : match.end() + 5] != "that ":
            yield Step(match.end(), match.end(), "that ", "that")


_SHORT = {
    **{f"{word} not": f"{word}n't" for word in "did does do is are was were could would should has have had".split()},  # noqa: SIM905
    "cannot": "can't",
    "will not": "won't",
    **{f"{word} is": f"{word}'s" for word in ("it", "that", "there", "what", "he", "she")},
    **{f"{word} are": f"{word}'re" for word in ("we", "you", "they")},
    **{f"{word} will": f"{word}'ll" for word in ("I", "we", "you", "they", "he", "she", "it")},
    **{f"{word} have": f"{word}'ve" for word in ("I", "we", "you", "they")},
    "I am": "I'm",
}
_LONG = {short.lower(): whole for whole, short in _SHORT.items() if not short.endswith("'s") or short == "it's"}
_CONTRACTIONS = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, [*_SHORT, *_LONG]))})(?![\w'’])(?! (?:been|got)\b)", re.IGNORECASE
)


def _contractions(source: str) -> Iterator[Step]:
    whole_of = {whole.lower(): short for whole, short in _SHORT.items()}
    for match in _CONTRACTIONS.finditer(source.replace("’", "'")):
        written = match.group()
        text = whole_of.get(written.lower()) or _LONG.get(written.lower(), "")
        if written.lower() == "it's" and not source[match.end() :].startswith(" "):
            continue
        if text:
            yield Step(match.start(), match.end(), _cased(text, written), "contraction")


def _cased(text: str, like: str) -> str:
    return text[0].upper() + text[1:] if like[0].isupper() else text


_DAY = re.compile(
    r"(?P<before>\w+) (?P<on>on )?(?P<day>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)(?=[ .,])"
    r"(?! (?:night|morning|evening|afternoon|and|or|to|through))"
)
_NO_DAY_AFTER = closed.PREPOSITIONS | closed.words("the next last this every each and or until late early that a")


def _weekdays(source: str) -> Iterator[Step]:
    """ "Died Saturday", "died on Saturday"."""
    for match in _DAY.finditer(source):
        if match["on"]:
            continue  # without "on" is newspaper style only
        if match["before"].lower() not in _NO_DAY_AFTER and match["before"][0].islower():
            yield Step(match.start("day"), match.start("day"), "on ", "weekday")


_PERCENT = re.compile(r"(?<=\d)(?: per cent| percent|%)(?=[ ,.;)])")
_MONEY = re.compile(r"(?P<amount>[$€£]\d+(?:\.\d+)?)(?P<unit>m|bn)\b")


def _figures(source: str) -> Iterator[Step]:
    """ "4.5 percent", "4.5%"; "$5m", "$5 million"."""
    per_cent = list(_PERCENT.finditer(source))
    if per_cent:  # all of them alike
        start, end = per_cent[0].start(), per_cent[-1].end()
        for text in (" percent", "%"):
            yield Step(
                start,
                end,
                _PERCENT.sub(text, source)[start : len(_PERCENT.sub(text, source[:end] + " ")) - 1],
                "figure",
            )
    for match in _MONEY.finditer(source):
        yield Step(match.start("unit"), match.end(), {"m": " million", "bn": " billion"}[match["unit"]], "figure")


_WHO = (
    r"(?:[A-Z][\w.'’-]{0,20}(?: (?:de |von |van |of the |of )?[A-Z][\w.'’-]{0,20}){0,4}|he|she|they|officials|police)"
)
_SAID_LAST = re.compile(rf"(?P<what>[^\"“”]{{20,}}), (?P<who>{_WHO}) said(?P<when> [A-Z][a-z]+day)?\.")
_SAID_FIRST = re.compile(
    r"(?P<who>(?:[\w.'’-]+ ){0,4}[\w.'’-]+) said(?P<when> [A-Z][a-z]+day)? (?:that )?(?P<what>[^\"“”]{20,})\."
)
_QUOTE_FIRST = re.compile(rf"\"(?P<what>[^\"]+)(?P<mark>[,?!])\" (?P<who>{_WHO}) said\.")
_QUOTE_SAID = re.compile(rf"\"(?P<what>[^\"]+)(?P<mark>[,?!])\" said (?P<who>[A-Z][^\"]+)\.")
_REPORTED = closed.DETERMINERS | set(closed.PERSONS) | closed.words("there no many some all most in people children")


def _attributions(source: str) -> Iterator[Step]:
    """Who said it, before or after what was said."""
    end = len(source)
    if match := _SAID_LAST.fullmatch(source):
        inner = lowered(match["what"])
        if inner is not None:
            for that in ("that ", ""):
                text = f"{_first(match['who'])} said{match['when'] or ''} {that}{inner}."
                yield Step(0, end, text, "attribution")
    elif (match := _SAID_FIRST.fullmatch(source)) and match["what"].split()[0].lower() in _REPORTED:
        who = lowered(match["who"])
        if who is not None and " said " not in match["what"]:
            yield Step(0, end, f"{_first(match['what'])}, {who} said{match['when'] or ''}.", "attribution")
    for pattern, order in ((_QUOTE_FIRST, "said {}"), (_QUOTE_SAID, "{} said")):
        match = pattern.fullmatch(source)
        if match and match["who"].lower() not in ("he", "she", "they") and len(match["who"]) <= 60:
            yield Step(
                0,
                end,
                f'"{match["what"]}{match["mark"]}" {order.format(match["who"] + "," * ("," in match["who"] and pattern is _QUOTE_SAID))}.',
                "attribution",
            )
            mark = "." if match["mark"] == "," else match["mark"]
            comma = "," * ("," in match["who"])  # "Ann Lee, the head of the school, said"
            yield Step(0, end, f'{match["who"]}{comma} said: "{match["what"]}{mark}"', "attribution")


_CLAUSE = (
    "because|although|even though|though|after|before|when|while|since|if|unless|until|as soon as|once|despite|"
    "in spite of|according to|during|following|without"
)
_LAST_CLAUSE = re.compile(rf"(?P<main>[^,;:\"“”()]{{12,}}),? (?P<clause>(?:{_CLAUSE}) [^,;:\"“”()]{{8,}})\.")
_FIRST_CLAUSE = re.compile(
    rf"(?P<clause>(?:{_CLAUSE}|in|on|at|for|as of|by|under|with) [^,;:\"“”()]{{4,}}), (?P<main>[^;:\"“”()]{{12,}})\.",
    re.IGNORECASE,
)
_JOINTS = re.compile(rf"\b(?:{_CLAUSE}|and|but|or|which|who|that)\b")


def _clauses(source: str) -> Iterator[Step]:
    """A subordinate clause, or a phrase of time and place, before or after the main clause."""
    end = len(source)
    if (match := _LAST_CLAUSE.fullmatch(source)) and len(_JOINTS.findall(source)) <= 2:
        main = lowered(match["main"])
        spoken = " said " in main  # it is not the speaking that the clause is about
        if main is not None and len(match["clause"].split()) > 2 and not spoken and not main.endswith((" and", " or")):
            yield Step(0, end, f"{_first(match['clause'])}, {main}.", "clause")
    if (match := _FIRST_CLAUSE.fullmatch(source)) and len(_JOINTS.findall(match["main"])) <= 1:
        clause = lowered(match["clause"])
        if clause is not None and "," not in match["main"]:
            comma = "," if clause.split()[0] in ("although", "though", "while", "despite") else ""
            yield Step(0, end, f"{_first(match['main'])}{comma} {clause}.", "clause")


_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_LAST_TIME = re.compile(
    rf"(?P<main>[^\"“”;:]{{15,}}?) (?P<time>(?:last|this|next) (?:week|month|year|night)|on \w+day|in \d{{4}}|yesterday|"
    rf"(?:in|on) (?:{_MONTHS})(?: \d{{1,2}})?(?:,? \d{{4}})?)\."
)


def _times(source: str) -> Iterator[Step]:
    """When it was, at the beginning: "On Friday, …"."""
    if match := _LAST_TIME.fullmatch(source):
        main = lowered(match["main"])
        if main is not None and not main.endswith((" and", " or", " of", " from", " to", " than", ",")):
            yield Step(0, len(source), f"{_first(match['time'])}, {main}.", "time")


_WHO_IS = re.compile(
    r", (?P<who>(?:which|who) (?:is|are|was|were) )(?=(?:a|an|the|one|based|located|known|born|called)\b)"
)


def _short_relatives(source: str) -> Iterator[Step]:
    """ "Ann Lee, who is the head of the school", "Ann Lee, the head of the school"."""
    for match in _WHO_IS.finditer(source):
        yield Step(match.start("who"), match.end("who"), "", "relative")


_NAME = r"[A-Z][\w.'’-]*(?: (?:de |van |von )?[A-Z][\w.'’-]*)+"
_TITLE_FIRST = re.compile(
    rf"(?P<title>(?:The )?(?:[\w'’-]+ ){{0,6}}?(?P<head>[a-z]{{3,}})) (?P<name>{_NAME}) (?P<rest>[a-z][^\"“”]*\.)"
)


_COMMON_TITLES = closed.words(
    "former actor actress singer writer author painter president director prime chief senior police state local company "
    "head coach captain lawyer attorney prosecutor professor scientist researcher journalist reporter guitarist drummer "
    "composer striker goalkeeper defender midfielder retired veteran fellow architect engineer poet novelist filmmaker"
)


def _titles(source: str) -> Iterator[Step]:
    """ "Danish painter Ole Holm died", "Ole Holm, a Danish painter, died"."""
    match = _TITLE_FIRST.fullmatch(source)
    if match is None:
        return
    words, lower = match["title"].split(), match["title"].lower().split()
    verb = match["rest"].split()[0]
    closed_words = closed.PREPOSITIONS | set(closed.AUXILIARIES) | set(closed.PERSONS) | set(closed.MODALS)
    if not closed_words.isdisjoint(lower) or "that" in lower or verb in closed.PREPOSITIONS | {"and", "or"}:
        return
    if not read(match["head"]).words[0].is_part("n") or match["head"].endswith("s"):
        return
    given = words[0].lower() == "the"
    title = " ".join(words[1:] if given else words)
    if title.split()[0].lower() in _COMMON_TITLES:
        title = title[0].lower() + title[1:]
    elif title[0].isupper() and "-" not in title.split()[0] and read(source).words[0].kind != "name":
        return  # it may be a name or not
    for determiner in ("the",) if given else (article(title), "the"):
        yield Step(0, len(source), f"{match['name']}, {determiner} {title}, {match['rest']}", "title")


_DAY_OF = re.compile(
    r"\b(?P<day>[A-Z][a-z]+day)['’]s (?P<what>(?:[a-z-]+ ){0,2}[a-z-]+)(?=[,.]| (?:in|at|of|was|were|will|would|had|has|is)\b)"
)
_PLACE_OF = re.compile(
    r"\bthe (?P<place>country|nation|world|city|state|region|company|industry)['’]s (?P<most>(?:second-|third-)?[a-z]+est) "
    r"(?P<what>(?:[a-z-]+ )?[a-z-]+)(?=[,.]| (?:was|were|will|would|had|has|is|are|and|by|after|since)\b)"
)


def _owners(source: str) -> Iterator[Step]:
    """ "Tuesday's hearing", "the hearing on Tuesday"; "the city's oldest school", "the oldest school in the city"."""
    for match in _DAY_OF.finditer(source):
        before = source[: match.start()].split()[-1:]
        if before and before[0].lower() not in ("the", "a", "last", "next", "on"):
            yield Step(match.start(), match.end(), f"the {match['what']} on {match['day']}", "owner")
    for match in _PLACE_OF.finditer(source):
        if " said" in match["what"]:
            continue
        text = f"the {match['most']} {match['what']} in the {match['place']}"
        yield Step(match.start(), match.end(), text, "owner")


_PASSIVE = re.compile(
    rf"(?P<what>It|He|She|They|(?:The|A|An) [a-z][\w' -]{{2,40}}) (?:was|were) (?P<verb>[a-z]+)"
    rf"(?P<when>(?: in \d{{4}})?) by (?P<who>(?:the [a-z]+ )?{_NAME}|[A-Z]\w+|the [a-z]+)(?P<later>(?: in \d{{4}})?)\."
)
_OBJECTS = {"It": "it", "He": "him", "She": "her", "They": "them"}


def _actives(source: str) -> Iterator[Step]:
    """ "It was discovered in 1949 by Walter Baade", "Walter Baade discovered it in 1949"."""
    match = _PASSIVE.fullmatch(source)
    if match is None:
        return
    what = _OBJECTS.get(match["what"]) or lowered(match["what"])
    bases = [base for base, part in lemmas(match["verb"]) if part == "v" and "VBN" in tags(match["verb"], base, "v")]
    if what is None or not bases or any(word in closed.PREPOSITIONS for word in what.split()):
        return
    for past in forms(bases[0], "VBD")[:1]:
        text = f"{_first(match['who'])} {past} {what}{match['when'] or match['later']}."
        yield Step(0, len(source), text, "active")


_PAIR = re.compile(
    r"(?<= (?:of|by|in|to) )(?P<one>[A-Z][\w-]+|[a-z]{4,}) and (?P<other>[A-Z][\w-]+|[a-z]{4,})(?=[.,;?]| (?:in|at|on|for|from)\b)"
    r"|(?<= (?:with|from) )(?P<first>[A-Z][\w-]+|[a-z]{4,}) and (?P<second>[A-Z][\w-]+|[a-z]{4,})(?=[.,;?]| (?:in|at|on|for)\b)"
)


def _pairs(source: str) -> Iterator[Step]:
    """ "By Kubota and Leopoldt", "by Leopoldt and Kubota"."""
    for match in _PAIR.finditer(source):
        one, other = match["one"] or match["first"], match["other"] or match["second"]
        if one[0].isupper() == other[0].isupper():
            yield Step(match.start(), match.end(), f"{other} and {one}", "pair")


_OFFERS = (
    _said_that,
    _contractions,
    _weekdays,
    _figures,
    _attributions,
    _clauses,
    _times,
    _short_relatives,
    _titles,
    _owners,
    _actives,
    _pairs,
)

_OPENING = (
    closed.DETERMINERS
    | set(closed.PERSONS)
    | closed.PREPOSITIONS
    | closed.words(
        "there no both all many some several more most each every one two three four five six seven eight nine ten other "
        "what if while after before because although when as few"
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


def _first(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
