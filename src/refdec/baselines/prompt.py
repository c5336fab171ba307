"""Prompting: the forward model is asked in plain words, after a few fixed examples. What a user would try first.

The prompt is `"A text." In other words, "The same."` a few times, then the source and an opening quote; what the model
writes up to the closing quote is a proposal. Knows nothing of contexts, of the backward model, nor of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import ClassVar

import torch

from refdec.baselines.method import Proposal, on_pair, pair_signature
from refdec.errors import InputError
from refdec.lm.examples import Examples
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_all
from refdec.reflect.schedule import Ask
from refdec.reflect.scoring import token_logprobs
from refdec.reflect.workers import Answering
from refdec.settings import Settings, documented, setting
from refdec.tasks.describe import refuse_endless
from refdec.tasks.extract import extract
from refdec.tasks.frame import FRAMES
from refdec.tasks.ranking import is_copy
from refdec.text.inner_quotes import with_double_quotes, with_single_quotes

FRAME = FRAMES["quoted"]

OWN_EXAMPLES = Examples(
    (
        ("The shop closes at six on Sundays.", "On Sundays the shop is open until six."),
        ("How can I sleep better at night?", "What helps me to get a better night's sleep?"),
        ("He missed the train because his watch was slow.", "His watch was slow, so he did not catch the train."),
        ("Two men were hurt when the roof fell in.", "The collapse of the roof injured two men."),
        ("Is it too late to learn to swim?", "Can I still learn how to swim at my age?"),
    )
)
"""The examples for pairs that come without any."""

ROOM = 12
"""A proposal may have half as many tokens again as its source, and so many more."""


@documented
@dataclass(frozen=True, slots=True)
class PromptSettings(Settings):
    """How the forward model is asked. No paper has these; they are what people use with models of this size."""

    task: ClassVar[str] = "prompt"

    samples: int = setting(20, "texts sampled", low=1, high=10_000)
    temperature: float = setting(0.7, "temperature", low=0.05, high=5)
    top_p: float = setting(0.95, "nucleus", low=0, high=1)
    examples: int = setting(5, "examples before the source, at most", low=1, high=100)
    seed: int = setting(0, "seed of every random draw", low=0, high=2**63 - 1)


@dataclass(frozen=True)
class Prompting:
    """The forward model of a pair, asked in plain words."""

    pair: Pair
    settings: PromptSettings

    @property
    def signature(self) -> str:
        return f"{pair_signature(self.settings, self.pair)}|prompt:{self._examples.digest}"

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        return on_pair(self.pair, map(self._paraphrase, sources))

    @cached_property
    def _examples(self) -> Examples:
        """The pair's own examples, those of the echo, or else ours."""
        examples = self.pair.examples or OWN_EXAMPLES
        return replace(examples, pairs=examples.pairs[: self.settings.examples])

    async def _paraphrase(self, source: str) -> list[Proposal]:
        refuse_endless(self.pair, source)
        asked = " ".join(with_single_quotes(source).split())  # on one line, without quotes that would end it
        prompt = self._prompt(asked)
        bodies = await self._sampled(prompt, source)
        extracted = [text for body in bodies for text in extract(body, "left", FRAME, asked)[:1]]
        scores = await self._scores(prompt, list(dict.fromkeys([asked, *extracted])))
        proposals = [Proposal(_restored(text, source), scores[text]) for text in dict.fromkeys(extracted)]
        ranked = sorted(proposals, key=lambda item: (is_copy(item.text, source), -item.score, item.text))
        return ranked or [Proposal(source, scores[asked])]

    def _prompt(self, source: str) -> Prompt:
        """The source after as many examples as the model can read beside it."""
        tokens = self.pair.tokens
        for used in range(len(self._examples.pairs), 0, -1):
            examples = replace(self._examples, pairs=self._examples.pairs[:used])
            asked, *others = (tuple(tokens.encode(examples.before(text))) for text in (source, "A", "1"))
            size = len(tokens.encode(source))
            prompt = Prompt(asked, _common(*others), size + size // 2 + ROOM)
            if len(asked) + len(FRAME.encode(tokens, "").all) + prompt.length < self.pair.forward.window:
                return prompt
        raise InputError(
            f"The text has {size} tokens, too many to be asked for: this model reads {self.pair.forward.window} at "
            "once, its own words and an example included. Shorten it, or work on it sentence by sentence."
        )

    async def _sampled(self, prompt: Prompt, source: str) -> list[str]:
        """What the model wrote and closed by a quote, from the opening quote on."""
        settings, model, tokens = self.settings, self.pair.forward, self.pair.tokens
        quote = tuple(tokens.encode(FRAME.before))
        stops = tokens.containing(FRAME.ends)
        job = Sampling(
            [prompt.asked + quote],
            torch.full((1,), 1 / settings.temperature, device=model.device),  # a logit's weight: what divides it
            uniforms(settings.seed, source, "prompt", settings.samples, prompt.length),
            settings.top_p,
            self.pair.speakable[model.direction],
            stops,
        )
        rows = await Ask("generation", model, _sample_after_examples, (prompt.shared, job))
        return [tokens.decode((*quote, *ids)) for ids in rows if ids and ids[-1] in stops]

    async def _scores(self, prompt: Prompt, texts: Sequence[str]) -> dict[str, float]:
        """The mean log-probability of the tokens of each text after the prompt, both of its quotes included.

        A sum would put the shortest texts first, which say the least.
        """
        rows = [FRAME.encode(self.pair.tokens, text).all for text in texts]
        longest = max(map(len, rows))
        padded = [(*ids, *[0] * (longest - len(ids))) for ids in rows]  # what stands behind a text changes nothing
        (logprobs,) = await token_logprobs(self.pair.forward, [prompt.asked], padded, [range(len(rows))])
        means = [float(row[: len(ids)].double().mean()) for row, ids in zip(logprobs, rows, strict=True)]
        return dict(zip(texts, means, strict=True))


@dataclass(frozen=True)
class Prompt:
    """The examples and a source as tokens, up to where the opening quote comes next."""

    asked: Ids
    shared: Ids  # the beginning that the prompts of all sources have
    length: int  # tokens that an answer may have


def _sample_after_examples(
    model: LanguageModel, jobs: Sequence[tuple[Ids, Sampling]]
) -> Answering[list[list[list[int]]]]:
    """Samples of each job; the examples are read once for all of them, and kept for the scoring."""
    for shared in dict.fromkeys(shared for shared, _ in jobs):
        model.remember(shared)
    return (yield from sample_all(model, [job for _, job in jobs]))


def _common(one: Ids, other: Ids) -> Ids:
    """What both begin with."""
    pairs = takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False))
    return tuple(token for token, _ in pairs)


def _restored(text: str, source: str) -> str:
    """With quotations in double quotes, where those of the source are."""
    return with_double_quotes(text) if '"' in source else text
