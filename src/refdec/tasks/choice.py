"""Which candidates of a result people see, and the note where there are none, or only doubtful ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from refdec.errors import SettingsError
from refdec.results import Filling, InfillResult, Paraphrase, ParaphraseResult
from refdec.tasks.confidence import GOOD


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which candidates the user asked for."""

    top: int = 5  # how many, best first
    novelty: float | None = None  # at least this Novelty
    confidence: float | None = None  # at least this probability of keeping the meaning
    front: bool = False  # the whole trade-off between score and Novelty instead of the best

    def __post_init__(self) -> None:
        if self.novelty is not None and not (math.isfinite(self.novelty) and 0 <= self.novelty <= 100):
            raise SettingsError(f"novelty is {self.novelty}; it must be a number from 0 to 100.")
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise SettingsError(f"confidence is {self.confidence}; it must be a number from 0 to 1.")


def choose(result: ParaphraseResult, wanted: Wanted) -> tuple[tuple[Paraphrase, ...], str]:
    """The candidates that were asked for, and a note about them ("" where they are good)."""
    chosen = _chosen(result, wanted)
    least_novelty, least_confidence = wanted.novelty, wanted.confidence
    if not result.candidates:
        return chosen, nothing_left("paraphrase", result.rejected)
    novel = result.candidates if least_novelty is None else result.at_novelty(least_novelty)
    if not chosen and not novel:
        most = max(item.novelty for item in result.candidates)
        note = f"No paraphrase reaches Novelty {least_novelty:g}; the highest is {most:.1f}. Try more --samples."
        return chosen, note
    which = f"paraphrase of Novelty {least_novelty:g} or more" if least_novelty else "paraphrase"
    highest = _highest(novel)
    if not chosen and least_confidence is not None and highest is not None:
        reached = f"the highest is {percent(highest)}"
        return chosen, f"No {which} reaches confidence {100 * least_confidence:g} %; {reached}. Try more --contexts."
    if any(not item.copy for item in result.candidates):
        return chosen, _doubt(which, chosen)
    if result.rejected:
        return chosen, f"Only copies of the source satisfy the constraints: of the others {_reasons(result.rejected)}."
    return chosen, "Only copies of the source were generated. Try more --samples."


def _chosen(result: ParaphraseResult, wanted: Wanted) -> tuple[Paraphrase, ...]:
    if wanted.confidence is not None:
        result = replace(result, candidates=result.confident(wanted.confidence))
    if wanted.front:
        return tuple(item for item in result.front() if item.novelty >= (wanted.novelty or 0))
    if wanted.novelty is not None:
        return result.at_novelty(wanted.novelty)[: wanted.top]
    return result.top(wanted.top)


def _doubt(which: str, chosen: Iterable[Paraphrase]) -> str:
    """A warning where each of them has more likely lost the meaning than kept it."""
    highest = _highest(chosen)
    if highest is None or highest >= GOOD:
        return ""
    return f"No good {which} was found: the best has confidence {percent(highest)}."


def _highest(items: Iterable[Paraphrase]) -> float | None:
    """The highest confidence among candidates that are not copies."""
    return max((item.confidence for item in items if not item.copy and item.confidence is not None), default=None)


def percent(confidence: float) -> str:
    """A confidence in per cent, rounded down: a result just under a threshold must not look as if it reached it."""
    return f"{math.floor(100 * confidence + 1e-9)} %"


def choose_fillings(result: InfillResult, wanted: Wanted) -> tuple[tuple[Filling, ...], str]:
    """The best fillings, and a note where none of them explains the texts around the gap."""
    chosen = result.top(wanted.top)
    if not chosen:
        return chosen, nothing_left("filling", result.rejected)
    if chosen[0].passes:
        return chosen, ""
    texts = "both texts" if result.left and result.right else "the text"
    best = "this is the best" if len(chosen) == 1 else "these are the best"
    count = len(result.candidates)
    return chosen, f"No filling makes {texts} more probable than no filling would; {best} of {count}."


def nothing_left(what: str, rejected: dict[str, int]) -> str:
    """Why there is no result at all."""
    if not rejected:
        return f"No {what} was generated. Try another --seed, more --samples or --preset paper."
    count, *others = rejected.values()
    # A candidate can break several constraints, so the counts of several reasons do not add up to that of candidates.
    how_many = "No candidate" if others or count == 1 else f"None of {count} candidates"
    return f"{how_many} satisfies the constraints: {_reasons(rejected)}."


def _reasons(rejected: dict[str, int]) -> str:
    """9 lack 'iPhone 15', 1 says 'stupid'."""
    ranked = sorted(rejected.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {_verb(reason, count)}" for reason, count in ranked)


def _verb(reason: str, count: int) -> str:
    verb, space, what = reason.partition(" ")
    return (verb if count == 1 else verb.removesuffix("s")) + space + what
