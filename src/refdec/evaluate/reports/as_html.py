"""A report as one HTML document that asks nothing of any other file or host.

Complete without its script, which only sorts tables. Everything in a report is text here, never markup. Knows
nothing of where the document goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape
from importlib.resources import files
from itertools import groupby

from refdec.evaluate.reports import cells, prose
from refdec.evaluate.reports.plots import inline_svg
from refdec.evaluate.reports.report import Examples, Plot, Prose, Report, ReportColumn, ReportRow, ReportTable, Section
from refdec.page.document import document


def html(report: Report) -> str:
    """The whole document."""
    folder = files(__package__)
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    sections = "\n".join(_section(section, f"s{number}") for number, section in enumerate(report.sections, start=1))
    body = f"""<header>
<h1>{escape(report.title)}</h1>
{_blocks(report.intro)}
</header>
{_contents(report)}
<main>
{sections}
</main>
{_provenance(report)}"""
    return document(report.title, body, style, script)


def _contents(report: Report) -> str:
    named = [(number, item.title) for number, item in enumerate(report.sections, start=1) if item.title]
    if len(named) < 3:
        return ""
    links = "\n".join(f'<li><a href="#s{number}" dir="auto">{escape(title)}</a></li>' for number, title in named)
    return f'<nav class="contents" aria-label="Sections">\n<ol>\n{links}\n</ol>\n</nav>'


def _section(section: Section, name: str) -> str:
    label = f' aria-labelledby="{name}-title"' if section.title else ""
    title = f'<h2 id="{name}-title" dir="auto">{escape(section.title)}</h2>\n' if section.title else ""
    return f'<section id="{name}"{label}>\n{title}{_inside(section)}\n</section>'


def _inside(section: Section) -> str:
    match section:
        case ReportTable():
            return f"{_table(section)}\n{_legend(section)}{_note(section.note)}"
        case Plot():
            return f"{_plot(section)}{_note(section.note)}"
        case Examples():
            return f"{_examples(section)}{_note(section.note)}"
        case Prose():
            return f'<div class="prose">\n{_blocks(section.text)}\n</div>'


def _table(table: ReportTable) -> str:
    best = cells.best(table)
    head = "".join(_heading(column) for column in table.columns)
    body = ""
    for group, numbered in groupby(enumerate(table.rows), key=lambda item: item[1].group):
        rows = "".join(
            _row(row, [(column, (index, column.key) in best) for column in table.columns]) for index, row in numbered
        )
        body += f"<tbody>\n{_group(group, len(table.columns) + 1)}{rows}</tbody>\n"
    return _scroll(table.title, f'<table class="figures">\n<thead><tr><td></td>{head}</tr></thead>\n{body}</table>')


def _heading(column: ReportColumn) -> str:
    first = "ascending" if column.better == "lower" else "descending"  # best first, once the script can sort
    return f'<th scope="col" class="number" data-first="{first}">{escape(cells.heading(column))}</th>'


def _group(name: str, width: int) -> str:
    if not name:
        return ""
    return f'<tr class="group"><th scope="rowgroup" colspan="{width}" dir="auto">{escape(name)}</th></tr>\n'


def _row(row: ReportRow, columns: Sequence[tuple[ReportColumn, bool]]) -> str:
    """The columns come with whether the figure there is the best."""
    kind, tag = (' class="quoted"', ' <span class="tag">quoted</span>') if row.quoted else ("", "")
    figures = "".join(_figure(row, column, bold) for column, bold in columns)
    return f'<tr{kind}><th scope="row"><span dir="auto">{escape(row.name)}</span>{tag}</th>{figures}</tr>\n'


def _figure(row: ReportRow, column: ReportColumn, bold: bool) -> str:
    cell = cells.cell_of(row, column)
    text = cells.number(cell.value, column.digits)
    value = "" if text == cells.NOTHING else f' data-value="{cell.value}"'
    shown = f"<b>{text}</b>" if bold else text
    mark = f'<span class="mark">{escape(cell.mark)}</span>' if cell.mark else ""
    between = cells.interval(cell, column.digits)
    small = f' <span class="interval">{between}</span>' if between else ""
    return f'<td class="number"{value}>{shown}{mark}{small}</td>'


def _legend(table: ReportTable) -> str:
    parts = []
    if cells.best(table):
        parts.append("<b>bold</b>: best of the measured rows")
    if cells.has_intervals(table):
        parts.append('<span class="interval">small</span>: interval')
    if cells.has_quoted(table):
        parts.append('<span class="tag">quoted</span> as published, not measured here')
    return f'<p class="legend">{" · ".join(parts)}</p>\n' if parts else ""


def _plot(plot: Plot) -> str:
    rows = "\n".join(
        f'<tr><th scope="row" dir="auto">{escape(series.name)}</th><td class="number">{point.x:g}</td>'
        f'<td class="number">{point.y:.5g}</td><td class="number">{_ends(point.low, point.high)}</td>'
        f'<td dir="auto">{escape(point.label)}</td></tr>'
        for series in plot.series
        for point in series.points
    )
    head = (
        f'<th scope="col">curve</th><th scope="col" class="number">{escape(plot.x)}</th>'
        f'<th scope="col" class="number">{escape(plot.y)}</th><th scope="col" class="number">interval</th><td></td>'
    )
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f"""<figure>
{_scroll(plot.title, inline_svg(plot))}
</figure>
<details>
<summary>The points</summary>
{_scroll(f"Points of {plot.title}", table)}
</details>
"""


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.5g} to {high:.5g}"


def _examples(examples: Examples) -> str:
    head = "".join(f'<th scope="col" dir="auto">{escape(name)}</th>' for name in examples.columns)
    rows = "\n".join(f"<tr>{_example(examples, row)}</tr>" for row in examples.rows)
    table = f'<table class="examples">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'
    legend = f'<p class="legend"><mark>marked</mark>: not in {escape(examples.columns[0])}</p>\n'
    return _scroll(examples.title, table) + ("\n" + legend if examples.compared and len(examples.columns) > 1 else "")


def _example(examples: Examples, row: Sequence[str]) -> str:
    texts = [escape(row[0]), *(_compared(row[0], text) if examples.compared else escape(text) for text in row[1:])]
    return "".join(
        f'<td data-column="{escape(name)}" dir="auto">{text or "<i>nothing</i>"}</td>'
        for name, text in zip(examples.columns, texts, strict=True)
    )


def _compared(source: str, text: str) -> str:
    return "".join(f"<mark>{escape(piece)}</mark>" if new else escape(piece) for piece, new in changes(source, text))


def _provenance(report: Report) -> str:
    if not report.provenance:
        return ""
    facts = "\n".join(
        f'<div><dt>{escape(name)}</dt><dd dir="auto">{escape(value)}</dd></div>' for name, value in report.provenance
    )
    return f"<footer>\n<h2>How this was made</h2>\n<dl>\n{facts}\n</dl>\n</footer>"


def _scroll(label: str, inside: str) -> str:
    """A box that scrolls by itself where the screen is too narrow for what is in it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">\n{inside}\n</div>'


def _note(text: str) -> str:
    return f'\n<div class="note">\n{_blocks(text)}\n</div>' if text.strip() else ""


def _blocks(text: str) -> str:
    parts = []
    for block in prose.blocks(text):
        if isinstance(block, prose.Paragraph):
            parts.append(f'<p dir="auto">{_spans(block.spans)}</p>')
        else:
            items = "\n".join(f'<li dir="auto">{_spans(item)}</li>' for item in block.items)
            parts.append(f"<ul>\n{items}\n</ul>")
    return "\n".join(parts)


def _spans(spans: Sequence[prose.Span]) -> str:
    return "".join(f"<code>{escape(span.text)}</code>" if span.code else escape(span.text) for span in spans)


def changes(source: str, text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether the source lacks it there. Case does not count."""
    source_words, words = _compared_words(source), _compared_words(text)
    matcher = SequenceMatcher(None, [key for key, _ in source_words], [key for key, _ in words], autojunk=False)
    kept = {place for match in matcher.get_matching_blocks() for place in range(match.b, match.b + match.size)}
    pieces: list[tuple[str, bool]] = []
    for index, (_, piece) in enumerate(words):
        new = index not in kept
        space = piece[: len(piece) - len(piece.lstrip())]
        if space:
            pieces.append((space, new and bool(pieces) and pieces[-1][1]))
        pieces.append((piece.lstrip(), new))
    for new, run in groupby(pieces, key=lambda piece: piece[1]):
        yield "".join(piece for piece, _ in run), new


def _compared_words(text: str) -> list[tuple[str, str]]:
    """Words and single signs, each as it is compared and as it stands, with the space before it."""
    pieces = re.findall(r"\s*(?:\w+(?:['’]\w+)*|[^\w\s])|\s+\Z", text)
    return [(piece.strip().lower().replace("’", "'"), piece) for piece in pieces]
