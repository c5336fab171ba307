"""The interface of a language model, as the algorithm needs it.

Everything here is in the model's own reading order: a prefix is what was read, a continuation is what comes next in
that order. Nothing here knows text, tasks or the other direction.

Models return features: the vectors that the output matrix turns into logits. A weighted sum of features gives the same
weighted sum of logits, so a product of experts is one vector, and its distribution one row of logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import torch

from refdec.lm.cost import Cost, Work
from refdec.lm.direction import Direction
from refdec.lm.head import Head


class Reading(Protocol):
    """A batch of prefixes that a model has read. It never changes: extending it makes another."""

    @property
    def features(self) -> torch.Tensor:
        """The features that predict the token after each prefix, (rows, width), float32."""

    def select(self, rows: torch.Tensor) -> Reading:
        """The prefixes at these indices. Rows that name the same index share its prefix."""


class Writer(Protocol):
    """A batch of rows that all grow by one token at a time. It changes with every token."""

    @property
    def features(self) -> torch.Tensor:
        """The features after the tokens written so far, (rows, width), float32."""

    def append(self, tokens: torch.Tensor) -> None:
        """Write one token per row; tokens is (rows,)."""

    def branch(self, rows: torch.Tensor, origins: torch.Tensor) -> None:
        """These rows go on from where others are, their origins, whatever they have written themselves."""


class LanguageModel(Protocol):
    """A causal language model over token ids."""

    @property
    def direction(self) -> Direction: ...

    @property
    def start(self) -> int:
        """The id before the first token of a document."""

    @property
    def vocabulary(self) -> int:
        """The number of token ids."""

    @property
    def window(self) -> int:
        """How many tokens a prefix and its continuation may have together."""

    @property
    def device(self) -> torch.device: ...

    @property
    def precision(self) -> str:
        """The precision of the arithmetic: float32, bfloat16 or int8."""

    @property
    def head(self) -> Head:
        """The map from features to logits and back, in float32."""

    @property
    def cost(self) -> Cost:
        """The cost of a token, computed from the model's shape."""

    @property
    def work(self) -> Work:
        """The work that the model has done since it was loaded."""

    def read(self, prefixes: Sequence[Sequence[int]]) -> Reading:
        """Read prefixes, which may differ in length; an empty one is the start of a document."""

    def remember(self, prefix: Sequence[int]) -> None:
        """Keep what reading this prefix gives, so that prefixes which begin with it are read from there on."""

    def extend(self, reading: Reading, tokens: torch.Tensor) -> Reading:
        """Read one more token per row; tokens is (rows,)."""

    def writer(self, reading: Reading, steps: int) -> Writer:
        """A writer of at most so many tokens after each row; on a GPU faster than extending.

        A model has one writer at a time: making another makes the previous one invalid.
        """

    def features(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        """Features at each place of a continuation.

        tokens is (rows, n); the result is (rows, n, width), and its first place predicts tokens[:, 0].
        """

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """Logits in float32, computed in the model's precision: (..., width) to (..., vocabulary)."""

    def release(self) -> None:
        """Free memory that is only kept for speed."""

    def score(self, reading: Reading, tokens: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of a continuation's tokens: (rows, n) to (rows, n)."""


class ExtendingWriter:
    """A writer for any model: extends a reading by every token."""

    def __init__(self, model: LanguageModel, reading: Reading) -> None:
        self._model, self._reading = model, reading

    @property
    def features(self) -> torch.Tensor:
        return self._reading.features

    def append(self, tokens: torch.Tensor) -> None:
        self._reading = self._model.extend(self._reading, tokens)

    def branch(self, rows: torch.Tensor, origins: torch.Tensor) -> None:
        chosen = torch.arange(len(self.features), device=rows.device)
        chosen[rows] = origins
        self._reading = self._reading.select(chosen)


AnyReading = TypeVar("AnyReading", bound=Reading)


def checked_reading(reading: Reading, kind: type[AnyReading]) -> AnyReading:
    """A reading of the kind that a model makes; a reading of another model is refused."""
    if not isinstance(reading, kind):
        raise TypeError("A reading can only be continued by the model that made it.")
    return reading
