"""What two texts share, as far as it can be seen without a model: words, numbers, negations.

Texts are first made alike, for some systems write lower-cased words with spaces around every mark and no question
mark. Made for English. Knows nothing of synonyms: "bought" and "purchased" are different words.
"""

from __future__ import annotations

import re

from refdec.text.words import bare_words

_SPACE_BEFORE = re.compile(r"\s+(?=n't\b|'(?:s|m|t|d|re|ve|ll)\b|[,.;:!?%)\]])")
_SPACE_AFTER = re.compile(r"(?<=[(\[$])\s+")
_ENDINGS = " .?!\"'"
_EMPTY_NEGATION = re.compile(r"\b(?:or|why) not\b")  # "is it so or not" asks what "is it so" does

_ASKING = frozenset("what how why who which where when whom whose".split())  # noqa: SIM905
_OPENING = frozenset(
    """is are am was were do does did can could will would should shall has have had may might""".split()  # noqa: SIM905
)  # fmt: skip

_SPELLED = {
    word: str(number)
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)  # noqa: SIM905
}  # "one" is left out: it is a pronoun more often than a number

_NEGATIONS = frozenset(
    """not no never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt isnt arent wasnt
    werent wont wouldnt shouldnt couldnt hasnt havent hadnt aint""".split()  # noqa: SIM905
)  # fmt: skip


def plain(text: str) -> str:
    """Lower-cased, marks joined to their words ("isn 't" and "do n't" too), without quotes or marks at the ends."""
    low = " ".join(text.lower().replace("’", "'").split())
    joined = _SPACE_AFTER.sub("", _SPACE_BEFORE.sub("", low))
    return joined.lstrip(" \"'").rstrip(_ENDINGS)


def written_alike(source: str, text: str) -> tuple[str, str]:
    """Both plain, and with the same closing mark, whatever they had."""
    mark = _closing_mark(source)
    return plain(source) + mark, plain(text) + mark


def _closing_mark(source: str) -> str:
    """A question mark for what asks; where marks were taken off, question words tell."""
    bare = source.rstrip()
    if bare.endswith(("?", ".", "!")):
        return "?" if bare.endswith("?") else "."
    found_words = bare_words(bare)
    return "?" if not _ASKING.isdisjoint(found_words) or not _OPENING.isdisjoint(found_words[:1]) else "."


def different_words(text: str, other: str) -> float:
    """Share of the words of both that only one of them has, from 0 to 1. Order and repetition do not count."""
    return different_share(word_set(text), word_set(other))


def word_set(text: str) -> frozenset[str]:
    return frozenset(bare_words(plain(text)))


def different_share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one ^ other) / len(one | other) if one or other else 0.0


def same_numbers(text: str, other: str) -> bool:
    """Whether both have the same numbers, in digits or, from two to twelve, in words."""
    return _numbers(text) == _numbers(other)


def same_negation(text: str, other: str) -> bool:
    """Whether both have an even or both an odd number of negations. Those inside words (unlike) are not seen."""
    return _negations(text) % 2 == _negations(other) % 2


def _numbers(text: str) -> set[str]:
    low = plain(text)
    digits = re.findall(r"\d+", re.sub(r"(?<=\d),(?=\d{3})", "", low))
    return {number.lstrip("0") or "0" for number in digits} | {
        _SPELLED[word] for word in bare_words(low) if word in _SPELLED
    }


def _negations(text: str) -> int:
    negated = bare_words(_EMPTY_NEGATION.sub("", plain(text)))
    return sum(word in _NEGATIONS or word.endswith("n't") for word in negated)
