"""A training run on disk: weights and optimiser state as safetensors, the rest as JSON. No pickle.

A checkpoint is a directory that is replaced in one step. Knows names, tensors and plain values.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from refdec.errors import InputError, ModelError
from refdec.files.whole import whole_directory, writing

FORMAT = "refdec-training"
VERSION = 1
STATE = "state.json"
WEIGHTS = "weights.safetensors"
OPTIMISER = "optimiser.safetensors"
SPARE = 1.2
"""Free disk space that a checkpoint needs, as a multiple of its size."""


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on."""

    weights: dict[str, torch.Tensor]
    optimiser: dict[str, torch.Tensor]
    values: dict[str, Any]  # step, tokens, seconds, the history of the loss: JSON


def save(home: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `home`. A full disk is noticed before anything is written."""
    new = home.with_name(home.name + ".new")
    with writing(home, (SafetensorError,)), whole_directory(home, new, _old(home)):
        tensors = (*checkpoint.weights.values(), *checkpoint.optimiser.values())
        needed = SPARE * sum(tensor.nbytes for tensor in tensors)
        free = shutil.disk_usage(home.parent).free
        if free < needed:
            raise InputError(
                f"{home.parent} has {free / 1e9:.1f} GB free, and a checkpoint needs {needed / 1e9:.1f} GB. "
                "Make room: training goes on without a checkpoint meanwhile."
            )
        for name, part in ((WEIGHTS, checkpoint.weights), (OPTIMISER, checkpoint.optimiser)):
            save_file({key: tensor.detach().contiguous().cpu() for key, tensor in part.items()}, new / name)
        content = {"format": FORMAT, "version": VERSION, **checkpoint.values}
        (new / STATE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load(home: Path) -> Checkpoint | None:
    """The last checkpoint, also where a run was killed while it replaced one; None where there is none."""
    place = next((place for place in (home, _old(home)) if (place / STATE).is_file()), None)
    if place is None:
        return None
    try:
        values = json.loads((place / STATE).read_text(encoding="utf-8"))
        if values.pop("format") != FORMAT or values.pop("version") != VERSION:
            raise ValueError("another version of refdec wrote it")
        return Checkpoint(load_file(place / WEIGHTS), load_file(place / OPTIMISER), values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise ModelError(f"The checkpoint {place} cannot be used ({error}). Remove it to begin anew.") from error


def _old(home: Path) -> Path:
    return home.with_name(home.name + ".old")
