"""ILM (Donahue et al. 2020): the forward model, taught to write what was left out of a text behind that text.

It reads the text before a gap, a mark, the text after it and another mark, and writes the filling and an end mark. The
marks are entries that the pair's tokenizer does not have. How it is taught is in `ilm_training.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from tokenizers import AddedToken, Tokenizer

from refdec.baselines.folder import Card, digest, read_card, read_weights
from refdec.baselines.gap import GapIds, cut_off, first_sentence
from refdec.baselines.masking import LEVELS, Part
from refdec.baselines.method import Proposal, on_pair, pair_signature
from refdec.errors import ModelError
from refdec.lm.direction import Direction
from refdec.lm.engine import make_network, start_token
from refdec.lm.linear import Stored
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.pair import Pair, load_tokenizer
from refdec.lm.tokens import Ids, Tokens
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_all
from refdec.reflect.schedule import Ask
from refdec.reflect.scoring import token_logprobs
from refdec.settings import Settings, documented, setting
from refdec.tasks.extract import well_formed
from refdec.tasks.infill import fits_sentences


@documented
@dataclass(frozen=True, slots=True)
class IlmSettings(Settings):
    """How a filling is drawn. The defaults are those of the published program."""

    task: ClassVar[str] = "ilm"

    top_p: float = setting(0.95, "nucleus", low=0, high=1)
    tokens: int = setting(40, "tokens of a filling, at most", low=1, high=1_000)
    samples: int = setting(8, "samples; the first that is a whole sentence counts", low=1, high=1_000)
    seed: int = setting(0, "seed of every random draw", low=0, high=2**63 - 1)


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids of the entries that ILM adds to a tokenizer."""

    blanks: dict[str, int]  # by level: what stands where a part was left out
    answers: int  # behind the text, before the parts that were left out
    end: int  # behind each of these

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Marks:
        ids: dict[str, int] = {}
        for name in _NAMES:
            number = tokenizer.token_to_id(name)
            if number is None:
                raise ModelError(f"The tokenizer of this method has no entry {name}. Train the method again.")
            ids[name] = number
        return cls({level: ids[f"<|infill_{level}|>"] for level in LEVELS}, ids[_ANSWERS], ids[_END])


_ANSWERS, _END = "<|startofinfill|>", "<|endofinfill|>"
_NAMES = (_ANSWERS, _END, *(f"<|infill_{level}|>" for level in LEVELS))


def add_marks(tokenizer: Tokenizer) -> Tokenizer:
    """A copy of a tokenizer that has the marks too, behind all its entries."""
    larger = Tokenizer.from_str(tokenizer.to_str())
    larger.add_special_tokens([AddedToken(name, normalized=False) for name in _NAMES])
    return larger


def example(tokens: Tokens, marks: Marks, text: str, parts: Sequence[Part]) -> tuple[list[int], int]:
    """A text with marks in the place of some parts, and these behind it; and where in the ids these begin.

    A token that covers a bit of a part belongs to it, so a word goes with the space before it.
    """
    ids, spans = tokens.encode_with_spans(f" {text}")
    context, answers, place = [tokens.start], [marks.answers], 0
    for part in parts:
        begin, end = part.begin + 1, part.end + 1  # the space before the text
        first = next((number for number in range(place, len(ids)) if spans[number][1] > begin), len(ids))
        last = next((number for number in range(first, len(ids)) if spans[number][0] >= end), len(ids))
        if first == last:  # the part before took its only token
            continue
        context += [*ids[place:first], marks.blanks[part.level]]
        answers += [*ids[first:last], marks.end]
        place = last
    context += ids[place:]
    return context + answers, len(context)


@dataclass(frozen=True)
class Ilm:
    """A trained model, as a pair whose two models are one: only forward is read."""

    model: Pair
    marks: Marks
    card: Card
    settings: IlmSettings

    @classmethod
    def load(cls, pair: Pair, settings: IlmSettings, folder: Path) -> Ilm:
        """The model of a folder, on the device and in the precision of a pair."""
        card = read_card(folder)
        if card is None:
            raise ModelError(f"{folder} holds no trained method.")
        config, device = card.settings["config"], pair.forward.device
        shape = LlamaShape.of(config)
        weights = read_weights(folder)
        if shape is None or shape.lacking({name: tuple(tensor.shape) for name, tensor in weights.items()}):
            raise ModelError(f"The weights in {folder} are not those of its card. Train the method again.")
        stored = {name: Stored(tensor) for name, tensor in weights.items()}
        network = make_network(shape, stored, device, pair.forward.precision)
        forward, twin = (LlamaLM(network, direction, start_token(config)) for direction in Direction)
        tokens = Tokens(load_tokenizer(folder), forward.start)
        model = Pair(forward, twin, tokens, f"{folder.resolve().name}:{digest(folder)}")
        return cls(model, Marks.of(tokens.tokenizer), card, settings)

    @property
    def signature(self) -> str:
        return pair_signature(self.settings, self.model)

    def infill_all(self, gaps: Iterable[tuple[str, str]]) -> Iterator[list[Proposal]]:
        return on_pair(self.model, (self._fill(left, right) for left, right in gaps))

    async def _fill(self, left: str, right: str) -> list[Proposal]:
        settings, tokens, model = self.settings, self.model.tokens, self.model.forward
        gap = GapIds.of(self.model, left, right, settings.tokens + 2)
        is_sentence = fits_sentences(left, right)
        blank = self.marks.blanks["sentence" if is_sentence else "ngram"]
        prefix = [*gap.before, blank, *gap.after, self.marks.answers]
        allowed = self.model.speakable[model.direction].clone()
        allowed[self.marks.end] = True
        draws = uniforms(settings.seed, gap.key, settings.task, settings.samples, settings.tokens)
        alone = torch.ones(1, device=model.device)
        job = Sampling([prefix], alone, draws, settings.top_p, allowed, (self.marks.end,))
        rows = await Ask("generation", model, sample_all, job)
        text = self._text(rows, is_sentence)
        answer = [*tokens.encode(f" {text}"), self.marks.end]
        (logprobs,) = await token_logprobs(model, [prefix], [answer], [[0]])
        return [Proposal(text, float(logprobs.double().sum()))]

    def _text(self, rows: Sequence[Ids | list[int]], is_sentence: bool) -> str:
        """The first answer that came to its end, and is a sentence where one is wanted."""
        bodies = self.model.tokens.decode_all(rows)
        ended = [body for body, ids in zip(bodies, rows, strict=True) if ids[-1] == self.marks.end]
        texts = map(first_sentence, (*ended, *bodies)) if is_sentence else well_formed(ended, "word")
        return next(filter(None, texts), "") or cut_off(bodies)
