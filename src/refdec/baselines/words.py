"""A sentence as words, which may be edited, and marks, which stay where they are.

A word is what stands between spaces without the marks around it, so "don't" and "well-known" are one word each. Words
are kept as they stand inside a sentence; the capital at the beginning is put on when the sentence is shown. Knows
nothing of models.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

_CHUNK = re.compile(r"([^\w]*)(.*?)([^\w]*)", re.DOTALL)
_ENDS = re.compile(r"[.?!…]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, or marks that stand together.

    Attributes:
        text: the characters
        is_word: whether it may be edited
        before: whether a space may stand before it
        after: whether a space may stand after it
        ends: whether the next word begins a sentence
    """

    text: str
    is_word: bool = True
    before: bool = True
    after: bool = True
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """Pieces in order; `capital` says whether the first word has a capital when it is shown."""

    pieces: tuple[Piece, ...]
    capital: bool

    @property
    def words(self) -> list[str]:
        return [piece.text for piece in self.pieces if piece.is_word]

    @property
    def word_places(self) -> list[int]:
        return [place for place, piece in enumerate(self.pieces) if piece.is_word]

    @property
    def gaps(self) -> list[int]:
        """Where a word may be put in: before any piece, and at the end unless marks stand there."""
        last = len(self.pieces)
        return list(range(last + 1 if not last or self.pieces[-1].is_word else last))

    def put(self, place: int, word: str) -> Sentence:
        """With one word more, at this place."""
        return replace(self, pieces=(*self.pieces[:place], Piece(word), *self.pieces[place:]))

    def without(self, place: int) -> Sentence:
        return replace(self, pieces=self.pieces[:place] + self.pieces[place + 1 :])

    def begins(self, place: int) -> bool:
        """Whether a word at this place begins a sentence and has a capital."""
        if place and self.pieces[place - 1].ends:
            return True
        return self.capital and not any(piece.is_word for piece in self.pieces[:place])

    @property
    def shown(self) -> list[str]:
        """The pieces with their spaces and capitals; joined, they are the text."""
        result = []
        for place, piece in enumerate(self.pieces):
            apart = place > 0 and piece.before and self.pieces[place - 1].after
            begins = piece.is_word and self.begins(place)
            result.append(" " * apart + (capitalised(piece.text) if begins else piece.text))
        return result

    def __str__(self) -> str:
        return "".join(self.shown)


def capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]


def sentence_of(text: str, inside: Callable[[str], str]) -> Sentence:
    """A text as words and marks; `inside` says how a word at its beginning is written inside a sentence."""
    pieces: list[Piece] = []
    for chunk in text.split():
        match = _CHUNK.fullmatch(chunk)
        assert match is not None
        left, word, right = match.groups()
        if not word:
            pieces.append(Piece(chunk, is_word=False))
            continue
        if left:
            pieces.append(Piece(left, is_word=False, after=False))
        pieces.append(Piece(word))
        if right:
            pieces.append(Piece(right, is_word=False, before=False))
    first = next((piece.text for piece in pieces if piece.is_word), "")
    capital = first[:1].isupper()
    for place, piece in enumerate(pieces):
        if not piece.is_word and place + 1 < len(pieces) and _ENDS.search(piece.text):
            begins = pieces[place + 1].is_word and pieces[place + 1].text[:1].isupper()
            pieces[place] = replace(piece, ends=begins)
    sentence = Sentence(tuple(pieces), capital)
    written = (
        replace(piece, text=inside(piece.text)) if piece.is_word and sentence.begins(place) else piece
        for place, piece in enumerate(pieces)
    )
    return Sentence(tuple(written), capital)
