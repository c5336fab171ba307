"""Cells with commas or tabs between them, after a line with the names of the columns. All cells are text.

Knows what a spreadsheet would run as a formula, and makes that a text in the columns that refdec fills.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from refdec.errors import InputError
from refdec.files.row import Column, Row
from refdec.files.source import Source, broken, lines, name_of
from refdec.files.values import text_of
from refdec.files.writer import Sink, TableWriter

LONGEST = 1 << 27  # characters of a cell: so a quote that never closes does not take in a whole large file
QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what OWASP warns of
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def table(source: Source, delimiter: str) -> tuple[list[str], Iterator[Row]]:
    """The names of the columns, and the rows below them. Blank lines are skipped."""
    records = _records(source, delimiter)
    for line, cells in records:
        names = [_checked(source, line, place, cell, cells) for place, cell in enumerate(cells, start=1)]
        return names, _rows(names, records)
    raise InputError(f"{name_of(source)} is empty. Its first line must have the names of the columns.")


class CsvWriter(TableWriter):
    """A line of names, then one record per row. In `guard` columns, a text that a spreadsheet would run gets a '."""

    def __init__(self, sink: Sink, columns: Sequence[Column], delimiter: str, guard: Collection[str]) -> None:
        super().__init__(sink)
        self._names = [column.name for column in columns]
        self._guard = guard
        self._cells = csv.writer(codecs.getwriter("utf-8")(self._stream), delimiter=delimiter, lineterminator="\r\n")
        self._cells.writerow([self._cell(name, name) for name in self._names])

    def write(self, fields: Mapping[str, Any]) -> None:
        self._cells.writerow([self._cell(name, fields.get(name)) for name in self._names])

    def _cell(self, name: str, value: Any) -> str:
        text = text_of(value)
        is_number = isinstance(value, int | float) or NUMBER.fullmatch(text)
        if name not in self._guard or not text.startswith(FORMULA) or is_number:
            return text
        self.guarded += 1
        return f"'{text}"


def _records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each record, and the line on which it begins. Bytes that are not UTF-8 become lone surrogates."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
    pending: list[str] = []  # lines of the record that is being read

    def feed() -> Iterator[str]:
        for _, line in lines(source):
            pending.append(line.decode(errors="surrogateescape"))
            yield pending[-1]

    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    while True:
        first = reader.line_num + 1
        pending.clear()
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _torn(source, first, reader.line_num, "".join(pending), delimiter, error) from None
        if cells is None:
            return
        if cells:
            yield first, cells


def _rows(names: list[str], records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for number, (line, cells) in enumerate(records, start=1):
        fields, error = dict(zip(names, cells, strict=False)), ""
        if len(cells) != len(names):
            error = f"It has {_count(len(cells), 'cell')}, and the header has {_count(len(names), 'name')}."
        if not _is_utf8("".join(cells)):
            place = next(place for place, cell in enumerate(cells, start=1) if not _is_utf8(cell))
            error = f"It is not UTF-8 (in cell {place})."
            fields = {
                name: cell.encode(errors="surrogateescape").decode(errors="replace") for name, cell in fields.items()
            }
        yield Row(number, line, fields, error)


def _checked(source: Source, line: int, place: int, name: str, names: list[str]) -> str:
    """A name of the header, unless it is bad."""
    if not name.strip():
        raise broken(source, line, f"name {place} in the header is empty. Give every column a name.")
    if not _is_utf8(name):
        raise broken(source, line, f"name {place} in the header is not UTF-8. Save the file as UTF-8.")
    if names.index(name) + 1 != place:
        raise broken(source, line, f"the header has the name {name!r} twice. Give every column a name of its own.")
    return name


def _torn(source: Source, first: int, last: int, record: str, delimiter: str, error: csv.Error) -> InputError:
    """The error of a record on these lines, after which nothing can be trusted."""
    if "expected after" in str(error):
        what = "text follows the closing quote of a cell. Put the cell in quotes, and each quote in it twice."
        return broken(source, last, what)
    if "new-line" in str(error):
        what = "a carriage return stands alone outside quotes. Put the cell in quotes, or end lines in line feeds."
        return broken(source, last, what)
    line = first + record.count("\n", 0, _open_quote(record, delimiter))
    if "unexpected end" in str(error):
        return broken(source, line, "a quote is opened here and never closed. A quote in a cell is written twice.")
    return broken(source, line, f"a cell of more than {LONGEST:,} characters begins here. Is its quote never closed?")


def _open_quote(record: str, delimiter: str) -> int:
    """The place where the last cell begins in a record that does not end."""
    place = 0
    while True:
        quoted = QUOTED.match(record, place)
        if quoted is None and record.startswith('"', place):
            return place
        following = record.find(delimiter, quoted.end() if quoted else place)
        if following < 0:
            return place
        place = following + 1


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
