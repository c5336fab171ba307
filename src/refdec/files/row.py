"""A row of a table, as a reader finds it. Knows nothing of files, nor of what is done with a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by their columns, or why it is none."""

    number: int  # 1 for the first; the header and blank lines are no rows
    line: int  # of the file, on which it begins; for Parquet the number of the row
    fields: dict[str, Any]
    error: str = ""
