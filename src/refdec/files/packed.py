"""Compressed files, read and written as streams; the ending of a file's name tells the kind.

A damaged file is always refused, unlike by the standard library's readers, which take damage after the first of several
joined streams for padding. What is written depends on the content alone. Knows nothing of what is in a file.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from refdec.errors import InputError, ModelError

PACKED = (".zst", ".gz", ".xz", ".bz2")
GZIP = 31  # zlib's word for the format of gzip; the header that it writes has no time in it
PIECE = 1024  # compressed bytes unpacked at a time: a thousand times as much may come out
BUFFER = 1 << 16


class DamagedError(InputError):
    """A compressed file is damaged, cut off, or not of the kind that its name says."""


class Kind(NamedTuple):
    """A kind of compression, with the objects that the standard library and zstandard have for it."""

    compressor: Callable[[], Any]
    decompressor: Callable[[], Any]  # of one stream
    refusal: type[Exception]  # of the decompressor


KINDS = {
    ".gz": Kind(lambda: zlib.compressobj(wbits=GZIP), lambda: zlib.decompressobj(GZIP), zlib.error),
    ".xz": Kind(lzma.LZMACompressor, lzma.LZMADecompressor, lzma.LZMAError),
    ".bz2": Kind(bz2.BZ2Compressor, bz2.BZ2Decompressor, OSError),
}


def is_packed(path: Path) -> bool:
    return path.suffix.lower() in PACKED


def open_packed(path: Path) -> BinaryIO:
    """The content of a file. Reading it raises DamagedError where the file is damaged or cut off."""
    if not is_packed(path):
        return path.open("rb")
    kind = _kind(path, "Reading", "unpack the file with zstd -d")
    return cast("BinaryIO", io.BufferedReader(_Unpacking(path, kind), BUFFER))


def open_packing(path: Path) -> BinaryIO:
    """A file to write content to. It is whole once it is closed; flushing passes on whole blocks only."""
    if not is_packed(path):
        return path.open("wb")
    kind = _kind(path, "Writing", "leave out .zst")
    return cast("BinaryIO", io.BufferedWriter(_Packing(path, kind), BUFFER))


class _Unpacking(io.RawIOBase):
    """One stream after the other, with nothing but zeros between them and at the end."""

    def __init__(self, path: Path, kind: Kind) -> None:
        self._path, self._kind = path, kind
        self._stream: Any = kind.decompressor()  # none once it has ended
        self._rest = b""  # bytes that were read beyond the end of a stream
        self._ready = memoryview(b"")
        self._file = path.open("rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._unpack():
            pass
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def _unpack(self) -> bool:
        """Unpack the next piece of the file; whether there was one."""
        piece = self._rest or self._file.read(PIECE)
        self._rest = b""
        if not piece:
            if self._stream is not None:
                raise self._damaged()
            return False
        if self._stream is None:
            piece = piece.lstrip(b"\0")
            if not piece:
                return True
            self._stream = self._kind.decompressor()
        try:
            self._ready = memoryview(self._stream.decompress(piece))
        except self._kind.refusal:
            raise self._damaged() from None
        if self._stream.eof:
            self._rest = self._stream.unused_data
            self._stream = None
        return True

    def _damaged(self) -> DamagedError:
        return DamagedError(f"{self._path} cannot be unpacked: it is damaged, cut off, or of another kind.")


class _Packing(io.RawIOBase):
    def __init__(self, path: Path, kind: Kind) -> None:
        self._stream = kind.compressor()
        self._file = path.open("wb")

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._file.write(self._stream.compress(content))
        return len(content)

    def flush(self) -> None:
        if not self._file.closed:  # closing flushes, too
            self._file.flush()

    def close(self) -> None:
        if self.closed:
            return
        try:
            with self._file:
                self._file.write(self._stream.flush())
        finally:
            super().close()


def _kind(path: Path, task: str, instead: str) -> Kind:
    """The kind of a file by the ending of its name."""
    ending = path.suffix.lower()
    if ending in KINDS:
        return KINDS[ending]
    try:
        from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError
    except ImportError:
        raise ModelError(
            f"{task} {path} needs a package that is not installed: pip install 'refdec[batch]' or "
            f"pip install 'refdec[evaluate]'. Or {instead}."
        ) from None
    compressor, decompressor = ZstdCompressor(write_checksum=True), ZstdDecompressor()
    return Kind(compressor.compressobj, decompressor.decompressobj, ZstdError)
