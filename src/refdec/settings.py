"""Settings of the tasks: the paper's symbols spelled out, validated when made, frozen afterwards.

Each setting carries its symbol, its range and its help text: the command line and `help()` are made from these.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

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
    if isinstance(item.default, bool):
        if not isinstance(value, bool):
            raise SettingsError(f"{item.name} is {value!r}; it must be True or False.")
        return
    if isinstance(item.default, str):
        if not isinstance(value, str):
            raise SettingsError(f"{item.name} is {value!r}; it must be text.")
        return
    whole = isinstance(item.default, int)
    kind = "a whole number" if whole else "a number"
    good_type = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not good_type or not math.isfinite(value) or not details["low"] <= value <= details["high"]:
        raise SettingsError(f"{item.name} is {value!r}; it must be {kind} from {details['low']} to {details['high']}.")


@dataclass(frozen=True, slots=True)
class Settings:
    """The parent of all settings: checked when made, copied with changes, listed in signatures."""

    task: ClassVar[str]

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse names that do not exist: `__init__` would do so with a TypeError."""
        names = cls.names()
        for name in given:
            if name not in names:
                raise SettingsError(_no_setting(cls, name))
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            _check(item, getattr(self, item.name))

    def replace(self, **changes: Any) -> Self:
        """A copy with some settings changed."""
        return dataclasses.replace(self, **changes)

    @classmethod
    def names(cls) -> list[str]:
        return [item.name for item in dataclasses.fields(cls)]

    def items(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.names()]


AnySettings = TypeVar("AnySettings", bound=Settings)


def documented(kind: type[AnySettings]) -> type[AnySettings]:
    """Settings whose docstring lists them all, so that `help()` explains them."""
    lines = [f"    {item.name}: {_explained(item)}" for item in dataclasses.fields(kind)]
    kind.__doc__ = "\n".join([f"{kind.__doc__}\n\nAttributes:", *lines])
    return kind


def _explained(item: dataclasses.Field[Any]) -> str:
    details = item.metadata
    symbol = f" ({details['symbol']} in the paper)" if details["symbol"] else ""
    span = "text" if isinstance(item.default, str) else f"{details['low']} to {details['high']}"
    values = "True or False" if isinstance(item.default, bool) else " or ".join(details["choices"]) or span
    return f"{details['help']}{symbol}; {values}, default {item.default or 'none' if span == 'text' else item.default}"


@documented
@dataclass(frozen=True, slots=True)
class FingerprintSettings(Settings):
    """How a text is described by contexts. The defaults are the paper's for paraphrasing."""

    task: ClassVar[str] = "fingerprint"

    contexts: int = setting(80, "contexts sampled on each side", symbol="n_c", low=1, high=100_000)
    context_tokens: int = setting(50, "tokens per context", symbol="len_c", low=1, high=100_000)
    context_top_p: float = setting(0.7, "nucleus of the contexts", symbol="p_c", low=0, high=1)
    most_quoted: float = setting(1.0, "share of the source a context may quote", low=0, high=1)
    kept_contexts: int = setting(6, "heaviest contexts that generate", symbol="k_c", low=1, high=100_000)
    minimum_weight: float = setting(0.0, "lighter contexts are not kept", low=0, high=1)
    entropy: float = setting(4.0, "entropy of a whole generation in nats", symbol="h", low=0, high=1_000)
    frame: str = setting("quoted", "frame of the source", choices=("quoted", "paragraph", "none"))
    solver: str = setting("newton", "solver of the weights", choices=("newton", "adam", "uniform"))
    seed: int = setting(0, "seed of every random draw", low=0, high=2**63 - 1)

    def description(self) -> FingerprintSettings:
        """The part of these settings that describes a text, without that of the task."""
        return FingerprintSettings(**{name: getattr(self, name) for name in FingerprintSettings.names()})


@documented
@dataclass(frozen=True, slots=True)
class ParaphraseSettings(FingerprintSettings):
    """How a paraphrase is made. The defaults are the paper's."""

    task: ClassVar[str] = "paraphrase"

    samples: int = setting(30, "generations on each side", symbol="n_s", low=1, high=100_000)
    extra_tokens: int = setting(5, "tokens a generation may be longer than the source", low=0, high=10_000)
    prior: float = setting(0.0, "weight of a result's own probability", low=0, high=1_000)
    loss: float = setting(0.0, "nats that a lost number or name costs", low=0, high=1_000)
    exact: bool = setting(False, "score all candidates on all contexts")
    echo: float = setting(0.0, "weight share of the quoted source", low=0, high=1)
    echo_contexts: int = setting(2, "contexts that generate beside the echo", low=0, high=100_000)
    ledger: float = setting(0.0, "nats per unit of the ledger", low=0, high=1_000)
    copying: float = setting(0.0, "nats that following the source costs", low=0, high=1_000)
    populations: int = setting(1, "groups of samples, steered apart", low=1, high=1_000)
    rounds: int = setting(1, "rounds of samples if few are faithful", low=1, high=100)
    steered: bool = setting(True, "let the ledger steer samples, besides ranking")
    sides: str = setting("both", "sides that count", choices=("both", "right", "left"))
    top_p: float = setting(0.0, "fixed nucleus of generations; 0: by entropy", low=0, high=1)

    @property
    def side_names(self) -> tuple[str, ...]:
        return ("right", "left") if self.sides == "both" else (self.sides,)


@documented
@dataclass(frozen=True, slots=True)
class RewriteSettings(ParaphraseSettings):
    """How a span is rewritten inside its context: as a paraphrase, between its true neighbours."""

    task: ClassVar[str] = "rewrite"

    frame: str = setting("none", "frame of the span by itself", choices=("none",))
    in_place: float = setting(0.5, "share of contexts that hold the neighbours", low=0, high=1)
    neighbour_weight: float = setting(0.25, "least weight of the true neighbours", low=0, high=1)
    place: float = setting(1.0, "weight of the neighbours' fit in the score", low=0, high=1_000)


@documented
@dataclass(frozen=True, slots=True)
class InfillSettings(FingerprintSettings):
    """How a gap is filled. The defaults are the paper's for abductive infilling."""

    task: ClassVar[str] = "infill"

    contexts: int = setting(50, "contexts sampled on each side", symbol="n_c", low=1, high=100_000)
    context_top_p: float = setting(0.9, "nucleus of the contexts", symbol="p_c", low=0, high=1)
    entropy: float = setting(6.0, "entropy of a whole generation in nats", symbol="h", low=0, high=1_000)
    frame: str = setting("none", "frame of both texts", choices=("paragraph", "none"))
    samples: int = setting(20, "generations on each side", symbol="n_s", low=1, high=100_000)
    tokens: int = setting(20, "tokens per generation", symbol="len_s", low=1, high=10_000)
    sentences: int = setting(1, "sentences a filling may have at most", low=1, high=100)
    least_words: int = setting(2, "words a filling has at least", low=1, high=1_000)
    most_words: int = setting(20, "words a filling has at most", low=1, high=1_000)
    no_repeat: int = setting(3, "no word sequence this long twice; 0 allows it", low=0, high=100)
    credit: str = setting("new", "words that earn credit", choices=("new", "all"))

    def __post_init__(self) -> None:
        FingerprintSettings.__post_init__(self)
        if self.least_words > self.most_words:
            raise SettingsError(f"least_words is {self.least_words}; it cannot be above most_words, {self.most_words}.")
        if self.no_repeat == 1:
            raise SettingsError("no_repeat is 1, but every text says some word twice. Use 0, or 2 and more.")


@documented
@dataclass(frozen=True, slots=True)
class ScoreSettings(FingerprintSettings):
    """How alike two texts are: which contexts count, and how."""

    task: ClassVar[str] = "score"

    frame: str = setting("none", "frame of a text", choices=("quoted", "paragraph", "none"))
    sides: str = setting("both", "contexts that count", choices=("both", "right", "left"))
    weighting: str = setting("none", "weights of contexts", choices=("none", "kept", "learned"))
    symmetric: bool = setting(False, "also score the reference by the candidate")
    fluency: float = setting(0.0, "weight of the candidate's own probability", low=0, high=1_000)
    resamples: int = setting(1_000, "resamples of the contexts for the interval", low=0, high=1_000_000)


_TABLES = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))

PRESETS: dict[str, dict[str, FingerprintSettings]] = {
    kind.task: {name: kind(**changes) for name, changes in _TABLES[kind.task].items()}
    for kind in (ParaphraseSettings, RewriteSettings, InfillSettings, ScoreSettings)
}
PRESETS["fingerprint"] = {name: settings.description() for name, settings in PRESETS["paraphrase"].items()}
"""The presets by task and name: those of presets.toml, and for fingerprints those of paraphrase."""

CPU_PRESET = "fast"
GPU_PRESETS = {"paraphrase": "deep", "rewrite": "deep", "fingerprint": "deep", "infill": "released", "score": "wide"}
"""The default on each kind of device where there is no better one."""

ECHO_PRESET = "faithful"
"""The default for tasks that have it, if the pair has examples: with them it can quote its source."""


def preset(kind: type[AnySettings], name: str) -> AnySettings:
    """A preset by its name, of the task that this kind of settings belongs to."""
    presets = PRESETS[kind.task]
    if name not in presets:
        raise SettingsError(
            f"There is no {kind.task} preset {name!r}{did_you_mean(name, presets)}. Presets: {', '.join(presets)}."
        )
    settings = presets[name]
    assert isinstance(settings, kind)
    return settings


def default_preset(kind: type[Settings], device: str, examples: bool = True) -> str:
    """The preset for a kind of device ("cpu", "cuda") and a pair that has examples of rewording, or has none."""
    if examples and issubclass(kind, ParaphraseSettings):
        return ECHO_PRESET
    return GPU_PRESETS[kind.task] if device == "cuda" else CPU_PRESET


def resolve(
    kind: type[AnySettings],
    chosen: AnySettings | str | None,
    changes: dict[str, Any],
    device: str,
    saved: Settings | None = None,
    examples: bool = True,
) -> AnySettings:
    """Settings of a task: an object, a preset by name, or the default of a device and a pair, with changes.

    Where nothing was chosen, saved settings, such as those of a fingerprint, replace those of the default.
    """
    if chosen is None:
        default = preset(kind, default_preset(kind, device, examples))
        return default.replace(**(dict(saved.items()) if saved is not None else {}) | changes)
    if isinstance(chosen, str):
        return preset(kind, chosen).replace(**changes)
    if type(chosen) is kind or (kind is FingerprintSettings and isinstance(chosen, kind)):
        return chosen.replace(**changes)
    raise SettingsError(
        f"{kind.task} takes {kind.__name__} or the name of a preset ({', '.join(PRESETS[kind.task])}), not "
        f"{type(chosen).__name__}."
    )


def named_changes(parts: Iterable[str], text: str) -> dict[str, Any]:
    """Settings that a user wrote as NAME=VALUE; `text` is all that was written."""
    changes = {}
    for part in filter(None, parts):
        name, sign, value = part.partition("=")
        if not sign:
            raise SettingsError(f"{part!r} in {text} is no setting; write NAME=VALUE, separated by commas.")
        try:
            changes[name.replace("-", "_")] = json.loads(value)
        except ValueError:
            changes[name.replace("-", "_")] = value
    return changes


def _no_setting(kind: type[Settings], name: str) -> str:
    """What to say of a setting that a task does not have."""
    for task, presets in PRESETS.items():
        if name in presets[CPU_PRESET].names():
            return f"{name} is a setting of {task}, not of {kind.task}."
    names = kind.names()
    return f"There is no setting {name!r}{did_you_mean(name, names)}. Settings: {', '.join(names)}."


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """The choice that a wrong name resembles, as a question in brackets; nothing where it resembles none."""
    close = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.65)  # "top" is not "entropy"
    return f" (did you mean {close[0]!r}?)" if close else ""
