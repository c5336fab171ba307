"""How the tables of a report look on a terminal: values, and intervals where asked for; the rest is in its files."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table as Shown
from rich.text import Text

from refdec.evaluate.reports import cells
from refdec.evaluate.reports.report import Report, ReportTable

PIPED = 200
"""Characters per line where the output goes to no terminal."""


def show_report(report: Report, intervals: bool = False) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPED
    for section in report.sections:
        if isinstance(section, ReportTable):
            console.print(_shown(section, intervals))


def _shown(table: ReportTable, intervals: bool) -> Shown:
    shown = Shown(title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("", no_wrap=True)
    for column in table.columns:
        shown.add_column(cells.heading(column), justify="right")
    best = cells.best(table)
    for index, row in enumerate(table.rows):
        if all(cells.cell_of(row, column).value is None for column in table.columns):
            continue
        figures = []
        for column in table.columns:
            cell = cells.cell_of(row, column)
            style = "bold" if (index, column.key) in best else ""
            figure = Text(cells.number(cell.value, column.digits) + cell.mark, style)
            if intervals and (between := cells.interval(cell, column.digits)):
                figure.append(f"  {between}", "dim")
            figures.append(figure)
        name = f"{row.name} (quoted)" if row.quoted else f"{row.group}: {row.name}" if row.group else row.name
        shown.add_row(name, *figures, style="dim" if row.quoted else "")
    return shown
