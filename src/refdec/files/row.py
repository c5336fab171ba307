"""Rows and columns of a table, whatever its format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

WIDE = "a whole number of 64 bits that a float cannot hold"
HUGE = "a whole number of more than 64 bits"
KINDS: tuple[tuple[str, frozenset[Any]], ...] = (
    ("text", frozenset({str})),
    ("boolean", frozenset({bool})),
    ("integer", frozenset({int, WIDE})),
    ("number", frozenset({int, float})),
)
"""The kinds of columns, and the types that their cells have besides null. A column of nulls alone is text."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by the names of their columns, or the reason why the row cannot be read."""

    number: int  # 1 for the first; the header and blank lines are not counted
    line: int  # of the file, on which the row begins; for Parquet the number of the row
    fields: dict[str, Any]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """The name of a column, and the kind of its cells."""

    name: str
    kind: str  # "text", "integer", "number", "boolean", or "json" for anything else
    arrow: Any = None  # the Arrow type where the input is Parquet, so that the output has the same


class ColumnKinds:
    """Finds the kind of every column while rows pass by; columns keep the order in which they appeared."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._types: defaultdict[str, set[Any]] = defaultdict(set, {name: set() for name in names})

    def note(self, fields: Mapping[str, Any]) -> None:
        for name, value in fields.items():
            cell_type: Any = type(value)
            if cell_type is int and not -(2**53) <= value <= 2**53:
                cell_type = WIDE if -(2**63) <= value < 2**63 else HUGE
            self._types[name].add(cell_type)

    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, _kind(types - {type(None)})) for name, types in self._types.items())


def _kind(types: set[Any]) -> str:
    return next((kind for kind, allowed in KINDS if types <= allowed), "json")
