"""Locks: one process at a time writes to a file or a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from refdec.errors import InputError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from locking a file or a directory. The system ends the lock when this process dies.

    What is locked is an empty file: .NAME.lock beside a file, .lock in a directory.
    """
    target = Path(os.path.realpath(path))
    lock_file = target / ".lock" if target.is_dir() else target.with_name(f".{target.name}.lock")
    if not lock_file.parent.is_dir():  # filelock would make it
        raise InputError(f"{path} cannot be written (there is no directory {lock_file.parent}).")
    lock = FileLock(lock_file, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(
            f"{path} is in use: another process writes to it. Wait for it, or name another file."
        ) from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be locked ({error.strerror or error}). Name a file on another disk."
        ) from error
    try:
        yield
    finally:
        # Removed while it is locked: whoever has opened it by now notices that it has no name any more, and makes a
        # new one. Windows does not remove a file that is open, so it stays there.
        with suppress(OSError):
            lock_file.unlink()
        lock.release()
