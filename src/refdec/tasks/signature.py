"""The line that lets a stranger make the same numbers again: version, models, settings, seed, machine."""

from __future__ import annotations

import torch

import refdec
from refdec.lm.pair import Pair
from refdec.settings import ParaphraseSettings, Settings
from refdec.tasks.constraints import NONE, Constraints


def signature(task: str, pair: Pair, settings: Settings, constraints: Constraints = NONE) -> str:
    """Parts `name:value`, joined by bars."""
    device = pair.forward.device
    machine = torch.cuda.get_device_name(device).replace(" ", "-") if device.type == "cuda" else device.type
    parts = [("refdec", refdec.__version__), ("task", task), ("pair", pair.name), *settings.items()]
    if pair.examples is not None and isinstance(settings, ParaphraseSettings) and settings.echo:
        parts.append(("examples", pair.examples.digest))
    if constraints:
        parts.append(("constraints", constraints.describe()))
    parts += [("torch", torch.__version__), ("device", machine), ("precision", pair.precision)]
    return "|".join(f"{name}:{value}" for name, value in parts)
