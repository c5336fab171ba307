"""Two optimisers for one model: Muon for the matrices, AdamW for embeddings and norms. Knows parameters by name."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from refdec.train.fsdp import share_of
from refdec.train.muon import Muon
from refdec.train.recipe import Recipe

BETAS = (0.9, 0.95)


class Optimiser:
    """Both optimisers, at rates that follow the recipe."""

    def __init__(self, model: nn.Module, recipe: Recipe, *, bfloat16: bool) -> None:
        """`bfloat16`: see `Muon`."""
        self._recipe = recipe
        named = list(model.named_parameters())
        matrices = [tensor for name, tensor in named if is_matrix(name, tensor)]
        others = [tensor for name, tensor in named if not is_matrix(name, tensor)]
        fused = others[0].device.type == "cuda"
        self.parts: dict[str, torch.optim.Optimizer] = {
            "muon": Muon(
                matrices,
                bfloat16=bfloat16,
                lr=recipe.matrix_rate,
                momentum=recipe.momentum,
                weight_decay=recipe.weight_decay,
            ),
            "adamw": torch.optim.AdamW(others, lr=recipe.other_rate, betas=BETAS, weight_decay=0.0, fused=fused),
        }
        self._highest = {"muon": recipe.matrix_rate, "adamw": recipe.other_rate}

    def step(self, done: float) -> None:
        """One step at this share of the budget; it clears the gradients."""
        share = self._recipe.rate(done)
        for name, part in self.parts.items():
            for group in part.param_groups:
                group["lr"] = share * self._highest[name]
            part.step()
            part.zero_grad(set_to_none=True)

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
        """The state of both optimisers: tensors, sharded as the model is, and numbers, by name."""
        tensors: dict[str, torch.Tensor] = {}
        numbers: dict[str, float] = {}
        for name, part in self.parts.items():
            for index, values in part.state_dict()["state"].items():
                for key, value in values.items():
                    if isinstance(value, torch.Tensor) and value.ndim:
                        tensors[f"{name}.{index}.{key}"] = value
                    else:
                        numbers[f"{name}.{index}.{key}"] = float(value)
        return tensors, numbers

    def restore(self, tensors: dict[str, torch.Tensor], numbers: dict[str, float]) -> None:
        """Take over what `state` gave; tensors are unsharded."""
        for name, part in self.parts.items():
            owners = [tensor for group in part.param_groups for tensor in group["params"]]
            restored: dict[int, dict[str, Any]] = {}
            for whole, value in (*tensors.items(), *((key, torch.tensor(value)) for key, value in numbers.items())):
                owner, index, key = whole.split(".", 2)
                if owner == name:
                    like = owners[int(index)] if value.ndim else None
                    restored.setdefault(int(index), {})[key] = share_of(value, like)
            part.load_state_dict({"state": restored, "param_groups": part.state_dict()["param_groups"]})


def is_matrix(name: str, tensor: torch.Tensor) -> bool:
    """Whether Muon updates it: a linear map inside the model, not a table of vectors."""
    return tensor.ndim == 2 and "embed_tokens" not in name and "lm_head" not in name
