"""A supervised encoder-decoder that can copy: PG-IL's kind (Du and Ji 2019, on See et al.'s pointer-generator, 2017).

Learns from pairs of texts that say the same. Writes with beam search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from refdec.baselines.beam import Search, search
from refdec.baselines.folder import Card
from refdec.baselines.method import Proposal, own_signature
from refdec.baselines.pair_lesson import PairLesson, encoded
from refdec.baselines.seq2seq import Seq2Seq
from refdec.baselines.study import Study
from refdec.baselines.surface import Surface
from refdec.baselines.training_rows import TextPair, parted, read_pairs
from refdec.baselines.writer import Writer
from refdec.settings import Settings, documented, setting

OWN_WORDS = 0.5
"""Share of the decoder's inputs that are its own words at the end of the training, in some rows."""


@documented
@dataclass(frozen=True, slots=True)
class CopyNetSettings(Settings):
    """How a text is searched for. The defaults are those of Du and Ji's released code."""

    task: ClassVar[str] = "copynet"

    beam: int = setting(8, "hypotheses of the beam", low=1, high=100)
    least_tokens: int = setting(5, "tokens of a paraphrase, at least, where the source has as many", low=1, high=100)


@dataclass(frozen=True)
class BeamWriter:
    """The most probable texts of an encoder-decoder."""

    writer: Writer
    settings: Settings
    search: Search

    @property
    def signature(self) -> str:
        return own_signature(self.settings, self.writer.name, str(self.writer.device))

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        model = self.writer.seq2seq
        for texts, ids in self.writer.groups(sources):
            memory = model.remember(ids, model.encode(ids))
            for text, hypotheses in zip(texts, search(model, memory, self.search), strict=True):
                yield self.writer.proposals(text, hypotheses)


def make_copynet(settings: CopyNetSettings, folder: Path, device: str | None = None) -> BeamWriter:
    writer = Writer.load(folder, device, ("copynet",))
    return BeamWriter(writer, settings, Search(settings.beam, 2 * settings.beam, settings.least_tokens))


def train_copynet(study: Study) -> Card:
    """Learn from pairs."""
    study.tell("reading the pairs")
    pairs, surface = learnable(read_pairs(study.plan.data, study.excluded))
    vocabulary = study.vocabulary(text for pair in pairs for text in pair)
    shape = study.shape(vocabulary, copying=True)
    model = Seq2Seq(shape)
    model.initialise(study.weights_generator())
    model.to(study.device)
    rows = encoded(parted(pairs, [source for source, _ in pairs]), vocabulary, shape.positions)
    study.learn(PairLesson("pairs", model, rows, own_words=OWN_WORDS))
    facts = {"pairs": len(rows.learned), "held_out_pairs": len(rows.held_out)}
    return study.write(model, shape, surface, vocabulary, facts)


def learnable(pairs: list[TextPair]) -> tuple[list[TextPair], Surface]:
    """Pairs as a model learns them, and how they are written."""
    surface = Surface.of([source for source, _ in pairs])
    return [(surface.learned(source), surface.learned(target)) for source, target in pairs], surface
