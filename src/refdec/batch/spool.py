"""Standard input as a file, so that it can be read again: to put rows and outcomes together, and after a crash."""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path
from typing import BinaryIO

from refdec.errors import InputError

NAME = "input"


def spool(stream: BinaryIO | None, home: Path) -> Path:
    """A copy of a stream in the directory of a run; of a run that goes on, the copy that it made when it began.

    A stream that holds nothing is fine then; one that holds something else is refused.
    """
    kept, new = home / NAME, home / f"{NAME}.new"
    try:
        home.mkdir(exist_ok=True)
        with new.open("wb") as file:
            if stream is not None:
                shutil.copyfileobj(stream, file)
            file.flush()
            os.fsync(file.fileno())
        if not kept.exists():
            os.replace(new, kept)
        elif new.stat().st_size and not filecmp.cmp(new, kept, shallow=False):
            raise InputError(
                f"Standard input is not what it was when the run in {home} began. Give the same again, name another "
                "output, or begin anew with --no-resume."
            )
        new.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"Standard input cannot be kept in {home} ({error.strerror}).") from error
    return kept
