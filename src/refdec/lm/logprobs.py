"""Log-probabilities of tokens, computed with any model behind the `LanguageModel` protocol."""

from __future__ import annotations

import torch

from refdec.lm.operations import operations
from refdec.lm.protocol import LanguageModel, Reading

LOGITS_AT_ONCE = {"cpu": 1 << 24, "cuda": 1 << 29}
"""Bytes of logits that are held at once: on a CPU what its caches hold, on a GPU what keeps it busy."""


def chosen_logprobs(model: LanguageModel, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of tokens at places with these features: (..., width) and (...) to (...)."""
    rows = max(1, LOGITS_AT_ONCE.get(model.device.type, 1 << 27) // (4 * model.vocabulary))
    chosen = operations(model.device).chosen
    parts = zip(torch.split(features.flatten(0, -2), rows), torch.split(tokens.flatten(), rows), strict=True)
    return torch.cat([chosen(model.logits(places), ids.contiguous()) for places, ids in parts]).view(tokens.shape)


def next_logprobs(model: LanguageModel, reading: Reading) -> torch.Tensor:
    """Log-probabilities of the token after each prefix, (rows, vocabulary)."""
    return model.logits(reading.features).log_softmax(-1)
