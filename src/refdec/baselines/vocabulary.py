"""The words that an editor may propose: entries of the tokenizer that are whole words, in the ways they are written.

A word is written differently at the beginning of a sentence and behind an opening mark; each way has an id of its own.
Knows nothing of probabilities.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from refdec.baselines.words import capitalised
from refdec.lm.pair import Pair

Indices = npt.NDArray[np.int64]

SHORT = frozenset({"a", "I"})
"""The words of one letter."""


class Vocabulary:
    """Whole words as they stand inside a sentence, and the ids of each way to write them."""

    def __init__(self, pair: Pair) -> None:
        tokens = pair.tokens
        self._ids: dict[str, int] = {}
        for index in range(tokens.vocabulary):
            if index not in pair.unspoken:
                self._ids.setdefault(tokens.text(index), index)
        self.words = [text[1:] for text in self._ids if text[:1] == " " and self._is_word(text[1:])]
        self._ways: dict[tuple[bool, bool], tuple[Indices, Indices]] = {}

    def _is_word(self, word: str) -> bool:
        return word.isalpha() and (len(word) > 1 or word in SHORT) and self.inside(word) == word

    def inside(self, word: str) -> str:
        """How a word that begins a sentence is written inside one: as it is more common.

        Tokenizers number their entries by how common they are. A word that is no entry in small letters is a name.
        """
        small = word.lower()
        if word == small or word in SHORT or capitalised(small) != word:
            return word
        stem = small.split("'")[0].split("’")[0]
        if stem == "i" and stem != small:
            return word
        either = (self._ids.get(f" {stem}"), self._ids.get(f" {capitalised(stem)}"))
        if either[0] is None:
            return word
        return small if either[1] is None or either[0] < either[1] else word

    def ways(self, apart: bool, begins: bool) -> tuple[Indices, Indices]:
        """The words that are one entry when written so, as places in `words`, and the ids of these entries.

        apart: behind a space; begins: with a capital, as at the beginning of a sentence.
        """
        if (apart, begins) not in self._ways:
            shown = (" " * apart + (capitalised(word) if begins else word) for word in self.words)
            entries = [(place, self._ids[text]) for place, text in enumerate(shown) if text in self._ids]
            table = np.array(entries, dtype=np.int64).reshape(-1, 2)
            self._ways[apart, begins] = (table[:, 0], table[:, 1])
        return self._ways[apart, begins]
