"""Where texts come from: arguments, a file, or standard input, one a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from refdec.errors import InputError


def texts_from(arguments: tuple[str, ...], file: Path | None) -> Iterator[str]:
    """The texts to work on, as they are; bytes that are no UTF-8 arrive as lone surrogates and are refused later."""
    if arguments and arguments != ("-",):
        if file is not None:
            raise InputError("Texts were given both as arguments and as a file. Choose one.")
        yield from arguments
    elif file is not None:
        try:
            stream = file.open(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise InputError(f"{file} cannot be read ({error.strerror}).") from error
        with stream:
            try:
                yield from _lines(stream)
            except OSError as error:
                raise InputError(f"{file} cannot be read ({error.strerror}).") from error
    elif arguments or not sys.stdin.isatty():
        with open(sys.stdin.fileno(), encoding="utf-8", errors="surrogateescape", closefd=False) as stream:
            yield from _lines(stream)
    else:
        raise InputError('Give a text: refdec paraphrase "How do I learn to cook?", or --file, or standard input.')


def _lines(stream: Iterator[str]) -> Iterator[str]:
    return (line.removesuffix("\n").removesuffix("\r") for line in stream)
