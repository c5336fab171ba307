"""BLEURT (Sellam et al. 2020): what a model trained on people's judgements says of a text beside its reference.

The model is the user's own (REFDEC_BLEURT_MODEL), in one of the forms that are on the Hugging Face hub: Elron's
copies of the first models, or lucadiliello's of all of them. The first are BERT, and BLEURT-20 is RemBERT with tokens
by `sentencepiece`, so transformers reads them all; the package `bleurt-pytorch` does not work with transformers 5.
The best reference of each item counts. Most texts are between 0 and 1.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from refdec.errors import ModelError
from refdec.metrics.user_models import best_scores, device, from_safetensors, loading, named_model

TITLE = "BLEURT"
MODEL = "REFDEC_BLEURT_MODEL"
BATCH = 32
MAXIMUM_TOKENS = 512


def bleurt_scores(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The score of each item with the best of its references."""
    return best_scores(TITLE, candidates, references, _scores, BATCH)


def bleurt_model() -> str:
    """The name of the model, from the environment."""
    return named_model(TITLE, MODEL, "lucadiliello/BLEURT-20-D12")


@torch.inference_mode()
def _scores(pairs: Sequence[tuple[str, str]]) -> list[float]:
    model, tokenizer = _judge(bleurt_model())
    most = min(MAXIMUM_TOKENS, model.config.max_position_embeddings)
    texts, references = [text for text, _ in pairs], [other for _, other in pairs]
    batch = tokenizer(references, texts, padding=True, truncation=True, max_length=most, return_tensors="pt")
    return [float(value) for value in model(**batch.to(model.device)).logits[:, 0]]


@cache
def _judge(name: str) -> tuple[Any, Any]:
    import transformers

    with loading(TITLE, MODEL, name):
        given, _ = transformers.PretrainedConfig.get_config_dict(name)
        given["num_labels"] = 1
        size = given.get("embedding_size")
        if size in (None, given.get("hidden_size")):
            config = transformers.BertConfig(**given)
            kind, keys = transformers.BertForSequenceClassification, {"^bleurt": "bert"}
            tokenizer = transformers.BertTokenizer.from_pretrained(name)
        else:
            sizes = {"input_embedding_size": size, "output_embedding_size": size}
            config = transformers.RemBertConfig(**(given | sizes | {"bos_token_id": None, "eos_token_id": None}))
            kind = transformers.RemBertForSequenceClassification
            keys = {"^bleurt": "rembert", "embedding_projection": "embedding_hidden_mapping_in"}
            tokenizer = _sentence_piece(name)
        model, report = from_safetensors(kind, name, config=config, key_mapping=keys, output_loading_info=True)
        if report["missing_keys"]:  # they would be random numbers
            raise ValueError(f"it lacks weights that BLEURT has, such as {min(report['missing_keys'])}.")
        return model.eval().to(device()), tokenizer


def _sentence_piece(name: str) -> Any:
    from transformers import DebertaV2Tokenizer

    if importlib.util.find_spec("sentencepiece") is None:
        raise ModelError(f"The tokens of {name} need a package that is not installed: pip install sentencepiece.")
    return DebertaV2Tokenizer.from_pretrained(name)
