"""Files that are written: refused early where they cannot be, and never half written."""

from __future__ import annotations

import os
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


def write_whole(path: Path, content: str) -> None:
    """Write or replace a file in one step: who reads it sees all of the old or all of the new."""
    target = Path(os.path.realpath(path))
    part = target.with_name(f".refdec-{os.getpid()}.part")
    try:
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
            target.write_text(content, encoding="utf-8")
            return
        try:
            part.write_text(content, encoding="utf-8")
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from error
