"""The manifest of a batch: its job, its input, what computes it, and which rows are done. JSON that people can read."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refdec.errors import InputError
from refdec.files.growing import SECONDS
from refdec.files.whole import write_whole
from refdec.version import comparable

FORMAT = "refdec-batch"
VERSION = 1
NAME = "manifest.json"
FEW = 3  # differences that a message names


@dataclass
class Manifest:
    """A job with its input, and the rows that are done."""

    job: dict[str, Any]
    input: dict[str, Any]  # the name and the format of the table; parts have a digest of every row
    signatures: list[str] = field(default_factory=list)  # of what made the rows; machines of a cluster may differ
    done: list[list[int]] = field(default_factory=list)  # ranges of rows, first and last
    failed: int = 0
    finished: dict[str, Any] = field(default_factory=dict)  # what the output is, once it is there
    _saved: float = field(default=0.0, compare=False)

    def check(self, other: Manifest, path: Path) -> None:
        """Refuse another job, with what differs."""
        differences = _differences(self.job, other.job)
        if differences:
            more = f", and {len(differences) - FEW} more" if len(differences) > FEW else ""
            raise InputError(
                f"{path} holds rows of another run: {', '.join(differences[:FEW])}{more}. Give the same options as "
                "then, name another output, or begin anew with --no-resume."
            )

    def made_by(self, signature: str) -> bool:
        """Note the signature of a row, and return whether it is new. One that does not fit the others is refused."""
        if signature in self.signatures:
            return False
        if self.signatures:
            differences = _differences(_comparable(self.signatures[0]), _comparable(signature))
            if differences:
                raise InputError(
                    f"The rows that are done were made differently: {', '.join(differences[:FEW])}. Go on with the "
                    "same models on the same kind of machine, or begin anew with --no-resume."
                )
        self.signatures.append(signature)
        return True

    def count(self, row: int, failed: bool) -> bool:
        """Note that a row is done, and return whether it was not before."""
        is_new = _add(self.done, row)
        self.failed += failed and is_new
        return is_new

    @property
    def is_old(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._saved >= SECONDS

    def forget_counts(self) -> None:
        self.done, self.failed = [], 0

    @property
    def rows(self) -> int:
        return sum(last - first + 1 for first, last in self.done)

    def save(self, home: Path) -> None:
        write_whole(home / NAME, self.text())
        self._saved = time.monotonic()

    def text(self) -> str:
        content = {
            "format": FORMAT,
            "version": VERSION,
            "job": self.job,
            "input": self.input,
            "signatures": self.signatures,
            "done": self.done,
            "failed": self.failed,
            **({"finished": self.finished} if self.finished else {}),
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def load(cls, home: Path) -> Manifest | None:
        """The manifest of a directory of parts, where there is one."""
        return cls.read(home / NAME) if (home / NAME).exists() else None

    @classmethod
    def read(cls, path: Path) -> Manifest:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["version"] != VERSION:
                raise ValueError
            names = ("job", "input", "signatures", "done", "failed")
            return cls(**{name: content[name] for name in names}, finished=content.get("finished", {}))
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}).") from error
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path} is no manifest of this version of refdec. Begin anew with --no-resume, or name another output."
            ) from None


def _add(ranges: list[list[int]], row: int) -> bool:
    """Add a row to sorted ranges, if it is not in one; most rows lengthen one of the last."""
    place = len(ranges)
    while place and ranges[place - 1][0] > row:
        place -= 1
    if place and ranges[place - 1][1] >= row:
        return False
    joins_left = place > 0 and ranges[place - 1][1] == row - 1
    joins_right = place < len(ranges) and ranges[place][0] == row + 1
    if joins_left and joins_right:
        ranges[place - 1][1] = ranges.pop(place)[1]
    elif joins_left:
        ranges[place - 1][1] = row
    elif joins_right:
        ranges[place][0] = row
    else:
        ranges.insert(place, [row, row])
    return True


def _comparable(signature: str) -> dict[str, str]:
    """The parts of a signature; of the device only whether it is a CPU, since machines of a cluster may differ."""
    parts = dict(part.partition(":")[::2] for part in comparable(signature).split("|"))
    return parts | {"device": parts["device"] if parts.get("device") == "cpu" else "gpu"}


def _differences(there: Any, here: Any, name: str = "") -> list[str]:
    """The differences between two values, each in a few words."""
    if isinstance(there, dict) and isinstance(here, dict):
        return [
            words
            for key in dict.fromkeys((*there, *here))
            for words in _differences(there.get(key), here.get(key), key)
        ]
    return [] if there == here else [f"{name} was {_short(there)} and is {_short(here)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
