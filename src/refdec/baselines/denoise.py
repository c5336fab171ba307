"""An encoder-decoder pretrained to restore damaged text, then taught by pairs: BART's kind (Lewis et al. 2020).

Learns from plain text first, from pairs of texts that say the same afterwards. Writes with beam search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from refdec.baselines.beam import Search
from refdec.baselines.copynet import BeamWriter, learnable
from refdec.baselines.folder import Card
from refdec.baselines.learning import Numbers
from refdec.baselines.own_tokens import OwnTokens
from refdec.baselines.pair_lesson import PairLesson, encoded, mean_loss, tensors
from refdec.baselines.seq2seq import MASK, Seq2Seq
from refdec.baselines.study import Study
from refdec.baselines.training_rows import Parts, parted, read_pairs, read_passages
from refdec.baselines.writer import Writer
from refdec.errors import InputError
from refdec.lm.tokens import Ids
from refdec.settings import Settings, documented, setting

PRETRAINING = 0.6
"""Share of the budget for plain text; the pairs have the rest."""

MASKED, SPAN = 0.3, 3.0
"""BART's noise: share of the tokens that are masked, and the mean length of a masked span (Poisson)."""

PASSAGE_WORDS, MEASURED_PASSAGES = 40, 50
FINE_TUNING_PASSES = 6  # over the pairs: a model that can write learns more by heart

Sentences = tuple[Ids, ...]


@documented
@dataclass(frozen=True, slots=True)
class DenoiseSettings(Settings):
    """How a text is searched for."""

    task: ClassVar[str] = "denoise"

    beam: int = setting(5, "hypotheses of the beam", low=1, high=100)
    least_tokens: int = setting(1, "tokens of a paraphrase, at least", low=1, high=100)


@dataclass
class DenoisingLesson:
    """Passages restored from what BART's noise leaves of them."""

    name: str
    model: Seq2Seq
    passages: Parts[Sentences]

    @property
    def lengths(self) -> list[int]:
        return [2 * sum(map(len, passage)) + 1 for passage in self.passages.learned]

    def loss(self, rows: Numbers, generator: torch.Generator, noise: np.random.Generator, done: float) -> Tensor:  # noqa: ARG002
        self.model.draw_from(generator)
        passages = [self.passages.learned[row] for row in rows]
        sources, labels = tensors(self.model, [(damaged(passage, noise), _joined(passage)) for passage in passages])
        return self.model.loss(labels, self.model.remember(sources, self.model.encode(sources)))

    def held_out_loss(self) -> float:
        """With the same noise every time, so that losses can be compared."""
        noise = np.random.default_rng(0)
        pairs = [(damaged(passage, noise), _joined(passage)) for passage in self.passages.held_out]
        return mean_loss(self.model, pairs)


def damaged(passage: Sentences, noise: np.random.Generator) -> Ids:
    """Sentences in another order, and spans of their tokens replaced by one mask each; a span may be empty."""
    order = noise.permutation(len(passage))
    ids = [index for number in order for index in passage[number]]
    left = round(MASKED * len(ids))
    spans: list[int] = []
    while left > 0:
        spans.append(min(left, int(noise.poisson(SPAN))))
        left -= max(1, spans[-1])  # an empty span counts as one token, so that noise ends
    # A mask goes into each of some random gaps between the tokens that stay; what follows the gap is its span.
    gaps = sorted(noise.integers(0, len(ids) - sum(spans) + 1, len(spans)).tolist())
    result: list[int] = []
    place = covered = 0
    for gap, span in zip(gaps, spans, strict=True):
        result += [*ids[place : gap + covered], MASK]
        covered += span
        place = gap + covered
    return (*result, *ids[place:])


def _joined(passage: Sentences) -> Ids:
    return tuple(index for sentence in passage for index in sentence)


def make_denoise(settings: DenoiseSettings, folder: Path, device: str | None = None) -> BeamWriter:
    writer = Writer.load(folder, device, ("denoise",))
    return BeamWriter(writer, settings, Search(settings.beam, 2 * settings.beam, settings.least_tokens))


def train_denoise(study: Study) -> Card:
    """Learn from plain text, then from pairs."""
    if not study.plan.text:
        raise InputError("denoise learns from plain text first. Name some with --text.")
    study.tell("reading the pairs and the text")
    pairs, surface = learnable(read_pairs(study.plan.data, study.excluded))
    texts = [
        [surface.read(sentence) if surface.lower else sentence for sentence in passage]
        for passage in read_passages(study.plan.text, study.size.characters, PASSAGE_WORDS)
    ]
    sentences = [sentence for passage in texts for sentence in passage]
    # In turn, because the tokenizer must serve both and learns from the first of them.
    vocabulary = study.vocabulary(_alternating(sentences, [text for pair in pairs for text in pair]))
    shape = study.shape(vocabulary, copying=False)
    model = Seq2Seq(shape)
    model.initialise(study.weights_generator())
    model.to(study.device)
    passages = passages_of(texts, vocabulary, shape.positions)
    study.tell(f"{len(passages):,} passages of plain text")
    parts = parted(passages, [" ".join(map(str, _joined(passage))) for passage in passages], MEASURED_PASSAGES)
    study.learn(DenoisingLesson("denoising", model, parts), share=PRETRAINING)
    rows = encoded(parted(pairs, [source for source, _ in pairs]), vocabulary, shape.positions)
    study.learn(PairLesson("pairs", model, rows), share=1 - PRETRAINING, passes=FINE_TUNING_PASSES)
    facts = {
        "passages": len(parts.learned),
        "passage_tokens": sum(len(_joined(passage)) for passage in parts.learned),
        "pairs": len(rows.learned),
        "held_out_pairs": len(rows.held_out),
    }
    return study.write(model, shape, surface, vocabulary, facts)


def passages_of(texts: Sequence[Sequence[str]], vocabulary: OwnTokens, positions: int) -> list[Sentences]:
    """Ids of passages; those that are too long for the model are left out."""
    ids = iter(vocabulary.encode_all([sentence for passage in texts for sentence in passage]))
    passages = [tuple(next(ids) for _ in passage) for passage in texts]
    kept = [passage for passage in passages if 3 <= len(_joined(passage)) < positions]
    if not kept:
        raise InputError("There is no text to learn from. Give more text with --text.")
    return kept


def _alternating(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """One of each in turn, as long as both last, and then the rest."""
    paired = [text for texts in zip(first, second, strict=False) for text in texts]
    shorter = min(len(first), len(second))
    return [*paired, *first[shorter:], *second[shorter:]]
