"""The forward model of a pair with gradients, in float32: for methods that learn, or decode by backpropagation."""

from __future__ import annotations

import torch

from refdec.errors import ModelError
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.model_files import read_json
from refdec.lm.pair import Pair
from refdec.train.export import load_initial
from refdec.train.model import Shape


def forward_weights(pair: Pair) -> tuple[Shape, dict[str, torch.Tensor]]:
    """The shape and the weights of the forward model, or a `ModelError` where refdec has no gradients for it."""
    home = pair.forward_home
    if home is None:
        raise ModelError("This method needs the files of the forward model. Load the pair with load_pair.")
    if LlamaShape.of(read_json(home / "config.json")) is None:
        raise ModelError(
            f"This method needs gradients, which refdec has for plain Llama models only, and the forward model in "
            f"{home} is another. Use another pair."
        )
    return load_initial(home)
