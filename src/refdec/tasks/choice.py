"""Which candidates of a result people see, and the note where there are none, or only doubtful ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from refdec.errors import SettingsError
from refdec.ledger.language import is_english
from refdec.results import Filling, InfillResult, Paraphrase, ParaphraseResult, RewriteResult
from refdec.tasks.confidence import GOOD
from refdec.tasks.verdict import is_good

CHANGES = 4
"""Changes of a candidate that people see beside it; JSON and Python have all of them."""

FAULTS = 3
"""Changes that a note names."""


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
    """The candidates that were asked for, without copies of the source, and a note for their reader ("" for none)."""
    pool = replace(result, candidates=result.at_novelty(wanted.novelty or 0))
    if wanted.confidence is not None:
        pool = replace(pool, candidates=pool.confident(wanted.confidence))
    chosen = pool.front() if wanted.front else pool.top(wanted.top)
    words = _nothing(result, wanted) if not chosen else _doubt(pool, wanted, chosen)
    return chosen, " ".join(filter(None, (result.note, words)))


def _nothing(result: ParaphraseResult, wanted: Wanted) -> str:
    """Why nothing was chosen."""
    name = _name(result)
    if not result.candidates:
        return nothing_left(name, result.rejected)
    if result.best is None and result.rejected:
        return f"Only copies of the source satisfy the constraints: of the others {_reasons(result.rejected)}."
    if result.best is None:
        return "Only copies of the source were generated. Try more --samples."
    novel = result.at_novelty(wanted.novelty or 0)
    if not novel:
        most = max(item.novelty for item in result.candidates)
        return f"No {name} reaches Novelty {wanted.novelty:g}; the highest is {most:.1f}. Try more --samples."
    highest = max((item.confidence for item in novel if item.confidence is not None), default=None)
    if highest is None or wanted.confidence is None:  # no confidence is given, which the note of the result says
        return ""
    reached = f"reaches confidence {100 * wanted.confidence:g} %; the highest is {percent(highest)}"
    return f"No {_which(name, wanted)} {reached}. Try more --contexts."


def _doubt(pool: ParaphraseResult, wanted: Wanted, chosen: Sequence[Paraphrase]) -> str:
    """That none of the chosen candidates is good, and what is wrong with the nearest."""
    if not is_english(pool.source) or any(map(is_good, chosen)):
        return ""
    if any(map(is_good, pool)):
        remedy = "leave --front out" if wanted.front else "show them with --top"
        return f"None of these is good, but candidates that rank further down are: {remedy}."
    nearest = min(chosen, key=lambda item: (-(item.confidence or 0.0), item.cost or 0.0))
    place = "" if len(chosen) == 1 else f", number {chosen.index(nearest) + 1}"
    which = _which(_name(pool), wanted)
    return f"No good {which} was found. What is wrong with the nearest{place}: {_faults(nearest)}."


def _name(result: ParaphraseResult) -> str:
    return "rewriting" if isinstance(result, RewriteResult) else "paraphrase"


def _which(name: str, wanted: Wanted) -> str:
    return f"{name} of Novelty {wanted.novelty:g} or more" if wanted.novelty else name


def _faults(item: Paraphrase) -> str:
    """What is wrong with a candidate that is not good."""
    unsure = [] if item.confidence is None or item.confidence >= GOOD else [f"confidence {percent(item.confidence)}"]
    return "; ".join([*unsure, *_first(item.changes, FAULTS)])


def remarks(item: Paraphrase) -> str:
    """What a reader of a candidate must know: whether it is doubtful, and what changed. "" where there is nothing."""
    return "; ".join([*(["doubtful"] if item.doubtful else []), *_first(item.changes, CHANGES)])


def _first(changes: Sequence[str], most: int) -> list[str]:
    """The dearest changes, and how many there are besides."""
    more = len(changes) - most
    return [*changes[:most], *([f"and {more} more"] if more > 0 else [])]


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
