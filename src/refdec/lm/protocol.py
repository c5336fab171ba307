"""What the algorithm needs of a language model.

Everything here is in the model's own reading order: a prefix is what has been read, a continuation is
what comes next in that order. Nothing here knows text, tasks or the other direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from refdec.lm.direction import Direction


class Reading(Protocol):
    """A batch of prefixes that a model has read. Values, not places: extending one leaves it intact."""

    @property
    def next_logprobs(self) -> torch.Tensor:
        """Log-probabilities of the token after each prefix, (rows, vocabulary), float32."""

    def select(self, rows: torch.Tensor) -> Reading:
        """The prefixes at these indices, each as often as it is named: this is how a prefix is shared."""


class LanguageModel(Protocol):
    """A causal language model over token ids."""

    @property
    def direction(self) -> Direction: ...

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""

    @property
    def window(self) -> int:
        """How many tokens a prefix and its continuation may have together."""

    @property
    def device(self) -> torch.device: ...

    def read(self, prefixes: Sequence[Sequence[int]]) -> Reading:
        """Read prefixes, of different lengths if need be; an empty one stands for the start of a document."""

    def extend(self, reading: Reading, tokens: torch.Tensor) -> Reading:
        """Read one more token a row; tokens is (rows,)."""

    def distributions(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of every token at each place of a continuation.

        tokens is (rows, n); the result is (rows, n, vocabulary), its first place predicting tokens[:, 0].
        """

    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of these very tokens: (rows, n) in, (rows, n) out."""
