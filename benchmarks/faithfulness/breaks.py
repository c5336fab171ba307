"""Good pairs of a sentence and its rewording, and the same pairs broken on purpose by small edits written by hand.

All sentences are invented. An edit changes the rewording, never the source: it replaces a piece of the text by another,
or exchanges two names. A piece must stand in the text exactly once, so that nobody has to guess what was edited.
Knows nothing of what should find the breaks.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.errors import InputError

HOME = Path(__file__).resolve().parent

KINDS = ("negation", "number", "names", "word", "drop", "add", "tense", "grammar")
"""What an edit does: negates or affirms, changes a number, exchanges two names, puts an opposite or a sister word,
drops a clause, adds one, puts another tense, or breaks the grammar and nothing else."""

HALVES = ("tuning", "held-out", "fresh-tuning", "fresh-held-out")
"""Rules are tuned on the tuning halves and counted on the others. Which half a fresh pair is in depends on a hash of
its id. The fresh pairs were written before their author had read the rules; the same author then wrote later rules, so
the fresh halves are blind for the rules that were there before, and not for those."""


@dataclass(frozen=True, slots=True)
class GoodPair:
    """A sentence and a rewording that says the same; `kind` names the way of rewording, `half` is one of HALVES."""

    id: str
    kind: str
    source: str
    text: str
    half: str = "tuning"


@dataclass(frozen=True, slots=True)
class BrokenPair:
    """A sentence and a rewording that was broken.

    Attributes:
        pair: the id of the good pair
        kind: one of KINDS
        source: the sentence
        text: the broken rewording
        outside: for a swapped word, whether it or its replacement is absent from WordNet 3.0
    """

    pair: str
    kind: str
    source: str
    text: str
    outside: bool = False


def good_pairs() -> list[GoodPair]:
    return [GoodPair(**row) for row in _rows("good_pairs.jsonl")]


def broken_pairs() -> list[BrokenPair]:
    """The good pairs after each of the edits, in the order of the edits."""
    pairs = {pair.id: pair for pair in good_pairs()}
    broken = []
    for edit in _rows("breaks.jsonl"):
        pair = pairs[edit["pair"]]
        broken.append(
            BrokenPair(pair.id, edit["kind"], pair.source, edited(pair.text, edit), edit.get("outside", False))
        )
    return broken


def edited(text: str, edit: dict[str, Any]) -> str:
    """A text after one edit, {"from": piece, "to": piece} or {"swap": [name, name]}."""
    if "swap" in edit:
        one, other = edit["swap"]
        replacements = {one: other, other: one}
    else:
        replacements = {edit["from"]: edit["to"]}
    spans = sorted((*_place(text, piece), new) for piece, new in replacements.items())
    if any(end > begin for (_, end, _), (begin, _, _) in itertools.pairwise(spans)):
        raise InputError(f"The names {' and '.join(replacements)} overlap in {text!r}.")
    for begin, end, new in reversed(spans):
        text = text[:begin] + new + text[end:]
    return text


def _place(text: str, piece: str) -> tuple[int, int]:
    """Where a piece of whole words begins and ends."""
    places = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(piece)}(?!\w)", text)]
    if len(places) != 1:
        raise InputError(f"{piece!r} stands {len(places)} times in {text!r}; an edit needs a piece that stands once.")
    return places[0]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HOME / name).read_text(encoding="utf-8").splitlines()]
