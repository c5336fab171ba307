"""How training texts are written, and how what a model wrote in that way is given back as its source is written.

Public data sets of pairs are often lower-cased, cut into words and stripped of the last mark. A model trained on them
reads and writes such texts; users do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

FEW, MOST = 0.01, 0.9
"""Shares of texts from which on something counts as the way in which they are written."""

_FINAL = re.compile(r"\s*[.?!]+$")
_SENTENCE_START = re.compile(r"(^|[.?!]\s+)([a-z])")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_CUT = re.compile(r" (?:n't|'(?:s|m|re|ve|ll|d)|[?,])(?= |$)|-lrb-|``")
_MARKS = ((r"(?i)-lrb-\s*", "("), (r"(?i)\s*-rrb-", ")"), (r"``\s*", '"'), (r"\s*''", '"'))
_JOINED = re.compile(r" (n't|'(?:s|m|re|ve|ll|d)|[.,;:?!%])(?= |$|\")", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Surface:
    """How texts are written.

    Attributes:
        lower: without capital letters
        marked: with a full stop or another mark at the end
        cut: with spaces around marks and before 's, as tokenizers of words leave them
    """

    lower: bool = False
    marked: bool = True
    cut: bool = False

    @classmethod
    def of(cls, texts: Sequence[str]) -> Surface:
        """How most of these texts are written."""
        count = max(1, len(texts))
        return cls(
            lower=sum(text != text.lower() for text in texts) < FEW * count,
            marked=sum(_FINAL.search(text) is not None for text in texts) > (1 - MOST) * count,
            cut=sum(_CUT.search(text) is not None for text in texts) > FEW * count,
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def learned(self, text: str) -> str:
        """What a model learns of a text of its training data."""
        return self.read(_uncut(text) if self.cut else text)

    def read(self, text: str) -> str:
        """What a model reads of a user's text."""
        text = " ".join(text.split())
        if self.lower:
            text = text.lower()
        return text if self.marked else _FINAL.sub("", text) or text

    def restored(self, text: str, source: str) -> str:
        """A text that a model wrote, with the capital letters and the last mark of its source."""
        text = " ".join(text.split())
        if self.lower:
            text = _with_capitals(text, source)
        mark = _FINAL.search(source)
        if not self.marked and mark is not None and text and _FINAL.search(text) is None:
            text += mark.group().strip()
        return text


def _uncut(text: str) -> str:
    for pattern, mark in _MARKS:
        text = re.sub(pattern, mark, text)
    text = _JOINED.sub(r"\1", text)
    if text.startswith('"') and text.endswith('"') and text.count('"') == 2:
        text = text[1:-1].strip()
    return text


def _with_capitals(text: str, source: str) -> str:
    """Words as the source writes them; "I", and the first word of a sentence where the source has a capital there."""
    written: dict[str, str] = {"i": "I"}
    for match in _WORD.finditer(source):
        word = match.group()
        begins = not source[: match.start()].strip(" \"'([") or source[: match.start()].rstrip()[-1:] in ".?!"
        if word != word.lower() and not (begins and word[1:] == word[1:].lower()):
            written.setdefault(word.lower(), word)
    text = _WORD.sub(lambda match: _as_written(match.group(), written), text)
    if source[:1].isupper():
        text = _SENTENCE_START.sub(lambda match: match.group(1) + match.group(2).upper(), text)
    return text


def _as_written(word: str, written: dict[str, str]) -> str:
    if word in written:
        return written[word]
    stem, mark, rest = word.partition("'")
    return f"{written[stem]}{mark}{rest}" if mark and stem in written else word
