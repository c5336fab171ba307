"""refdec rewrites text with two language models that read in opposite directions, and no task training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refdec.batch.job import Models as Models
    from refdec.batch.mapper import Mapper as Mapper
    from refdec.errors import InputError as InputError
    from refdec.errors import ModelError as ModelError
    from refdec.errors import RefdecError as RefdecError
    from refdec.errors import SettingsError as SettingsError
    from refdec.ledger.change import Change as Change
    from refdec.ledger.comparison import Comparison as Comparison
    from refdec.ledger.comparison import compare as compare
    from refdec.lm.direction import Direction as Direction
    from refdec.lm.pair import Pair as Pair
    from refdec.lm.pair import load_pair as load_pair
    from refdec.page import page as page
    from refdec.results import Context as Context
    from refdec.results import Explanation as Explanation
    from refdec.results import Filling as Filling
    from refdec.results import InfillResult as InfillResult
    from refdec.results import Paraphrase as Paraphrase
    from refdec.results import ParaphraseResult as ParaphraseResult
    from refdec.results import RewriteResult as RewriteResult
    from refdec.results import Score as Score
    from refdec.settings import PRESETS as PRESETS
    from refdec.settings import FingerprintSettings as FingerprintSettings
    from refdec.settings import InfillSettings as InfillSettings
    from refdec.settings import ParaphraseSettings as ParaphraseSettings
    from refdec.settings import RewriteSettings as RewriteSettings
    from refdec.settings import ScoreSettings as ScoreSettings
    from refdec.tasks.constraints import Constraints as Constraints
    from refdec.tasks.fingerprint import Fingerprint as Fingerprint
    from refdec.tasks.reflector import Reflector as Reflector
    from refdec.version import __version__ as __version__

_HOMES = {
    "batch.job": ("Models",),
    "batch.mapper": ("Mapper",),
    "tasks.constraints": ("Constraints",),
    "errors": ("InputError", "ModelError", "RefdecError", "SettingsError"),
    "tasks.fingerprint": ("Fingerprint",),
    "ledger.change": ("Change",),
    "ledger.comparison": ("Comparison", "compare"),
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

__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    """Load a public name on first use: a help text must not wait for torch."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"refdec.{home}"), name)
    raise AttributeError(f"module 'refdec' has no attribute {name!r}")
