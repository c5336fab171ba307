"""Files that grow by whole lines, which outlive the process that adds them. Knows bytes, not what a line says."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from refdec.files.lock import locked
from refdec.files.whole import writing

SECONDS = 5.0  # between two times that the disk is told to keep what it was given


class GrowingFile:
    """A file to add to; no other process can open it so meanwhile, unless `lock` is false."""

    def __init__(self, path: Path, *, lock: bool = True) -> None:
        self.path = path
        self._synced = time.monotonic()
        with ExitStack() as held:
            if lock:
                held.enter_context(locked(path))
            with writing(path):
                self._file = path.open("a+b", buffering=0)
            self._held = held.pop_all()

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
        with writing(self.path):
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
            except OSError:
                with suppress(OSError):
                    self._file.truncate(end)  # a full disk may have taken half of the line
                raise
        if time.monotonic() - self._synced >= SECONDS:
            self.sync()

    def sync(self) -> None:
        with writing(self.path):
            os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        with self._held:
            if not self._file.closed:
                try:
                    self.sync()
                finally:
                    self._file.close()
