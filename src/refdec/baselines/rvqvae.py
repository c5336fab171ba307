"""R-VQVAE (Roy and Grangier 2019): an autoencoder of sentences with discrete codes and a connection around them.

Learns from sentences alone. What the codes leave open, the decoder fills in: these are the paraphrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from refdec.baselines.beam import Hypothesis, sample
from refdec.baselines.folder import Card
from refdec.baselines.learning import Numbers
from refdec.baselines.method import Proposal, own_signature
from refdec.baselines.own_tokens import OwnTokens
from refdec.baselines.quantiser import Quantiser, around
from refdec.baselines.seq2seq import END, PAD, Memory, Seq2Seq, Shape, padded
from refdec.baselines.study import Study
from refdec.baselines.surface import Surface
from refdec.baselines.training_rows import Parts, parted, read_sentences
from refdec.baselines.writer import Writer
from refdec.errors import InputError
from refdec.lm.tokens import Ids
from refdec.reflect.randomness import uniforms
from refdec.settings import Settings, documented, setting
from refdec.tasks.ranking import is_copy

SLICES, CODES = 2, 512
"""Codes per token, and entries of each codebook."""

RESIDUAL = 0.5
"""Share of a state that goes around the bottleneck, for half of the sentences; the others have nothing go around it."""

COMMITMENT = 0.25
"""Weight with which states are kept near their codes (van den Oord et al. 2017)."""

BEGINNING = 0.1
"""Share of the training in which everything goes around the bottleneck: codes of untrained states mean nothing."""


@documented
@dataclass(frozen=True, slots=True)
class RvqvaeSettings(Settings):
    """How paraphrases are drawn."""

    task: ClassVar[str] = "rvqvae"

    samples: int = setting(20, "texts that are drawn", low=1, high=1_000)
    temperature: float = setting(0.7, "below 1, probable words are more so", low=0.01, high=10)
    residual: float = setting(0.0, "share of the encoding that goes around the codes", symbol="α", low=0, high=1)
    seed: int = setting(0, "seed of every draw", low=0, high=2**63 - 1)


class Autoencoder(nn.Module):
    """An encoder-decoder with a quantiser between its halves; every token of a source has codes."""

    def __init__(self, shape: Shape, slices: int = SLICES, codes: int = CODES) -> None:
        super().__init__()
        self.seq2seq = Seq2Seq(shape)
        self.quantiser = Quantiser(shape.width, slices, codes)

    def memory(self, ids: Tensor, residual: Tensor | float) -> Memory:
        """What the decoder sees of sources; `residual` is a number or (rows, 1, 1)."""
        states = self.seq2seq.encode(ids)
        flat = states.flatten(0, 1)
        quantised = self.quantiser.decoded(self.quantiser.indices(flat)).view_as(states)
        return self.seq2seq.remember(ids, around(states, quantised, residual))


@dataclass
class AutoencodingLesson:
    """Sentences said again from their codes."""

    name: str
    model: Autoencoder
    rows: Parts[Ids]

    @property
    def lengths(self) -> list[int]:
        return [2 * len(ids) + 1 for ids in self.rows.learned]

    def loss(self, rows: Numbers, generator: torch.Generator, noise: np.random.Generator, done: float) -> Tensor:
        model, quantiser = self.model, self.model.quantiser
        model.seq2seq.draw_from(generator)
        ids, labels = self._tensors([self.rows.learned[row] for row in rows])
        states = model.seq2seq.encode(ids)
        is_text = ids != PAD
        vectors = states[is_text]
        indices = quantiser.indices(vectors.detach())
        quantiser.follow(vectors.detach(), indices, generator)
        quantised = torch.zeros_like(states, dtype=torch.float32)
        quantised[is_text] = quantiser.decoded(quantiser.indices(vectors.detach()))
        goes_around = torch.from_numpy(noise.random((len(rows), 1, 1)) < 0.5).to(states.device)
        residual = (
            torch.where(goes_around, RESIDUAL, 0.0)
            if done >= BEGINNING
            else torch.ones_like(goes_around, dtype=torch.float32)
        )
        memory = model.seq2seq.remember(ids, around(states, quantised, residual.to(states.dtype)))
        commitment = mse_loss(vectors.float(), quantised[is_text])
        return model.seq2seq.loss(labels, memory) + COMMITMENT * commitment * float(done >= BEGINNING)

    def held_out_loss(self) -> float:
        """From codes alone."""
        total = count = 0.0
        for first in range(0, len(self.rows.held_out), 100):
            ids, labels = self._tensors(self.rows.held_out[first : first + 100])
            tokens = float((labels != PAD).sum())
            total += tokens * float(self.model.seq2seq.loss(labels, self.model.memory(ids, 0.0)))
            count += tokens
        return total / count

    def _tensors(self, rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        device = self.model.seq2seq.embed_tokens.weight.device
        return padded(rows, device), padded([(*ids, END) for ids in rows], device)


@dataclass(frozen=True)
class Rvqvae:
    """Sentences drawn from the codes of another."""

    writer: Writer
    settings: RvqvaeSettings

    @property
    def signature(self) -> str:
        return own_signature(self.settings, self.writer.name, str(self.writer.device))

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        """Copies of the source come last; the others as probable as they are after its codes."""
        settings, model = self.settings, self.writer.model
        assert isinstance(model, Autoencoder)
        for texts, ids in self.writer.groups(sources):
            with torch.inference_mode():
                memory = model.memory(ids, settings.residual)
            for number, text in enumerate(texts):
                length = int(memory.is_text[number].sum())
                steps = min(model.seq2seq.shape.positions, length + length // 2 + 10)
                draws = uniforms(settings.seed, text, "rvqvae", settings.samples, steps)
                rows = torch.full((settings.samples,), number, device=ids.device)
                drawn = sample(model.seq2seq, memory.at(rows), draws, settings.temperature)
                proposals = self.writer.proposals(text, sorted(drawn, key=_rank))
                yield sorted(proposals, key=lambda item, source=text: is_copy(item.text, source))  # type: ignore[misc]


def _rank(item: Hypothesis) -> tuple[bool, float]:
    return not item.is_whole, -item.score


def make_rvqvae(settings: RvqvaeSettings, folder: Path, device: str | None = None) -> Rvqvae:
    def build(card: Card, shape: Shape) -> tuple[Autoencoder, Seq2Seq]:
        model = Autoencoder(shape, *card.settings["quantiser"])
        return model, model.seq2seq

    return Rvqvae(Writer.load(folder, device, ("rvqvae",), build), settings)


def train_rvqvae(study: Study) -> Card:
    """Learn from sentences."""
    study.tell("reading the sentences")
    written = read_sentences((*study.plan.data, *study.plan.text), study.excluded)
    surface = Surface.of(written)
    texts = list(dict.fromkeys(surface.learned(text) for text in written))
    vocabulary = study.vocabulary(texts)
    shape = study.shape(vocabulary, copying=False)
    model = Autoencoder(shape)
    model.seq2seq.initialise(study.weights_generator())
    model.to(study.device)
    rows = sentences_of(texts, vocabulary, shape.positions)
    study.tell(f"{len(rows.learned):,} sentences")
    study.learn(AutoencodingLesson("sentences", model, rows))
    facts = {"sentences": len(rows.learned), "held_out_sentences": len(rows.held_out)}
    return study.write(model, shape, surface, vocabulary, facts, quantiser=[SLICES, CODES])


def sentences_of(texts: Sequence[str], vocabulary: OwnTokens, positions: int) -> Parts[Ids]:
    """Ids of sentences; those that are too long for the model are left out."""
    kept = [
        (text, ids) for text, ids in zip(texts, vocabulary.encode_all(texts), strict=True) if 0 < len(ids) < positions
    ]
    if not kept:
        raise InputError(f"No sentence is left: all are longer than {positions} tokens. Give shorter texts.")
    return parted([ids for _, ids in kept], [text for text, _ in kept])
