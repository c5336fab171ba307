"""The token-wise product of experts over contexts (equation 2 of the paper).

An expert's log-probabilities are its features times the output matrix, up to a constant. So the weighted product of
experts is the weighted sum of their features, renormalised once, and no expert's own distribution is ever made.
Knows nothing of text, direction or how the experts were made.
"""

from __future__ import annotations

import torch


def mix(weights: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
    """Features of the product: (contexts,) and (contexts, ..., width) to (..., width)."""
    mixed: torch.Tensor = torch.tensordot(weights.to(experts.dtype), experts, dims=1)
    return mixed


def normalise(logits: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Log-probabilities over the allowed tokens; allowed is (vocabulary,) bool."""
    return logits.masked_fill(~allowed, -torch.inf).log_softmax(-1)


def at_tokens(logprobs: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """What each place gives to its own token: (..., n, vocabulary) and (..., n) to (..., n)."""
    return logprobs.gather(-1, tokens[..., None])[..., 0]
