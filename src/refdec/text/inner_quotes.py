"""Quotes inside a quoted text: single ones within double ones, as printed English has them, and back."""

from __future__ import annotations

import re

_OPENING = re.compile(r"(?<![\w'])'(?=[\w$£€#\[(.…-])")
_CLOSING = re.compile(r"(?<=[\w.,!?;:%)\]…-])'(?!\w)")


def with_single_quotes(text: str) -> str:
    """The text with its double quotes made single, so that it can stand between double ones; a lone one is left out."""
    lone = len(re.findall(r'["“”]', text)) == 1
    return re.sub(r'["“”]', "" if lone else "'", text)


def with_double_quotes(text: str) -> str:
    """The text with quotations in single quotes put into double ones; apostrophes stay.

    An opening quote stands before a word and after none. The quotation ends at the first quote after that which can
    close one: at the end of a word if no mark is before it ("the workers' flag" keeps its apostrophe outside).
    """
    pieces, at = [], 0
    while opening := _OPENING.search(text, at):
        closing = _closing(text, opening.end())
        if closing is None:
            break
        pieces += [text[at : opening.start()], '"', text[opening.end() : closing], '"']
        at = closing + 1
    return "".join([*pieces, text[at:]])


def _closing(text: str, start: int) -> int | None:
    """The place of the quote that ends a quotation: one after a mark if there is any, else the last at a word's end."""
    places = [match.start() for match in _CLOSING.finditer(text, start)]
    following = _OPENING.search(text, start)
    if following is not None:
        places = [place for place in places if place < following.start()] or places
    marked = [place for place in places if text[place - 1] in ".,!?;:…"]
    return next(iter(marked or places), None)
