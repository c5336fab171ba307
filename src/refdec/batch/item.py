"""What goes into an engine and what comes out of it. Plain data that travels between processes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Item:
    """The texts of a row that a task works on, or the reason why there are none."""

    number: int  # of the row
    line: int  # of the file, on which the row begins
    digest: str  # tells whether the row is still what it was
    texts: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item: its new cells by their columns, or an error, which may be worth another try."""

    number: int
    line: int
    digest: str
    fields: dict[str, Any]
    error: str = ""
    signature: str = ""  # of what made it; empty where nothing had to be computed
    retry: bool = False  # the error has a passing reason, such as memory, so the row is not done

    @classmethod
    def failed(cls, item: Item, error: str, retry: bool = False) -> Outcome:
        return cls(item.number, item.line, item.digest, {}, error, retry=retry)


def digest(texts: Sequence[str]) -> str:
    """A few characters that change when a text does."""
    summary = hashlib.blake2b(digest_size=8)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        summary.update(len(content).to_bytes(8, "little") + content)
    return summary.hexdigest()
