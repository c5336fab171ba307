"""How the figures of a table read, the same in every format: decimals, intervals, arrows, and which is best."""

from __future__ import annotations

import math

from refdec.evaluate.reports.report import Cell, ReportColumn, ReportRow, ReportTable

NOTHING = "–"
ARROWS = {"higher": "↑", "lower": "↓"}
EMPTY = Cell(None)


def cell_of(row: ReportRow, column: ReportColumn) -> Cell:
    return row.cells.get(column.key, EMPTY)


def number(value: float | None, digits: int) -> str:
    """With this many decimals, and never as minus zero."""
    return f"{value:z.{digits}f}" if value is not None and math.isfinite(value) else NOTHING


def interval(cell: Cell, digits: int) -> str:
    """The interval of a figure, or "". Negative ends are joined by "to": a dash would be lost beside a minus sign."""
    if cell.low is None or cell.high is None or not math.isfinite(cell.low + cell.high):
        return ""
    between = " to " if min(cell.low, cell.high) < 0 else "–"
    return between.join(number(end, digits) for end in (cell.low, cell.high))


def heading(column: ReportColumn) -> str:
    return f"{column.title} {ARROWS[column.better]}" if column.better in ARROWS else column.title


def best(table: ReportTable) -> frozenset[tuple[int, str]]:
    """Row and column key of the best measured figures. What reads the same is equally good."""
    places = set()
    for column in table.columns:
        read = {
            index: float(text)
            for index, row in enumerate(table.rows)
            if row.ranked and not row.quoted and (text := number(cell_of(row, column).value, column.digits)) != NOTHING
        }
        if column.better in ARROWS and len(read) > 1:
            top = max(read.values()) if column.better == "higher" else min(read.values())
            places |= {(index, column.key) for index, value in read.items() if value == top}
    return frozenset(places)


def has_quoted(table: ReportTable) -> bool:
    return any(row.quoted for row in table.rows)


def has_intervals(table: ReportTable) -> bool:
    return any(interval(cell_of(row, column), column.digits) for row in table.rows for column in table.columns)
