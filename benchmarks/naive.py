"""The naive comparator: the paper's method on `transformers` and plain torch, as one writes it in an afternoon.

It follows the equations as the authors' code does: `generate` for the contexts, one pass per context and Adam for the
weights, a grid for the nucleus, every copy of a prefix in the batch, every candidate beside every context in full. It
shares with refdec only the handling of text (frames, extraction), so that its times compare the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import DynamicCache, PreTrainedModel

from refdec.lm.direction import Direction
from refdec.lm.engine import start_token
from refdec.lm.model_files import load_model
from refdec.lm.tokens import Tokens
from refdec.settings import ParaphraseSettings
from refdec.tasks.extract import extract
from refdec.tasks.frame import FRAMES, Frame
from refdec.text.cleaning import clean

PHASES = ("contexts", "weights", "generation", "scoring")
RATE, STEPS = 0.1, 160  # the authors' settings of Adam
GRID = [tenth / 10 for tenth in range(1, 11)]
ROWS = 64  # per batch of scoring


@dataclass(frozen=True)
class _Side:
    """One side of the source, the models that read from it to the contexts and back, and the parts of the source."""

    name: str  # "right" or "left"
    outward: PreTrainedModel
    inward: PreTrainedModel
    out: Direction
    near: list[int]  # the static part next to the contexts; this and the next two as the inward model reads them
    middle: list[int]
    far: list[int]

    @property
    def back(self) -> Direction:
        return self.out.opposite

    @property
    def source(self) -> list[int]:
        return self.near + self.middle + self.far


class Naive:
    """Paraphrases plainly. The models are moved to the device and cast in place: bfloat16 on CUDA, else float32."""

    def __init__(
        self,
        forward_model: PreTrainedModel,
        backward_model: PreTrainedModel,
        tokens: Tokens,
        starts: dict[Direction, int],  # the id before a document, for each way of reading
        device: str | torch.device,
    ) -> None:
        self.device = torch.device(device)
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.forward_model = forward_model.to(device=self.device, dtype=dtype).eval()
        self.backward_model = backward_model.to(device=self.device, dtype=dtype).eval()
        self.tokens = tokens
        self.starts = starts
        self.vocabulary = int(forward_model.config.get_text_config().vocab_size)
        self.forbidden = sorted(
            tokens.containing("\n\r") | tokens.special | set(range(tokens.vocabulary, self.vocabulary))
        )
        self.seconds: dict[str, float] = dict.fromkeys(PHASES, 0.0)

    def paraphrase(self, text: str, settings: ParaphraseSettings) -> list[tuple[str, float]]:
        """Candidates with their scores, best first; `seconds` then says how long each phase took."""
        self.seconds = dict.fromkeys(PHASES, 0.0)
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda), torch.no_grad():
            torch.manual_seed(settings.seed)  # fork_rng restores the caller's random state
            return self._paraphrase(clean(text), settings)

    def _paraphrase(self, source: str, settings: ParaphraseSettings) -> list[tuple[str, float]]:
        frame = FRAMES[settings.frame]
        if any(end in source for end in frame.ends):
            frame = FRAMES["none"]
        framed = frame.encode(self.tokens, source)
        whole, left, middle, right = (list(part) for part in (framed.all, framed.left, framed.middle, framed.right))
        allowed = torch.ones(self.vocabulary, dtype=torch.bool, device=self.device)
        allowed[self.forbidden] = False
        allowed[whole] = True
        forward, backward = Direction.FORWARD, Direction.BACKWARD
        sides = [
            _Side(
                "right", self.forward_model, self.backward_model, forward, *map(backward.arrange, (right, middle, left))
            ),
            _Side("left", self.backward_model, self.forward_model, backward, left, middle, right),
        ]
        candidates: dict[str, None] = {}
        kept: list[list[list[int]]] = []
        for side in sides:
            with self._timed("contexts"):
                contexts = self._sample_contexts(side, whole, source, settings)
            with self._timed("weights"):
                experts = self._read_source(side, contexts)
                target = torch.tensor(side.source, device=self.device)
                learned = learn_weights(experts, target, allowed)
                weights, chosen = learned.topk(min(settings.kept_contexts, len(contexts)))
                heavy = max(1, int((weights >= settings.minimum_weight).sum()))
                weights, chosen = weights[:heavy] / weights[:heavy].sum(), chosen[:heavy]
                contexts = [contexts[index] for index in chosen.tolist()]
                mixed = product(weights, experts[chosen], allowed)
                inside = mixed[len(side.near) : len(side.near) + len(side.middle)]
                top_p = min(GRID, key=lambda value: abs(entropy(nucleus(inside, value)) - settings.entropy))
            with self._timed("generation"):
                length = len(side.middle) + settings.extra_tokens
                for ids in self._generate(side, contexts, weights, top_p, settings.samples, length, allowed):
                    raw = self.tokens.decode(ids + right if side.name == "right" else left + ids)
                    candidates.update(dict.fromkeys(extract(raw, side.name, frame, source)))
            kept.append(contexts)
        with self._timed("scoring"):
            texts = list(candidates)
            totals = torch.zeros(len(texts))
            for side, contexts in zip(sides, kept, strict=True):
                totals += self._score(side, texts, contexts, frame)
        return sorted(zip(texts, totals.tolist(), strict=True), key=lambda pair: -pair[1])

    def _sample_contexts(
        self, side: _Side, whole: list[int], source: str, settings: ParaphraseSettings
    ) -> list[list[int]]:
        """Continuations of the framed source, in text order, without those that repeat the source."""
        prompt = torch.tensor([[self.starts[side.out], *side.out.arrange(whole)]], device=self.device)
        drawn = side.outward.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=True,
            top_p=settings.context_top_p,
            top_k=0,
            max_new_tokens=settings.context_tokens,
            min_new_tokens=settings.context_tokens,
            num_return_sequences=settings.contexts,
            suppress_tokens=self.forbidden,
            pad_token_id=self.starts[side.out],
        )
        contexts = [side.out.arrange(row) for row in drawn[:, prompt.shape[1] :].tolist()]
        return [context for context in contexts if source not in self.tokens.decode(context)] or contexts

    def _read_source(self, side: _Side, contexts: Sequence[list[int]]) -> torch.Tensor:
        """Log-probabilities after each context at each place of the source: (contexts, tokens, vocabulary)."""
        experts = []
        for context in contexts:
            before = [self.starts[side.back], *side.back.arrange(context)]
            ids = torch.tensor([before + side.source], device=self.device)
            logits = side.inward(input_ids=ids, use_cache=False).logits[0]
            experts.append(logits[len(before) - 1 : -1].float().log_softmax(-1))
        return torch.stack(experts)

    def _generate(
        self,
        side: _Side,
        contexts: Sequence[list[int]],
        weights: torch.Tensor,
        top_p: float,
        samples: int,
        length: int,
        allowed: torch.Tensor,
    ) -> list[list[int]]:
        """Texts from the product of the contexts, in text order; each sample is a row for every context."""
        prefixes = [[self.starts[side.back], *side.back.arrange(context), *side.near] for context in contexts]
        step = torch.tensor(prefixes * samples, device=self.device)
        cache = DynamicCache()
        drawn: list[torch.Tensor] = []
        for _ in range(length):
            output = side.inward(input_ids=step, past_key_values=cache, use_cache=True, logits_to_keep=1)
            experts = output.logits[:, -1].float().log_softmax(-1).view(samples, len(contexts), -1)
            mixed = product(weights, experts.transpose(0, 1), allowed)  # (samples, vocabulary)
            drawn.append(torch.multinomial(nucleus(mixed, top_p).exp(), 1))
            step = drawn[-1].repeat_interleave(len(contexts), dim=0)
        return [side.back.arrange(row) for row in torch.cat(drawn, dim=1).tolist()]

    def _score(self, side: _Side, texts: Sequence[str], contexts: Sequence[list[int]], frame: Frame) -> torch.Tensor:
        """Mean log-probability of the contexts next to each text: (texts,)."""
        rows: list[tuple[list[int], list[int]]] = []
        for text in texts:
            before = [self.starts[side.out], *side.out.arrange(self.tokens.encode(frame.wrap(text)))]
            rows += [(before, side.out.arrange(context)) for context in contexts]
        scores: list[torch.Tensor] = []
        for first in range(0, len(rows), ROWS):
            batch = rows[first : first + ROWS]
            longest = max(len(before) + len(after) for before, after in batch)
            # Padding on the right needs no mask: nothing before it attends to it.
            padded = [[*before, *after, *[0] * (longest - len(before) - len(after))] for before, after in batch]
            ids = torch.tensor(padded, device=self.device)
            logprobs = side.outward(input_ids=ids, use_cache=False).logits[:, :-1].float().log_softmax(-1)
            chosen = logprobs.gather(2, ids[:, 1:, None])[..., 0]  # (rows, places)
            begin = torch.tensor([[len(before) - 1] for before, _ in batch], device=self.device)
            size = torch.tensor([[len(after)] for _, after in batch], device=self.device)
            place = torch.arange(longest - 1, device=self.device) - begin
            scores.append(chosen.masked_fill((place < 0) | (place >= size), 0.0).sum(1))
        return torch.cat(scores).view(len(texts), len(contexts)).mean(1).cpu() if scores else torch.zeros(0)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        self._synchronise()
        began = time.perf_counter()
        yield
        self._synchronise()
        self.seconds[phase] += time.perf_counter() - began

    def _synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def product(weights: torch.Tensor, experts: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """The product of experts (contexts, ..., vocabulary), renormalised over the allowed tokens."""
    mixed: torch.Tensor = torch.tensordot(weights, experts, dims=1)
    return mixed.masked_fill(~allowed, -torch.inf).log_softmax(-1)


def learn_weights(experts: torch.Tensor, target: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Weights of the contexts that make the source most probable: (contexts,)."""
    with torch.enable_grad():
        logits = torch.zeros(len(experts), device=experts.device, requires_grad=True)
        optimiser = torch.optim.Adam([logits], lr=RATE)
        for _ in range(STEPS):
            optimiser.zero_grad()
            mixed = product(logits.softmax(0), experts, allowed)
            loss = -mixed.gather(1, target[:, None]).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return logits.detach().softmax(0)


def nucleus(logprobs: torch.Tensor, top_p: float) -> torch.Tensor:
    """The log-probabilities (rows, vocabulary) cut to the fewest tokens whose mass reaches p, renormalised."""
    ordered, places = logprobs.sort(dim=-1, descending=True)
    probabilities = ordered.exp()
    outside = probabilities.cumsum(-1) - probabilities >= top_p
    outside[:, 0] = False
    cut = ordered.masked_fill(outside, -torch.inf)
    return torch.full_like(logprobs, -torch.inf).scatter(1, places, cut).log_softmax(-1)


def entropy(logprobs: torch.Tensor) -> float:
    """The entropy in nats, summed over the rows."""
    return float(torch.special.entr(logprobs.exp()).sum())


def load_naive(directory: Path, device: str | torch.device) -> Naive:
    """The comparator for a pair directory: two models beside `tokenizer.json`, or one that reads both ways."""
    where = torch.device(device)
    if (directory / "config.json").is_file():
        forward = backward = load_model(directory, where)
    else:
        forward, backward = (load_model(directory / direction.value, where) for direction in Direction)
    configs = zip(Direction, (forward.config, backward.config), strict=True)
    starts = {direction: start_token(config.get_text_config().to_dict(), direction) for direction, config in configs}
    tokens = Tokens(Tokenizer.from_file(str(directory / "tokenizer.json")), starts[Direction.FORWARD])
    return Naive(forward, backward, tokens, starts, where)
