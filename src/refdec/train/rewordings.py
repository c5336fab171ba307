"""Sentences that a model rewords itself, for it to learn from: found in plain text, made after examples, judged.

A forward model is shown the pairs of rewordings.toml and goes on in their form: `"A" In other words, "B"`. A pair is
kept if it passes plain checks, and if a judge finds that both sentences say the same. Random numbers belong to the
sentence. Knows nothing of training.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from refdec.errors import ModelError
from refdec.files.whole import write_whole
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Tokens
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_all
from refdec.reflect.workers import complete
from refdec.tasks.constraints import names, numbers
from refdec.text.overlap import copied_share
from refdec.text.sentences import split_sentences
from refdec.text.words import bare_words
from refdec.train.corpus import Corpus
from refdec.train.token_files import TokenArray

SHOWN = tomllib.loads(Path(__file__).with_name("rewordings.toml").read_text(encoding="utf-8"))
TOP_P, TOKENS = 0.7, 48
FEWEST, MOST, LONGEST = 5, 22, 140  # words of a sentence, and its characters
CLOSEST = 0.8
"""Share of its word pairs that a rewording may have from its sentence."""

FOUND = 7.0
"""Most nats that a word may cost a model that has read the other sentence; a word that is not to be expected from it
costs ten and more."""

BATCH = {"cpu": 4, "cuda": 256}  # sentences at a time
PATIENCE = 40  # sentences tried per pair that is wanted, at most
_PLAIN = re.compile(r"[A-Z][\w ,;:'’()$%.-]*[\w%)][.?]", re.ASCII)
_NEGATION = re.compile(r"n['’]t\b|\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without)\b", re.I)

Pair = tuple[str, str]
"""A sentence, and its rewording."""


class Judge(Protocol):
    """Decides which pairs say the same. The model itself does so until there is a better judge."""

    @property
    def name(self) -> str:
        """Who judged, as the card says it."""

    def __call__(self, pairs: Sequence[Pair]) -> list[bool]: ...


@dataclass(frozen=True)
class Rewordings:
    """The pairs that were kept, of so many sentences tried, and who judged."""

    pairs: tuple[Pair, ...] = ()
    tried: int = 0
    judge: str = ""

    @classmethod
    def load(cls, file: Path) -> Rewordings:
        if not file.exists():
            return cls()
        content = json.loads(file.read_text(encoding="utf-8"))
        return cls(tuple((source, reworded) for source, reworded in content["pairs"]), content["tried"], content["by"])

    def save(self, file: Path) -> None:
        content = {"by": self.judge, "tried": self.tried, "pairs": self.pairs}
        write_whole(file, json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def stream(self, tokens: Tokens, least: int) -> TokenArray:
        """The ids of all pairs, one per line, again and again until there are at least so many."""
        ids = np.array(tokens.encode("".join(map(_line, self.pairs))), np.uint32)
        return np.tile(ids, -(-least // len(ids)))


@dataclass(frozen=True)
class Rewriter:
    """A forward model that rewords sentences after examples."""

    model: LanguageModel
    tokens: Tokens
    seed: int = 0

    def __post_init__(self) -> None:
        needed = len(self._prompt("")) + LONGEST + TOKENS
        if self.model.window < needed:
            raise ModelError(
                f"The model reads {self.model.window} tokens at most, and rewording takes {needed}: examples, a "
                "sentence and its rewording. Begin from another model, or leave out --rewordings."
            )

    def reword(self, sentences: Sequence[str]) -> list[str]:
        """A rewording of each sentence; empty where the model did not come to an end."""
        jobs = [
            Sampling(
                [self._prompt(sentence)],
                torch.ones(1, device=self.model.device),
                uniforms(self.seed, sentence, "rewording", 1, TOKENS),
                TOP_P,
                self._allowed,
                self._ends,
            )
            for sentence in sentences
        ]
        drawn = [texts[0] for texts in complete(sample_all(self.model, jobs))]
        written = zip(drawn, self.tokens.decode_all(drawn), strict=True)
        return [text.partition('"')[0].strip() if ids[-1] in self._ends else "" for ids, text in written]

    @torch.inference_mode()
    def surprises(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Nats of each word of the second sentence after the first."""
        reading = self.model.read([self._prompt(source) for source, _ in pairs])
        encoded = [self.tokens.encode_with_spans(reworded) for _, reworded in pairs]
        rows = torch.zeros(len(pairs), max(len(ids) for ids, _ in encoded), dtype=torch.long)
        for row, (ids, _) in zip(rows, encoded, strict=True):
            row[: len(ids)] = torch.tensor(ids)
        scored = self.model.score(reading, rows.to(self.model.device)).tolist()
        return [
            _by_word(reworded, spans, logprobs)
            for (_, reworded), (_, spans), logprobs in zip(pairs, encoded, scored, strict=True)
        ]

    def _prompt(self, sentence: str) -> list[int]:
        return self._examples + self.tokens.encode(f'"{sentence}"{SHOWN["link"]}"')

    @cached_property
    def _examples(self) -> list[int]:
        return self.tokens.encode("".join(map(_line, SHOWN["examples"])))

    @cached_property
    def _ends(self) -> frozenset[int]:
        return self.tokens.containing('"')

    @cached_property
    def _allowed(self) -> torch.Tensor:
        allowed = torch.zeros(self.model.vocabulary, dtype=torch.bool)
        allowed[: self.tokens.vocabulary] = True
        allowed[sorted(self.tokens.containing("\n\r") | self.tokens.special)] = False
        return allowed.to(self.model.device)


@dataclass(frozen=True)
class ModelJudge:
    """A model judges by itself: it must find every word of each sentence again from the other."""

    rewriter: Rewriter
    name: str = "the model itself"

    def __call__(self, pairs: Sequence[Pair]) -> list[bool]:
        there = self.rewriter.surprises(pairs)
        back = self.rewriter.surprises([(reworded, source) for source, reworded in pairs])
        return [max(first + second) <= FOUND for first, second in zip(there, back, strict=True)]


def make_rewordings(
    corpus: Corpus,
    rewriter: Rewriter,
    judge: Judge,
    wanted: int,
    file: Path,
    step: Callable[[Rewordings], None] = lambda _: None,
) -> Rewordings:
    """So many rewordings of sentences of a corpus, or as many as there are; goes on from what the file has already."""
    made = Rewordings.load(file)
    sentences = islice(plain_sentences(corpus), made.tried, wanted * PATIENCE)
    size = BATCH.get(rewriter.model.device.type, BATCH["cpu"])
    while len(made.pairs) < wanted and (batch := list(islice(sentences, size))):
        pairs = [pair for pair in zip(batch, rewriter.reword(batch), strict=True) if may_say_the_same(*pair)]
        good = judge(pairs) if pairs else []
        kept = (*made.pairs, *(pair for pair, is_good in zip(pairs, good, strict=True) if is_good))
        made = Rewordings(kept[:wanted], made.tried + len(batch), judge.name)
        made.save(file)
        step(made)
    return made


def plain_sentences(corpus: Corpus) -> Iterator[str]:
    """One sentence of each document that is not held out: of usual length, letters and marks."""
    for text in corpus.sample(corpus.bytes * 100):  # all of it: files may be compressed
        for sentence in map(str.strip, split_sentences(text)):
            is_short = len(sentence) <= LONGEST and FEWEST <= len(bare_words(sentence)) <= MOST
            if is_short and _PLAIN.fullmatch(sentence):
                yield sentence
                break


def may_say_the_same(source: str, reworded: str) -> bool:
    """Plain checks: a whole sentence with other words, the same numbers and names, and as many negations."""
    return (
        _PLAIN.fullmatch(reworded) is not None
        and reworded[-1] == source[-1]
        and copied_share(reworded, source) <= CLOSEST
        and Counter(numbers(source)) == Counter(numbers(reworded))
        and all(name in reworded for name in names(source))
        and all(name in source for name in names(reworded))
        and len(_NEGATION.findall(source)) == len(_NEGATION.findall(reworded))
    )


def _line(pair: Sequence[str]) -> str:
    return f'"{pair[0]}"{SHOWN["link"]}"{pair[1]}"\n'


def _by_word(text: str, spans: Sequence[tuple[int, int]], logprobs: Sequence[float]) -> list[float]:
    """The nats of the tokens of each word, added up."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    nats = [0.0] * len(ends)
    for (_, end), logprob in zip(spans, logprobs, strict=False):  # rows are as long as the longest
        nats[int(np.searchsorted(ends, end))] -= logprob
    return nats
