"""Which parts of a text ILM leaves out: a random choice over its hierarchy of paragraphs, sentences and words.

Works on characters; knows no tokens and no models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from refdec.text.sentences import split_sentences

LEVELS = ("document", "paragraph", "sentence", "ngram", "word")
"""What a part can be; each has a mark of its own."""

NGRAM_SHARE, LONGEST_NGRAM = 0.5, 8
"""How often a chosen word begins a run of words, and how many such a run has at most."""

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Rates:
    """How probable it is that each part is left out, from the whole to the words."""

    document: float
    paragraph: float
    sentence: float
    word: float


@dataclass(frozen=True, slots=True)
class Part:
    """A range of characters that is left out."""

    begin: int
    end: int
    level: str


def masked_parts(text: str, rates: Rates, numbers: np.random.Generator) -> list[Part]:
    """The parts that are left out, in order, none inside another; often there are none."""

    def chosen(rate: float) -> bool:
        return bool(numbers.random() < rate)

    if chosen(rates.document):
        return [Part(0, len(text), "document")]
    parts: list[Part] = []
    for begin, end in _paragraphs(text):
        if chosen(rates.paragraph):
            parts.append(Part(begin, end, "paragraph"))
            continue
        for first, last in sentence_ranges(text[begin:end]):
            if chosen(rates.sentence):
                parts.append(Part(begin + first, begin + last, "sentence"))
            else:
                parts += _words(text, begin + first, begin + last, rates.word, numbers)
    return parts


def sentence_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text are, without the white space around them."""
    place = 0
    for sentence in split_sentences(text):
        bare = sentence.strip()
        if bare:
            begin = place + sentence.index(bare)
            yield begin, begin + len(bare)
        place += len(sentence)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(r"[^\n]+", text):
        if match.group().strip():
            yield match.span()


def _words(text: str, begin: int, end: int, rate: float, numbers: np.random.Generator) -> Iterator[Part]:
    words = [match.span() for match in _WORD.finditer(text, begin, end)]
    place = 0
    while place < len(words):
        count = 1
        if numbers.random() < rate:
            level = "word"
            if numbers.random() < NGRAM_SHARE:
                level, count = "ngram", int(numbers.integers(1, min(LONGEST_NGRAM, len(words) - place) + 1))
            yield Part(words[place][0], words[place + count - 1][1], level)
        place += count
