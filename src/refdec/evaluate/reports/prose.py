"""Prose of a report: paragraphs apart by blank lines, lists of lines that start with "- ", and `code`.

Read once, so that every format shows the same. Anything else that looks like markup is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[tuple[Span, ...], ...]


def blocks(text: str) -> Iterator[Paragraph | Bullets]:
    for part in re.split(r"\n\s*\n", text.strip()):
        before, *items = re.split(r"(?:^|\n)\s*- ", part)
        if before.strip():
            yield Paragraph(spans(before))
        if items:
            yield Bullets(tuple(spans(item) for item in items))


def spans(text: str) -> tuple[Span, ...]:
    """One run of text; line breaks inside it are spaces."""
    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    return tuple(Span(piece, code=bool(index % 2)) for index, piece in enumerate(pieces) if piece)
