"""A training run on disk: weights and what the optimisers remember as safetensors, the rest as JSON. No pickle.

A checkpoint is a directory that takes its place in one step; the one before it stays until then. Knows names, tensors
and plain values.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from refdec.errors import InputError, ModelError

FORMAT = "refdec-training"
VERSION = 1
STATE = "state.json"
WEIGHTS = "weights.safetensors"
OPTIMISER = "optimiser.safetensors"
SPARE = 1.2
"""Free space that a checkpoint needs, against its size."""


@dataclass(frozen=True)
class Checkpoint:
    weights: dict[str, torch.Tensor]
    optimiser: dict[str, torch.Tensor]
    values: dict[str, Any]  # step, tokens, seconds, the history of the loss: JSON


def save(home: Path, checkpoint: Checkpoint) -> None:
    """Put a checkpoint in the place of the one that is there. A full disk is noticed before anything is written."""
    new, old = home.with_name(home.name + ".new"), home.with_name(home.name + ".old")
    needed = size(checkpoint)
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        free = shutil.disk_usage(home.parent).free
        if free < SPARE * needed:
            raise InputError(
                f"{home.parent} has {free / 1e9:.1f} GB free, and a checkpoint needs {SPARE * needed / 1e9:.1f} GB. "
                "Make room: training goes on without a checkpoint meanwhile."
            )
        new.mkdir()
        for name, tensors in ((WEIGHTS, checkpoint.weights), (OPTIMISER, checkpoint.optimiser)):
            save_file({key: tensor.detach().contiguous().cpu() for key, tensor in tensors.items()}, new / name)
        content = {"format": FORMAT, "version": VERSION, **checkpoint.values}
        (new / STATE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        for path in new.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        if home.exists():
            shutil.rmtree(old, ignore_errors=True)
            os.replace(home, old)
        os.replace(new, home)  # a run that was killed before this line has the old one, and nothing else
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(new, ignore_errors=True)
        raise InputError(f"{home} cannot be written ({getattr(error, 'strerror', None) or error}).") from error


def load(home: Path) -> Checkpoint | None:
    """The checkpoint that is there, also where a run was killed between two steps of saving one; None for none."""
    old = home.with_name(home.name + ".old")
    found = next((place for place in (home, old) if (place / STATE).is_file()), None)
    if found is None:
        return None
    try:
        values = json.loads((found / STATE).read_text(encoding="utf-8"))
        if values.pop("format") != FORMAT or values.pop("version") != VERSION:
            raise ValueError("it is of another version")
        return Checkpoint(load_file(found / WEIGHTS), load_file(found / OPTIMISER), values)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise ModelError(f"The checkpoint {found} cannot be used ({error}). Remove it to begin anew.") from error


def size(checkpoint: Checkpoint) -> int:
    """In bytes."""
    tensors = (*checkpoint.weights.values(), *checkpoint.optimiser.values())
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
