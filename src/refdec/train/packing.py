"""Rounding the matrices of a model to few steps, so that packed files are small and the loss hardly rises.

The loss rises with the square of an error, by how much the model reacts to it: `measure_sensitivity` finds that on
text. Steps are set so that every row costs the same loss per weight, which is where no size can be saved in one row
for less than it costs in another; errors of a column are made up for by the columns after it, as in GPTQ (Frantar et
al., 2022). Knows weights and ids; nothing of text or of files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from refdec.lm.linear import Stored

LARGEST = 63
"""The largest magnitude of a packed value: sums of two products of such values and of int8 fit into 16 bits."""

DAMPING = 0.003
"""Share of the mean that is added to the diagonal of a sensitivity: what was measured on some text is not certain."""

LEAST_SHARE = 1 / 8
"""No row counts less than this part of the mean: text that was not measured may use it."""

BLOCK = 64  # columns that are rounded before the rest of the matrix is updated


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How the loss reacts to a matrix: errors E raise it by half the sum over rows of rows[i] * E[i] inputs E[i]'."""

    inputs: Tensor  # (columns, columns)
    rows: Tensor  # (rows,), with a mean of one


class _Sums:
    """What is added up over tokens for one matrix."""

    def __init__(self, rows: int, columns: int) -> None:
        self.inputs, self.rows = torch.zeros(columns, columns), torch.zeros(rows)

    def add_linear(self, inputs: Tensor, gradient: Tensor) -> None:
        inputs, gradient = inputs.flatten(0, -2), gradient.flatten(0, -2)
        squares = gradient.square()
        self.inputs += (inputs * squares.sum(-1, keepdim=True)).t() @ inputs
        self.rows += squares.sum(0)

    def add_output(self, inputs: Tensor, gradient: Tensor) -> None:
        """As for other matrices; a row's mean square is half of its mean magnitude here, which scatters far less."""
        inputs, gradient = inputs.flatten(0, -2), gradient.flatten(0, -2)
        self.inputs += (inputs * gradient.square().sum(-1, keepdim=True)).t() @ inputs
        self.rows += gradient.abs().sum(0) / 2

    def add_embedding(self, ids: Tensor, gradient: Tensor) -> None:
        gradient = gradient.flatten(0, -2)
        self.inputs += gradient.t() @ gradient
        self.rows += torch.bincount(ids.flatten(), minlength=len(self.rows))

    def mean(self, tokens: int) -> Sensitivity:
        return Sensitivity(self.inputs / tokens / len(self.rows), self.rows / self.rows.mean())


def measure_sensitivity(
    model: nn.Module,
    windows: Tensor,
    generator: torch.Generator,
    step: Callable[[int], None] = lambda _: None,
) -> dict[str, Sensitivity]:
    """The sensitivity of every matrix of a `transformers` model, by its name, on windows of ids (count, length).

    The gradients are those of tokens that the model itself draws after each place (the Fisher information). `step`
    gets the number of windows read.
    """
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()  # type: ignore[operator]
    sums: dict[nn.Module, _Sums] = {}

    def watch(add: str, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        output.register_hook(partial(getattr(sums[module], add), inputs[0].detach()))  # type: ignore[no-untyped-call]

    names: dict[nn.Module, str] = {}
    hooks = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            names[module], sums[module] = f"{name}.weight", _Sums(*module.weight.shape)
            kind = "add_embedding" if module is embedding else "add_output" if module is head else "add_linear"
            hooks.append(module.register_forward_hook(partial(watch, kind)))
    model.requires_grad_(False)
    embedding.weight.requires_grad_(True)  # so that gradients reach all layers
    try:
        for number, window in enumerate(windows, start=1):
            logits = model(input_ids=window[None]).logits[0]
            drawn = torch.multinomial(logits.detach().softmax(-1), 1, generator=generator)[:, 0]
            functional.cross_entropy(logits, drawn, reduction="sum").backward()  # type: ignore[no-untyped-call]
            embedding.weight.grad = None
            step(number)
    finally:
        for hook in hooks:
            hook.remove()
    measured = {names[module]: total.mean(windows.numel()) for module, total in sums.items()}
    if head.weight is embedding.weight:
        output, looked_up = measured.pop(names[head]), measured[names[embedding]]
        measured[names[embedding]] = Sensitivity(output.inputs + looked_up.inputs, output.rows)
    return measured


@dataclass(frozen=True, slots=True)
class Compensation:
    """How the error of a column is made up for by those after it, for inputs that vary together."""

    order: Tensor  # columns, the most sensitive first
    spread: Tensor  # (columns, columns), upper triangular: the factor U of the inverse sensitivity U'U, in that order

    @classmethod
    def of(cls, inputs: Tensor) -> Compensation:
        exact = inputs.double()
        exact = exact + DAMPING * exact.diagonal().mean().clamp(min=1e-300) * torch.eye(len(exact), dtype=torch.float64)
        order = exact.diagonal().argsort(descending=True, stable=True)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(exact[order][:, order]))
        return cls(order, torch.linalg.cholesky(inverse, upper=True).float())

    @property
    def cost(self) -> float:
        """What an error of one costs in the mean over columns, when the columns after it make up for what they can."""
        return float(self.spread.diagonal().double().pow(-2).mean())


def relative_steps(sensitivity: Sensitivity, compensation: Compensation) -> Tensor:
    """Steps (rows,) with which every weight of every matrix costs the same loss; all may be scaled by one factor."""
    return (sensitivity.rows.clamp(min=LEAST_SHARE) * compensation.cost).rsqrt()


def round_plainly(weight: Tensor, steps: Tensor) -> Stored:
    """The nearest values; a row whose values would be too large gets a larger step."""
    steps = _large_enough(weight, steps)
    return Stored((weight / steps[:, None]).round_().to(torch.int8), steps)


def round_compensated(weight: Tensor, steps: Tensor, compensation: Compensation) -> Stored:
    """Rounds column by column; what each error costs is made up for in the columns that are still to come."""
    steps = _large_enough(weight, steps)
    left = (weight / steps[:, None]).t()[compensation.order].contiguous()  # in units of a step
    values, spread = torch.empty_like(left), compensation.spread
    for begin in range(0, len(left), BLOCK):
        end = min(begin + BLOCK, len(left))
        errors = torch.empty_like(left[begin:end])
        for column in range(begin, end):
            values[column] = left[column].round().clamp_(-LARGEST, LARGEST)
            error = errors[column - begin] = (left[column] - values[column]) / spread[column, column]
            left[column + 1 : end] -= spread[column, column + 1 : end, None] * error
        left[end:] -= spread[begin:end, end:].t() @ errors
    restored = torch.empty_like(values)
    restored[compensation.order] = values
    return Stored(restored.t().contiguous().to(torch.int8), steps)


def _large_enough(weight: Tensor, steps: Tensor) -> Tensor:
    return torch.maximum(steps, weight.abs().amax(-1) / LARGEST).clamp(min=1e-20)
