"""Smoothing: scales of columns moved from the inputs of matrices into the matrices, without changing the model.

Inputs that are rounded to int8 share one scale per token, so a column whose inputs are large costs all others their
precision. Dividing the inputs of a column by a factor and multiplying the column by it changes nothing else (Xiao et
al., 2022, SmoothQuant). The factors for inputs go into what makes them: norms, the values of attention, the upper half
of a gated layer. The output matrix is tied to the embeddings, so its factors are kept beside it. Knows weights and ids;
nothing of text or of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from refdec.lm.llama_shape import LlamaShape

SHARE = 0.6
"""How much of the spread of inputs over columns moves into a matrix: 0 none, 1 all."""

LEAST = 1e-4
"""Magnitudes below this part of the largest one count as so much: a column that is hardly used gets no huge factor."""


def largest_inputs(model: nn.Module, windows: Tensor) -> dict[str, Tensor]:
    """The largest magnitude of each input of every matrix of a `transformers` model, by its name, on windows of ids."""
    most: dict[str, Tensor] = {}

    def watch(name: str, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        largest = inputs[0].detach().abs().flatten(0, -2).amax(0)
        most[name] = torch.maximum(most[name], largest) if name in most else largest

    linear = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(partial(watch, f"{name}.weight")) for name, module in linear]
    try:
        with torch.inference_mode():
            for window in windows:
                model(input_ids=window[None])
    finally:
        for hook in hooks:
            hook.remove()
    return most


def smooth(
    weights: Mapping[str, Tensor], shape: LlamaShape, inputs: Mapping[str, Tensor], share: float = SHARE
) -> tuple[dict[str, Tensor], Tensor]:
    """The weights of the same model with smooth inputs, and the factors of the columns of its output matrix.

    The output matrix itself is left as it is.
    """
    result = {name: tensor.clone() for name, tensor in weights.items()}

    def divide(names: Iterable[str], factors: Tensor) -> None:
        for name in names:
            result[name] /= factors if result[name].ndim == 1 else factors[:, None]

    def multiply(names: Iterable[str], factors: Tensor) -> None:
        for name in names:
            result[name] *= factors

    for number in range(shape.layers):
        home = f"model.layers.{number}."
        for norm, readers in (
            ("input_layernorm", ("self_attn.q", "self_attn.k", "self_attn.v")),
            ("post_attention_layernorm", ("mlp.gate", "mlp.up")),
        ):
            names = [f"{home}{reader}_proj.weight" for reader in readers]
            factors = _factors(inputs[names[0]], torch.cat([result[name] for name in names]), share)
            divide([f"{home}{norm}.weight"], factors)
            multiply(names, factors)
        output, values = f"{home}self_attn.o_proj.weight", f"{home}self_attn.v_proj.weight"
        groups = (shape.kv_heads, shape.heads // shape.kv_heads, shape.head_size)  # heads of a group share their values
        largest = inputs[output].view(groups).amax(1).flatten()
        columns = result[output].abs().amax(0).view(groups).amax(1).flatten()
        factors = _factors(largest, columns[None], share)
        divide([values], factors)
        multiply([output], factors.view(groups[0], 1, groups[2]).expand(groups).flatten())
        down, up = f"{home}mlp.down_proj.weight", f"{home}mlp.up_proj.weight"
        factors = _factors(inputs[down], result[down], share)
        divide([up], factors)
        multiply([down], factors)
    return result, _factors(inputs["lm_head.weight"], result[output_matrix(shape)], share)


def output_matrix(shape: LlamaShape) -> str:
    """The name of the matrix that makes logits."""
    return "model.embed_tokens.weight" if shape.tied else "lm_head.weight"


def _factors(inputs: Tensor, matrix: Tensor, share: float) -> Tensor:
    """What the inputs of each column are divided by; the mean of their logarithms is zero."""
    largest, weights = inputs, matrix.abs().amax(0)
    largest = largest.clamp(min=LEAST * float(largest.max()))
    weights = weights.clamp(min=LEAST * float(weights.max()))
    logs = share * largest.log() - (1 - share) * weights.log()
    return (logs - logs.mean()).exp()
