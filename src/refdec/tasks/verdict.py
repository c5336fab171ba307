"""What people must know of candidates before they use them: what changed, which are doubtful, which are good.

Whoever ranks and whoever shows candidates ask here. Knows the ledger and the confidence; nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refdec.ledger.comparison import compare
from refdec.ledger.costs import FAITHFUL
from refdec.ledger.language import is_english
from refdec.results import Paraphrase
from refdec.settings import ParaphraseSettings
from refdec.tasks.confidence import GOOD

COMPARED = 16
"""Candidates that are compared where the ledger does not rank them: comparing all would take longer than the models do
on a GPU."""


def with_changes(source: str, ranked: Sequence[Paraphrase], most: int | None = None) -> list[Paraphrase]:
    """Candidates with the words that each swaps, loses or adds, and with what the ledger charges for them.

    With `most`, only so many of the best-ranked.
    """
    compared = [(item, compare(source, item.text)) for item in ranked[:most]]
    changed = [replace(item, cost=comparison.cost, changes=comparison.reasons) for item, comparison in compared]
    return [*changed, *ranked[len(changed) :]]


def with_doubts(source: str, ranked: Sequence[Paraphrase], settings: ParaphraseSettings) -> list[Paraphrase]:
    """Candidates of which the doubtful ones are marked.

    A source that is not English gets neither doubts nor a confidence: calibration and ledger know English only.
    """
    if not is_english(source):
        return [replace(item, confidence=None) for item in ranked]
    return [
        replace(item, doubtful=not item.copy and (not _is_sure(item) or (settings.ledger > 0 and not _is_cheap(item))))
        for item in ranked
    ]


def is_good(item: Paraphrase) -> bool:
    """Whether a candidate of an English source is no copy, and neither its confidence nor its cost speaks against it.

    Only what is known counts.
    """
    return not item.copy and _is_sure(item) and _is_cheap(item)


def _is_sure(item: Paraphrase) -> bool:
    return item.confidence is None or item.confidence >= GOOD


def _is_cheap(item: Paraphrase) -> bool:
    return item.cost is None or item.cost <= FAITHFUL
