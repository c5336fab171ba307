"""The token-wise product of experts over contexts (equation 2 of the paper).

Works on log-probabilities. Knows nothing of text, direction or how the experts were made.
"""

from __future__ import annotations

import torch


def mix(weights: torch.Tensor, experts: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the weighted product, renormalised over the allowed tokens.

    weights: (contexts,); experts: (contexts, ..., vocabulary) log-probabilities; allowed: (vocabulary,) bool.
    """
    product: torch.Tensor = torch.tensordot(weights, experts, dims=1)  # (..., vocabulary)
    return product.masked_fill(~allowed, -torch.inf).log_softmax(-1)


def at_tokens(logprobs: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """What each place gives to its own token: (..., n, vocabulary) and (n,) to (..., n)."""
    return logprobs.gather(-1, tokens.expand(logprobs.shape[:-1])[..., None])[..., 0]
