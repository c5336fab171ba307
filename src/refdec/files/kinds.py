"""What the cells of a column are, found out row by row. Knows no format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from refdec.files.columns import Column

WIDE = "a whole number of 64 bits that a float cannot hold"
HUGE = "a whole number of more than 64 bits"
KINDS: tuple[tuple[str, frozenset[Any]], ...] = (
    ("text", frozenset({str})),
    ("boolean", frozenset({bool})),
    ("integer", frozenset({int, WIDE})),
    ("number", frozenset({int, float})),
)
"""The kinds, and which cells a column of each may have; null may be anywhere, and a column of nothing else is text."""


class Kinds:
    """The columns of the rows that were noted, in the order in which they appeared."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._seen: defaultdict[str, set[Any]] = defaultdict(set, {name: set() for name in names})

    def note(self, fields: Mapping[str, Any]) -> None:
        for name, value in fields.items():
            found: Any = type(value)
            if found is int and not -(2**53) <= value <= 2**53:
                found = WIDE if -(2**63) <= value < 2**63 else HUGE
            self._seen[name].add(found)

    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, _kind(seen - {type(None)})) for name, seen in self._seen.items())


def _kind(seen: set[Any]) -> str:
    return next((kind for kind, allowed in KINDS if seen <= allowed), "json")
