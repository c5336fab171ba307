"""What the algorithm needs of a language model.

Everything here is in the model's own reading order: a prefix is what has been read, a continuation is
what comes next in that order. Nothing here knows text, tasks or the other direction.

A model speaks in features: the vectors that its output matrix turns into logits. A weighted sum of features gives the
same weighted sum of logits, so a product of experts is one vector, and its distribution one row of logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from refdec.lm.cost import Cost, Work
from refdec.lm.direction import Direction
from refdec.lm.head import Head


class Reading(Protocol):
    """A batch of prefixes that a model has read. Values, not places: extending one leaves it intact."""

    @property
    def features(self) -> torch.Tensor:
        """What the token after each prefix is predicted from, (rows, width), float32."""

    def select(self, rows: torch.Tensor) -> Reading:
        """The prefixes at these indices, each as often as it is named: this is how a prefix is shared."""


class Writer(Protocol):
    """Rows that grow by one token each at a time. A place, not a value: there is no going back."""

    @property
    def features(self) -> torch.Tensor:
        """After what has been written so far, (rows, width), float32; changes with every token."""

    def append(self, tokens: torch.Tensor) -> None:
        """Write one token a row; tokens is (rows,)."""


class LanguageModel(Protocol):
    """A causal language model over token ids."""

    @property
    def direction(self) -> Direction: ...

    @property
    def start(self) -> int:
        """The id that stands before a document."""

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""

    @property
    def window(self) -> int:
        """How many tokens a prefix and its continuation may have together."""

    @property
    def device(self) -> torch.device: ...

    @property
    def precision(self) -> str:
        """float32, bfloat16 or int8: of the arithmetic."""

    @property
    def head(self) -> Head:
        """From features to logits and back, in float32."""

    @property
    def cost(self) -> Cost:
        """What a token costs, from the model's shape."""

    @property
    def work(self) -> Work:
        """What the model has done since it was loaded."""

    def read(self, prefixes: Sequence[Sequence[int]]) -> Reading:
        """Read prefixes, of different lengths if need be; an empty one stands for the start of a document."""

    def extend(self, reading: Reading, tokens: torch.Tensor) -> Reading:
        """Read one more token a row; tokens is (rows,)."""

    def writer(self, reading: Reading, steps: int) -> Writer:
        """A place to write at most so many tokens after each row, faster than extending where shapes are static.

        A model has one writer at a time: making another ends the life of the one before it.
        """

    def features(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        """Features at each place of a continuation.

        tokens is (rows, n); the result is (rows, n, width), its first place predicting tokens[:, 0].
        """

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """Log-probabilities up to a constant a row, (..., vocabulary), float32, in the model's own precision."""

    def release(self) -> None:
        """Give back memory that is only kept for speed."""

    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of these very tokens: (rows, n) in, (rows, n) out."""


class ExtendingWriter:
    """A writer for any model: extends a reading by every token."""

    def __init__(self, model: LanguageModel, reading: Reading) -> None:
        self._model, self._reading = model, reading

    @property
    def features(self) -> torch.Tensor:
        return self._reading.features

    def append(self, tokens: torch.Tensor) -> None:
        self._reading = self._model.extend(self._reading, tokens)
