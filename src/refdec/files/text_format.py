"""Plain text: one text per line, in a single column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from refdec.files.row import Row
from refdec.files.source import Source, lines
from refdec.files.values import text_of
from refdec.files.writer import Sink, TableWriter

COLUMN = "text"
BREAK = re.compile(r"\r\n|\r|\n")


def read(source: Source) -> Iterator[Row]:
    """Every line is a row, empty ones too, so that the output has the same lines."""
    for number, line in lines(source):
        content = line.removesuffix(b"\n").removesuffix(b"\r") if line.endswith(b"\n") else line
        try:
            yield Row(number, number, {COLUMN: content.decode()})
        except UnicodeDecodeError as error:
            yield Row(number, number, {COLUMN: content.decode(errors="replace")}, not_utf8(error))


def not_utf8(error: UnicodeDecodeError) -> str:
    return f"It is not UTF-8 (byte {error.start + 1:,} of the line is 0x{error.object[error.start]:02x})."


class TextWriter(TableWriter):
    """One line per row: the text of one column, with spaces for line breaks."""

    def __init__(self, sink: Sink, column: str) -> None:
        super().__init__(sink)
        self._column = column

    def write(self, fields: Mapping[str, Any]) -> None:
        self._stream.write(BREAK.sub(" ", text_of(fields.get(self._column))).encode() + b"\n")
