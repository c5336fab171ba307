"""Parquet, a few rows at a time. Columns of the input keep their types, to the nanosecond.

Errors of pyarrow are raised with the file and the place. The package is needed only here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from refdec.errors import InputError, ModelError
from refdec.files.row import Column, Row
from refdec.files.source import Source, name_of, opened, unreadable
from refdec.files.values import json_bytes, text_of
from refdec.files.writer import Sink, TableWriter

BATCH = 256  # rows that are read at a time
BUFFER = 1 << 20  # bytes of a column that are read at a time
GROUP_ROWS, GROUP_BYTES = 1 << 16, 1 << 25  # after either of which a row group is written
NOT_UTF8 = object()


def read(source: Source) -> Iterator[Row]:
    number = 0
    with _file(source) as file:
        for group in range(file.num_row_groups):
            end = number + file.metadata.row_group(group).num_rows
            for batch in _batches(source, file, group, number):
                yield from _rows(number, batch)
                number += batch.num_rows
            if number != end:
                raise _damaged(source, group, number, "rows are missing")


def columns(source: Source) -> tuple[int, tuple[Column, ...]]:
    """The number of rows, and the columns with their types."""
    with _file(source) as file:
        columns = tuple(Column(field.name, _kind(field.type), field.type) for field in file.schema_arrow)
        return file.metadata.num_rows, columns


class ParquetWriter(TableWriter):
    """Writes row groups of bounded size. Nobody can read half of such a file, so flushing does nothing."""

    def __init__(self, sink: Sink, columns: Sequence[Column]) -> None:
        pa, parquet = _packages("Writing Parquet")
        types = [_type(pa, column.kind) if column.arrow is None else column.arrow for column in columns]
        super().__init__(sink)
        self._pa = pa
        self._columns = columns
        self._schema = pa.schema(zip([column.name for column in columns], types, strict=True))
        self._cells: list[list[Any]] = [[] for _ in columns]
        self._rows = self._bytes = 0  # that are waiting
        self._file = parquet.ParquetWriter(self._stream, self._schema, compression="zstd", write_page_checksum=True)

    def write(self, fields: Mapping[str, Any]) -> None:
        for column, cells in zip(self._columns, self._cells, strict=True):
            value = fields.get(column.name)
            cells.append(value if column.arrow is not None else _as_text(column.kind, value))
            self._bytes += _size(cells[-1])
        self._rows += 1
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write_group()

    def flush(self) -> None:
        pass

    def close(self) -> None:
        try:
            if self._file.is_open and self._rows:
                self._write_group()
            self._file.close()
        finally:
            self._file.is_open = False  # else pyarrow tries again when the object is freed
            super().close()

    def _write_group(self) -> None:
        arrays = [self._array(cells, field.type) for cells, field in zip(self._cells, self._schema, strict=True)]
        self._cells = [[] for _ in self._columns]
        self._rows = self._bytes = 0
        self._file.write_table(self._pa.Table.from_arrays(arrays, schema=self._schema))

    def _array(self, cells: list[Any], type: Any) -> Any:
        """The cells of a column; a cell of another type is null."""
        try:
            return self._pa.array(cells, type)
        except (ValueError, TypeError, OverflowError, self._pa.ArrowException):
            return self._pa.array([cell if self._fits(cell, type) else None for cell in cells], type)

    def _fits(self, cell: Any, type: Any) -> bool:
        try:
            self._pa.array([cell], type)
        except (ValueError, TypeError, OverflowError, self._pa.ArrowException):
            return False
        return True


def _packages(task: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ModelError(f"{task} needs a package that is not installed: pip install 'refdec[batch]'.") from None
    return pyarrow, parquet


@contextmanager
def _file(source: Source) -> Iterator[Any]:
    pa, parquet = _packages(f"Reading {name_of(source)}")
    try:
        with opened(source) as stream:
            if not stream.seekable():
                raise InputError(
                    f"{name_of(source)} is a pipe or compressed, and Parquet is read from its end. Give a plain file."
                )
            try:
                file = parquet.ParquetFile(stream, buffer_size=BUFFER, page_checksum_verification=True)
            except (OSError, ValueError, pa.ArrowException) as error:
                raise InputError(f"{name_of(source)} is damaged, cut off, or no Parquet ({_first(error)}).") from None
            _check_names(source, file.schema_arrow.names)
            yield file
    except OSError as error:
        raise unreadable(source, error) from error


def _check_names(source: Source, names: list[str]) -> None:
    if not names:
        raise InputError(f"{name_of(source)} has no columns.")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name_of(source)} has the column {name!r} twice. Give every column a name of its own.")


def _batches(source: Source, file: Any, group: int, number: int) -> Iterator[Any]:
    """The rows of a row group, which begins after row `number` of the file."""
    import pyarrow as pa

    try:
        for batch in file.iter_batches(BATCH, row_groups=[group], use_threads=False):
            yield batch
            number += batch.num_rows
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged(source, group, number, _first(error)) from None


def _damaged(source: Source, group: int, number: int, what: str) -> InputError:
    return InputError(f"{name_of(source)}, row group {group + 1:,}: it is damaged after row {number:,} ({what}).")


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _rows(number: int, batch: Any) -> Iterator[Row]:
    names = batch.schema.names
    for place, cells in enumerate(zip(*map(_cells, batch.columns), strict=True), start=number + 1):
        fields = dict(zip(names, cells, strict=True))
        bad = next((name for name, cell in fields.items() if cell is NOT_UTF8), None)
        if bad is None:
            yield Row(place, place, fields)
        else:
            whole = {name: cell for name, cell in fields.items() if cell is not NOT_UTF8}
            yield Row(place, place, whole, f'It is not UTF-8 (in "{bad}").')


def _cells(array: Any) -> list[Any]:
    """Python's values, and Arrow's own where Python has no exact ones."""
    if not _is_exact(array.type):
        return [cell if cell.is_valid else None for cell in array]
    try:
        cells: list[Any] = array.to_pylist()
    except UnicodeDecodeError:
        return [_cell(cell) for cell in array]
    return cells


def _cell(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return NOT_UTF8


def _is_exact(type: Any) -> bool:
    """Whether Python has all values of a type: not for nanoseconds, far years, and extension types."""
    import pyarrow as pa

    if pa.types.is_dictionary(type):
        return _is_exact(type.value_type)
    if pa.types.is_nested(type):
        return all(_is_exact(type.field(place).type) for place in range(type.num_fields))
    return not pa.types.is_temporal(type) and not isinstance(type, pa.BaseExtensionType)


def _kind(type: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(type):
        return _kind(type.value_type)
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return "text"
    if types.is_boolean(type):
        return "boolean"
    if types.is_integer(type):
        return "integer"
    return "number" if types.is_floating(type) else "json"


def _type(pa: Any, kind: str) -> Any:
    return {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}.get(kind, pa.string())


def _as_text(kind: str, value: Any) -> Any:
    """A value as text, if its column has text or JSON."""
    if value is None or kind not in ("text", "json"):
        return value
    return text_of(value) if kind == "text" else json_bytes(value).decode()


def _size(cell: Any) -> int:
    """The approximate size of a cell in bytes."""
    if isinstance(cell, str | bytes):
        return len(cell)
    if isinstance(cell, dict):
        return sum(map(_size, cell.values()))
    return sum(map(_size, cell)) if isinstance(cell, list | tuple) else 8
