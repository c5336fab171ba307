"""Directories that are replaced in one step: a reader finds all of the old one or all of the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from refdec.files.whole import writing


@contextmanager
def whole_directory(target: Path, new: Path, old: Path) -> Iterator[Path]:
    """Yield the directory `new` to write to; it takes the target's place once its files are on the disk.

    The previous target is called `old` for a moment, and is all there is where a run is killed in that moment. Where
    writing fails, `new` is removed.
    """
    with writing(target, (OSError, SafetensorError)):
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
