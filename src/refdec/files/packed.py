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
from typing import Any, BinaryIO, Protocol, cast

from refdec.errors import InputError, ModelError

PACKED = (".zst", ".gz", ".xz", ".bz2")
GZIP = 31  # zlib's word for the format of gzip; the header that it writes has no time in it
PIECE = 1024  # compressed bytes unpacked at a time: a thousand times as much may come out
BUFFER = 1 << 16


class DamagedError(InputError):
    """A compressed file is damaged, cut off, or not of the kind that its name says."""


class Compressor(Protocol):
    def compress(self, data: Any, /) -> bytes: ...

    def flush(self) -> bytes: ...


class Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def is_packed(path: Path) -> bool:
    return path.suffix.lower() in PACKED


def open_packed(path: Path) -> BinaryIO:
    """The content of a file. Reading it raises DamagedError where the file is damaged or cut off."""
    if not is_packed(path):
        return path.open("rb")
    make, refusal = _decompressor(path)
    return cast("BinaryIO", io.BufferedReader(_Unpacking(path, make, refusal), BUFFER))


def open_packing(path: Path) -> BinaryIO:
    """A file to write content to. It is whole once it is closed; flushing passes on whole blocks only."""
    if not is_packed(path):
        return path.open("wb")
    return cast("BinaryIO", io.BufferedWriter(_Packing(path, _compressor(path)), BUFFER))


class _Unpacking(io.RawIOBase):
    """One stream after the other, with nothing but zeros between them and at the end."""

    def __init__(self, path: Path, make: Callable[[], Decompressor], refusal: type[Exception]) -> None:
        self._path = path
        self._make = make
        self._refusal = refusal
        self._stream: Decompressor | None = make()  # none once it has ended
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
            self._stream = self._make()
        try:
            self._ready = memoryview(self._stream.decompress(piece))
        except self._refusal:
            raise self._damaged() from None
        if self._stream.eof:
            self._rest = self._stream.unused_data
            self._stream = None
        return True

    def _damaged(self) -> DamagedError:
        return DamagedError(f"{self._path} cannot be unpacked: it is damaged, cut off, or of another kind.")


class _Packing(io.RawIOBase):
    def __init__(self, path: Path, stream: Compressor) -> None:
        self._stream = stream
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
            self._file.write(self._stream.flush())
        finally:
            try:
                self._file.close()
            finally:
                super().close()


def _decompressor(path: Path) -> tuple[Callable[[], Decompressor], type[Exception]]:
    """A function that makes the decompressor of one stream, and the exception of that decompressor."""
    match path.suffix.lower():
        case ".gz":
            return lambda: zlib.decompressobj(GZIP), zlib.error
        case ".xz":
            return lzma.LZMADecompressor, lzma.LZMAError
        case ".bz2":
            return bz2.BZ2Decompressor, OSError
    zstandard = _zstandard(f"Reading {path}", "unpack the file with zstd -d")
    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


def _compressor(path: Path) -> Compressor:
    match path.suffix.lower():
        case ".gz":
            return zlib.compressobj(wbits=GZIP)
        case ".xz":
            return lzma.LZMACompressor()
        case ".bz2":
            return bz2.BZ2Compressor()
    compressor: Compressor = (
        _zstandard(f"Writing {path}", "leave out .zst").ZstdCompressor(write_checksum=True).compressobj()
    )
    return compressor


def _zstandard(task: str, instead: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise ModelError(
            f"{task} needs a package that is not installed: pip install 'refdec[batch]' or "
            f"pip install 'refdec[evaluate]'. Or {instead}."
        ) from None
    return zstandard
