"""GPT2-Fixed (Bhagavatula et al. 2019): the forward model reads both texts, goes on, and its first sentence is taken.

Nothing tells the model that a sentence between the texts is wanted. Other orders show how much each text helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch

from refdec.baselines.gap import GapIds, cut_off, first_sentence
from refdec.baselines.method import Proposal, on_pair, pair_signature
from refdec.lm.pair import Pair
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_all
from refdec.reflect.schedule import Ask
from refdec.reflect.scoring import token_logprobs
from refdec.settings import Settings, documented, setting


@documented
@dataclass(frozen=True, slots=True)
class ContinueSettings(Settings):
    """How the forward model goes on. The defaults are those of the published program for generating."""

    task: ClassVar[str] = "continue"

    given: str = setting("both", "texts that are read first", choices=("both", "turned", "left"))
    top_p: float = setting(0.9, "nucleus", low=0, high=1)
    tokens: int = setting(20, "tokens of a sample", low=1, high=1_000)
    samples: int = setting(8, "samples; the first with a whole sentence counts", low=1, high=1_000)
    seed: int = setting(0, "seed of every random draw", low=0, high=2**63 - 1)


@dataclass(frozen=True)
class Continue:
    """The forward model of a pair, going on from the texts around a gap."""

    pair: Pair
    settings: ContinueSettings

    @property
    def signature(self) -> str:
        return pair_signature(self.settings, self.pair)

    def infill_all(self, gaps: Iterable[tuple[str, str]]) -> Iterator[list[Proposal]]:
        return on_pair(self.pair, (self._fill(left, right) for left, right in gaps))

    async def _fill(self, left: str, right: str) -> list[Proposal]:
        pair, settings, model = self.pair, self.settings, self.pair.forward
        gap = GapIds.of(pair, left, right, settings.tokens)
        orders = {"both": gap.before + gap.after, "turned": gap.after + gap.before, "left": gap.before}
        prefix = orders[settings.given]
        draws = uniforms(settings.seed, gap.key, settings.task, settings.samples, settings.tokens)
        alone = torch.ones(1, device=model.device)
        job = Sampling([prefix], alone, draws, settings.top_p, pair.speakable[model.direction])
        bodies = pair.tokens.decode_all(await Ask("generation", model, sample_all, job))
        text = next(filter(None, map(first_sentence, bodies)), "") or cut_off(bodies)
        (logprobs,) = await token_logprobs(model, [prefix], [pair.tokens.encode(f" {text}")], [[0]])
        return [Proposal(text, float(logprobs.double().sum()))]
