"""Files that are written in one step: refused early where they cannot be written, and never half written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from refdec.errors import InputError


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before an hour is spent on what goes into it."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} cannot be written (it is a directory).")
    if not target.parent.is_dir():
        raise InputError(f"{path} cannot be written (there is no directory {path.parent}).")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InputError(f"{path} cannot be written (permission denied).")


@contextmanager
def writing(path: Path, refusals: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Say that a file cannot be written, and why, where one of these exceptions refuses it."""
    try:
        yield
    except refusals as error:
        raise InputError(f"{path} cannot be written ({getattr(error, 'strerror', None) or error}).") from error


def write_whole(path: Path, content: str) -> None:
    """Write or replace a file in one step: readers see all of the old or all of the new, also after a power cut."""
    target = Path(os.path.realpath(path))
    part = target.with_name(f".refdec-{secrets.token_hex(8)}.part")
    with writing(path):
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
            target.write_text(content, encoding="utf-8")
            return
        try:
            with part.open("x", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            replace_synced(part, target)
        finally:
            part.unlink(missing_ok=True)


def replace_synced(part: Path, target: Path) -> None:
    """Give a file another name, and have the disk keep that, where the system can sync a directory."""
    os.replace(part, target)
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
