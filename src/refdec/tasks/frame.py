"""Frames: the text right and left of a source while its contexts are sampled.

A sentence without context is put between quotes, on a line by itself, or left bare. The frame is held while the source
is rewritten. Text in, ids in text order out.
"""

from __future__ import annotations

from dataclasses import dataclass

from refdec.lm.tokens import Tokens
from refdec.reflect.side import FramedIds


@dataclass(frozen=True, slots=True)
class Frame:
    """The text before and after a source, and the characters that end a generation."""

    before: str
    after: str
    ends: str = ""

    def wrap(self, text: str) -> str:
        return f"{self.before}{text}{self.after}"

    def encode(self, tokens: Tokens, text: str) -> FramedIds:
        """The framed source as ids; a token that covers a bit of the frame belongs to the static part.

        With most tokenizers `?"` is one token. It is then held, so that a question stays a question.
        """
        ids, spans = tokens.encode_with_spans(self.wrap(text))
        # A space before a word is part of the word's token, not of the static part.
        first, last = len(self.before.rstrip(" ")), len(self.before) + len(text)
        left = sum(1 for begin, _ in spans if begin < first)
        right = sum(1 for _, end in spans if end > last)
        return FramedIds(tuple(ids[:left]), tuple(ids[left : len(ids) - right]), tuple(ids[len(ids) - right :]))


# A space stands before the opening quote and the bare source, because contexts before them end in a word.
FRAMES = {
    "quoted": Frame(' "', '"', ends='"'),
    "paragraph": Frame("\n", "\n", ends="\n"),
    "none": Frame(" ", ""),
}
