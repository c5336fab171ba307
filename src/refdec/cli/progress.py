"""Telling people how far long work is: a live line on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

LOG_SECONDS = 30.0
"""In a log, a line at most this often."""


class Live:
    """Goes to standard error, so that standard output holds results and nothing else."""

    def __init__(self, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._status: Status | None = None
        self._logged = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._quiet:
            self._status = self._console.status("loading the models")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def say(self, words: str, must: bool = False) -> None:
        """How far it is. In a log only now and then, unless it must be said."""
        now = time.monotonic()
        if self._status is not None:
            self._status.update(words)
        elif not self._quiet and (must or now - self._logged >= LOG_SECONDS):
            self._logged = now
            print(f"refdec: {words}", file=sys.stderr, flush=True)

    def tell(self, words: str) -> None:
        """Something that stays."""
        if not self._quiet:
            self._console.out(f"refdec: {words}", highlight=False)


class Progress(Live):
    """How far work on texts is."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._began = time.monotonic()
        self._done = 0
        self._words, self._first = "", 0

    def stage(self, words: str) -> None:
        """What is being done now."""
        if self._status is not None:
            self._status.update(f"text {self._done + 1}: {words}")

    def done(self) -> None:
        """Another text is finished."""
        self._done += 1
        if self._status is None:
            rate = self._done / (time.monotonic() - self._began)
            self.say(f"texts done: {self._done}, {rate:.2f} a second")

    def rows(self, words: str, done: int, total: int) -> None:
        """How far a file of outputs is; without a total, only what is being done."""
        now = time.monotonic()
        if words != self._words:
            self._words, self._began, self._first = words, now, done
        self.say(how_far(words, self._first, done, total, now - self._began), must=done == total)

    def pause(self) -> None:
        """Take the live line away while results are printed."""
        if self._status is not None:
            self._status.stop()

    def resume(self) -> None:
        if self._status is not None:
            self._status.start()


def how_far(words: str, first: int, done: int, total: int | None, seconds: float) -> str:
    """rows: 1,200 of 100,000, 3.10 a second, 8.9 h left. `first` were done when the time began."""
    told = words
    if total:
        told += f": {done:,} of {total:,}"
    elif total is None and done:
        told += f": {done:,}"
    if done > first and seconds > 0:
        rate = (done - first) / seconds
        told += f", {rate:.2f} a second"
        if total:
            told += f", {time_text((total - done) / rate)} left"
    return told


def time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
