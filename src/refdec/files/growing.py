"""Files that grow by whole lines: what was added outlives the process, and only one process adds at a time.

Knows bytes; what a line says is the business of who writes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path
from typing import IO, Any

from refdec.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: there is no lock
    fcntl = None  # type: ignore[assignment]

SECONDS = 5.0  # between two times that the disk is told to keep what it was given


class GrowingFile:
    """A file to add to, locked for as long as it is open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced = time.monotonic()
        try:
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}).") from error
        try:
            lock(self._file, path)
        except BaseException:
            self._file.close()
            raise

    def content(self) -> bytes:
        self._file.seek(0)
        return self._file.readall()

    def cut(self, size: int) -> None:
        """Leave only so many bytes: what follows is half of a line."""
        self._file.truncate(size)

    def add(self, content: bytes) -> None:
        """When this returns, the content outlives the process; some seconds later, the machine."""
        end = self._file.seek(0, os.SEEK_END)
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)  # a full disk may have taken half of the line
            raise InputError(f"{self.path} cannot be written ({error.strerror}).") from error
        if time.monotonic() - self._synced >= SECONDS:
            self.sync()

    def sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(f"{self.path} cannot be written ({error.strerror}).") from error
        self._synced = time.monotonic()

    def close(self) -> None:
        if not self._file.closed:
            try:
                self.sync()
            finally:
                self._file.close()


def lock(file: IO[Any], path: Path) -> None:
    """For as long as the file is open. File systems without locks go without."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise InputError(
                f"{path} is in use: another process writes to it. Wait for it, or name another file."
            ) from None
