"""Settings of the tasks: the paper's symbols spelled out, validated when made, frozen afterwards.

A setting carries its symbol, its range and its help text, so that the command line and the docs cannot drift
away from it.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from refdec.errors import SettingsError


def setting(
    default: Any, help: str, *, symbol: str = "", low: float = 0, high: float = 0, choices: Iterable[str] = ()
) -> Any:
    """A dataclass field with its range and help text."""
    details = {"help": help, "symbol": symbol, "low": low, "high": high, "choices": tuple(choices)}
    return field(default=default, metadata=details)


def _check(item: dataclasses.Field[Any], value: Any) -> None:
    details = item.metadata
    if details["choices"]:
        if value not in details["choices"]:
            raise SettingsError(f"{item.name} is {value!r}; choose one of {', '.join(details['choices'])}.")
        return
    whole = isinstance(item.default, int)
    kind = "a whole number" if whole else "a number"
    good_type = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not good_type or not math.isfinite(value) or not details["low"] <= value <= details["high"]:
        raise SettingsError(f"{item.name} is {value!r}; it must be {kind} from {details['low']} to {details['high']}.")


@dataclass(frozen=True, slots=True)
class ParaphraseSettings:
    """How a paraphrase is made. The defaults are the paper's."""

    contexts: int = setting(80, "contexts sampled on each side", symbol="n_c", low=1, high=100_000)
    context_tokens: int = setting(50, "tokens a context has", symbol="len_c", low=1, high=100_000)
    context_top_p: float = setting(0.7, "nucleus from which contexts are sampled", symbol="p_c", low=0, high=1)
    kept_contexts: int = setting(6, "heaviest contexts that generate and score", symbol="k_c", low=1, high=100_000)
    minimum_weight: float = setting(0.0, "contexts lighter than this are not kept", low=0, high=1)
    samples: int = setting(30, "generations on each side", symbol="n_s", low=1, high=100_000)
    extra_tokens: int = setting(5, "tokens a generation may be longer than the source", low=0, high=10_000)
    entropy: float = setting(4.0, "entropy of sampling over the whole source, in nats", symbol="h", low=0, high=1_000)
    frame: str = setting("quoted", "what stands around the source", choices=("quoted", "paragraph", "none"))
    solver: str = setting("newton", "how context weights are learned", choices=("newton", "adam"))
    seed: int = setting(0, "seed of every random draw", low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            _check(item, getattr(self, item.name))

    def replace(self, **changes: Any) -> ParaphraseSettings:
        """A copy with some settings changed."""
        known = [item.name for item in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise SettingsError(f"There is no setting {name!r}{did_you_mean(name, known)}.")
        return dataclasses.replace(self, **changes)

    def items(self) -> list[tuple[str, Any]]:
        return [(item.name, getattr(self, item.name)) for item in dataclasses.fields(self)]


PRESETS = {
    "fast": ParaphraseSettings(
        contexts=24, context_tokens=40, context_top_p=0.4, kept_contexts=3, minimum_weight=0.01, samples=10
    ),
    "paper": ParaphraseSettings(),
    "wide": ParaphraseSettings(contexts=640, context_tokens=40, kept_contexts=8),
}
"""fast serves two CPU cores, paper is the paper's table, wide is what a GPU makes affordable.

With few contexts a small nucleus pays: they stay close to the source. The figures are in docs/quality.md.
"""


def preset(name: str) -> ParaphraseSettings:
    if name not in PRESETS:
        raise SettingsError(f"There is no preset {name!r}{did_you_mean(name, PRESETS)}. Presets: {', '.join(PRESETS)}.")
    return PRESETS[name]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
