"""A vector quantiser with a connection around it: slices of vectors, each replaced by the nearest of its codes.

Codes follow the vectors that choose them by moving averages, not by gradients. Knows nothing of text.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

DECAY = 0.99
"""Of the moving averages (van den Oord et al. 2017)."""

REVIVED = 0.01
"""A code that is chosen less often than this share of a fair one gets a vector of the batch as its new value."""


class Quantiser(nn.Module):
    """Codebooks of `codes` vectors for each of `slices` slices of a vector."""

    codebooks: Tensor
    counts: Tensor
    sums: Tensor

    def __init__(self, width: int, slices: int, codes: int) -> None:
        super().__init__()
        self.slices, self.codes = slices, codes
        self.register_buffer("codebooks", torch.zeros(slices, codes, width // slices))
        self.register_buffer("counts", torch.zeros(slices, codes))
        self.register_buffer("sums", torch.zeros(slices, codes, width // slices))

    def indices(self, vectors: Tensor) -> Tensor:
        """The nearest codes of vectors (count, width), as (count, slices)."""
        parts = self._split(vectors.float())  # (slices, count, size)
        distances = self.codebooks.pow(2).sum(-1)[:, None, :] - 2 * parts @ self.codebooks.mT
        return distances.argmin(-1).T

    def decoded(self, indices: Tensor) -> Tensor:
        """The vectors of codes, (count, width)."""
        books = torch.arange(self.slices, device=indices.device)
        return self.codebooks[books, indices].flatten(1)

    @torch.no_grad()
    def follow(self, vectors: Tensor, indices: Tensor, generator: torch.Generator | None = None) -> None:
        """Move the averages towards the vectors that chose each code; codes hardly chosen begin anew."""
        parts = self._split(vectors.float())
        for book in range(self.slices):
            chosen = torch.nn.functional.one_hot(indices[:, book], self.codes).to(parts.dtype)
            self.counts[book].mul_(DECAY).add_(chosen.sum(0), alpha=1 - DECAY)
            self.sums[book].mul_(DECAY).add_(chosen.T @ parts[book], alpha=1 - DECAY)
        if generator is not None:
            self._revive(parts, generator)
        self.codebooks.copy_(self.sums / self.counts.clamp(min=1e-6)[..., None])

    def _revive(self, parts: Tensor, generator: torch.Generator) -> None:
        fair = parts.shape[1] / self.codes
        is_idle = self.counts < REVIVED * fair
        places = torch.randint(parts.shape[1], is_idle.shape, generator=generator, device=parts.device)
        for book in range(self.slices):
            idle = is_idle[book]
            self.sums[book, idle] = parts[book, places[book, idle]] * fair
            self.counts[book, idle] = fair

    def _split(self, vectors: Tensor) -> Tensor:
        return vectors.view(len(vectors), self.slices, -1).transpose(0, 1)


def around(vectors: Tensor, quantised: Tensor, residual: Tensor | float) -> Tensor:
    """Vectors past the bottleneck: a share `residual` of them goes around it.

    1 is an ordinary autoencoder, 0 a VQ-VAE. Gradients pass the quantiser as if it were not there.
    """
    through = vectors + (quantised.to(vectors.dtype) - vectors).detach()
    return residual * vectors + (1 - residual) * through
