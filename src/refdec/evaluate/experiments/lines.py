"""JSON lines, plain or compressed: found, read, and refused with the file, the line and what is wrong with it.

Knows nothing of data sets, nor of what a field means.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from refdec.errors import InputError
from refdec.files.packed import PACKED, open_packed

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Line:
    """The object on one line of a file. Its methods give a field, or say what is wrong with it."""

    path: Path
    number: int
    fields: dict[str, Any]

    def wrong(self, what: str) -> InputError:
        return InputError(f"{self.path}, line {self.number}: {what} The format is in docs/data.md.")

    def value(self, name: str) -> Any:
        if name not in self.fields:
            raise self.wrong(f'there is no "{name}".')
        return self.fields[name]

    def string(self, name: str) -> str:
        """A text, which may be empty."""
        return self._string(self.value(name), f'"{name}"')

    def text(self, name: str) -> str:
        """A text with something in it."""
        return self._text(self.value(name), f'"{name}"')

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, at least one, each with something in it."""
        value = self.value(name)
        if not isinstance(value, list):
            raise self.wrong(f'"{name}" must be a list of texts.')
        if not value:
            raise self.wrong(f'"{name}" is an empty list.')
        return tuple(self._text(item, f'item {place} of "{name}"') for place, item in enumerate(value, start=1))

    def whole(self, name: str, low: int, high: int) -> int:
        value = self.value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(f'"{name}" must be a whole number from {low} to {high}.')
        return value

    def real(self, name: str, low: float, high: float) -> float:
        value = self.value(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(f'"{name}" must be a number from {low:g} to {high:g}.')
        return float(value)

    def _string(self, value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise self.wrong(f"{name} must be a text.")
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: JSON can write it, a file or a model cannot
            raise self.wrong(f"{name} has half of a surrogate pair in it, which is not a character.") from None
        return value

    def _text(self, value: Any, name: str) -> str:
        text = self._string(value, name)
        if not text.strip():
            raise self.wrong(f"{name} is empty.")
        return text


def keyed(lines: Iterable[Line], key: Callable[[Line], Key]) -> Iterator[tuple[Key, Line]]:
    """Each line with its key; the same key on two lines is refused."""
    seen: dict[Key, int] = {}
    for line in lines:
        name = key(line)
        if name in seen:
            raise line.wrong(f"{_shown(name)} is on line {seen[name]} already.")
        seen[name] = line.number
        yield name, line


def _shown(name: Hashable) -> str:
    return " ".join(map(str, name)) if isinstance(name, tuple) else repr(name)


def find_file(path: Path) -> Path | None:
    """The file itself, or one that differs only in being compressed."""
    candidates = (path, *(path.with_name(path.name + ending) for ending in PACKED))
    return next((candidate for candidate in candidates if candidate.exists()), None)


def read_lines(path: Path) -> list[Line]:
    """The objects of an existing file; at least one."""
    lines = parse(path, read_content(path))
    if not lines:
        raise InputError(f"{path} is empty. The format is in docs/data.md.")
    return lines


def parse(path: Path, content: bytes) -> list[Line]:
    """One object per line. Blank lines are skipped, and counted in line numbers."""
    rows = content.removeprefix(codecs.BOM_UTF8).split(b"\n")
    return [_line(path, number, row) for number, row in enumerate(rows, start=1) if row.strip()]


def _line(path: Path, number: int, row: bytes) -> Line:
    line = Line(path, number, {})
    try:
        fields = json.loads(row.decode())
    except UnicodeDecodeError:
        raise line.wrong("it is not UTF-8.") from None
    except (ValueError, RecursionError):
        raise line.wrong("it is not JSON.") from None
    if not isinstance(fields, dict):
        raise line.wrong("it is not a JSON object.")
    return Line(path, number, fields)


def read_content(path: Path) -> bytes:
    """The content of a file, unpacked as its ending says."""
    try:
        with open_packed(path) as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
