"""refdec rewrites text with two language models that read in opposite directions, and no task training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refdec.errors import InputError, ModelError, RefdecError, SettingsError
    from refdec.lm.direction import Direction
    from refdec.lm.pair import Pair, load_pair
    from refdec.results import Context, Paraphrase, ParaphraseResult
    from refdec.settings import PRESETS, ParaphraseSettings
    from refdec.tasks.reflector import Reflector

__version__ = "0.1.0"

_HOMES = {
    "errors": ("InputError", "ModelError", "RefdecError", "SettingsError"),
    "lm.direction": ("Direction",),
    "lm.pair": ("Pair", "load_pair"),
    "results": ("Context", "Paraphrase", "ParaphraseResult"),
    "settings": ("PRESETS", "ParaphraseSettings"),
    "tasks.reflector": ("Reflector",),
}

__all__ = [
    "PRESETS",
    "Context",
    "Direction",
    "InputError",
    "ModelError",
    "Pair",
    "Paraphrase",
    "ParaphraseResult",
    "ParaphraseSettings",
    "RefdecError",
    "Reflector",
    "SettingsError",
    "__version__",
    "load_pair",
]


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used: a help text must not wait for torch."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"refdec.{home}"), name)
    raise AttributeError(f"module 'refdec' has no attribute {name!r}")
