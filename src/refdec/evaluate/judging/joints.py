"""How well the words of a text join, as seen by two language models that read in opposite directions.

Each text is read next to its source, so a rare word that the source has is no surprise. At the joint between two
tokens, the forward model tells how much more likely the right one is there than in any text, and the backward model
the left one. Three weak joints make a text hard to read, however likely the rest is; a mean over all tokens hides them.
A text that breaks off shows in the joint with its closing mark.

The models that judge may be the models that wrote: refdec's outputs are judged by their own pair, and gently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from refdec.errors import InputError
from refdec.evaluate.judging.wording import written_alike
from refdec.lm.direction import Direction
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.metrics.bootstrap import Numbers
from refdec.reflect.schedule import run_all, together
from refdec.reflect.scoring import own_logprobs
from refdec.text.words import bare_words

WEAKEST = 3
"""Joints whose mean is taken: one alone is often just a rare word, and a mean of all hides a bad place."""

AT_ONCE = 128
"""Texts that are read together."""

ANY_TEXT = (
    "the market in the old town opens at seven, and by noon most of the stalls are empty. people come for bread, fish "
    "and flowers, but also to hear the news. what is the best way to get there? you can take the bus or walk along the "
    "river, which takes about twenty minutes. why do so many visitors come back every year? some of them say that they "
    "like the food; others have friends in one of the small streets. how much does a room cost? it depends on the time "
    "of the year and on what you want to do. last summer a company from the city bought two houses near the school, "
    "and now everyone is asking if the government will build a new road."
)
"""What models expect in any text is the mean of what they expect at its places."""


def weakest_joints(pair: Pair, sources: Sequence[str], texts: Sequence[str]) -> Numbers:
    """Mean of the three weakest joints of each text, in nats: above 0 where they are better than chance.

    Minus infinity for a text without words.
    """
    rows = [_TextWithSource.of(pair, *given) for given in zip(sources, texts, strict=True)]
    for number, row in enumerate(rows, start=1):
        if row.longest >= pair.window:
            raise InputError(
                f"Text {number} and its source have {row.longest} tokens, and the models read {pair.window}. "
                "Leave such a long text out."
            )
    usual = {model.direction: _usual_logprobs(model, pair.tokens.encode(ANY_TEXT)) for model in _models(pair)}
    result = np.full(len(rows), -np.inf)
    told = [place for place, text in enumerate(texts) if bare_words(text)]
    told.sort(key=lambda place: rows[place].longest)  # of like length: little is padded
    for place, (forward, backward) in zip(
        told, run_all(pair, (_read(pair, rows[place]) for place in told), AT_ONCE), strict=True
    ):
        ids = list(rows[place].ids)
        ahead = forward - usual[Direction.FORWARD][ids]
        behind = backward - usual[Direction.BACKWARD][ids]
        result[place] = np.sort((ahead[1:] + behind[:-1]) / 2)[:WEAKEST].mean()
    return result


@dataclass(frozen=True, slots=True)
class _TextWithSource:
    """A text on a line of its own, and its source on the line before it or after it."""

    before: tuple[int, ...]
    ids: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, pair: Pair, source: str, text: str) -> _TextWithSource:
        line, target = written_alike(source, text)
        encode = pair.tokens.encode
        return cls(tuple(encode(f"\n{line}")), tuple(encode(f"\n{target}\n")), tuple(encode(f"{line}\n")))

    @property
    def longest(self) -> int:
        return len(self.ids) + max(len(self.before), len(self.after))


async def _read(pair: Pair, row: _TextWithSource) -> tuple[Numbers, Numbers]:
    """Log-probabilities of the tokens of a text, in text order: after the source, and read backwards before it."""
    (forward,), (backward,) = await together(
        [
            own_logprobs(pair.forward, [[*row.before, *row.ids]]),
            own_logprobs(pair.backward, [pair.backward.direction.arrange([*row.ids, *row.after])]),
        ]
    )
    ahead = forward[len(row.before) :].double().numpy()
    behind = pair.backward.direction.arrange(backward[len(row.after) :].tolist())
    return ahead, np.array(behind)


@torch.inference_mode()
def _usual_logprobs(model: LanguageModel, ids: Sequence[int]) -> Numbers:
    """Log-probability of every token of the vocabulary in any text, whatever stands next to it."""
    tokens = torch.tensor([model.direction.arrange(ids)], device=model.device)
    features = model.features(model.read([[]]), tokens)[0]
    expected = model.logits(features).float().log_softmax(-1).double()  # (places, vocabulary)
    usual: Numbers = (expected.logsumexp(0) - np.log(len(ids))).cpu().numpy()
    return usual


def _models(pair: Pair) -> tuple[LanguageModel, LanguageModel]:
    return pair.forward, pair.backward
