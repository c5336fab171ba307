"""The source of rows: a file, compressed or not, or an open stream. Gives its lines.

An error names the last line that could be read. Knows nothing of what a line means.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from refdec.errors import InputError
from refdec.files.packed import DamagedError, open_packed

Source = Path | BinaryIO

FOREIGN = {
    rb"\x1f\x8b\x08": "it is compressed with gzip: give it a name that ends in .gz, or unpack it.",
    rb"\xfd7zXZ\0": "it is compressed with xz: give it a name that ends in .xz, or unpack it.",
    rb"BZh[1-9]1AY&SY": "it is compressed with bzip2: give it a name that ends in .bz2, or unpack it.",
    rb"\x28\xb5\x2f\xfd": "it is compressed with zstd: give it a name that ends in .zst, or unpack it.",
    rb"\xff\xfe|\xfe\xff": "it is UTF-16. Save it as UTF-8.",
}
"""First bytes of files that cannot be read as lines, and what to do about each."""


def name_of(source: Source) -> str:
    return str(source) if isinstance(source, Path) else "standard input"


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """The bytes of a source; a stream that was open before stays open."""
    if isinstance(source, Path):
        with open_packed(source) as stream:
            yield stream
    else:
        yield source


def lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Each line with its number, with its line break and without the byte order mark of UTF-8."""
    number = 0
    try:
        with opened(source) as stream:
            for line in stream:
                if number == 0:
                    _refuse_foreign(source, line)
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line:
                    number += 1
                    yield number, line
    except DamagedError:
        if number == 0:
            raise
        raise InputError(
            f"{name_of(source)} cannot be unpacked after line {number:,}: it is damaged or cut off there."
        ) from None
    except OSError as error:
        raise unreadable(source, error) from error


def unreadable(source: Source, error: OSError) -> InputError:
    return InputError(f"{name_of(source)} cannot be read ({error.strerror or error}).")


def broken(source: Source, line: int, what: str) -> InputError:
    return InputError(f"{name_of(source)}, line {line:,}: {what}")


def _refuse_foreign(source: Source, start: bytes) -> None:
    for pattern, what in FOREIGN.items():
        if re.match(pattern, start):
            raise broken(source, 1, what)
