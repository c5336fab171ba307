"""Files and directories that are written in one step: refused early if they cannot be, and never half written."""

from __future__ import annotations

import os
import secrets
import shutil
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


@contextmanager
def whole_directory(target: Path, new: Path, old: Path) -> Iterator[Path]:
    """Yield the directory `new` to write to; it takes the target's place once its files are on the disk.

    The previous target is called `old` for a moment, and is all there is where a run is killed in that moment. Where
    writing fails, `new` is removed.
    """
    with writing(target):
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            yield new
            for path in new.rglob("*"):
                if path.is_file():
                    with path.open("rb+") as file:
                        os.fsync(file.fileno())
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
                os.replace(target, old)
            os.replace(new, target)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(new, ignore_errors=True)
