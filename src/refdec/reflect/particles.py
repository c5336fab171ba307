"""Steered samples: particles of a sequential Monte Carlo whose target is the product of experts times a potential.

Without a potential a sample is drawn token by token and nobody looks at it before it is complete. A particle is judged
while it is written: its weight is multiplied by what the potential says of each token, and where few particles carry
most of the weight, they are resampled, so that those which left the path make room for those which did not (Lew et
al. 2023, Zhao et al. 2024). A potential of one everywhere gives the samples of `sampling.py`, token by token.

Particles that have written the same tokens are one row of the batch, and all jobs go through the model together.
Works in the model's reading order; knows no text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from refdec.lm.protocol import LanguageModel
from refdec.reflect.memory import budget, parts_within
from refdec.reflect.product import normalise
from refdec.reflect.sampling import Sampling
from refdec.reflect.workers import Answering

FIRST_LOOK = 64
"""Tokens that are sorted first: most nuclei are smaller, and sorting the whole vocabulary is slow."""

CACHED_BYTES = 1 << 29
"""Bytes of keys and values that the particles of the jobs of one pass may have, on a CPU."""


class Potential(Protocol):
    """What a text is worth while it is written, in nats: a factor of the target beside the product of experts.

    A state stands for the text as far as it is written. The value of a whole text is the sum over its tokens of what
    `ahead` and `after` say.
    """

    @property
    def start(self) -> Any:
        """The state of an empty text."""

    def ahead(self, state: Any, tokens: Sequence[int]) -> Sequence[float] | None:
        """Nats for each token that may come next: they change what is drawn. None where all are zero."""

    def after(self, state: Any, token: int) -> tuple[float, Any]:
        """Nats for a token that was drawn, beyond those of `ahead`, and the state after it."""


class Trivial:
    """The potential of one: what is drawn is that of the product."""

    start = None

    def ahead(self, _state: Any, _tokens: Sequence[int]) -> None:
        return None

    def after(self, _state: Any, _token: int) -> tuple[float, Any]:
        return 0.0, None


class Steer(Protocol):
    """A hard rule: changes what may come next, whatever a particle weighs. It acts before the nucleus is cut."""

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
        """Log-probabilities (vocabulary,) after these ids in reading order, with so many tokens left to draw."""


@dataclass(frozen=True, eq=False)
class Steering:
    """A job: the samples of a `Sampling`, steered by a potential and by a hard rule."""

    sampling: Sampling
    potential: Potential
    resampling: torch.Tensor  # (tokens,): a uniform number per step, for the choice of survivors
    threshold: float = 0.5  # particles are resampled where their effective number is below this share of them
    steer: Steer | None = None


@dataclass(frozen=True, slots=True)
class Particle:
    """A text in reading order, and the logarithm of its weight. It is whole if it ended with a stop token."""

    tokens: tuple[int, ...]
    log_weight: float
    whole: bool


def steer_all(model: LanguageModel, jobs: Sequence[Steering]) -> Answering[list[list[Particle]]]:
    """The particles of each job; as many jobs as memory holds go through the model together."""
    needed = [job.sampling.rows * model.cost.cache_bytes(job.sampling.uniform.shape[1]) for job in jobs]
    limit = budget(model) if model.device.type == "cuda" else CACHED_BYTES
    result: list[list[Particle]] = []
    for part in parts_within(jobs, needed, limit):
        result += yield from _steer_together(model, part)
    return result


@torch.inference_mode()
def _steer_together(model: LanguageModel, jobs: Sequence[Steering]) -> Answering[list[list[Particle]]]:
    populations = [_Population(job) for job in jobs]
    reading = model.read([prefix for job in jobs for prefix in job.sampling.prefixes])
    moving = list(populations)
    for step in range(max(job.sampling.uniform.shape[1] for job in jobs)):
        features = reading.features
        mixed, first = [], 0
        for population in moving:
            weights, branches = population.job.sampling.weights, len(population.branches)
            rows = features[first : first + branches * len(weights)]
            mixed.append(torch.einsum("e,bef->bf", weights, rows.view(branches, len(weights), -1)))
            first += len(rows)
        logits = model.logits(torch.cat(mixed))
        yield
        chosen, tokens, first_row, first_branch = [], [], 0, 0
        for population in moving:
            count, experts = len(population.branches), len(population.job.sampling.weights)
            parents, new = population.step(step, logits[first_branch : first_branch + count])
            chosen += [first_row + parent * experts + expert for parent in parents for expert in range(experts)]
            tokens += [token for token in new for _ in range(experts)]
            first_row, first_branch = first_row + count * experts, first_branch + count
        moving = [population for population in moving if population.branches]
        if not moving:
            break
        if chosen != list(range(first_row)):
            reading = reading.select(torch.tensor(chosen, device=model.device))
        reading = model.extend(reading, torch.tensor(tokens, device=model.device))
    return [population.particles() for population in populations]


class _Population:
    """The particles of one job. Those that have written the same tokens are on one branch."""

    def __init__(self, job: Steering) -> None:
        self.job = job
        samples = len(job.sampling.uniform)
        self.branches: list[tuple[int, ...]] = [()]
        self._states: list[Any] = [job.potential.start]
        self._branch_of = [0] * samples  # particle -> branch; -1 once it has ended
        self._log_weights = [0.0] * samples
        self._ended: list[Particle | None] = [None] * samples

    def step(self, step: int, logits: torch.Tensor) -> tuple[list[int], list[int]]:
        """Draw a token for each particle and weigh it; the branches that go on: parents and their new tokens."""
        sampling, potential, steer = self.job.sampling, self.job.potential, self.job.steer
        allowed = sampling.allowed
        if steer is not None:
            # Rules look at single tokens of single rows: on a GPU each look would be a wait.
            rows, left = normalise(logits, allowed).cpu(), sampling.uniform.shape[1] - step
            logits = torch.stack([steer(ids, row, left) for ids, row in zip(self.branches, rows, strict=True)])
            allowed = torch.ones(logits.shape[-1], dtype=torch.bool)
        tokens, mass = nuclei(logits, allowed, sampling.top_p)
        before = mass.cumsum(-1)[:, -1]
        sizes = (mass > 0).sum(-1).tolist()
        for branch, (state, row, size) in enumerate(zip(self._states, tokens.tolist(), sizes, strict=True)):
            nats = potential.ahead(state, row[:size])
            if nats is not None:
                mass[branch, :size] *= torch.tensor(nats, dtype=torch.float64).exp()
        cumulative = mass.cumsum(-1)
        gained = (cumulative[:, -1] / before).log().tolist()
        active = [index for index, branch in enumerate(self._branch_of) if branch >= 0]
        parents = [self._branch_of[index] for index in active]
        target = sampling.uniform[active, step, None] * cumulative[parents, -1:]
        last = (mass[parents] > 0).sum(-1, keepdim=True) - 1
        places = torch.minimum((cumulative[parents] <= target).sum(-1, keepdim=True), last.clamp(min=0))
        drawn = tokens[parents].gather(1, places)[:, 0].tolist()
        final = step == sampling.uniform.shape[1] - 1
        children: dict[tuple[int, int], int] = {}
        states: list[Any] = []
        values: dict[tuple[int, int], float] = {}
        for index, parent, token in zip(active, parents, drawn, strict=True):
            child = (parent, token)
            if child not in values:
                values[child], state = potential.after(self._states[parent], token)
                children[child] = len(states)
                states.append(state)
            self._log_weights[index] += gained[parent] + values[child]
            if token in sampling.stops or final:
                text = (*self.branches[parent], token)
                self._ended[index] = Particle(text, self._log_weights[index], token in sampling.stops)
                self._branch_of[index] = -1
            else:
                self._branch_of[index] = children[child]
        self._resample(float(self.job.resampling[step]))
        alive = sorted({branch for branch in self._branch_of if branch >= 0})
        place = {branch: number for number, branch in enumerate(alive)}
        self._branch_of = [place.get(branch, -1) for branch in self._branch_of]
        going_on = list(children)
        survivors = [going_on[branch] for branch in alive]
        self._states = [states[branch] for branch in alive]
        self.branches = [(*self.branches[parent], token) for parent, token in survivors]
        return [parent for parent, _ in survivors], [token for _, token in survivors]

    def _resample(self, uniform: float) -> None:
        """Where few particles that go on carry most of their weight, draw as many anew, each of the mean weight.

        Particles that have ended keep their place and weight: those that go on are resampled among themselves.
        """
        active = [index for index, branch in enumerate(self._branch_of) if branch >= 0]
        if not active:
            return
        highest = max(self._log_weights[index] for index in active)
        if highest == -math.inf:
            return
        weights = [math.exp(self._log_weights[index] - highest) for index in active]
        total = sum(weights)
        if total * total >= self.job.threshold * len(active) * sum(weight * weight for weight in weights):
            return
        mean = highest + math.log(total / len(active))
        branches, cumulative, place = [], weights[0], 0
        for number in range(len(active)):
            target = (number + uniform) * total / len(active)
            while cumulative <= target and place < len(active) - 1:
                place += 1
                cumulative += weights[place]
            branches.append(self._branch_of[active[place]])
        for index, branch in zip(active, branches, strict=True):
            self._branch_of[index], self._log_weights[index] = branch, mean

    def particles(self) -> list[Particle]:
        return [particle for particle in self._ended if particle is not None]


def nuclei(logits: torch.Tensor, allowed: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens of each row's nucleus, most probable first, and their mass, zero behind the nucleus; on the CPU.

    Of equally probable tokens the lower id comes first. The mass is relative to that of the most probable token.
    """
    offered = logits.masked_fill(~allowed, -torch.inf)
    greatest = offered.amax(-1, keepdim=True)
    needed = top_p * (offered - greatest).exp().sum(-1, keepdim=True, dtype=torch.float64)
    look, vocabulary = FIRST_LOOK, logits.shape[-1]
    while True:
        tokens = offered.topk(min(look, vocabulary), dim=-1).indices.sort(-1).values
        values, order = offered.gather(1, tokens).sort(dim=-1, descending=True, stable=True)
        mass = (values - greatest).double().exp()
        certain = (mass * (values > values[:, -1:])).sum(-1, keepdim=True)
        if look >= vocabulary or bool(((certain >= needed) | values[:, -1:].isneginf()).all()):
            break
        look *= 8
    before = mass.cumsum(-1) - mass
    inside = (before < needed) & (mass > 0)
    inside[:, 0] = True
    return tokens.gather(1, order).cpu(), (mass * inside).cpu()
