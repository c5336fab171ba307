"""How far a batch is: a bar on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from refdec.cli import progress


class Bar:
    """Goes to standard error. Without a total, only what is done is told."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._began = self._logged = time.monotonic()
        self._words = ""
        self._total: int | None = None
        self._first = self._done = self._failed = 0

    def __enter__(self) -> Bar:
        if self._console.is_terminal and not self._quiet:
            columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
            self._line = self._bar.add_task("", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, words: str, done: int = 0, total: int | None = None, failed: int = 0) -> None:
        """Something new is being done."""
        self._words, self._total, self._failed = words, total, failed
        self._first = self._done = done
        self._began = time.monotonic()
        self._show()

    def at(self, done: int) -> None:
        """So much of it is done."""
        self._done = done
        self._show()

    def row(self, failed: bool) -> None:
        """One more row is done."""
        self._failed += failed
        self.at(self._done + 1)

    def tell(self, words: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self._console.out(f"refdec: {words}", highlight=False)

    def _show(self) -> None:
        now = time.monotonic()
        if self._bar is None and (self._quiet or now - self._logged < progress.LOG_SECONDS):
            return
        words = progress.how_far(self._words, self._first, self._done, self._total, now - self._began)
        words += f", {self._failed:,} failed" if self._failed else ""
        if self._bar is not None:
            self._bar.update(self._line, description=words, completed=self._done, total=self._total)
        else:
            self._logged = now
            print(f"refdec: {words}", file=sys.stderr, flush=True)
