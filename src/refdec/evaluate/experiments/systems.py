"""Systems by name: what is compared with what.

`source` and `reference` are texts of the data; `rd` is refdec itself, with a preset and changes where they are named
(`rd:paper,contexts=240`); competing systems have names of their own (`upsa,steps=50`, see `baselines`), or are folders
with a trained one; everything else is a file of outputs. Knows names and settings, loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refdec.baselines.named_methods import INFILLERS, PARAPHRASERS, ChosenMethod, NamedMethod, choose_method
from refdec.errors import InputError, SettingsError
from refdec.evaluate.experiments.lines import find_file
from refdec.settings import (
    AnySettings,
    InfillSettings,
    ParaphraseSettings,
    Settings,
    did_you_mean,
    named_changes,
    preset,
)

YARDSTICKS = ("source", "reference")

GROUPS: dict[str, tuple[str, ...]] = {
    "variants": (
        "rd:faithful",
        "rd:faithful,sides=right",
        "rd:faithful,sides=left",
        "rd:faithful,top_p=0.9",
        "rd:faithful,steered=false",
        "rd:faithful,ledger=0",
        "rd:faithful,echo=0.001,echo_contexts=6,contexts=80,context_tokens=50,context_top_p=0.7,kept_contexts=6",
        "rd:paper,ledger=1.5",
        "rd:paper",
        "rd:paper,sides=right",
        "rd:paper,sides=left",
        "rd:paper,solver=uniform",
        "rd:paper,top_p=0.9",
    )
}
"""Names for several systems of paraphrasing: `variants` are refdec with one thing turned off, see docs/baselines.md."""


@dataclass(frozen=True, slots=True)
class GivenText:
    """The text that was given, or the first reference."""

    name: str


@dataclass(frozen=True, slots=True)
class Saved:
    """A file of outputs of another system."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name.partition(".jsonl")[0]


@dataclass(frozen=True, slots=True)
class Reflective:
    """refdec with some settings."""

    preset: str
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Also the name of its file of outputs."""
        parts = [f"{name}-{value}" for name, value in self.changes.items()]
        return re.sub(r"[^\w.-]", "_", "-".join(["rd", self.preset, *parts]))

    def settings(self, kind: type[AnySettings]) -> AnySettings:
        return preset(kind, self.preset).replace(**self.changes)


@dataclass(frozen=True, slots=True)
class Competing:
    """A competing system, which is run as refdec is."""

    chosen: ChosenMethod[Any]

    @property
    def name(self) -> str:
        """Also the name of its file of outputs."""
        return self.chosen.label


Generated = Reflective | Competing
System = GivenText | Saved | Generated

METHODS: dict[type[Settings], Mapping[str, NamedMethod[Any]]] = {
    ParaphraseSettings: PARAPHRASERS,
    InfillSettings: INFILLERS,
}
"""The competing systems of each task."""


def each_system(names: Iterable[str], kind: type[AnySettings]) -> list[str]:
    """The names of single systems, those of a group in its place and none twice."""
    groups = GROUPS if kind is ParaphraseSettings else {}
    return list(dict.fromkeys(one for name in names for one in groups.get(name, (name,))))


def system(text: str, kind: type[AnySettings], default: str) -> System:
    """A system as it is named on the command line; `default` is the preset of a plain `rd`."""
    if text in YARDSTICKS:
        return GivenText(text)
    if text == "rd" or text.startswith("rd:"):
        reflective = _reflective(text.partition(":")[2], default)
        reflective.settings(kind)  # refuses what does not exist
        return reflective
    methods = METHODS.get(kind, {})
    chosen = choose_method(text, methods)
    if chosen is not None:
        return Competing(chosen)
    path = Path(text)
    if find_file(path) is not None:
        return Saved(path)
    names = (*YARDSTICKS, "rd", *methods, *(GROUPS if kind is ParaphraseSettings else ()))
    if path.suffix or "/" in text:
        raise InputError(f"There is no file {text}. A system is {', '.join(names)} or a file of outputs.")
    raise SettingsError(
        f"There is no system {text!r}{did_you_mean(text, names)}. Name {', '.join(names)} (rd:PRESET,NAME=VALUE), or a "
        "file of outputs."
    )


def _reflective(text: str, default: str) -> Reflective:
    first, *others = text.split(",")
    if "=" in first:
        others.insert(0, first)
    return Reflective(default if "=" in first else first or default, named_changes(others, f"rd:{text}"))
