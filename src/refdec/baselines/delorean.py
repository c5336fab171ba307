"""DeLorean (Qin et al. 2020): a filling is a row of soft tokens, moved by what comes after it and by what comes before.

A filling of a fixed number of tokens is held as logits. A backward pass moves them along the gradient that makes the
text after the gap more probable. A forward pass lets the model write the filling anew after the text before the gap,
mixing its logits at each place with the moved ones, and its most probable tokens are a candidate. Passes take turns,
and the candidates of all are ranked by how well they connect both texts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from refdec.baselines.gap import GapIds, cut_off, first_sentence
from refdec.baselines.method import Proposal, on_pair, pair_signature
from refdec.baselines.trainable import forward_weights
from refdec.errors import SettingsError
from refdec.lm.pair import Pair
from refdec.metrics.diversity import repeats_a_sentence
from refdec.reflect.scoring import own_logprobs
from refdec.settings import Settings, documented, setting
from refdec.train.model import Llama, Past

FIRST_SHARPNESS, SHARPNESS = 0.01, 0.1
"""Temperatures of a token that the model reads after it wrote it, at first and in forward passes: nearly one entry."""

SMALLEST = 1e-15
"""Added to the length of a gradient before it is divided by."""

GPU_GAPS = 128
"""Gaps that a GPU computes together."""


def at_once(device: torch.device) -> int:
    """Gaps that are computed together: on a CPU one, so that no other gap changes its rounding."""
    return GPU_GAPS if device.type == "cuda" else 1


@documented
@dataclass(frozen=True, slots=True)
class DeloreanSettings(Settings):
    """How a filling is decoded. The defaults are those of the published program, but for the backward passes."""

    task: ClassVar[str] = "delorean"

    passes: int = setting(20, "pairs of a backward and a forward pass", symbol="T", low=0, high=10_000)
    backward_steps: int = setting(4, "steps along the gradient in a backward pass", low=1, high=10_000)
    step: float = setting(0.01, "length of a step, as a share of the logits' own", symbol="lambda", low=0, high=10)
    forward_share: float = setting(0.88, "share of the model's own logits", symbol="gamma", low=0, high=1)
    tokens: int = setting(15, "soft tokens of a filling", symbol="N", low=1, high=1_000)
    most_tokens: int = setting(30, "tokens by which its sentence must end", low=1, high=1_000)

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.tokens > self.most_tokens:
            raise SettingsError(f"tokens is {self.tokens}; it cannot be above most_tokens, {self.most_tokens}.")


@dataclass(frozen=True)
class Delorean:
    """The forward model of a pair, decoding with gradients."""

    pair: Pair
    settings: DeloreanSettings

    @property
    def signature(self) -> str:
        return pair_signature(self.settings, self.pair)

    def infill_all(self, gaps: Iterable[tuple[str, str]]) -> Iterator[list[Proposal]]:
        room = self.settings.most_tokens + 2  # the ids at both ends of a document
        encoded = (GapIds.of(self.pair, left, right, room) for left, right in gaps)
        while batch := list(itertools.islice(encoded, at_once(self.pair.forward.device))):
            written = self._decoder.fillings(batch)
            yield from on_pair(self.pair, (self._rank(gap, texts) for gap, texts in zip(batch, written, strict=True)))

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self.pair, self.settings)

    async def _rank(self, gap: GapIds, texts: Sequence[str]) -> list[Proposal]:
        """The different texts by how much either side of each break tells of the other: o1 | h o2, and o1 h | o2.

        That is the pointwise mutual information of both sides by the forward model, twice.
        """
        different = list(dict.fromkeys(texts))
        fillings = [tuple(self.pair.tokens.encode(f" {text}")) for text in different]
        whole = [gap.before + filling + gap.after for filling in fillings]
        without = [filling + gap.after for filling in fillings]
        read = await own_logprobs(self.pair.forward, [*whole, *without, gap.after])
        *sums, ending = (float(logprobs.double().sum()) for logprobs in read)
        proposals = []
        for number, (text, filling) in enumerate(zip(different, fillings, strict=True)):
            logprobs = read[number].double()
            first = float(logprobs[len(gap.before) :].sum()) - sums[len(different) + number]
            second = float(logprobs[len(gap.before) + len(filling) :].sum()) - ending
            proposals.append(Proposal(text, first + second))
        return sorted(proposals, key=lambda item: (-item.score, item.text))


@dataclass(frozen=True, eq=False)
class _Sides:
    """What the model has read of the texts before some gaps, and the ids of the texts after them."""

    past: Past
    features: Tensor  # (gaps, width): after the texts before
    seen: Tensor | None  # (gaps, past): which places are text; None where all are
    after: Tensor  # (gaps, ids): the ids after the gaps and the end of the document, filled up behind
    shares: Tensor  # (gaps, ids): what each id counts in the mean of its gap; zero for filling

    def mask(self, length: int, new: int) -> Tensor | None:
        """What so many new places see behind `length` earlier ones: (gaps, 1, new, past and all); None for all."""
        if self.seen is None and new == 1:
            return None
        seen = self.past.length + length
        rows = len(self.after)
        mask = torch.ones(new, seen + new, dtype=torch.bool, device=self.after.device).tril(seen).repeat(rows, 1, 1, 1)
        if self.seen is not None:
            mask[..., : self.past.length] &= self.seen[:, None, None]
        return mask


class Decoder:
    """Writes fillings of gaps, many gaps at once. Logits here are those of entries that may stand in a line of text."""

    def __init__(self, pair: Pair, settings: DeloreanSettings) -> None:
        self._pair, self._settings = pair, settings
        shape, weights = forward_weights(pair)
        model = Llama(shape)
        model.load_state_dict(weights)
        self._model = model.requires_grad_(False).to(pair.forward.device)
        self._ids = pair.speakable[pair.forward.direction].nonzero()[:, 0]
        self._vectors = self._model.model.embed_tokens.weight[self._ids]
        self._entries = self._vectors if shape.tied else self._model.head[self._ids]

    @torch.no_grad()
    def fillings(self, gaps: Sequence[GapIds]) -> list[list[str]]:
        """For each gap a sentence per pass, in their order; without passes, what the model writes by itself."""
        settings, sides = self._settings, self._read(gaps)
        logits, texts = self._forward(sides, None, FIRST_SHARPNESS)
        written = [] if settings.passes else [texts]
        for _ in range(settings.passes):
            logits, texts = self._forward(sides, self._backward(sides, logits), SHARPNESS)
            written.append(texts)
        return [_sentences([texts[number] for texts in written]) for number in range(len(gaps))]

    def _read(self, gaps: Sequence[GapIds]) -> _Sides:
        start, device = self._model.shape.start, self._entries.device
        before = [(start, *gap.before) for gap in gaps]
        after = [(*gap.after, start) for gap in gaps]  # the document ends there
        longest = max(map(len, before))
        ids = torch.tensor([(start,) * (longest - len(row)) + row for row in before], device=device)
        text = torch.tensor([[place >= longest - len(row) for place in range(longest)] for row in before])
        most = max(map(len, after))
        ends = torch.tensor([row + (start,) * (most - len(row)) for row in after], device=device)
        shares = torch.tensor([[(place < len(row)) / len(row) for place in range(most)] for row in after])
        seen, mask = None, None
        if not bool(text.all()):
            seen = text.to(device)
            # A place that is not text sees itself: what sees nothing is not a number.
            earlier = torch.ones(longest, longest, dtype=torch.bool, device=device).tril()
            mask = (seen[:, None, None] & earlier) | torch.eye(longest, dtype=torch.bool, device=device)
        past = Past()
        features = self._model.read(F.embedding(ids, self._model.model.embed_tokens.weight), mask, past)
        return _Sides(past, features[:, -1], seen, ends, shares.to(device))

    def _forward(self, sides: _Sides, moved: Tensor | None, sharpness: float) -> tuple[Tensor, list[str]]:
        """The logits of soft tokens, (gaps, tokens, entries), mixed with moved ones, and the texts that they spell.

        A text goes on behind the soft tokens until it has a whole sentence.
        """
        settings, past, features = self._settings, sides.past.copy(), sides.features
        kept: list[Tensor] = []
        spelled: list[Tensor] = []
        texts = [""] * len(features)
        for place in range(settings.most_tokens):
            logits = F.linear(features, self._entries)
            if place < settings.tokens:
                if moved is not None:
                    logits = settings.forward_share * logits + (1 - settings.forward_share) * moved[:, place]
                kept.append(logits)
            spelled.append(self._ids[logits.argmax(-1)])
            if place >= settings.tokens - 1:
                texts = self._pair.tokens.decode_all(torch.stack(spelled, dim=1).tolist())
                if all(map(first_sentence, texts)) or place == settings.most_tokens - 1:
                    break
            vectors = (logits / sharpness).softmax(-1) @ self._vectors
            features = self._model.read(vectors[:, None], sides.mask(place, 1), past)[:, 0]
        return torch.stack(kept, dim=1), texts

    def _backward(self, sides: _Sides, logits: Tensor) -> Tensor:
        """Logits from which the texts after the gaps are more probable; those of each gap move by themselves."""
        mask = sides.mask(0, logits.shape[1] + sides.after.shape[1] - 1)
        ending = F.embedding(sides.after[:, :-1], self._model.model.embed_tokens.weight)
        moved = logits
        for _ in range(self._settings.backward_steps):
            soft = moved.detach().requires_grad_()
            with torch.enable_grad():
                vectors = torch.cat([soft.softmax(-1) @ self._vectors, ending], dim=1)
                features = self._model.read(vectors, mask, sides.past.copy())[:, soft.shape[1] - 1 :]
                scores = F.linear(features, self._model.head).transpose(1, 2)
                nats = F.cross_entropy(scores, sides.after, reduction="none")
                (gradient,) = torch.autograd.grad((nats * sides.shares).sum(), soft)
            size = moved.norm(dim=(1, 2), keepdim=True) / (gradient.norm(dim=(1, 2), keepdim=True) + SMALLEST)
            moved = moved - self._settings.step * size * gradient
        return moved


def _sentences(bodies: Sequence[str]) -> list[str]:
    """The first sentences of texts, without those that say something twice; what was cut off where there is none."""
    whole = [text for text in map(first_sentence, bodies) if text and not repeats_a_sentence(text)]
    return whole or [cut_off(bodies)]
