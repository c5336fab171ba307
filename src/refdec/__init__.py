"""refdec rewrites text with two language models that read in opposite directions, and no task training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refdec.batch.job import Models
    from refdec.batch.mapper import Mapper
    from refdec.errors import InputError, ModelError, RefdecError, SettingsError
    from refdec.lm.direction import Direction
    from refdec.lm.pair import Pair, load_pair
    from refdec.page import page
    from refdec.results import (
        Context,
        Explanation,
        Filling,
        InfillResult,
        Paraphrase,
        ParaphraseResult,
        RewriteResult,
        Score,
    )
    from refdec.settings import (
        PRESETS,
        FingerprintSettings,
        InfillSettings,
        ParaphraseSettings,
        RewriteSettings,
        ScoreSettings,
    )
    from refdec.tasks.constraints import Constraints
    from refdec.tasks.fingerprint import Fingerprint
    from refdec.tasks.reflector import Reflector
    from refdec.version import __version__

_HOMES = {
    "batch.job": ("Models",),
    "batch.mapper": ("Mapper",),
    "tasks.constraints": ("Constraints",),
    "errors": ("InputError", "ModelError", "RefdecError", "SettingsError"),
    "tasks.fingerprint": ("Fingerprint",),
    "lm.direction": ("Direction",),
    "lm.pair": ("Pair", "load_pair"),
    "page": ("page",),
    "results": (
        "Context",
        "Explanation",
        "Filling",
        "InfillResult",
        "Paraphrase",
        "ParaphraseResult",
        "RewriteResult",
        "Score",
    ),
    "settings": (
        "PRESETS",
        "FingerprintSettings",
        "InfillSettings",
        "ParaphraseSettings",
        "RewriteSettings",
        "ScoreSettings",
    ),
    "tasks.reflector": ("Reflector",),
    "version": ("__version__",),
}

__all__ = [
    "PRESETS",
    "Constraints",
    "Context",
    "Direction",
    "Explanation",
    "Filling",
    "Fingerprint",
    "FingerprintSettings",
    "InfillResult",
    "InfillSettings",
    "InputError",
    "Mapper",
    "ModelError",
    "Models",
    "Pair",
    "Paraphrase",
    "ParaphraseResult",
    "ParaphraseSettings",
    "RefdecError",
    "Reflector",
    "RewriteResult",
    "RewriteSettings",
    "Score",
    "ScoreSettings",
    "SettingsError",
    "__version__",
    "load_pair",
    "page",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use: a help text must not wait for torch."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"refdec.{home}"), name)
    raise AttributeError(f"module 'refdec' has no attribute {name!r}")
