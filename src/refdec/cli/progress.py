"""How far long work is: a live line on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Display

LOG_SECONDS = 30.0
"""In a log, a line at most this often."""


class Live:
    """Goes to standard error, so that standard output holds results and nothing else."""

    def __init__(self, quiet: bool = False, sign: ProgressColumn | None = None) -> None:
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._sign = sign or SpinnerColumn(style="status.spinner")
        self._display: Display | None = None
        self._began = self._logged = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._quiet:
            words = TextColumn("{task.description}", markup=False)
            self._display = Display(self._sign, words, console=self._console, transient=True)
            self._display.start()
            self._line = self._display.add_task("loading the models", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self.pause()

    def say(self, words: str, must: bool = False, done: int = 0, total: int | None = None) -> None:
        """Show how far the work is. In a log only now and then, unless this line must be there."""
        now = time.monotonic()
        if self._display is not None:
            self._display.update(self._line, description=words, completed=done, total=total)
        elif not self._quiet and (must or now - self._logged >= LOG_SECONDS):
            self._logged = now
            print(f"refdec: {words}", file=sys.stderr, flush=True)

    def tell(self, words: str) -> None:
        """Print a line that stays."""
        if not self._quiet:
            self._console.out(f"refdec: {words}", highlight=False)

    def pause(self) -> None:
        """Take the live line away while results are printed."""
        if self._display is not None:
            self._display.stop()

    def resume(self) -> None:
        if self._display is not None:
            self._display.start()


class Progress(Live):
    """How far the work on texts, or on a file of outputs, is."""

    _done = _first = 0
    _words = ""

    def stage(self, words: str) -> None:
        """A new step of the work on a text begins."""
        if self._display is not None:
            self.say(f"text {self._done + 1}: {words}")

    def done(self) -> None:
        """Another text is finished."""
        self._done += 1
        if self._display is None:
            self.rows("texts", self._done, None)

    def rows(self, words: str, done: int, total: int | None) -> None:
        """So many rows are finished; where the total is 0, only what is being done is shown."""
        now = time.monotonic()
        if words != self._words:
            self._words, self._began, self._first = words, now, done
        self.say(how_far(words, self._first, done, total, now - self._began), must=done == total)


class Bar(Live):
    """How far a batch is. Without a total, only the number of finished rows is shown."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet, BarColumn(bar_width=24))
        self._words = ""
        self._total: int | None = None
        self._first = self._done = self._failed = 0

    def begin(self, words: str, done: int = 0, total: int | None = None, failed: int = 0) -> None:
        """A new kind of work begins."""
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

    def _show(self) -> None:
        words = how_far(self._words, self._first, self._done, self._total, time.monotonic() - self._began)
        failed = f", {self._failed:,} failed" if self._failed else ""
        self.say(words + failed, done=self._done, total=self._total)


def how_far(words: str, first: int, done: int, total: int | None, seconds: float) -> str:
    """rows: 1,200 of 100,000, 3.10 per second, 8.9 h left. `first` were done when the time began."""
    if total:
        words += f": {done:,} of {total:,}"
    elif total is None and done:
        words += f": {done:,}"
    if done > first and seconds > 0:
        rate = (done - first) / seconds
        words += f", {rate:.2f} per second"
        if total:
            words += f", {time_text((total - done) / rate)} left"
    return words


def time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
