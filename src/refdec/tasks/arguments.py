"""What callers of `Reflector` may give: each kind of argument is checked here, and refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from refdec.errors import InputError, SettingsError
from refdec.settings import InfillSettings, ParaphraseSettings, Settings, did_you_mean
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.describe import Stage, silent
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.infill import split_blanks
from refdec.tasks.rewrite import find_span, split_document

Item = TypeVar("Item")

_WITH_CANDIDATES = (ParaphraseSettings, InfillSettings)
_ELSEWHERE: dict[str, tuple[tuple[type[Settings], ...], str]] = {
    "preset": ((Settings,), "name the preset as settings='fast'"),
    "device": ((Settings,), "choose it with Reflector(device='cpu')"),
    "precision": ((Settings,), "choose it with Reflector(precision='float32')"),
    "keep": (_WITH_CANDIDATES, "give constraints=Constraints(keep=['...'])"),
    "avoid": (_WITH_CANDIDATES, "give constraints=Constraints(avoid=['...'])"),
    "top": (_WITH_CANDIDATES, "choose from the result, such as result.top(3)"),
    "novelty": ((ParaphraseSettings,), "choose from the result, such as result.at_novelty(30)"),
    "confidence": ((ParaphraseSettings,), "choose from the result, such as result.confident(0.9)"),
    "front": ((ParaphraseSettings,), "choose from the result with result.front()"),
}
"""Options that people give to a task and that belong in another place: the settings of such tasks, and the place."""


_OPTIONS = ("constraints", "explain", "fingerprint", "stage", "left", "right", "document")


def refuse_misplaced(kind: type[Settings], names: Iterable[str]) -> None:
    """Refuse names that are not settings of a task and belong elsewhere, or are misspelled options."""
    for name in names:
        kinds, advice = _ELSEWHERE.get(name, ((), ""))
        if issubclass(kind, kinds):
            raise SettingsError(f"There is no setting {name!r} of {kind.task}; {advice}.")
        option = did_you_mean(name, (*_OPTIONS, *kind.names()))
        if option != did_you_mean(name, kind.names()):
            raise SettingsError(f"There is no option {name!r} of {kind.task}{option}.")


def several(items: Iterable[Item], needed: str) -> Iterable[Item]:
    """Many inputs; a single text or mapping is refused, although Python can iterate over it."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InputError(f"{needed} in a list or an iterator, not {type(items).__name__}.")
    return items


def sides(gap: str | tuple[str, str]) -> tuple[str, str]:
    """The texts before and after a gap."""
    if isinstance(gap, str):
        left, *others = split_blanks(gap)
        if len(others) > 1:
            raise InputError(f"There are {len(others)} gaps in the text. Fill them one after the other with fill().")
        return left, others[0]
    if isinstance(gap, Sequence) and len(gap) == 2 and all(isinstance(text, str) for text in gap):
        return gap[0], gap[1]
    raise InputError(f"A gap is a text with ___, or the text before it and the text after it, not {shown(gap)}.")


def place(given: str | Mapping[str, str]) -> tuple[str, str, str]:
    """The text before a span, the span, and the text after it."""
    if isinstance(given, str):
        return split_document(given)
    is_span = isinstance(given, Mapping) and "span" in given and {"span", "left", "right", "document"} >= given.keys()
    if not is_span or not all(isinstance(text, str) for text in given.values()):
        raise InputError(
            "A span is a document with [[span]], or a text `span` with its `left`, `right` or `document`, not "
            f"{shown(given)}."
        )
    span, left, right = (given.get(name, "") for name in ("span", "left", "right"))
    if "document" in given:
        return find_span(given["document"], span)
    return split_document(span) if "[[" in span and not left + right else (left, span, right)


def group(given: tuple[str | None, str | Sequence[str]]) -> tuple[str | None, Sequence[str]]:
    """A reference and its candidates."""
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        reference, candidates = given
        if isinstance(candidates, Sequence):
            return reference, [candidates] if isinstance(candidates, str) else candidates
    raise InputError(f"A reference is needed with a candidate or a list of candidates, not {shown(given)}.")


def loaded(given: Fingerprint | str | Path | None) -> Fingerprint | None:
    """A fingerprint, read from its file where that is named."""
    if given is None or isinstance(given, Fingerprint):
        return given
    if not isinstance(given, str | Path):
        raise InputError(f"fingerprint takes a Fingerprint or the name of its file, not {type(given).__name__}.")
    return Fingerprint.load(given)


def constraints(given: Constraints | None) -> Constraints:
    if given is None or isinstance(given, Constraints):
        return given or NONE
    raise InputError(f"constraints takes Constraints(keep=[...], avoid=[...]), not {type(given).__name__}.")


def reporting(explain: int, stage: Stage | None) -> dict[str, Any]:
    """The options of a task that say what it reports besides its result."""
    if not isinstance(explain, int) or explain < 0:
        raise SettingsError(f"explain is {explain!r}; it must be the number of candidates to explain, 0 or more.")
    if stage is not None and not callable(stage):
        raise InputError(f"stage takes a function that is called with a text, not {type(stage).__name__}.")
    return {"explain": explain, "stage": stage or silent}


def shown(value: object) -> str:
    """A value in a message, cut off where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
