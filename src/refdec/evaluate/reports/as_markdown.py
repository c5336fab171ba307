"""A report as Markdown for a repository: tables, links to pictures, and every text escaped.

Writes no file. The pictures are those of `refdec.evaluate.reports.plots`, in the folder that the caller names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape as escape_html
from urllib.parse import quote

from refdec.evaluate.reports import cells, prose
from refdec.evaluate.reports.report import Examples, Plot, Prose, Report, ReportColumn, ReportRow, ReportTable, Section

MOST_COLUMNS = 6  # with their intervals beside them; wider tables have the intervals in a table of their own


def markdown(report: Report, pictures: str) -> str:
    """The whole document; `pictures` is the folder of the plots as seen from it."""
    parts = [f"# {_text(report.title)}", *_blocks(report.intro)]
    for section in report.sections:
        if section.title:
            parts.append(f"## {_text(section.title)}")
        parts += _section(section, pictures)
    if report.provenance:
        parts.append("## How this was made")
        parts.append("\n".join(f"- {_start(name)}: {_code(value)}" for name, value in report.provenance))
    return "\n\n".join(parts).encode("utf-8", "replace").decode() + "\n"


def _section(section: Section, pictures: str) -> list[str]:
    match section:
        case ReportTable():
            return [*_table(section), *_blocks(section.note)]
        case Plot():
            place = quote(f"{pictures.rstrip('/')}/" if pictures else "", safe="/.:")
            return [f"![{_text(section.title)}]({place}{section.name}.svg)", *_blocks(section.note)]
        case Examples():
            rows = [[_text(text) for text in row] for row in section.rows]
            return [_lines([_text(title) for title in section.columns], rows, "---"), *_blocks(section.note)]
        case Prose():
            return _blocks(section.text)


def _table(table: ReportTable) -> list[str]:
    shown = [_values(table, apart=_wide(table)), *_legend(table)]
    if not (_wide(table) and cells.has_intervals(table)):
        return shown
    return [
        *shown,
        f"<details>\n<summary>{escape_html(_one_line(f'Intervals of {table.title}'))}</summary>",
        _intervals(table),
        "</details>",
    ]


def _wide(table: ReportTable) -> bool:
    return len(table.columns) > MOST_COLUMNS


def _values(table: ReportTable, apart: bool) -> str:
    """The figures, and beside them their intervals unless those stand apart."""
    best = cells.best(table)
    rows = []
    group = ""
    for index, row in enumerate(table.rows):
        if row.group != group:
            group = row.group
            rows.append([f"**{_text(group)}**" if group else "", *("" for _ in table.columns)])
        figures = [_figure(row, column, (index, column.key) in best, apart) for column in table.columns]
        rows.append([_name(row), *figures])
    return _lines(["", *(_text(cells.heading(column)) for column in table.columns)], rows, "---:")


def _intervals(table: ReportTable) -> str:
    rows = []
    for row in table.rows:
        intervals = [cells.interval(cells.cell_of(row, column), column.digits) for column in table.columns]
        if any(intervals):
            rows.append([_name(row), *intervals])
    return _lines(["", *(_text(column.title) for column in table.columns)], rows, "---:")


def _figure(row: ReportRow, column: ReportColumn, bold: bool, apart: bool) -> str:
    cell = cells.cell_of(row, column)
    text = cells.number(cell.value, column.digits) + _text(cell.mark)
    around = "**" if bold else "*" if row.quoted and text != cells.NOTHING else ""
    between = "" if apart else cells.interval(cell, column.digits)
    return f"{around}{text}{around}" + (f" ({between})" if between else "")


def _name(row: ReportRow) -> str:
    name = _text(row.name)
    return f"*{name}* (quoted)" if row.quoted and name else name


def _legend(table: ReportTable) -> list[str]:
    parts = []
    if cells.best(table):
        parts.append("Bold: best of the measured rows.")
    if cells.has_quoted(table):
        parts.append("*Italics*: quoted as published, not measured here.")
    if cells.has_intervals(table) and not _wide(table):
        parts.append("In brackets: the interval.")
    return [" ".join(parts)] if parts else []


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str) -> str:
    """A table whose first column is aligned to the left, and the others as told."""
    rule = ["---", *(kind for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def _blocks(text: str) -> list[str]:
    parts = []
    for block in prose.blocks(text):
        if isinstance(block, prose.Paragraph):
            parts.append(_spans(block.spans))
        else:
            parts.append("\n".join(f"- {_spans(item)}" for item in block.items))
    return parts


def _spans(spans: Sequence[prose.Span]) -> str:
    first, *rest = [_code(span.text) if span.code else _text(span.text, strip=False) for span in spans]
    return _quiet(first) + "".join(rest)


def _start(text: str) -> str:
    return _quiet(_text(text))


def _quiet(text: str) -> str:
    """Escapes what would start a list or draw a rule at the start of a line."""
    return re.sub(r"^(\d*)([-+](?=[\s-]|$)|[.)](?=\s|$))", r"\1\\\2", text)


def _text(text: str, strip: bool = True) -> str:
    """On one line and never markup."""
    line = re.sub(r"\s+", " ", text)
    return re.sub(r"([\\`*_{}\[\]|~#$])", r"\\\1", escape_html(line.strip() if strip else line, quote=False))


def _code(text: str) -> str:
    line = _one_line(text)
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{space}{line}{space}{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
