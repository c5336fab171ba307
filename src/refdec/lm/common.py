"""What models do alike, whatever they are made of: writing token by token, and reading off log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from refdec.lm.operations import operations

if TYPE_CHECKING:
    from refdec.lm.protocol import LanguageModel, Reading

LOGIT_BYTES = {"cpu": 1 << 24, "cuda": 1 << 29}
"""Logits that are held at once: on a CPU what its caches hold, on a GPU what keeps it busy."""


class ExtendingWriter:
    """A writer for models without static shapes: every token is an extension."""

    def __init__(self, model: LanguageModel, reading: Reading) -> None:
        self._model, self._reading = model, reading

    @property
    def features(self) -> torch.Tensor:
        return self._reading.features

    def append(self, tokens: torch.Tensor) -> None:
        self._reading = self._model.extend(self._reading, tokens)


def chosen_logprobs(model: LanguageModel, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of tokens at places with these features: (..., width) and (...) to (...)."""
    together = max(1, LOGIT_BYTES.get(model.device.type, 1 << 27) // (4 * model.vocabulary))
    found = []
    for places, wanted in zip(
        torch.split(features.flatten(0, -2), together), torch.split(tokens.flatten(), together), strict=True
    ):
        found.append(operations(model.device).chosen(model.logits(places), wanted.contiguous()))
    return torch.cat(found).view(tokens.shape)


def next_logprobs(model: LanguageModel, reading: Reading) -> torch.Tensor:
    """Log-probabilities of the token after each prefix, (rows, vocabulary)."""
    return model.logits(reading.features).log_softmax(-1)
