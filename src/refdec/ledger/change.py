"""One difference between two texts, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refdec.ledger.reading import Reading

Place = tuple[int, int]
"""The first character and the one after the last."""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference, or a word that was kept.

    Attributes:
        kind: kept, form, family, synonym, near, swapped, opposite, lost, new, number, name, negation, modal, person,
            tense, plural, question, condition, connective, preposition, auxiliary, determiner, roles, converse,
            moved or grammar
        source: words of the source, "" for something new
        text: words of the other text, "" for something lost
        source_place: where they stand in the source
        text_place: where they stand in the other text
        cost: what it costs
    """

    kind: str
    source: str
    text: str
    source_place: Place | None
    text_place: Place | None
    cost: float

    def __str__(self) -> str:
        if self.kind == "lost" or (self.kind in ("name", "number") and not self.text):
            return f"lost: {self.source}"
        if self.kind == "new" or (self.kind in ("name", "number") and not self.source):
            return f"new: {self.text}"
        return f"{self.source or '(nothing)'} → {self.text or '(nothing)'}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "source": self.source,
            "text": self.text,
            "source_place": list(self.source_place) if self.source_place else None,
            "text_place": list(self.text_place) if self.text_place else None,
            "cost": round(self.cost, 3),
        }


def change(kind: str, source: Reading, here: Sequence[int], text: Reading, there: Sequence[int], cost: float) -> Change:
    """A change between words at these places of both readings."""
    here, there = sorted(here), sorted(there)
    return Change(kind, _said(source, here), _said(text, there), _place(source, here), _place(text, there), cost)


def _said(reading: Reading, places: Sequence[int]) -> str:
    parts: list[str] = []
    last = -2
    for at in places:
        word = reading.words[at]
        said = (
            word.lower if reading.text[word.start : word.end].lower() != word.lower and "'" in word.text else word.text
        )
        parts.append(said if at == last + 1 or not parts else f"… {said}")
        last = at
    return " ".join(parts)


def _place(reading: Reading, places: Sequence[int]) -> Place | None:
    if not places:
        return None
    return reading.words[places[0]].start, reading.words[places[-1]].end
