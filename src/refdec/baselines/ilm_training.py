"""Teaching ILM: stories cut from plain text, parts of them left out, and the forward model of a pair that goes on.

The whole of an example is learned, the text around the marks too, as the authors found best. What is measured is how
well single sentences inside held-out stories are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from refdec.baselines.folder import Card
from refdec.baselines.ilm import Marks, add_marks, example
from refdec.baselines.learning import Numbers
from refdec.baselines.masking import Part, Rates, masked_parts, sentence_ranges
from refdec.baselines.study import Study
from refdec.baselines.trainable import forward_weights
from refdec.errors import InputError, SettingsError
from refdec.lm.pair import load_pair
from refdec.lm.tokens import Tokens
from refdec.settings import Settings, documented, setting
from refdec.text.sentences import split_sentences
from refdec.train.corpus import Corpus
from refdec.train.model import SPREAD, Llama, Shape
from refdec.train.recipe import Recipe

LEAST_SENTENCES = 3
"""Sentences of a story, at least: one to leave out, and one on either side."""

HELD_OUT = {"cpu": 16, "cuda": 256}
"""Stories that are measured on: so few that this takes a small part of the time."""

HELD_OUT_SHARE = 0.1
"""How large a share of all stories they are, at most."""

TRIES = 16
"""How often the parts of a story are drawn anew where none is left out."""

ALIGNED = 64
"""The vocabulary is filled up to a multiple of this: matrix products are faster so."""

MEASURED_AT_ONCE = 8


@documented
@dataclass(frozen=True, slots=True)
class IlmTraining(Settings):
    """How ILM is taught. The rates of what is left out, and the lengths, are the published ones."""

    task: ClassVar[str] = "ilm"

    document_rate: float = setting(0.03, "how often a whole story is left out", low=0, high=1)
    paragraph_rate: float = setting(0.03, "how often a paragraph is left out", low=0, high=1)
    sentence_rate: float = setting(0.03, "how often a sentence is left out", low=0, high=1)
    word_rate: float = setting(0.03, "how often a word or some words are left out", low=0, high=1)
    sentences: int = setting(5, "sentences of a story, at most", low=LEAST_SENTENCES, high=1_000)
    story_tokens: int = setting(256, "tokens of a story, at most; longer ones are left out", low=8, high=65_536)
    characters: int = setting(25_000_000, "characters of text to learn from, at most", low=1_000, high=1 << 40)
    batch_tokens: int = setting(0, "tokens per step; 0: what suits the device", low=0, high=1 << 24)
    matrix_rate: float = setting(0.006, "learning rate of Muon, for the matrices", low=0, high=10)
    other_rate: float = setting(0.0012, "learning rate of AdamW, for embeddings and norms", low=0, high=10)
    passes: float = setting(1_000.0, "passes over the stories, at most", low=0.01, high=1e9)

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if not any((self.document_rate, self.paragraph_rate, self.sentence_rate, self.word_rate)):
            raise SettingsError("All rates are 0, so nothing is ever left out. Raise sentence_rate.")

    @property
    def rates(self) -> Rates:
        return Rates(self.document_rate, self.paragraph_rate, self.sentence_rate, self.word_rate)

    def recipe(self, device: torch.device, seed: int) -> Recipe:
        """What the optimisers need: rates that rise shortly and fall to zero."""
        tokens = self.batch_tokens or BATCH_TOKENS.get(device.type, BATCH_TOKENS["cpu"])
        return Recipe(
            positions=16,
            batch_tokens=max(1, tokens // 16) * 16,
            matrix_rate=self.matrix_rate,
            other_rate=self.other_rate,
            weight_decay=0.0,
            warm_up=0.05,
            decay=0.95,
            seed=seed,
        )


BATCH_TOKENS = {"cpu": 1_024, "cuda": 24 * 256}
"""Tokens per step: on a GPU the published 24 rows of 256, on a CPU fewer, for a step there takes seconds."""


@dataclass(frozen=True)
class Stories:
    """Stories to learn from, and stories held out."""

    learned: list[str]
    held_out: list[str]


@dataclass
class IlmLesson:
    """A model that learns to write what is left out of stories."""

    model: Llama
    tokens: Tokens
    marks: Marks
    stories: Stories
    rates: Rates
    seed: int
    name: str = "stories"

    @cached_property
    def lengths(self) -> list[int]:
        encoded = self.tokens.tokenizer.encode_batch_fast(self.stories.learned, add_special_tokens=False)
        return [len(item.ids) + 8 for item in encoded]  # some marks

    def loss(self, rows: Numbers, generator: torch.Generator, noise: np.random.Generator, done: float) -> Tensor:  # noqa: ARG002
        examples = [self._example(self.stories.learned[row], noise)[0] for row in rows]
        ids, targets, counted = self._tensors(examples, [1] * len(examples))
        return self.model.loss(ids, targets, counted)

    def held_out_loss(self) -> float:
        """Nats per token of answers: of each held-out story one sentence that is neither its first nor its last."""
        total, count = 0.0, 0
        for first in range(0, len(self._measured), MEASURED_AT_ONCE):
            part = self._measured[first : first + MEASURED_AT_ONCE]
            ids, targets, counted = self._tensors([ids for ids, _ in part], [begin + 1 for _, begin in part])
            total += float(self.model.losses(ids, targets)[counted].double().sum())
            count += int(counted.sum())
        return total / count

    @cached_property
    def _measured(self) -> list[tuple[list[int], int]]:
        numbers = np.random.default_rng(self.seed)
        examples = []
        for story in self.stories.held_out:
            inner = list(sentence_ranges(story))[1:-1]
            begin, end = inner[int(numbers.integers(len(inner)))]
            examples.append(example(self.tokens, self.marks, story, [Part(begin, end, "sentence")]))
        return examples

    def _example(self, story: str, numbers: np.random.Generator) -> tuple[list[int], int]:
        parts: list[Part] = []
        for _ in range(TRIES):
            parts = masked_parts(story, self.rates, numbers)
            if parts:
                break
        return example(self.tokens, self.marks, story, parts)

    def _tensors(self, examples: Sequence[Sequence[int]], begins: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, the ids after them, and which of these count: those of an example from its place `begins` on."""
        longest = max(map(len, examples))
        table = torch.zeros(len(examples), longest, dtype=torch.long)
        counted = torch.zeros(len(examples), longest, dtype=torch.bool)
        for row, (ids, begin) in enumerate(zip(examples, begins, strict=True)):
            table[row, : len(ids)] = torch.tensor(ids)
            counted[row, begin : len(ids)] = True
        device = self.model.head.device
        return table[:, :-1].to(device), table[:, 1:].to(device), counted[:, 1:].to(device)


def read_stories(texts: Iterable[str], tokens: Tokens, training: IlmTraining, measured: int, seed: int) -> Stories:
    """Stories of three sentences or more in a row, none longer than the training allows; so many are held out."""
    numbers = np.random.default_rng(seed)
    stories: list[str] = []
    for text in texts:
        sentences = split_sentences(text)
        place = 0
        while place < len(sentences):
            count = int(numbers.integers(LEAST_SENTENCES, training.sentences + 1))
            story = "".join(sentences[place : place + count]).strip()
            if len(list(sentence_ranges(story))) >= LEAST_SENTENCES:
                stories.append(story)
            place += count
    lengths = [len(item.ids) for item in tokens.tokenizer.encode_batch_fast(stories, add_special_tokens=False)]
    stories = [story for story, length in zip(stories, lengths, strict=True) if length <= training.story_tokens]
    held_out = min(measured, int(HELD_OUT_SHARE * len(stories)))
    if not held_out:
        raise InputError(
            f"The text has {len(stories)} stories of {LEAST_SENTENCES} sentences or more, and ten are needed to learn "
            "from and to measure on. Give more text."
        )
    return Stories(stories[held_out:], stories[:held_out])


def train_ilm(study: Study) -> Card:
    """Teach the forward model of a pair to fill gaps."""
    plan, training = study.plan, IlmTraining(**study.plan.changes)
    study.tell("loading the pair")
    pair = load_pair(plan.begin_from, device=study.device)
    shape, weights = forward_weights(pair)
    study.tell("reading the text")
    tokens = Tokens(add_marks(pair.tokens.tokenizer), pair.forward.start)
    texts = Corpus.at((*plan.data, *plan.text)).sample(training.characters)
    stories = read_stories(texts, tokens, training, HELD_OUT.get(study.device.type, HELD_OUT["cpu"]), plan.seed)
    shape, weights = _with_marks(shape, weights, tokens.vocabulary, study.weights_generator())
    model = Llama(shape)
    model.load_state_dict(weights)
    model.to(study.device)
    study.tell(f"{len(stories.learned):,} stories")
    lesson = IlmLesson(model, tokens, Marks.of(tokens.tokenizer), stories, training.rates, plan.seed)
    study.learn(lesson, passes=training.passes, recipe=training.recipe(study.device, plan.seed))
    facts = {"from": pair.name, "stories": len(stories.learned), **dict(training.items())}
    return study.finish(model, {"config": shape.config()}, tokens.tokenizer.to_str(), facts)


def _with_marks(
    shape: Shape, weights: dict[str, Tensor], entries: int, generator: torch.Generator
) -> tuple[Shape, dict[str, Tensor]]:
    """A model with so many entries at least; new ones begin near the mean of the others."""
    vocabulary = -(-max(entries, shape.vocabulary) // ALIGNED) * ALIGNED
    larger = dict(weights)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        if name in weights:
            old = weights[name]
            new = torch.randn(vocabulary - len(old), old.shape[1], generator=generator) * SPREAD
            larger[name] = torch.cat([old, old.mean(0) + new])
    return replace(shape, vocabulary=vocabulary, backward_start=None), larger
