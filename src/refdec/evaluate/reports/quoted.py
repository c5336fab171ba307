"""Figures of the paper that refdec follows, to be read beside measured ones: West et al., ACL 2021.

The figures are in quoted.toml, as printed. Nothing there was measured with refdec.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files

from refdec.errors import SettingsError
from refdec.evaluate.reports.report import Cell, ReportRow
from refdec.settings import did_you_mean

SOURCE = "West et al., ACL 2021"

Quoted = tuple[tuple[str, dict[str, float]], ...]


def _table(columns: str, rows: str) -> Quoted:
    """Lines of a name and one figure for each column, "-" where the paper has none."""
    names = columns.split()
    table = []
    for line in rows.strip().splitlines():
        system, *figures = line.rsplit(maxsplit=len(names))
        table.append((system, {key: float(text) for key, text in zip(names, figures, strict=True) if text != "-"}))
    return tuple(table)


_PAPER = tomllib.loads(files("refdec.evaluate.reports").joinpath("quoted.toml").read_text(encoding="utf-8"))
TABLES: dict[str, Quoted] = {name: _table(**table) for name, table in _PAPER["tables"].items()}
LEARNED_FROM: dict[str, list[str]] = _PAPER["learned_from"]
"""The systems as the paper sorts them; the others (source, people, metrics) learned nothing for the task."""


def quoted(table: str) -> Quoted:
    """The rows of a table by the name it has here."""
    if table not in TABLES:
        raise SettingsError(
            f"No table {table!r} is quoted{did_you_mean(table, TABLES)}. Quoted tables: {', '.join(TABLES)}."
        )
    return TABLES[table]


def quoted_rows(table: str, *more: str) -> tuple[ReportRow, ...]:
    """The same as rows of a report. Figures that further tables have of the same systems fill what the first leaves."""
    extra = [dict(quoted(name)) for name in more]
    rows = []
    for system, figures in quoted(table):
        merged: dict[str, float] = {}
        for part in (figures, *(table_figures.get(system, {}) for table_figures in extra)):
            merged = part | merged
        rows.append(
            ReportRow(system, {key: Cell(value) for key, value in merged.items()}, quoted=True, group=_group(system))
        )
    return tuple(rows)


def _group(system: str) -> str:
    return next((f"{SOURCE}: {kind}" for kind, systems in LEARNED_FROM.items() if system in systems), SOURCE)
