"""Cutting generated text into sentences.

Generations are not edited prose: quotes stay open and sentences stop half-way. Libraries made for prose take everything
inside an unclosed quote for one sentence, move quotes to the wrong sentence, or change the text (docs/log.md compares
them).
"""

from __future__ import annotations

import re

_ABBREVIATIONS = re.compile(
    r"(mrs?|ms|dr|prof|[sj]r|st|vs|etc|e\.g|i\.e|u\.[sk]|[ap]\.m|no|vol|inc|ltd|co|corp|dept|est|fig|gen|gov|lt|col"
    r"|capt|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|ph\.d|approx)"
)
_BOUNDARY = re.compile(r"""[.!?…]+["'”’)\]]*(?=\s+["'“‘(\[]*[\w$£€#@]|\s*$)""")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order; joined, they are the text."""
    pieces: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        before, after = text[start : match.end()], text[match.end() :]
        if _goes_on(before, after):
            continue
        end = match.end() + len(after) - len(after.lstrip())
        pieces.append(text[start:end])
        start = end
    if text[start:].strip():
        pieces.append(text[start:])
    return pieces


def _goes_on(before: str, after: str) -> bool:
    """Whether the sentence continues after the mark at the end of `before`."""
    if not after.strip():
        return False
    lower_case = after.lstrip()[0].islower()
    if not before.endswith(".") or before.endswith(".."):
        return lower_case and not before.endswith(("?", "!"))  # "Why?" he asked
    word = before.rstrip(".").split()[-1:]
    stem = word[0].lstrip("(\"'“‘[").lower() if word else ""
    initial = len(stem) == 1 and stem.isalpha() and stem != "i"
    return lower_case or _ABBREVIATIONS.fullmatch(stem) is not None or initial
