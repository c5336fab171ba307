"""The settings of each task as a form shows them: names, help, ranges on this server, and their values in the presets.

Made from the settings' own metadata, so that a new setting is on the page without a change there. Knows no HTML.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass

from refdec.serve.limits import HIGHEST
from refdec.settings import (
    PRESETS,
    FingerprintSettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
)

MAIN = ("contexts", "samples", "seed")
"""Settings that stand at the top; the others are folded away."""


@dataclass(frozen=True, slots=True)
class Field:
    """One setting: `presets` is a JSON object of its values by preset, `choices` are empty for a number."""

    name: str
    label: str
    help: str
    kind: str  # "number", "truth" or "choice"
    choices: tuple[str, ...]
    low: float
    high: float
    step: str
    presets: str


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one task."""

    task: str
    presets: tuple[str, ...]
    main: tuple[Field, ...]
    others: tuple[Field, ...]


def forms() -> dict[str, Form]:
    """The form of each task by its name."""
    return {kind.task: _form(kind) for kind in (ParaphraseSettings, InfillSettings, RewriteSettings, ScoreSettings)}


def _form(kind: type[FingerprintSettings]) -> Form:
    fields = list(_fields(kind))
    main = tuple(field for name in MAIN for field in fields if field.name == name)
    return Form(kind.task, tuple(PRESETS[kind.task]), main, tuple(field for field in fields if field not in main))


def _fields(kind: type[FingerprintSettings]) -> Iterator[Field]:
    for item in dataclasses.fields(kind):
        details = item.metadata
        truth = isinstance(item.default, bool)
        choices = ("true", "false") if truth else details["choices"]
        if len(choices) == 1:
            continue  # nothing to choose
        symbol = f" ({details['symbol']} in the paper)" if details["symbol"] else ""
        values = {name: getattr(settings, item.name) for name, settings in PRESETS[kind.task].items()}
        yield Field(
            name=item.name,
            label=item.name.replace("_", " ").replace("top p", "top-p"),
            help=f"{details['help']}{symbol}",
            kind="truth" if truth else "choice" if choices else "number",
            choices=choices,
            low=details["low"],
            high=min(details["high"], HIGHEST.get(item.name, details["high"])),
            step="1" if isinstance(item.default, int) else "any",
            presets=json.dumps(values),
        )
