"""Steered samples: particles of a sequential Monte Carlo whose target is the product of experts times a potential.

Without a potential a sample is drawn token by token and nobody looks at it before it is complete. A particle is judged
while it is written: its weight is multiplied by what the potential says of each token, and where few particles carry
most of the weight, they are resampled, so that those which left the path make room for those which did not (Lew et
al. 2023, Zhao et al. 2024). A potential of one everywhere gives the samples of `sampling.py`, token by token.

All jobs go through the model together, and their particles are weighed together. Particles that have written the same
tokens are on one branch, for which the next token's distribution is found once. On a CPU a branch is one row of the
batch (`_steer_branching`); on a GPU a particle keeps its row, and takes over what another one wrote where it was
resampled (`_steer_static`). Works in the model's reading order; knows no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from refdec.lm.protocol import LanguageModel
from refdec.reflect.memory import budget, parts_within
from refdec.reflect.product import normalise
from refdec.reflect.sampling import Layout, Sampling, has_static_shapes
from refdec.reflect.workers import Answering

FIRST_LOOK = 64
"""Tokens that are sorted first: most nuclei are smaller, and sorting the whole vocabulary is slow."""

CACHED_BYTES = 1 << 29
"""Bytes of keys and values that the particles of the jobs of one pass may have, on a CPU."""

Numbers = npt.NDArray[np.int64]
Nats = npt.NDArray[np.float64]


class Potential(Protocol):
    """What a text is worth while it is written, in nats: a factor of the target beside the product of experts.

    A state stands for the text as far as it is written. The value of a whole text is the sum over its tokens of what
    `ahead` and `after` say.
    """

    @property
    def start(self) -> Any:
        """The state of an empty text."""

    def ahead(self, states: Sequence[Any], tokens: Numbers) -> Nats | None:
        """Nats for each token that may come next after each state: they change what is drawn.

        tokens is (states, n), with -1 where a state has fewer. None where all are zero.
        """

    def after(self, state: Any, token: int) -> tuple[float, Any]:
        """Nats for a token that was drawn, beyond those of `ahead`, and the state after it."""


class Trivial:
    """The potential of one: what is drawn is that of the product."""

    start = None

    def ahead(self, _states: Sequence[Any], _tokens: Numbers) -> None:
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
    static = has_static_shapes(model)
    together = _steer_static if static else _steer_branching
    result: list[list[Particle]] = []
    for part in parts_within(jobs, [_bytes(model, job) for job in jobs], budget(model) if static else CACHED_BYTES):
        result += yield from together(model, part)
    return result


def _bytes(model: LanguageModel, job: Steering) -> float:
    """Bytes that a job takes: what its particles write, and on a GPU their logits and the prefixes, too."""
    sampling, steps = job.sampling, job.sampling.uniform.shape[1]
    if not has_static_shapes(model):
        return sampling.rows * model.cost.cache_bytes(steps)
    prefixes = 2 * len(sampling.prefixes) * model.cost.cache_bytes(sampling.places)
    return prefixes + sampling.rows * model.cost.row_bytes(2 * steps, 4)


@torch.inference_mode()
def _steer_branching(model: LanguageModel, jobs: Sequence[Steering]) -> Answering[list[list[Particle]]]:
    """Rows are branches, each with all its experts."""
    crowd = _Crowd(jobs, model.device)
    reading = model.read([prefix for job in crowd.owners.tolist() for prefix in jobs[job].sampling.prefixes])
    experts = np.array([len(job.sampling.prefixes) for job in jobs])
    for step in range(crowd.steps):
        sizes, owners = experts[crowd.owners], crowd.owners
        first = np.cumsum(sizes) - sizes
        rows = torch.split(reading.features, [int(sizes[owners == job].sum()) for job in range(len(jobs))])
        mixed = [
            torch.einsum("e,bef->bf", job.sampling.weights, own.view(-1, len(job.sampling.weights), own.shape[-1]))
            for job, own in zip(jobs, rows, strict=True)
        ]
        nuclei = crowd.nuclei(step, model.logits(torch.cat(mixed)))
        yield
        crowd.step(step, *nuclei.get())
        if not len(crowd.owners):
            break
        sizes = experts[crowd.owners]
        inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = np.repeat(first[crowd.parents], sizes) + inside
        if not np.array_equal(chosen, np.arange(len(reading.features))):
            reading = reading.select(torch.from_numpy(chosen).to(model.device))
        reading = model.extend(reading, torch.from_numpy(np.repeat(crowd.tokens, sizes)).to(model.device))
    return crowd.particles()


@torch.inference_mode()
def _steer_static(model: LanguageModel, jobs: Sequence[Steering]) -> Answering[list[list[Particle]]]:
    """Rows are particles, each with all its experts; where a particle is resampled, its rows branch from others."""
    device = model.device

    def there(numbers: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(device)

    crowd = _Crowd(jobs, device)
    layout = Layout.of([job.sampling for job in jobs])
    prefixes = [tuple(prefix) for job in jobs for prefix in job.sampling.prefixes]
    place = {prefix: number for number, prefix in enumerate(dict.fromkeys(prefixes))}
    reading = model.read(list(place))
    writer = model.writer(reading.select(there(np.array([place[ids] for ids in prefixes])[layout.prefix])), crowd.steps)
    expert = np.arange(len(layout.owner)) - layout.rows[layout.owner, 0]
    for step in range(crowd.steps):
        rows = there(layout.rows[crowd.leaders])
        if layout.rows.shape[1] == 1:
            features = writer.features[rows[:, 0]]
        else:
            features = torch.bmm(there(layout.shares[crowd.leaders])[:, None], writer.features[rows])[:, 0]
        nuclei = crowd.nuclei(step, model.logits(features))
        yield
        crowd.step(step, *nuclei.get())
        if not len(crowd.owners):
            break
        origins = layout.rows[crowd.origins[layout.owner], expert]
        moved = np.flatnonzero(origins != np.arange(len(origins)))
        if len(moved):
            writer.branch(there(moved), there(origins[moved]))
        writer.append(there(crowd.written()[layout.owner]))
    return crowd.particles()


class _Crowd:
    """The particles of several jobs, and their branches, those of a job next to each other.

    Attributes:
        steps: the most tokens that a particle may write
        owners: the job of each branch
        leaders: the first particle on each branch
        parents: the branch that each branch comes from, as it was numbered before the last step
        tokens: the last token of each branch
        origins: for each particle, one whose text before the last token is that of its branch: itself if it can be
    """

    def __init__(self, jobs: Sequence[Steering], device: torch.device) -> None:
        self._jobs, self._device = jobs, device
        samplings = [job.sampling for job in jobs]
        self._owner = np.repeat(np.arange(len(jobs)), [len(sampling.uniform) for sampling in samplings])
        self._lengths = np.array([sampling.uniform.shape[1] for sampling in samplings])
        self.steps = int(self._lengths.max())
        self._uniform = np.zeros((len(self._owner), self.steps), np.float32)
        for number, sampling in enumerate(samplings):
            self._uniform[self._owner == number, : self._lengths[number]] = sampling.uniform.numpy()
        self._top_p = np.array([sampling.top_p for sampling in samplings])
        self._threshold = np.array([job.threshold for job in jobs])
        # Rules have been told what is allowed.
        everything = torch.ones_like(samplings[0].allowed)
        masks = [everything if job.steer else job.sampling.allowed for job in jobs]
        different = list({id(mask): mask for mask in masks}.values())
        numbers = {id(mask): number for number, mask in enumerate(different)}
        self._allowed = torch.stack(different)
        self._mask = np.array([numbers[id(mask)] for mask in masks])
        self.owners, self.leaders, branch_of = np.unique(self._owner, return_index=True, return_inverse=True)
        self._branch_of: Numbers = branch_of.reshape(-1)  # particle -> branch; -1 once it has ended
        self._texts: Numbers = np.zeros((len(self.owners), 0), np.int64)
        self._states = [jobs[job].potential.start for job in self.owners.tolist()]
        self._log_weights = np.zeros(len(self._owner))
        self._ended: list[Particle | None] = [None] * len(self._owner)
        self.parents = self.tokens = self.owners
        self.origins = np.arange(len(self._owner))

    def nuclei(self, step: int, logits: torch.Tensor) -> Nuclei:
        """What may be drawn on each branch."""
        for number, job in enumerate(self._jobs):
            own = np.flatnonzero(self.owners == number)
            if job.steer is not None and len(own):
                # Rules look at single tokens of single rows: on a GPU each look would be a wait.
                rows, left = normalise(logits[own], job.sampling.allowed).cpu(), int(self._lengths[number]) - step
                ruled = [
                    job.steer(tuple(ids), row, left) for ids, row in zip(self._texts[own].tolist(), rows, strict=True)
                ]
                logits[own] = torch.stack(ruled).to(logits.device)
        top_p = torch.from_numpy(self._top_p[self.owners]).to(self._device)[:, None]
        if len(self._allowed) == 1:
            return Nuclei(logits, self._allowed, top_p)
        return Nuclei(logits, self._allowed[torch.from_numpy(self._mask[self.owners]).to(self._device)], top_p)

    def step(self, step: int, tokens: Numbers, mass: Nats) -> None:
        """Draw a token for each particle from its branch's nucleus, weigh it, and resample where that is due."""
        before = mass.cumsum(1)[:, -1]
        self._look_ahead(tokens, mass)
        cumulative = mass.cumsum(1)
        with np.errstate(divide="ignore"):
            gained = np.log(cumulative[:, -1] / before)
        active = np.flatnonzero(self._branch_of >= 0)
        parents = self._branch_of[active]
        target = self._uniform[active, step] * cumulative[parents, -1]
        last = np.maximum((mass > 0).sum(1) - 1, 0)
        places = np.minimum((cumulative[parents] <= target[:, None]).sum(1), last[parents])
        drawn = tokens[parents, places]
        first, child_of = _first_of_each(parents * (int(tokens.max()) + 1) + drawn)
        parent_of, token_of = parents[first], drawn[first]
        values, states, stops = self._follow(parent_of, token_of)
        self._log_weights[active] += gained[parents] + values[child_of]
        texts = np.concatenate([self._texts[parent_of], token_of[:, None]], axis=1)
        over = stops | (self._lengths[self.owners[parent_of]] == step + 1)
        for index, child in zip(active[over[child_of]].tolist(), child_of[over[child_of]].tolist(), strict=True):
            text, weight = tuple(texts[child].tolist()), float(self._log_weights[index])
            self._ended[index] = Particle(text, weight, bool(stops[child]))
        was_on, leaders = self._branch_of.copy(), self.leaders
        self._branch_of[active] = np.where(over[child_of], -1, child_of)
        self._resample(step)
        going = np.flatnonzero(self._branch_of >= 0)
        alive, leading, branch_of = np.unique(self._branch_of[going], return_index=True, return_inverse=True)
        self._branch_of[going] = branch_of.reshape(-1)
        self.leaders, self._texts = going[leading], texts[alive]
        self.owners, self.parents, self.tokens = self.owners[parent_of[alive]], parent_of[alive], token_of[alive]
        self._states = [states[child] for child in alive.tolist()]
        self.origins = np.arange(len(self._owner))
        source = self.parents[self._branch_of[going]]
        self.origins[going] = np.where(was_on[going] == source, going, leaders[source])

    def _look_ahead(self, tokens: Numbers, mass: Nats) -> None:
        """Change what may be drawn by what the potentials say of it."""
        offered = np.where(mass > 0, tokens, -1)
        edges = np.searchsorted(self.owners, np.arange(len(self._jobs) + 1))
        for job, first, last in zip(self._jobs, edges.tolist(), edges[1:].tolist(), strict=False):
            nats = job.potential.ahead(self._states[first:last], offered[first:last]) if first < last else None
            if nats is not None:
                mass[first:last] *= np.exp(nats)

    def _follow(self, parents: Numbers, tokens: Numbers) -> tuple[Nats, list[Any], npt.NDArray[np.bool_]]:
        """For each new branch what its token is worth, its state, and whether its text is whole."""
        values, states, stops = [], [], []
        for job, parent, token in zip(self.owners[parents].tolist(), parents.tolist(), tokens.tolist(), strict=True):
            value, state = self._jobs[job].potential.after(self._states[parent], token)
            values.append(value)
            states.append(state)
            stops.append(token in self._jobs[job].sampling.stops)
        return np.array(values), states, np.array(stops)

    def _resample(self, step: int) -> None:
        """Where few particles of a job carry most of the weight, draw as many anew, each of the mean weight.

        Particles that have ended keep their place and weight: those that go on are resampled among themselves.
        """
        going = np.flatnonzero(self._branch_of >= 0)
        jobs, starts, counts = np.unique(self._owner[going], return_index=True, return_counts=True)
        if not len(going):
            return
        highest = np.maximum.reduceat(self._log_weights[going], starts)
        lost = np.isneginf(highest)
        weights = np.exp(self._log_weights[going] - np.repeat(np.where(lost, 0.0, highest), counts))
        total, squares = np.add.reduceat(weights, starts), np.add.reduceat(weights * weights, starts)
        few = (total * total < self._threshold[jobs] * counts * squares) & ~lost
        for number in np.flatnonzero(few).tolist():
            count = int(counts[number])
            part = slice(int(starts[number]), int(starts[number]) + count)
            cumulative = weights[part].cumsum()
            uniform = float(self._jobs[jobs[number]].resampling[step])
            targets = (np.arange(count) + uniform) * cumulative[-1] / count
            survivors = np.minimum(np.searchsorted(cumulative, targets, side="right"), count - 1)
            own = going[part]
            self._branch_of[own] = self._branch_of[own[survivors]]
            self._log_weights[own] = highest[number] + np.log(cumulative[-1] / count)

    def written(self) -> Numbers:
        """The last token of each particle; of those that have ended, any."""
        return np.where(self._branch_of >= 0, self.tokens[self._branch_of], 0)

    def particles(self) -> list[list[Particle]]:
        """The particles of each job."""
        return [
            [
                particle
                for particle, own in zip(self._ended, (self._owner == job).tolist(), strict=True)
                if own and particle
            ]
            for job in range(len(self._jobs))
        ]


def _first_of_each(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Where each different key comes first, in that order, and for each key the number of its kind."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(-1)]


class Nuclei:
    """The nucleus of each row of logits: found on the device, and copied to the host when it is asked for.

    allowed is (1 or rows, vocabulary), top_p (rows, 1). The logits are changed in place: memory for more is slow.
    """

    def __init__(self, logits: torch.Tensor, allowed: torch.Tensor, top_p: torch.Tensor) -> None:
        self._offered = logits.masked_fill_(~allowed, -torch.inf)
        self._greatest = self._offered.amax(-1, keepdim=True)
        self._needed = top_p * (self._offered - self._greatest).exp_().sum(-1, keepdim=True, dtype=torch.float64)
        self._first = self._look(None, FIRST_LOOK)

    @torch.inference_mode()
    def get(self) -> tuple[Numbers, Nats]:
        """The tokens of each nucleus, most probable first, and their mass, zero behind the nucleus.

        Of equally probable tokens the lower id comes first. The mass is relative to that of the most probable token.
        """
        tokens, mass, enough = _unpacked(self._first)
        look = FIRST_LOOK
        while look < self._offered.shape[-1] and not enough.all():
            look *= 8
            rows = np.flatnonzero(~enough)
            more, more_mass, enough[rows] = _unpacked(self._look(torch.from_numpy(rows).to(self._offered.device), look))
            wider = more.shape[1] - tokens.shape[1]
            tokens, mass = np.pad(tokens, ((0, 0), (0, wider))), np.pad(mass, ((0, 0), (0, wider)))
            tokens[rows], mass[rows] = more, more_mass
        return tokens, mass

    def _look(self, rows: torch.Tensor | None, most: int) -> torch.Tensor:
        """Nuclei among so many tokens: in one tensor tokens, the bits of their mass, and whether that was enough."""
        parts = self._offered, self._greatest, self._needed
        offered, greatest, needed = parts if rows is None else (part.index_select(0, rows) for part in parts)
        tokens = offered.topk(min(most, offered.shape[-1]), dim=-1).indices.sort(-1).values
        values, order = offered.gather(1, tokens).sort(dim=-1, descending=True, stable=True)
        mass = (values - greatest).double().exp()
        certain = (mass * (values > values[:, -1:])).sum(-1, keepdim=True)
        enough = (certain >= needed) | values[:, -1:].isneginf()
        inside = (mass.cumsum(-1) - mass < needed) & (mass > 0)
        inside[:, 0] = True
        return torch.cat([tokens.gather(1, order), (mass * inside).view(torch.int64), enough.long()], dim=1)


def _unpacked(found: torch.Tensor) -> tuple[Numbers, Nats, npt.NDArray[np.bool_]]:
    """Tokens, mass and whether that was enough, in one copy to the host."""
    columns = found.cpu().numpy()
    size = columns.shape[1] // 2
    return columns[:, :size], columns[:, size : 2 * size].view(np.float64), columns[:, -1] > 0
