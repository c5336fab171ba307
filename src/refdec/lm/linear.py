"""Matrices as files store them and as a model multiplies with them: in float32, bfloat16 or int8.

An int8 matrix has one scale per row, and so do the inputs that it is multiplied with: the product is exact integer
arithmetic, and the result of a row does not depend on the other rows. A matrix may also have one scale per column,
by which inputs are multiplied before they are rounded: a column whose inputs are large would take the steps of all
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

_ROUNDS_LATE = "out_dtype" in (torch.mm.__doc__ or "")
"""Whether this torch can return float32 for a product of bfloat16 matrices."""

LARGEST = 127
"""The largest int8 magnitude that exists with both signs."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A matrix (outputs, inputs) as a file stores it: floating point, or int8 with one scale per row.

    An int8 matrix may have one scale per column too.
    """

    values: torch.Tensor
    scale: torch.Tensor | None = None
    columns: torch.Tensor | None = None

    def float(self) -> torch.Tensor:
        exact = self.values.float() if self.scale is None else self.values.float() * self.scale[:, None]
        return exact if self.columns is None else exact * self.columns

    def quantised(self) -> Stored:
        """In int8, and as it is stored if that is int8."""
        return self if self.scale is not None else Stored(*quantise(self.values.float()))

    def without_columns(self) -> Stored:
        """In int8 with scales per row alone; a matrix that has others is rounded anew."""
        return self.quantised() if self.columns is None else Stored(*quantise(self.float()))


def quantise(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows in int8, and one scale per row: (n, width) to (n, width) and (n,)."""
    scale = rows.abs().amax(-1).clamp_(min=1e-20).div_(LARGEST)
    return (rows / scale[:, None]).round_().to(torch.int8), scale


Linear = Callable[[torch.Tensor], torch.Tensor]
"""(n, inputs) to (n, outputs)."""


class FloatLinear:
    """Multiplies in the precision of its weights."""

    def __init__(self, weight: torch.Tensor) -> None:
        self._weight = weight

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.linear(rows, self._weight)

    def in_float32(self, rows: torch.Tensor) -> torch.Tensor:
        """The product with its sums in float32, not rounded to the precision of the weights."""
        if self._weight.dtype == torch.float32:
            return self(rows)
        inputs = rows.to(self._weight.dtype)
        if rows.device.type == "cuda" and _ROUNDS_LATE:
            return torch.mm(inputs, self._weight.t(), out_dtype=torch.float32)
        return functional.linear(inputs.float(), self._weight.float())


class Int8Linear:
    """Multiplies int8 with int8, sums in int32, and scales to float32."""

    def __init__(self, stored: Stored) -> None:
        exact = stored.quantised()
        assert exact.scale is not None
        self._weight, self._scale, self._columns = exact.values.t().contiguous(), exact.scale.float(), exact.columns

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        values, scale = quantise(rows if self._columns is None else rows * self._columns)
        return torch._int_mm(values, self._weight).to(torch.float32).mul_(self._scale).mul_(scale[:, None])


def make_linear(parts: Sequence[Stored], precision: str, device: torch.device) -> Linear:
    """Several matrices with the same inputs as one, their outputs one after the other."""
    if precision == "int8":
        exact = [part.without_columns() for part in parts]
        scales = [part.scale for part in exact if part.scale is not None]
        return Int8Linear(Stored(torch.cat([part.values for part in exact]).to(device), torch.cat(scales).to(device)))
    weight = torch.cat([part.float() for part in parts])
    return FloatLinear(weight.to(device, torch.bfloat16 if precision == "bfloat16" else torch.float32))
