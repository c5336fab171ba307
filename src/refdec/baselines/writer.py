"""A trained paraphraser at work: weights from a folder, texts in, whole texts with their log-probabilities out.

What a method does between encoding and writing is its own business.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from refdec.baselines.beam import Hypothesis
from refdec.baselines.folder import TOKENIZER, Card, digest, read_card, read_weights
from refdec.baselines.method import Proposal
from refdec.baselines.own_tokens import OwnTokens
from refdec.baselines.seq2seq import Seq2Seq, Shape, padded
from refdec.baselines.surface import Surface
from refdec.errors import InputError, ModelError
from refdec.lm.device import choose_device
from refdec.lm.tokens import Ids
from refdec.train.tokenizer import load_tokenizer

AT_ONCE = 64
"""Texts that a GPU works on together. A CPU takes one: other texts beside it would change its rounding."""


@dataclass(frozen=True)
class Writer:
    """A loaded model with its tokenizer and the way in which it writes."""

    model: torch.nn.Module
    seq2seq: Seq2Seq  # the model, or its part that encodes and decodes
    vocabulary: OwnTokens
    surface: Surface
    card: Card
    name: str  # part of a signature
    device: torch.device

    @classmethod
    def load(
        cls,
        folder: Path,
        device: str | None,
        methods: Sequence[str],
        build: Callable[[Card, Shape], tuple[torch.nn.Module, Seq2Seq]] | None = None,
    ) -> Writer:
        """Load the folder of one of these methods; `build` makes a model that is more than an encoder-decoder."""
        card = read_card(folder)
        if card is None or card.method not in methods:
            held = "no trained method" if card is None else card.method
            raise ModelError(f"{folder} holds {held}; this method runs on weights of {' or '.join(methods)}.")
        where = choose_device(device)
        shape = Shape.of(_part(card, "shape"))
        if build is None:
            model: torch.nn.Module = (seq2seq := Seq2Seq(shape))
        else:
            model, seq2seq = build(card, shape)
        try:
            model.load_state_dict(read_weights(folder))
        except RuntimeError as error:
            raise ModelError(f"The weights in {folder} do not fit their card. Train the method again.") from error
        model.requires_grad_(False).eval().to(where)
        vocabulary = OwnTokens(load_tokenizer(folder / TOKENIZER))
        name = f"{card.method}-{card.parameters / 1e6:.1f}M-{digest(folder)}"
        return cls(model, seq2seq, vocabulary, Surface(**_part(card, "surface")), card, name, where)

    def ids_of(self, text: str) -> Ids:
        """Ids of a source, or an `InputError` where it is too long."""
        ids = self.vocabulary.encode(self.surface.read(text))
        most = self.seq2seq.shape.positions
        if len(ids) > most:
            raise InputError(
                f"The text has {len(ids)} tokens, and this {self.card.method} reads {most} at most. Shorten it."
            )
        return ids

    def groups(self, texts: Iterable[str]) -> Iterator[tuple[list[str], torch.Tensor]]:
        """Texts that are worked on together, with their padded ids."""
        size = AT_ONCE if self.device.type == "cuda" else 1
        rest = iter(texts)
        while group := list(itertools.islice(rest, size)):
            yield group, padded([self.ids_of(text) for text in group], self.device)

    def proposals(self, source: str, hypotheses: Iterable[Hypothesis]) -> list[Proposal]:
        """Different texts in the order of the hypotheses, written as the source is; the source where there are none."""
        texts: dict[str, float] = {}
        for item in hypotheses:
            text = self.surface.restored(self.vocabulary.decode(item.ids), source)
            if text:
                texts.setdefault(text, item.score)
        return [Proposal(text, score) for text, score in texts.items()] or [Proposal(source, 0.0)]


def _part(card: Card, name: str) -> dict[str, Any]:
    part = card.settings.get(name)
    if not isinstance(part, dict):
        raise ModelError(f"The card of the method has no {name}. Train it again.")
    return part
