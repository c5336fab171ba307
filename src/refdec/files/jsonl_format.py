"""JSON lines: one object per line, whose fields are the columns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refdec.files.row import Column, Row
from refdec.files.source import Source, lines
from refdec.files.text_format import not_utf8
from refdec.files.values import HALF, json_bytes
from refdec.files.writer import Sink, TableWriter

LEVELS = 100  # of nesting: far more than tables have, far less than Python refuses
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
TOO_DEEP = f"It is nested too deeply (more than {LEVELS} levels)."


def read(source: Source) -> Iterator[Row]:
    """Every line that is not blank is a row. Of a field that it has twice, the last counts."""
    number = 0
    for line, content in lines(source):
        if not content.isspace():
            number += 1
            yield _row(number, line, content)


class JsonlWriter(TableWriter):
    """One object per line, with every column."""

    def __init__(self, sink: Sink, columns: Sequence[Column]) -> None:
        super().__init__(sink)
        self._names = [column.name for column in columns]

    def write(self, fields: Mapping[str, Any]) -> None:
        self._stream.write(json_bytes({name: fields.get(name) for name in self._names}) + b"\n")


def _row(number: int, line: int, content: bytes) -> Row:
    try:
        fields = _decode(content.rstrip().decode())
    except UnicodeDecodeError as error:
        return Row(number, line, {}, not_utf8(error))
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        return Row(number, line, {}, f"It is not JSON ({what} at character {error.pos + 1:,}).")
    except ValueError as error:  # NaN, or a number with too many digits, on which Python adds advice after a semicolon
        what = str(error).partition(";")[0]
        return Row(number, line, {}, f"It is not JSON ({what}).")
    except RecursionError:
        return Row(number, line, {}, TOO_DEEP)
    if not isinstance(fields, dict):
        return Row(number, line, {}, "It is JSON, but no object.")
    if content.count(b"{") + content.count(b"[") > LEVELS and _levels(fields) > LEVELS:
        return Row(number, line, {}, TOO_DEEP)
    row = Row(number, line, fields)
    return _without_halves(row) if SURROGATE.search(content) and _is_halved(fields) else row


def _is_halved(value: Any) -> bool:
    """Whether an escape in a value stands for half of a surrogate pair."""
    return HALF.search(json.dumps(value, ensure_ascii=False)) is not None


def _without_halves(row: Row) -> Row:
    """A row without the fields that have such a half."""
    halved = [name for name, value in row.fields.items() if _is_halved([name, value])]
    fields = {name: value for name, value in row.fields.items() if name not in halved}
    name = HALF.sub("\ufffd", halved[0])
    return Row(row.number, row.line, fields, f'"{name}" has half of a surrogate pair, which is not a character.')


def _levels(fields: Any) -> int:
    """The depth of nested objects and lists, counted as far as LEVELS."""
    level, inside = 0, [fields]
    while inside and level <= LEVELS:
        level += 1
        inside = [
            item
            for outer in inside
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, dict | list)
        ]
    return level


def _real(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


_decode = json.JSONDecoder(parse_float=_real, parse_constant=_constant).decode
