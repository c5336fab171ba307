"""A fingerprint: the contexts that describe a text, with their weights, as data that can be saved in a file.

The file is readable JSON with a version, the settings and the models that made it, and a checksum over everything.
Knows files and plain data; the tasks make and use fingerprints.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.errors import InputError, SettingsError
from refdec.files.whole import write_whole
from refdec.settings import FingerprintSettings, Settings
from refdec.version import note_on

FORMAT = "refdec-fingerprint"
VERSION = 1


@dataclass(frozen=True, slots=True)
class SideFingerprint:
    """The contexts of one side.

    Attributes:
        contexts: the kept ones as token ids in text order, heaviest first
        weights: of the kept contexts, in the same order
        others: contexts that were sampled and not kept, as token ids
        texts: the words of the kept contexts, then of the others
        top_p: the nucleus that generations are sampled from
        log_rd: how well the kept contexts describe the text, in nats
        gap: the most nats that better weights could add to log_rd
    """

    contexts: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    others: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...]
    top_p: float
    log_rd: float
    gap: float

    def to_dict(self) -> dict[str, Any]:
        weights = (*self.weights, *(0.0 for _ in self.others))
        rows = zip(self.texts, weights, (*self.contexts, *self.others), strict=True)
        return {
            "top_p": self.top_p,
            "log_rd": self.log_rd,
            "gap": self.gap,
            "kept": len(self.contexts),
            "contexts": [{"weight": weight, "text": text, "ids": list(ids)} for text, weight, ids in rows],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> SideFingerprint:
        rows, kept = content["contexts"], int(content["kept"])
        ids = tuple(tuple(int(token) for token in row["ids"]) for row in rows)
        if not 1 <= kept <= len(ids):
            raise ValueError(f"{kept} kept of {len(ids)} contexts")
        if len(set(map(len, ids))) > 1 or not ids[0]:
            raise ValueError("contexts are not of one length")
        return cls(
            contexts=ids[:kept],
            weights=tuple(float(row["weight"]) for row in rows[:kept]),
            others=ids[kept:],
            texts=tuple(str(row["text"]) for row in rows),
            top_p=float(content["top_p"]),
            log_rd=float(content["log_rd"]),
            gap=float(content["gap"]),
        )


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The contexts and weights of a text on both sides, and what made them.

    Attributes:
        text: the text that is described
        pair: the models that made it, as signatures name them
        settings: the settings that made it
        sides: the contexts of "right" and "left"
        signature: version, models, settings and machine
    """

    text: str
    pair: str
    settings: FingerprintSettings
    sides: dict[str, SideFingerprint]
    signature: str

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"

    def to_dict(self) -> dict[str, Any]:
        content = {
            "format": FORMAT,
            "version": VERSION,
            "text": self.text,
            "pair": self.pair,
            "settings": dict(self.settings.items()),
            "signature": self.signature,
            "sides": {name: side.to_dict() for name, side in self.sides.items()},
        }
        return content | {"sha256": _checksum(content)}

    def save(self, path: str | Path) -> None:
        write_whole(Path(path), str(self))

    @classmethod
    def load(cls, path: str | Path) -> Fingerprint:
        """The fingerprint in a file; an `InputError` says why a file cannot be used."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InputError(f"The fingerprint {path} cannot be read ({reason}).") from error
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        return cls.from_dict(content, str(path))

    @classmethod
    def from_dict(cls, content: Any, name: str = "") -> Fingerprint:
        """The fingerprint in what `to_dict` gave; an `InputError`, with a name, says why it cannot be used."""
        which = f"The fingerprint {name}".rstrip()
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{name or 'This'} is not a fingerprint. Make one with refdec fingerprint TEXT -o FILE.")
        if content.get("version") != VERSION:
            raise InputError(
                f"{name or 'This'} is a fingerprint of version {content.get('version')}, and this refdec reads version "
                f"{VERSION}. Make it again."
            )
        content = dict(content)
        if content.pop("sha256", None) != _checksum(content):
            raise InputError(f"{which} is damaged or was changed by hand: its checksum differs. Make it again.")
        try:
            return cls(
                text=str(content["text"]),
                pair=str(content["pair"]),
                settings=FingerprintSettings(**content["settings"]),
                sides={name: SideFingerprint.from_dict(content["sides"][name]) for name in ("right", "left")},
                signature=str(content["signature"]),
            )
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, SettingsError) as error:
            raise InputError(f"{which} is incomplete ({type(error).__name__}: {error}). Make it again.") from error

    def check_ids(self, vocabulary: int) -> None:
        """Refuse one from a stranger that has a right checksum and what no model has written."""
        for side in self.sides.values():
            ids = (*side.contexts, *side.others)
            is_sound = (
                len(ids) <= self.settings.contexts
                and len(ids[0]) <= self.settings.context_tokens
                and all(0 <= token < vocabulary for context in ids for token in context)
                and all(0 <= share <= 1 for share in (side.top_p, *side.weights))
                and sum(side.weights) > 0
                and math.isfinite(side.log_rd + side.gap)
            )
            if not is_sound:
                raise InputError("The fingerprint has contexts that these models cannot have written. Make it again.")

    def check(self, pair: str, text: str | None, settings: Settings) -> None:
        """Refuse to be used with other models, another text or other settings."""
        if pair != self.pair:
            raise InputError(
                f"This fingerprint was made with the models {self.pair}, not with {pair}.{note_on(self.pair)} "
                f"Make it again with {pair}."
            )
        if text is not None and text != self.text:
            raise InputError(f"This fingerprint describes another text: {_short(self.text)!r}, not {_short(text)!r}.")
        differing = [
            f"{name} {value!r}, not {getattr(settings, name)!r}"
            for name, value in self.settings.items()
            if getattr(settings, name) != value
        ]
        if differing:
            raise InputError(
                f"This fingerprint was made with other settings: {'; '.join(differing)}. Use those settings, or make "
                "the fingerprint again."
            )


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(
        json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
