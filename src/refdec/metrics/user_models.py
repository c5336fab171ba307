"""Models of metrics that the user provides: an environment variable names a folder or a model of the hub.

Weights are read from safetensors only: a pickle can run any code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from refdec.errors import InputError, ModelError

ScorePairs = Callable[[Sequence[tuple[str, str]]], list[float]]


def named_model(title: str, variable: str, example: str) -> str:
    """The value of the variable; refused where it is empty."""
    name = os.environ.get(variable, "").strip()
    if not name:
        raise ModelError(
            f"{title} needs a model that does not come with refdec. "
            f"Set {variable} to its folder, or to its name on the Hugging Face hub, such as {example}."
        )
    return name


def best_scores(
    title: str, texts: Sequence[str], references: Sequence[Sequence[str]], score: ScorePairs, batch: int
) -> list[float]:
    """The score of each text with the best of its references; `score` gets batches of (text, reference)."""
    if not all(references):
        raise InputError(f"{title} needs at least one reference for each text.")
    pairs = [(text, other) for text, group in zip(texts, references, strict=True) for other in group]
    scores = iter([value for start in range(0, len(pairs), batch) for value in score(pairs[start : start + batch])])
    return [max(next(scores) for _ in group) for group in references]


@contextmanager
def loading(title: str, variable: str, name: str) -> Iterator[None]:
    """Names the variable behind a model that cannot be loaded."""
    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise ModelError(f"{title} cannot load {name}, which {variable} names: {str(error).strip()[:300]}") from error


def from_safetensors(kind: Any, name: str, **options: Any) -> Any:
    """What `kind.from_pretrained` makes of a folder or a model of the hub that has safetensors."""
    folder = Path(name)
    pickles = sorted(path.name for path in folder.glob("*.bin"))
    if pickles and not any(folder.glob("*.safetensors")):
        raise ModelError(
            f"{folder} has its weights only as pickles ({', '.join(pickles)}). refdec reads no pickles, which can run "
            "any code. Convert them with safetensors.torch.save_file, as docs/evaluation.md shows."
        )
    return kind.from_pretrained(name, use_safetensors=True, **options)


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
