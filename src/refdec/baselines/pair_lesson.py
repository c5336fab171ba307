"""Learning pairs: to write one text after another was read, from the text's own words or from the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from refdec.baselines.learning import Numbers
from refdec.baselines.own_tokens import OwnTokens
from refdec.baselines.seq2seq import END, PAD, Seq2Seq, padded, shifted
from refdec.baselines.training_rows import Parts, TextPair
from refdec.errors import InputError
from refdec.lm.tokens import Ids

IdPair = tuple[Ids, Ids]
MEASURED_AT_ONCE = 100
OWN_ROWS = 4


@dataclass
class PairLesson:
    """Targets after sources.

    `own_words` is the share of its inputs, at the end and in one row of `OWN_ROWS`, that the decoder says itself rather
    than reads from the target: it learns to go on from its own words, as Du and Ji (2019) do by imitation learning. The
    share rises from zero in the second half.
    """

    name: str
    model: Seq2Seq
    rows: Parts[IdPair]
    own_words: float = 0.0

    @property
    def lengths(self) -> list[int]:
        return [len(source) + len(target) + 1 for source, target in self.rows.learned]

    def loss(self, rows: Numbers, generator: torch.Generator, noise: np.random.Generator, done: float) -> Tensor:  # noqa: ARG002
        self.model.draw_from(generator)
        sources, labels = tensors(self.model, [self.rows.learned[row] for row in rows])
        memory = self.model.remember(sources, self.model.encode(sources))
        share = self.own_words * max(0.0, 2 * done - 1)
        inputs = self._mixed_inputs(labels, sources, share, generator) if share else None
        return self.model.loss(labels, memory, inputs)

    def held_out_loss(self) -> float:
        return mean_loss(self.model, self.rows.held_out)

    def _mixed_inputs(self, labels: Tensor, sources: Tensor, share: float, generator: torch.Generator) -> Tensor:
        """Inputs some of which, in some rows, are what the model itself finds most probable there.

        Two passes, as in a Transformer all positions are computed together.
        """
        draws = torch.rand(labels.shape, generator=generator, device=labels.device)
        rows = torch.randperm(len(labels), generator=generator, device=labels.device)[: max(1, len(labels) // OWN_ROWS)]
        with torch.no_grad():
            memory = self.model.remember(sources[rows], self.model.encode(sources[rows]))
            states, _ = self.model.decode(shifted(labels[rows]), memory)
            said = self.model.logprobs(states, memory).argmax(-1)
        own = labels[rows]
        own = torch.where((draws[rows] < share) & (own != PAD) & (own != END) & (said != END), said, own)
        return shifted(labels.index_copy(0, rows, own))


def tensors(model: Seq2Seq, pairs: Sequence[IdPair]) -> tuple[Tensor, Tensor]:
    """Sources, and targets with their ends."""
    device = model.embed_tokens.weight.device
    return padded([source for source, _ in pairs], device), padded([(*target, END) for _, target in pairs], device)


def mean_loss(model: Seq2Seq, pairs: Sequence[IdPair]) -> float:
    """Nats per target token of held-out pairs."""
    total = count = 0.0
    for first in range(0, len(pairs), MEASURED_AT_ONCE):
        sources, labels = tensors(model, pairs[first : first + MEASURED_AT_ONCE])
        tokens = float((labels != PAD).sum())
        total += tokens * float(model.loss(labels, model.remember(sources, model.encode(sources))))
        count += tokens
    return total / count


def encoded(parts: Parts[TextPair], vocabulary: OwnTokens, positions: int) -> Parts[IdPair]:
    """Ids of pairs; those that are too long for the model are left out."""
    return Parts(_encoded(parts.learned, vocabulary, positions), _encoded(parts.held_out, vocabulary, positions))


def _encoded(pairs: Sequence[TextPair], vocabulary: OwnTokens, positions: int) -> list[IdPair]:
    sources = vocabulary.encode_all([source for source, _ in pairs])
    targets = vocabulary.encode_all([target for _, target in pairs])
    kept = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if source and target and len(source) <= positions and len(target) < positions
    ]
    if not kept:
        raise InputError(f"No pair is left: all are longer than {positions} tokens. Give shorter texts.")
    return kept
