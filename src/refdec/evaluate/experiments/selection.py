"""The paper's protocol: which of many ranked candidates is a system's output, by how novel it has to be.

RD Top is the best-ranked candidate, copies of the source included. RD 30 and RD 45 take the best-ranked one above a
Novelty cutoff, which is found on other data such that their Novelty is 30 and 45. Everything between is the curve.
Works on rows of files of outputs; generates and scores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from refdec.evaluate.experiments.outputs import OutputRow
from refdec.metrics.novelty import corpus_novelty

STEPS = 12
"""Halvings of the range in which a cutoff lies: 0.02 of Novelty."""


def is_ranked(rows: Sequence[OutputRow]) -> bool:
    """Whether these are candidates to choose from, or one text each."""
    return any(len(row.get("results", ())) > 1 for row in rows)


def top(row: OutputRow) -> str:
    """The one output, or the best-ranked candidate, copy or not; the source where nothing was generated."""
    if "output" in row:
        return str(row["output"])
    return str(row["results"][0]["text"]) if row["results"] else str(row["source"])


def best(row: OutputRow, cutoff: float = 0.0) -> str:
    """The best-ranked candidate at or above a Novelty cutoff that is no copy.

    The most novel one where none reaches it, and the source where there are only copies of it.
    """
    fresh = [result for result in row["results"] if not result["copy"]]
    if not fresh:
        return str(row["source"])
    chosen = next((result for result in fresh if result["novelty"] >= cutoff), None)
    return str((chosen or max(fresh, key=lambda result: float(result["novelty"])))["text"])


def novelty_at(rows: Sequence[OutputRow], cutoff: float) -> float:
    return corpus_novelty([best(row, cutoff) for row in rows], [row["source"] for row in rows])


def cutoff_for(rows: Sequence[OutputRow], target: float) -> float:
    """The lowest cutoff at which the outputs together have this Novelty; 0 where they have it anyway."""
    if novelty_at(rows, 0.0) >= target:
        return 0.0
    low, high = 0.0, 100.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if novelty_at(rows, middle) < target else (low, middle)
    return high
