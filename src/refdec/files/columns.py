"""A column of a table: its name, and what its cells are. Knows no format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str  # "text", "integer", "number", "boolean", or "json" for anything else
    arrow: Any = None  # its Arrow type where the input is Parquet, so that it is carried as it is
