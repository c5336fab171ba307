"""The output end of a language model: from features to logits, and back.

A linear head makes mixing cheap: sum_i w_i (h_i E) = (sum_i w_i h_i) E. If a model's logits are not a linear function
of its hidden states, its features are the logits themselves, and its head is the identity.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch.nn import functional


class Head(Protocol):
    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """(..., width) to (..., vocabulary), float32."""

    def pull(self, probabilities: torch.Tensor) -> torch.Tensor:
        """The adjoint: (..., vocabulary) to (..., width), so that pull(p).h = p.logits(h) for features h."""

    def logits_of(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of some tokens alone: (..., n, width) and (..., k) to (..., n, k)."""

    def rows(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """What features are multiplied with for the logit of one token each: (..., width) and (...) to (..., width)."""


class LinearHead:
    """Logits are the products of a feature with the rows of a matrix, plus a bias if there is one."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        self._weight = weight.float()
        self._bias = None if bias is None else bias.float()

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        return functional.linear(features, self._weight, self._bias)

    def pull(self, probabilities: torch.Tensor) -> torch.Tensor:
        return probabilities @ self._weight

    def logits_of(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        logits = features @ self._weight[tokens].transpose(-1, -2)
        return logits if self._bias is None else logits.add_(self._bias[tokens][..., None, :])

    def rows(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return self._weight[tokens]


class IdentityHead:
    """For models whose features are the logits."""

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        return features

    def pull(self, probabilities: torch.Tensor) -> torch.Tensor:
        return probabilities

    def logits_of(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return features.take_along_dim(tokens[..., None, :], dim=-1)

    def rows(self, features: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(features).scatter_(-1, tokens[..., None], 1.0)
