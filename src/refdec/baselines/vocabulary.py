"""The words that an editor may propose: entries of the tokenizer that are whole words, in the ways they are written.

A word is written differently at the beginning of a sentence and behind an opening mark; each way has an id of its own.
Knows nothing of probabilities.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from refdec.baselines.words import capitalised
from refdec.errors import ModelError
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
        if not self.words:
            raise ModelError(
                "The tokenizer of this pair has no entries that are a word with the space before it, which editing "
                "needs. Use a pair with a byte-level tokenizer, as GPT-2 has it, or the embedded pair."
            )
        self._ways: dict[tuple[bool, bool], tuple[Indices, Indices]] = {}

    def _is_word(self, word: str) -> bool:
        return word.isalpha() and (len(word) > 1 or word in SHORT) and not self._usually_small(word)

    def inside(self, word: str) -> str:
        """How a word that begins a sentence is written inside one: as it is more common."""
        small = word.lower()
        if word in SHORT or capitalised(small) != word:
            return word
        stem = re.split("['’]", word)[0]
        return small if stem not in SHORT and self._usually_small(stem) else word

    def _usually_small(self, word: str) -> bool:
        """Whether a word with capitals is more common without; one that is no entry in small letters is a name.

        Tokenizers number their entries by how common they are.
        """
        small, given = self._ids.get(f" {word.lower()}"), self._ids.get(f" {word}")
        return word != word.lower() and word not in SHORT and small is not None and (given is None or small < given)

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
