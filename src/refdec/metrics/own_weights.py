"""Models that a metric does not bring along: an environment variable names a folder or a hub id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from refdec.errors import ModelError


def named_model(title: str, variable: str, example: str) -> str:
    """What the variable names; refused where it names nothing."""
    name = os.environ.get(variable, "").strip()
    if not name:
        raise ModelError(
            f"{title} needs a model that refdec does not bring along. "
            f"Set {variable} to the folder of one, or to its name on the Hugging Face hub, such as {example}."
        )
    return name


@contextmanager
def loading(title: str, variable: str, name: str) -> Iterator[None]:
    """Says which variable is behind a model that cannot be loaded."""
    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise ModelError(f"{title} cannot load {name}, which {variable} names: {str(error).strip()[:300]}") from error


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
