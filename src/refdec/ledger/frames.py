"""Two ways to say a sentence that differ in words far apart: "unless you pay", "if you do not pay".

A frame has the words that hold a clause together; what stands in its gaps is compared as ever. All words of a frame
must be there, so that a lost "not" is still a lost "not". The table is general English and knows nothing of topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter

from refdec.ledger import function_words as closed
from refdec.ledger.reading import Word, read

GAP = 7
"""Words that a gap may have; it does not reach over the end of a sentence."""

FRAMES = """
unless = if … not = if … no
no longer = not … any longer = not … any more = not … anymore
hardly ever = rarely = seldom = almost never = scarcely ever = very rarely = not often = not very often
too … to = so … that … @can not = so … that … never = so … that … not
not until = only when = only after = only in = only on = only at
not … until = only … when = only … after = only … at = only … in = only … on = … only in = … only on
not only … but also = both … and = not just … but also = not only … but = and also = as well as
neither … nor = and … not = not … or = no … or = not … nor
lack = have no = have not any = be without = there be no = not have any = not have a
have no = there be no = have not any = not have any = be without = not have a
be able to = @can
unable to = @can not = not able to
possible to = @can = possible for … to
impossible to = @can not = impossible for … to
can = is it okay to = is it ok to = is it okay for … to = is it ok for … to = is it safe to = be allowed to
necessary to = @must = need to = necessary for … to = required to
required to = @must = need to = obliged to
in order to = so that … @can = so that … @will = so as to = so that
to &v = so that … @can = so that … @will
to make … = so that … @will
maybe … @will = perhaps … @will = possibly … @will = @may
maybe = perhaps = @may = possibly
likely = probably
@will probably = be likely to = be probably going to = be expected to
which be why = because = so = that be why
the last time … be = last
the first time … be = first
what be &p opinion of = what do &p think of = what do &p think about
make sure = not forget to = remember to = be sure to
not wait to = look forward to
be expected to = should = be likely to
most of them = mostly = most of whom = most of which = the majority of them
be survived by = leave behind = leave
prefer … to = like … better than = like … more than
too young to = not old enough to
too old to = not young enough to
too small to = not big enough to = not large enough to
too weak to = not strong enough to
too short to = not tall enough to = not long enough to
too poor to = not rich enough to = not have enough money to
need not = do not @must to = do not need to = not necessary to
nowhere to be found = @can not find … anywhere = not be found anywhere
say nothing = not say a word = not say anything = remain silent = stay silent
do nothing = not do anything
see nothing = not see anything
find nothing = not find anything
eat nothing = not eat anything
know nothing = not know anything
have nothing = not have anything
nothing … can be done = there be nothing … @can do
not enough = too few = too little
not have enough = have too few = have too little = lack
never again = not … again
no more than = at most
no fewer than = at least = no less than
not long after = soon after = shortly after
not far from = near = close to
not only = more than just
no one but = only = nobody but = none but
nothing but = only
all but one = except one
would not say = do not say = do not reveal = do not disclose = decline to say = refuse to say = would not reveal
force … to = @must to = oblige … to = make … have to
how do @p know = how can @p tell = how can @p know = how do @p tell
should &p = do &p need to = @must
been to = visit
start to = begin to
fail to = do not = unable to
refuse to = would not = decline to = not want to
want to = would like to = wish to
apparently = seem to = appear to = it seems that = it appears that
due to = scheduled to = set to = going to = @will
few = not many
little = not much
everything = nothing … not
everyone = no one … not = nobody … not
how far is it = what is the distance
how many people live in = what is the population of = how big is the population of
how many inhabitants do … have = what is the population of = how many people live in
how tall = what is the height of
how high = what is the height of
how long = what is the length of
how old = what is the age of
how heavy = what is the weight of = how much do … weigh
how deep = what is the depth of
how wide = what is the width of
how fast = what is the speed of = at what speed
how big = what is the size of = what size
how large = what is the size of = what size
how much do … cost = what is the price of = what is the cost of = how expensive
how much time = how long
how often = how many times
what is the best way to = how can @p best = how do @p best = what is the best method to = how best to
what is the best way to = how can @p = how do @p = how to
what is the best way to = how should @p
what is a good way to = how can @p = how do @p = how to
what can @p do to = how can @p = how do @p
what should @p do to = how do @p = how should @p
is there a way to = can @p = is it possible to = is it possible for @p to = how can @p
is there any way to = can @p = is it possible to = is it possible for @p to = how can @p
is there anything @p can do to = can @p = how can @p
could you tell me = do you know = can you tell me = would you tell me = does anyone know = please tell me
which year = when
what time = when
what year = when
what place = where
what reason = why
what makes = why do = why
what causes = why do = why
what caused = why did
what made = why did
why is it that = why
how come = why do = why
had &p = if &p had
had the = if the … had
were &p to = if &p were to
it take … to = need … to
it take … to = after
both of us = we both = we were both = we are both
both of them = they both = they were both = they are both
each other = one another
rather than = instead of
would rather = prefer to = would prefer to
would rather … than = prefer to … rather than = prefer to … instead of = prefer … to
as … as possible = the … possible
not as … as = less … than
not so … as = less … than
the same … as = as … as
whether or not = whether
no matter what = whatever
no matter how = however
no matter who = whoever
no matter where = wherever
the first time = never … before
for the first time = never before
used to = formerly = once = in the past = previously
make sure that = see that = ensure that
apart from = except for = besides
more than half = the majority of = most of
with the help of = by using = using = with
that is why = therefore = so = for that reason
as soon as = the moment = immediately after
"""
"""One frame per line, its ways to be said between "=":
words, "…" for a gap, @p for a personal pronoun, @can, @will, @may and
@must for a modal of that kind. &p and &v, a pronoun and a verb, must be there but stay outside the frame."""

_MODALS = {
    "@can": ("can", "could"),
    "@will": ("will", "would", "shall"),
    "@may": ("may", "might", "could"),
    "@must": ("must", "have to"),
}
_BASES = {"be": closed.BE, "have": closed.HAVE, "do": closed.DO}

Way = tuple[tuple[str, ...], ...]
"""The runs of words of one way to say a frame, with a gap between one and the next."""


def _ways(line: str) -> list[Way]:
    return [tuple(tuple(run.split()) for run in way.split("…") if run.split()) for way in line.split("=")]


_TABLE = tuple(tuple(_ways(line)) for line in FRAMES.strip().splitlines())


def _by_longest_word() -> dict[str, list[tuple[int, int, frozenset[str]]]]:
    """Each way, as the numbers of its frame and its own and the words that it needs, by the longest of these words."""
    ways: dict[str, list[tuple[int, int, frozenset[str]]]] = {}
    for number, frame in enumerate(_TABLE):
        for place, way in enumerate(frame):
            needed = frozenset(word for run in way for word in run if word[0] not in "@&" and word not in _BASES)
            ways.setdefault(max(sorted(needed), key=len, default=""), []).append((number, place, needed))
    return ways


_WAYS = _by_longest_word()
_ORDER = itemgetter(0, 1)


def in_other_frames(source: str, text: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The places of words in both texts that say the same frame in two ways; places may come more than once."""
    here, there = _said(source), _said(text)
    for number, ways in here.items():
        others = there.get(number, {})
        shared = ways.keys() & others.keys()
        for way, places in ways.items():
            for other, other_places in others.items():
                if way != other and not shared & {way, other}:
                    yield places, other_places


@lru_cache(maxsize=2048)
def _said(text: str) -> dict[int, dict[int, tuple[int, ...]]]:
    """For each frame that a text has, the ways in which it says it, and the places of their words."""
    reading = read(text)
    words = {"", *(word.lower for word in reading.words), *(base for word in reading.words for base, _ in word.bases)}
    said: dict[int, dict[int, tuple[int, ...]]] = {}
    for number, way, needed in sorted((item for word in words & _WAYS.keys() for item in _WAYS[word]), key=_ORDER):
        if needed <= words:
            places = _places(reading.words, _TABLE[number][way])
            if places:
                said.setdefault(number, {})[way] = places
    return said


def _places(words: tuple[Word, ...], way: Way) -> tuple[int, ...]:
    """Where the words of a way stand, none if they do not."""
    for start in range(len(words)):
        found = _from(words, way, start)
        if found:
            return found
    return ()


def _from(words: tuple[Word, ...], way: Way, start: int) -> tuple[int, ...]:
    places: list[int] = []
    for number, run in enumerate(way):
        for at in range(start, start + 1 if not number else min(start + GAP, len(words)) + 1):
            if at > start and words[at - 1].text in ".;!?":
                return ()
            if _stands(words, run, at):
                places += [at + shift for shift, wanted in enumerate(run) if wanted[0] != "&"]
                start = at + len(run)
                break
        else:
            return ()
    return tuple(places)


def _stands(words: tuple[Word, ...], run: tuple[str, ...], at: int) -> bool:
    if at + len(run) > len(words) or not _is(words[at], run[0]):  # which is where most of them end
        return False
    return all(_is(words[at + shift], wanted) for shift, wanted in enumerate(run))


def _is(word: Word, wanted: str) -> bool:
    if wanted in ("@p", "&p"):
        return word.kind == "person"
    if wanted == "&v":
        return word.is_part("v") and any(base == word.lower for base, _ in word.bases)
    if wanted in _MODALS:
        return word.lower in _MODALS[wanted]
    if wanted in _BASES:
        return word.lower in _BASES[wanted]
    return word.lower == wanted or any(base == wanted for base, _ in word.bases)
