"""Which candidates a command shows, and which of them it must explain."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

from refdec.results import Explanation, Filling, Paraphrase
from refdec.tasks.choice import Wanted


def wanted(options: dict[str, Any]) -> Wanted:
    """The candidates that the options of a command ask for; not every command has all of these options."""
    names = [item.name for item in dataclasses.fields(Wanted)]
    return Wanted(**{name: options[name] for name in names if name in options})


def explained(options: dict[str, Any]) -> int:
    """How many of the best-ranked candidates must be explained, so that all that will be shown are."""
    chosen = wanted(options)
    if not (options["explain"] or options["html"]):
        return 0
    by_rank = not chosen.front and chosen.novelty is None and chosen.confidence is None
    return chosen.top if by_rank else sys.maxsize


def shown(explanation: Explanation | None, chosen: Iterable[Paraphrase | Filling], note: str) -> Explanation | None:
    """The explanation with the note about the candidates, and without those that were not chosen."""
    if explanation is None:
        return None
    texts = {item.text for item in chosen}
    yardstick, *others = explanation.reasons
    reasons = (yardstick, *(reason for reason in others if reason.text in texts))
    return dataclasses.replace(explanation, reasons=reasons, note=note)
