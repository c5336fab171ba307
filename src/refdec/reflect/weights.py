"""How much each context says about the source: w = argmax over the simplex of log RD(source).

With features h_ij of context i before token j, and the output matrix E, log RD is the sum over places j of
h_j.E[s_j] - log sum_t exp h_j.E[t], where h_j = sum_i w_i h_ij: linear minus log-sum-exp of linear, hence concave in w.
One optimum, and the Frank-Wolfe gap max_i g_i - w.g bounds how far w is from it. The gradient needs no expert's own
distribution: g_i = sum_j h_ij.(E[s_j] - sum_t RD(t) E[t]). Several problems are solved side by side, each as if it
were alone. Knows no text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from refdec.lm.head import Head

GAP = 1e-3
"""Nats below the optimum at which solving stops: far less than the choice of contexts moves."""

MAXIMUM_EVALUATIONS = 200

NEWCOMERS = 8
"""Contexts without weight that one step may bring in."""

SHORTEST_STEP = 1e-3

STARTING_CONTEXTS = 2
"""Contexts that share the weight at first: from one alone, most sources need as many evaluations or one more."""

SAMPLED_TOKENS = 1024
"""Tokens from which the curvature is estimated: on real sources, 1 % more evaluations than with all 49,152."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A source, and its features after each context."""

    features: torch.Tensor  # (contexts, tokens, width)
    tokens: torch.Tensor  # (tokens,)
    allowed: torch.Tensor  # (vocabulary,)


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """Weights on the simplex, and how good they are."""

    weights: torch.Tensor  # (contexts,)
    objective: float  # log RD(source), nats
    gap: float  # the optimum is at most this much higher
    evaluations: int  # of the objective and its gradient


Solver = Callable[[Head, Sequence[Problem]], list[LearnedWeights]]


@dataclass(frozen=True, eq=False)
class _Point:
    """Objective, gradient and gap of each problem at some weights."""

    weights: torch.Tensor  # (problems, contexts)
    value: Array  # (problems,)
    gap: Array  # (problems,)
    gradient: torch.Tensor  # (problems, contexts); minus infinity where a problem has no such context
    probabilities: torch.Tensor  # (problems, tokens, vocabulary), of the product


class Objective:
    """log RD(source) and its gradient in the weights, for several problems at once."""

    def __init__(self, head: Head, problems: Sequence[Problem]) -> None:
        self._head = head
        contexts = max(len(problem.features) for problem in problems)
        tokens = max(len(problem.tokens) for problem in problems)
        first = problems[0].features
        if len(problems) == 1:
            self._features = first[None]
        else:
            self._features = first.new_zeros(len(problems), contexts, tokens, first.shape[-1])
            for number, problem in enumerate(problems):
                rows, places, _ = problem.features.shape
                self._features[number, :rows, :places] = problem.features
        self._tokens = first.new_zeros(len(problems), tokens, dtype=torch.long)
        self._present = first.new_zeros(len(problems), tokens)
        self._missing = torch.ones(len(problems), contexts, dtype=torch.bool)
        for number, problem in enumerate(problems):
            self._tokens[number, : len(problem.tokens)] = problem.tokens
            self._present[number, : len(problem.tokens)] = 1.0
            self._missing[number, : len(problem.features)] = False
        self._missing = self._missing.to(first.device)
        self._banned = ~torch.stack([problem.allowed for problem in problems])[:, None]
        # Spread evenly between zero and one, and in no relation to what tokens mean.
        ids = torch.arange(1, self._banned.shape[-1] + 1, dtype=torch.float64, device=first.device)
        self._lots = ids.mul_((5**0.5 - 1) / 2).frac_().to(first.dtype)

    def start(self) -> torch.Tensor:
        """Equal weights on the few contexts that would gain most where all weigh alike."""
        even = (~self._missing).double()
        gradient = self(even / even.sum(1, keepdim=True)).gradient
        most = gradient.topk(min(STARTING_CONTEXTS, gradient.shape[1]), dim=1).indices
        few = torch.zeros_like(gradient).scatter_(1, most, 1.0).masked_fill_(self._missing, 0.0)
        return few / few.sum(1, keepdim=True)

    def __call__(self, weights: torch.Tensor) -> _Point:
        mixed = torch.einsum("bc,bctf->btf", weights.to(self._features.dtype), self._features)
        logprobs = self._head.logits(mixed).masked_fill_(self._banned, -torch.inf).log_softmax(-1)
        source = self._tokens[..., None]
        at_source = logprobs.gather(2, source)
        probabilities = logprobs.exp_().mul_(self._present[..., None])
        # E[s_j] - sum_t RD(t) E[t] in one product: of what RD gives to the source's own token, one is taken away.
        given = probabilities.gather(2, source)
        pulled = -self._head.pull(probabilities.scatter_(2, source, given - self._present[..., None]))
        probabilities.scatter_(2, source, given)
        gradient = torch.einsum("bctf,btf->bc", self._features, pulled).double()
        gradient = gradient.masked_fill(self._missing, -torch.inf)
        inner = (weights * gradient.masked_fill(self._missing, 0.0)).sum(1)
        value = at_source[..., 0].masked_fill(self._present == 0, 0.0).double().sum(1)
        figures = torch.stack([value, gradient.amax(1) - inner]).cpu().numpy()
        return _Point(weights, figures[0], figures[1], gradient, probabilities)

    def curvature(self, point: _Point, problems: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        """The Hessian of some problems among the chosen contexts of each (problems, k), as (problems, k, k).

        It is minus the covariance of the contexts' logits under RD, summed over places, and estimated from a sample of
        the vocabulary: it only steers steps, and the whole vocabulary would cost more than all else.
        """
        features = self._features[problems[:, None], chosen]  # (problems, k, tokens, width)
        sample, probabilities = self._sampled(point.probabilities[problems])
        logits = self._head.logits_of(features.flatten(1, 2), sample).view(*features.shape[:3], -1).transpose(1, 2)
        centred = logits.sub_(logits @ probabilities[..., None]).mul_(probabilities.sqrt()[:, :, None])
        return -(centred @ centred.transpose(-1, -2)).double().sum(1)

    def _sampled(self, probabilities: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Some tokens of each problem, (problems, k), and the probabilities that let them stand for all in each place.

        This is priority sampling (Duffield, Lund and Thorup, 2007): the tokens of the greatest priority, mass over lot,
        are taken, and each counts with its mass or with the priority of the first one left out, whichever is greater.
        So the probable tokens count as they are, and a few of the others stand for the rest.
        """
        least = torch.finfo(probabilities.dtype).tiny
        mass = probabilities.sum(1)
        first = (mass / self._lots).topk(min(SAMPLED_TOKENS + 1, mass.shape[1]), dim=1)
        sample = first.indices[:, :SAMPLED_TOKENS]
        left_out = first.values[:, SAMPLED_TOKENS:].sum(1, keepdim=True)  # of one token, or of none
        factor = (left_out / mass.gather(1, sample).clamp_(min=least)).clamp_(min=1.0)
        estimate = probabilities.take_along_dim(sample[:, None], dim=2).mul_(factor[:, None])
        return sample, estimate.div_(estimate.sum(-1, keepdim=True).clamp_(min=least))  # zero where no token is present


@torch.inference_mode()
def newton(head: Head, problems: Sequence[Problem]) -> list[LearnedWeights]:
    """Newton steps over the few contexts that carry weight or would gain most by it.

    The optimum is sparse, so the model of second order stays tiny; the gap is taken over all contexts.
    """
    objective = Objective(head, problems)
    point = objective(objective.start())
    evaluations = np.full(len(problems), 2)
    running = point.gap > GAP
    while running.any():
        target = _newton_target(objective, point, running)
        direction = target - point.weights
        rise = (point.gradient.masked_fill(point.gradient.isneginf(), 0.0) * direction).sum(1).cpu().numpy()
        steps, searching = np.ones(len(problems)), running.copy()
        best = point
        while searching.any():
            moved = np.where(searching, steps, 0.0)
            trial = objective(point.weights + torch.from_numpy(moved).to(direction)[:, None] * direction)
            evaluations[searching] += 1
            # Close to the optimum, float32 can no longer tell a rise in value, but the gap still tells.
            good = searching & ((trial.value >= point.value + 0.1 * steps * rise) | (trial.gap <= point.gap / 2))
            best = _pick(trial, best, good)
            searching &= ~good
            steps[searching] /= 2
            stuck = searching & (steps <= SHORTEST_STEP)
            running &= ~stuck
            searching &= ~stuck
        point = best
        running &= (point.gap > GAP) & (evaluations < MAXIMUM_EVALUATIONS)
    return [
        LearnedWeights(
            point.weights[number, : len(problem.features)].float(),
            float(point.value[number]),
            float(point.gap[number]),
            int(evaluations[number]),
        )
        for number, problem in enumerate(problems)
    ]


def _newton_target(objective: Objective, point: _Point, running: npt.NDArray[np.bool_]) -> torch.Tensor:
    """For each running problem the weights that maximise its model of second order."""
    problems = torch.from_numpy(np.flatnonzero(running)).to(point.weights.device)
    weights, slope = point.weights[problems], point.gradient[problems]
    carrying = weights > 0
    sizes = (carrying.sum(1) + NEWCOMERS).clamp(max=carrying.shape[1]).tolist()
    chosen = slope.masked_fill(carrying, torch.inf).topk(max(sizes), dim=1).indices
    curvature = objective.curvature(point, problems, chosen).cpu().numpy()
    gradient, start = (part.gather(1, chosen).cpu().numpy() for part in (slope, weights))
    best = np.zeros_like(start)
    for row, size in enumerate(sizes):
        used = np.flatnonzero(np.isfinite(gradient[row]) & (np.arange(len(gradient[row])) < size))
        best[row, used] = maximise_on_simplex(gradient[row, used], curvature[row][np.ix_(used, used)], start[row, used])
    target = point.weights.clone()
    target[problems] = torch.zeros_like(weights).scatter_(1, chosen, torch.from_numpy(best).to(weights))
    return target


def _pick(new: _Point, old: _Point, which: npt.NDArray[np.bool_]) -> _Point:
    """The new point for some problems, the old one for the others."""
    if which.all():
        return new
    if not which.any():
        return old
    rows = torch.from_numpy(which).to(new.weights.device)
    return _Point(
        torch.where(rows[:, None], new.weights, old.weights),
        np.where(which, new.value, old.value),
        np.where(which, new.gap, old.gap),
        torch.where(rows[:, None], new.gradient, old.gradient),
        torch.where(rows[:, None, None], new.probabilities, old.probabilities),
    )


def maximise_on_simplex(gradient: Array, curvature: Array, start: Array) -> Array:
    """The x on the simplex that maximises gradient.(x - start) + (x - start).curvature.(x - start) / 2.

    A primal active-set method: solve on the free coordinates, stop at the first that would turn negative and
    fix it at zero, free the one that would gain most, until none would.
    """
    size = len(start)
    curvature = curvature - 1e-9 * (1 + np.abs(curvature).max()) * np.eye(size)
    constant = gradient - curvature @ start
    x, free = start.copy(), start > 0
    for _ in range(10 * size):
        index = np.flatnonzero(free)
        system = np.zeros((len(index) + 1, len(index) + 1))
        system[:-1, :-1] = curvature[np.ix_(index, index)]
        system[-1, :-1] = system[:-1, -1] = 1.0
        solution = np.linalg.solve(system, np.append(-constant[index], 1.0))
        proposal = solution[:-1]
        negative = proposal < 0
        if negative.any():
            here = x[index]
            ratios = np.full(len(index), np.inf)
            ratios[negative] = here[negative] / (here[negative] - proposal[negative])
            first = int(ratios.argmin())
            x[index] = here + ratios[first] * (proposal - here)
            x[index[first]], free[index[first]] = 0.0, False
            continue
        x[index] = proposal
        advantage = np.where(free, -np.inf, constant + curvature @ x + solution[-1])
        if free.all() or advantage.max() <= 1e-9:
            break
        free[int(advantage.argmax())] = True
    x = np.maximum(x, 0.0)
    x /= x.sum()
    return x


def adam(head: Head, problems: Sequence[Problem], steps: int = 160) -> list[LearnedWeights]:
    """Adam on softmax logits at rate 0.1, as the authors' released code runs it; kept for comparison."""
    return [_adam(head, problem, steps) for problem in problems]


@torch.inference_mode(False)
def _adam(head: Head, problem: Problem, steps: int) -> LearnedWeights:
    objective = Objective(head, [problem])
    device = problem.features.device
    logits = torch.zeros(1, len(problem.features), dtype=torch.float64, device=device, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.1)
    for _ in range(steps):
        weights = logits.softmax(1)
        gradient = objective(weights.detach()).gradient
        optimiser.zero_grad()
        torch.autograd.backward(weights, -gradient)
        optimiser.step()
    point = objective(logits.detach().softmax(1))
    return LearnedWeights(point.weights[0].float(), float(point.value[0]), float(point.gap[0]), steps + 1)


@torch.inference_mode()
def uniform(head: Head, problems: Sequence[Problem]) -> list[LearnedWeights]:
    """Equal weights, nothing learned; kept for comparison. The gap bounds what learning would gain."""
    result = []
    for problem in problems:
        even = torch.full((1, len(problem.features)), 1 / len(problem.features), dtype=torch.float64)
        point = Objective(head, [problem])(even.to(problem.features.device))
        result.append(LearnedWeights(point.weights[0].float(), float(point.value[0]), float(point.gap[0]), 1))
    return result


SOLVERS: dict[str, Solver] = {"newton": newton, "adam": adam, "uniform": uniform}
