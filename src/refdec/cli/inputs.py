"""Where texts come from: arguments, a file, or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from refdec.errors import InputError

STANDARD_INPUT = Path("-")


def texts_from(arguments: tuple[str, ...], file: Path | None, example: str) -> Iterator[str]:
    """The texts to work on, as they are; those of a file or of standard input stand one a line."""
    if arguments and arguments != ("-",):
        _only_one_source(file)
        yield from arguments
    else:
        with _opened(_path(arguments, file, example)) as stream:
            yield from _lines(stream)


def whole_text(argument: str | None, file: Path | None, example: str) -> str:
    """The one text to work on, with all its lines."""
    if argument is not None and argument != "-":
        _only_one_source(file)
        return argument
    with _opened(_path((argument,) if argument else (), file, example)) as stream:
        return stream.read()


@dataclass(frozen=True)
class Row:
    """A line with a reference and a candidate, or what is wrong with it."""

    number: int
    reference: str = ""
    candidate: str = ""
    error: str = ""


def pairs_from(file: Path | None, example: str) -> Iterator[Row]:
    """Rows of a file or of standard input: two texts with a tab between them, or a JSON object with both."""
    with _opened(_path((), file, example)) as stream:
        for number, line in enumerate(_lines(stream), start=1):
            if number > 1 or line.lower() != "reference\tcandidate":  # the names of the columns
                yield _row(number, line)


def _row(number: int, line: str) -> Row:
    if line.startswith("{"):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, dict):
            reference, candidate = content.get("reference"), content.get("candidate")
            if isinstance(reference, str) and isinstance(candidate, str):
                return Row(number, reference, candidate)
            return Row(number, error='The object needs two texts, "reference" and "candidate".')
    texts = line.split("\t")
    if len(texts) == 2:
        return Row(number, *texts)
    found = f"It has {len(texts) - 1} tabs" if len(texts) > 2 else "It has no tab" if line else "It is empty"
    return Row(number, error=f"{found}. Give a reference, a tab and a candidate, or a JSON object with both.")


def _only_one_source(file: Path | None) -> None:
    if file is not None:
        raise InputError("Texts were given both as arguments and as a file. Choose one.")


def _path(arguments: tuple[str, ...], file: Path | None, example: str) -> Path:
    """The file to read, standard input where none is named and something is piped into it."""
    if file is not None:
        return file
    if not arguments and (sys.stdin is None or sys.stdin.isatty()):
        raise InputError(f"Give a text: {example}, or --file, or standard input.")
    return STANDARD_INPUT


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """A file as text; bytes that are no UTF-8 arrive as lone surrogates and are refused later, and lines keep \\r."""
    standard = path == STANDARD_INPUT and sys.stdin is not None
    try:
        with open(
            sys.stdin.fileno() if standard else path,
            encoding="utf-8",
            errors="surrogateescape",
            newline="\n",
            closefd=not standard,
        ) as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def _lines(stream: Iterator[str]) -> Iterator[str]:
    return (line.removesuffix("\n").removesuffix("\r") for line in stream)
