"""Where texts come from: arguments, a file, or standard input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from refdec.errors import InputError

STANDARD = "-"  # the name of standard input or output on the command line
STANDARD_INPUT = Path(STANDARD)


@dataclass(frozen=True)
class Origin:
    """Where an input stands; an argument has no line number."""

    line: int = 0
    file: Path | None = None

    def __str__(self) -> str:
        """The beginning of an error message."""
        if not self.line:
            return ""
        name = "standard input" if self.file is None or self.file == STANDARD_INPUT else self.file.name
        return f"line {self.line} of {name}: "


ARGUMENT = Origin()


def texts_from(arguments: tuple[str, ...], file: Path | None, example: str) -> Iterator[tuple[Origin, str]]:
    """The texts to work on, as they are; a file and standard input have one text per line."""
    if _are_texts(arguments, file):
        yield from ((ARGUMENT, text) for text in arguments)
    else:
        with _opened(arguments, file, example) as stream:
            yield from numbered_lines(stream, file)


def numbered_lines(stream: Iterable[str], file: Path | None) -> Iterator[tuple[Origin, str]]:
    for number, line in enumerate(stream, start=1):
        yield Origin(number, file), line.removesuffix("\n").removesuffix("\r")


def whole_text(argument: str | None, file: Path | None, example: str) -> str:
    """The one text to work on, with all its lines."""
    arguments = () if argument is None else (argument,)
    if argument is not None and _are_texts(arguments, file):
        return argument
    with _opened(arguments, file, example) as stream:
        return stream.read()


@dataclass(frozen=True)
class TextPair:
    """A reference and a candidate, or what is wrong with the line that should have both."""

    origin: Origin
    reference: str = ""
    candidate: str = ""
    error: str = ""


def pairs_from(texts: tuple[str, ...], file: Path | None, example: str) -> Iterator[TextPair]:
    """Pairs of texts: a reference and its candidates as arguments, or a file with one pair per line.

    A line has two texts with a tab between them, or a JSON object with both.
    """
    if _are_texts(texts, file):
        if len(texts) == 1:
            raise InputError(f"There is a reference and no candidate. Give both: {example}.")
        yield from (TextPair(ARGUMENT, texts[0], text) for text in texts[1:])
        return
    for origin, line in texts_from((), file, example):
        if origin.line > 1 or line.lower() != "reference\tcandidate":  # the names of the columns
            yield _pair(origin, line)


def _pair(origin: Origin, line: str) -> TextPair:
    if line.startswith("{"):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, dict):
            reference, candidate = content.get("reference"), content.get("candidate")
            if isinstance(reference, str) and isinstance(candidate, str):
                return TextPair(origin, reference, candidate)
            return TextPair(origin, error='The object needs two texts, "reference" and "candidate".')
    texts = line.split("\t")
    if len(texts) == 2:
        return TextPair(origin, *texts)
    fault = f"It has {len(texts) - 1} tabs" if len(texts) > 2 else "It has no tab" if line else "It is empty"
    return TextPair(origin, error=f"{fault}. Give a reference, a tab and a candidate, or a JSON object with both.")


def _are_texts(arguments: tuple[str, ...], file: Path | None) -> bool:
    """Whether the arguments are the texts; refuses a file beside them, and names of files in their place."""
    if not arguments or arguments == (STANDARD,):
        return False
    if file is not None:
        raise InputError("Texts were given both as arguments and as a file. Choose one.")
    if all(map(os.path.isfile, arguments)):
        name = arguments[0]
        raise InputError(
            f"{name} is the name of a file. Did you mean --file {name}? If the name itself is the text, pipe it in."
        )
    return True


@contextmanager
def _opened(arguments: tuple[str, ...], file: Path | None, example: str) -> Iterator[TextIO]:
    """The file as text, or standard input where no file is named and something is piped in.

    Bytes that are not UTF-8 become lone surrogates, which are refused later; lines keep \\r.
    """
    if file is None and not arguments and (sys.stdin is None or sys.stdin.isatty()):
        raise InputError(f"Give a text: {example}, or --file, or standard input.")
    path = file or STANDARD_INPUT
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
