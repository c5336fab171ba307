"""The formats of tables: their names and endings, and reading and writing each of them as a stream.

A bad row is given with its error, and reading goes on; a file that cannot be read any further is refused with its name
and the place. Knows nothing of tasks, nor of what a column is for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refdec.errors import InputError
from refdec.files import csv_format, jsonl_format, parquet_format, text_format
from refdec.files.packed import PACKED, is_packed
from refdec.files.row import Column, ColumnKinds, Row
from refdec.files.source import Source
from refdec.files.writer import Sink, TableWriter
from refdec.settings import did_you_mean

ENDINGS = {
    "text": (".txt", ".text"),
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
}
BY_ENDING = {ending: name for name, endings in ENDINGS.items() for ending in endings}
FORMATS: tuple[str, ...] = tuple(ENDINGS)
DELIMITERS = {"csv": ",", "tsv": "\t"}
STEP = 10_000  # rows between two reports of progress


@dataclass(frozen=True, slots=True)
class Look:
    """The rows and columns of a table."""

    rows: int  # bad ones too
    bad: int
    first_bad: Row | None
    columns: tuple[Column, ...]  # in the order in which they appear


def format_of(path: Path, given: str | None) -> str:
    """The format of a file: the given one, or that of the ending of its name, compressed or not."""
    if given is not None and given not in FORMATS:
        raise InputError(f"There is no format {given!r}{did_you_mean(given, FORMATS)}. Formats: {', '.join(FORMATS)}.")
    name = given or _by_name(path)
    if name == "parquet" and is_packed(path):
        raise InputError(f"{path} is compressed as a whole, and Parquet is compressed inside. Leave out {path.suffix}.")
    return name


def read(source: Source, format: str) -> Iterator[Row]:
    """The rows of a file or of a stream, one after the other. The file is opened with the first row."""
    yield from _table(source, format)[1]


def columns(source: Source, format: str, step: Callable[[int], None] = lambda _: None) -> Look:
    """The rows and columns of a table, which is read once from end to end; of Parquet only its metadata is read."""
    if format == "parquet":
        rows, typed = parquet_format.columns(source)
        return Look(rows, 0, None, typed)
    names, table = _table(source, format)
    kinds = ColumnKinds(names)
    rows = bad = 0
    first_bad = None
    for row in table:
        rows += 1
        kinds.note(row.fields)
        if row.error:
            bad += 1
            first_bad = first_bad or row
        if rows % STEP == 0:
            step(rows)
    return Look(rows, bad, first_bad, kinds.columns())


def _table(source: Source, format: str) -> tuple[Sequence[str], Iterator[Row]]:
    """The columns that a table has even without rows, if they are known before the rows are read, and the rows."""
    match format:
        case "text":
            return [text_format.COLUMN], text_format.read(source)
        case "jsonl":
            return [], jsonl_format.read(source)
        case "parquet":
            return [], parquet_format.read(source)
    return csv_format.table(source, DELIMITERS[format])


def writer(
    sink: Sink, format: str, columns: Sequence[Column], *, guard: Collection[str] = (), best: str = ""
) -> TableWriter:
    """A writer of rows with these columns to a file or to a stream.

    Text has one column only, the `best`. In `guard` columns of CSV and TSV, no cell is one that a spreadsheet runs.
    """
    match format:
        case "text":
            return text_format.TextWriter(sink, best)
        case "jsonl":
            return jsonl_format.JsonlWriter(sink, columns)
        case "parquet":
            return parquet_format.ParquetWriter(sink, columns)
    return csv_format.CsvWriter(sink, columns, DELIMITERS[format], guard)


def ending_of(path: Path) -> str:
    """The ending that says the format, without that of a compression."""
    return (path.with_suffix("") if is_packed(path) else path).suffix.lower()


def _by_name(path: Path) -> str:
    """The format of a file by the ending of its name."""
    ending = ending_of(path)
    if ending in BY_ENDING:
        return BY_ENDING[ending]
    problem = f"ends in {ending!r}{did_you_mean(ending, BY_ENDING)}" if ending else "has no ending"
    raise InputError(
        f"The format of {path} is not known: its name {problem}. Names end in {', '.join(BY_ENDING)}, compressed also "
        f"in {', '.join(PACKED)}. Or say which format it has: {', '.join(FORMATS)}."
    )
