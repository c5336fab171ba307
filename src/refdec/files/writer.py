"""The common part of all writers of rows: opening a file or taking an open stream, and closing it.

Errors of the disk or the pipe are raised as they are, once. Knows no format.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from refdec.files.packed import open_packing

Sink = Path | BinaryIO


class TableWriter(ABC):
    """Writes rows in order. The file is whole once the writer is closed."""

    guarded = 0  # cells that got a ' in front, because a spreadsheet would have run them

    def __init__(self, sink: Sink) -> None:
        self._owned = True
        self._stream: BinaryIO
        if isinstance(sink, Path):
            self._stream = open_packing(sink)
        elif isinstance(sink, io.FileIO):  # may take less than it is given, as an unbuffered standard output does
            self._stream = open(sink.fileno(), "wb", closefd=False)  # noqa: SIM115
        else:
            self._stream = sink
            self._owned = False

    @abstractmethod
    def write(self, fields: Mapping[str, Any]) -> None:
        """Write a row by the names of its columns; a missing cell is null."""

    def flush(self) -> None:
        """Pass on what was written to readers of a pipe; a compressed file keeps a part for later."""
        self._stream.flush()

    def close(self) -> None:
        """Finish; a stream that was open before stays open."""
        if self._owned:
            self._stream.close()
        elif not self._stream.closed:
            self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            self.close()
            return
        with suppress(Exception):  # the first error says why
            self.close()
