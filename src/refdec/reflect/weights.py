"""How much each context says about the source: w = argmax over the simplex of log RD(source).

The objective is a sum over places j of sum_i w_i log p_i(s_j) - log sum_t exp sum_i w_i log p_i(t), linear
minus log-sum-exp of linear, hence concave in w: one optimum, and the Frank-Wolfe gap max_i g_i - w.g bounds
how far w is from it. Works on log-probabilities of experts; knows no text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from refdec.reflect.product import at_tokens, mix

GAP = 1e-3
"""Nats under the optimum that are good enough: far below what the choice of contexts moves."""

MAXIMUM_EVALUATIONS = 200

NEWCOMERS = 8
"""Contexts without weight that a step may bring in."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """Weights on the simplex, and how good they are."""

    weights: torch.Tensor  # (contexts,)
    objective: float  # log RD(source), nats
    gap: float  # the optimum is at most this much higher
    evaluations: int  # of the objective and its gradient


Solver = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], LearnedWeights]
"""(experts (contexts, tokens, vocabulary), tokens (tokens,), allowed (vocabulary,)) to weights."""


class Objective:
    """log RD(source) and its gradient in the weights, counted."""

    def __init__(self, experts: torch.Tensor, tokens: torch.Tensor, allowed: torch.Tensor) -> None:
        self._experts, self._tokens, self._allowed = experts, tokens, allowed
        self._own = at_tokens(experts, tokens).double().sum(1)  # (contexts,)
        self.evaluations = 0

    def best_single(self) -> torch.Tensor:
        """All weight on the context that makes the source most probable by itself."""
        weights = torch.zeros_like(self._own)
        weights[self._own.argmax()] = 1.0
        return weights

    def curvature(self, weights: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        """The Hessian among the chosen contexts: minus the covariance of their log-probabilities under RD."""
        probabilities = mix(weights.to(self._experts.dtype), self._experts, self._allowed).exp()
        experts = self._experts[chosen]
        mean = torch.einsum("ctv,tv->ct", experts, probabilities)
        centred = (experts - mean[..., None]) * probabilities.sqrt()
        return -torch.einsum("ctv,dtv->cd", centred, centred).double()

    def __call__(self, weights: torch.Tensor) -> tuple[float, torch.Tensor]:
        self.evaluations += 1
        mixed = mix(weights.to(self._experts.dtype), self._experts, self._allowed)  # (tokens, vocabulary)
        expected = torch.einsum("ctv,tv->c", self._experts, mixed.exp()).double()
        return float(at_tokens(mixed, self._tokens).double().sum()), self._own - expected


def newton(experts: torch.Tensor, tokens: torch.Tensor, allowed: torch.Tensor) -> LearnedWeights:
    """Newton steps over the few contexts that carry weight or would gain most by it.

    The optimum is sparse, so the model of second order stays tiny; the gap is taken over all contexts.
    """
    objective = Objective(experts, tokens, allowed)
    weights = objective.best_single()
    value, gradient = objective(weights)
    gap = _gap(weights, gradient)
    while gap > GAP and objective.evaluations < MAXIMUM_EVALUATIONS:
        carrying = weights > 0
        size = min(len(weights), int(carrying.sum()) + NEWCOMERS)
        chosen = gradient.masked_fill(carrying, torch.inf).topk(size).indices
        model = (gradient[chosen], objective.curvature(weights, chosen), weights[chosen])
        target = torch.zeros_like(weights)
        best = maximise_on_simplex(*(part.cpu().numpy() for part in model))
        target[chosen] = torch.from_numpy(best).to(weights.device)
        step, rise = 1.0, float(gradient @ (target - weights))
        while step > 1e-3:
            trial = weights + step * (target - weights)
            trial_value, trial_gradient = objective(trial)
            trial_gap = _gap(trial, trial_gradient)
            # Close to the optimum, float32 can no longer tell a rise in value, but the gap still tells.
            if trial_value >= value + 0.1 * step * rise or trial_gap <= gap / 2:
                break
            step /= 2
        else:
            break
        weights, value, gradient, gap = trial, trial_value, trial_gradient, trial_gap
    return LearnedWeights(weights.float(), value, gap, objective.evaluations)


def _gap(weights: torch.Tensor, gradient: torch.Tensor) -> float:
    return float(gradient.max() - weights @ gradient)


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


def adam(experts: torch.Tensor, tokens: torch.Tensor, allowed: torch.Tensor, steps: int = 160) -> LearnedWeights:
    """Adam on softmax logits at rate 0.1, as the authors' released code runs it; kept for comparison."""
    objective = Objective(experts, tokens, allowed)
    logits = torch.zeros(len(experts), dtype=torch.float64, device=experts.device, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.1)
    for _ in range(steps):
        weights = logits.softmax(0)
        _, gradient = objective(weights.detach())
        optimiser.zero_grad()
        torch.autograd.backward(weights, -gradient)
        optimiser.step()
    weights = logits.detach().softmax(0)
    value, gradient = objective(weights)
    return LearnedWeights(weights.float(), value, _gap(weights, gradient), objective.evaluations)


SOLVERS: dict[str, Solver] = {"newton": newton, "adam": adam}
