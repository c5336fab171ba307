"""BERTScore (Zhang et al. 2020): F1 of tokens that are matched by the cosine of their contextual vectors, 0 to 100.

Each token counts with the token of the other text that is nearest to it, the ones around the text (CLS, SEP) only as
partners; the best reference of each item counts. No idf weights, no rescaling by a baseline. The model is the user's
own (REFDEC_BERTSCORE_MODEL), and so can be its layer (REFDEC_BERTSCORE_LAYER); the authors' layer is known for the
models they recommend. Their package `bert-score` gives the same numbers, but fails on an empty text with the
transformers of today.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from refdec.errors import SettingsError
from refdec.metrics.user_models import best_scores, device, from_safetensors, loading, named_model

TITLE = "BERTScore"
MODEL = "REFDEC_BERTSCORE_MODEL"
LAYER = "REFDEC_BERTSCORE_LAYER"
LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "roberta-base": 10,
    "roberta-large": 17,
    "distilroberta-base": 5,
    "deberta-large-mnli": 18,
    "deberta-xlarge-mnli": 40,
}
"""The layer that agrees best with people, by the authors' table; other models are read at their last."""

BATCH = 64
MAXIMUM_TOKENS = 512


def bert_scores(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """F1 of each item with the best of its references."""
    return [100 * score for score in best_scores(TITLE, candidates, references, _f1, BATCH)]


def bert_score_model() -> tuple[str, int | None]:
    """The name of the model, and the layer at which it is read; None is the last."""
    name = named_model(TITLE, MODEL, "roberta-large")
    layer = os.environ.get(LAYER, "").strip()
    if layer and not layer.isdigit():
        raise SettingsError(f"{LAYER} is {layer!r}; it must be the number of a layer.")
    return name, int(layer) if layer else LAYERS.get(name.rstrip("/").rsplit("/", 1)[-1])


@torch.inference_mode()
def _f1(pairs: Sequence[tuple[str, str]]) -> list[float]:
    text, text_tokens, text_words = _vectors([text for text, _ in pairs])
    other, other_tokens, other_words = _vectors([other for _, other in pairs])
    cosines = torch.einsum("bsd,bgd->bsg", text, other)
    cosines = cosines.masked_fill(~(text_tokens[:, :, None] & other_tokens[:, None, :]), -1.0)
    precision = (cosines.amax(2) * text_words).sum(1) / text_words.sum(1).clamp(min=1)
    recall = (cosines.amax(1) * other_words).sum(1) / other_words.sum(1).clamp(min=1)
    empty = (text_words.sum(1) == 0) | (other_words.sum(1) == 0)
    f1 = (2 * precision * recall / (precision + recall)).masked_fill(empty, 0.0)
    return [float(value) for value in f1]


def _vectors(texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Unit vectors (texts, tokens, size), which of them are tokens, and which are of the text itself."""
    name, layer = bert_score_model()
    model, tokenizer = _encoder(name)
    batch = tokenizer(
        list(texts),
        padding=True,
        truncation=True,
        max_length=min(tokenizer.model_max_length, MAXIMUM_TOKENS),
        return_special_tokens_mask=True,
        return_tensors="pt",
    ).to(model.device)
    around = batch.pop("special_tokens_mask").bool()
    hidden = model(**batch, output_hidden_states=True).hidden_states
    if layer is not None and layer >= len(hidden):
        raise SettingsError(f"{TITLE} is to be read at layer {layer}, and {name} has {len(hidden) - 1}. Set {LAYER}.")
    vectors = torch.nn.functional.normalize(hidden[-1 if layer is None else layer].float(), dim=-1)
    return vectors, batch["attention_mask"].bool(), ~around


@cache
def _encoder(name: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    with loading(TITLE, MODEL, name):
        # The authors put a space before a text, where the tokens of a model know one.
        tokenizer = AutoTokenizer.from_pretrained(name, add_prefix_space=True)
        return from_safetensors(AutoModel, name).eval().to(device()), tokenizer
