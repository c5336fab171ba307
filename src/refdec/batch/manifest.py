"""The manifest of a batch: its job, its input, what computes it, and which rows are done. JSON that people can read."""

from __future__ import annotations

import json
import time
from bisect import bisect
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from refdec.errors import InputError
from refdec.files.growing import SECONDS
from refdec.files.whole import write_whole
from refdec.version import comparable, note_on

FORMAT = "refdec-batch"
VERSION = 1
NAME = "manifest.json"
FEW = 3  # differences that a message names
FIELDS = ("job", "input", "signatures", "done", "failed")  # that every manifest has


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
                f"{path} holds rows of another run: {', '.join(differences[:FEW])}{more}.{self._note} Give the same "
                "options as then, name another output, or begin anew with --no-resume."
            )

    def made_by(self, signature: str) -> bool:
        """Note the signature of a row, and return whether it is new. One that does not fit the others is refused."""
        if signature in self.signatures:
            return False
        first = self.signatures[0] if self.signatures else signature
        differences = _differences(_comparable(first), _comparable(signature))
        if differences:
            raise InputError(
                f"The rows that are done were made differently: {', '.join(differences[:FEW])}.{self._note} Go on "
                "with the same models on the same kind of machine, or begin anew with --no-resume."
            )
        self.signatures.append(signature)
        return True

    @property
    def _note(self) -> str:
        """What to say of the models that made the rows, if they came with earlier versions."""
        return note_on(_comparable(self.signatures[0]).get("pair", "")) if self.signatures else ""

    def count(self, row: int, failed: bool) -> bool:
        """Note that a row is done, and return whether it was not before."""
        is_new = _add(self.done, row)
        self.failed += failed and is_new
        return is_new

    @property
    def is_old(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._saved >= SECONDS

    @property
    def rows(self) -> int:
        return sum(last - first + 1 for first, last in self.done)

    def save(self, home: Path) -> None:
        write_whole(home / NAME, self.text())
        self._saved = time.monotonic()

    def text(self) -> str:
        content = {"format": FORMAT, "version": VERSION, **{name: getattr(self, name) for name in FIELDS}}
        if self.finished:
            content["finished"] = self.finished
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> Manifest:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["version"] != VERSION:
                raise ValueError
            return cls(**{name: content[name] for name in FIELDS}, finished=content.get("finished", {}))
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}).") from error
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path} is no manifest of this version of refdec. Begin anew with --no-resume, or name another output."
            ) from None


def _add(ranges: list[list[int]], row: int) -> bool:
    """Add a row to sorted ranges, if it is not in one, and join it with its neighbours."""
    place = bisect(ranges, row, key=itemgetter(0))
    if place and ranges[place - 1][1] >= row:
        return False
    first = last = row
    if place < len(ranges) and ranges[place][0] == row + 1:
        last = ranges.pop(place)[1]
    if place and ranges[place - 1][1] == row - 1:
        place -= 1
        first = ranges.pop(place)[0]
    ranges.insert(place, [first, last])
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
