"""Smoothing: the same model, whose inputs lose less when they are rounded to int8."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from refdec import Direction
from refdec.lm.linear import Stored
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.native_network import NativeNetwork, can_run, fastest_library
from refdec.lm.network import Network, TorchNetwork
from refdec.train.smoothing import largest_inputs, output_matrix, smooth

CPU = torch.device("cpu")
IDS = torch.randint(1, 50, (6, 40), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def model(request: pytest.FixtureRequest) -> LlamaForCausalLM:
    """A model with grouped queries, and a few columns whose inputs are large and whose weights are small."""
    config = LlamaConfig(
        vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, head_dim=16,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, tie_word_embeddings=request.param,
    )  # fmt: skip
    made = LlamaForCausalLM(config).eval()
    generator = torch.Generator().manual_seed(4)
    for name, parameter in made.named_parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.2 + (parameter.ndim == 1)
        if name.endswith("norm.weight"):
            parameter.data[::29] *= 20
        elif name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "gate_proj.weight", "up_proj.weight")):
            parameter.data[:, ::29] /= 20
    return made


def scores(network: Network) -> Tensor:
    lm = LlamaLM(network, Direction.FORWARD, 0)
    return lm.score(lm.read([[]] * len(IDS)), IDS)


def smoothed(model: LlamaForCausalLM, int8: bool) -> tuple[LlamaShape, dict[str, Stored]]:
    """The smoothed weights as a file stores them."""
    shape = LlamaShape.of(model.config.to_dict())
    assert shape is not None
    head = output_matrix(shape)
    weights, factors = smooth(model.state_dict(), shape, largest_inputs(model, IDS))
    stored = {name: Stored(tensor) for name, tensor in weights.items()}
    if int8:
        stored = {name: item.quantised() if item.values.ndim == 2 else item for name, item in stored.items()}
    columns = Stored(weights[head] * factors)
    columns = columns.quantised() if int8 else columns
    return shape, stored | {head: Stored(columns.values, columns.scale, factors.reciprocal())}


def test_smoothing_does_not_change_the_model(model: LlamaForCausalLM) -> None:
    shape, stored = smoothed(model, int8=False)
    exact = {name: Stored(parameter.data) for name, parameter in model.named_parameters()}
    before, after = (scores(TorchNetwork(shape, weights, CPU, "float32")) for weights in (exact, stored))
    assert torch.allclose(before, after, atol=1e-3)


def test_smooth_inputs_lose_less_in_int8(model: LlamaForCausalLM) -> None:
    shape, stored = smoothed(model, int8=True)
    exact = {name: Stored(parameter.data) for name, parameter in model.named_parameters()}
    truth = scores(TorchNetwork(shape, exact, CPU, "float32"))
    plain, even = ((scores(TorchNetwork(shape, item, CPU, "int8")) - truth).abs().mean() for item in (exact, stored))
    assert even < 0.7 * plain


def test_the_compiled_network_scales_columns_as_torch_does(model: LlamaForCausalLM) -> None:
    code, (shape, stored) = fastest_library(), smoothed(model, int8=True)
    if not can_run(code, shape):
        pytest.skip("there is no compiled code for this processor")
    ours, plain = NativeNetwork(code, shape, stored), TorchNetwork(shape, stored, CPU, "int8")
    features = torch.randn(3, shape.width, generator=torch.Generator().manual_seed(2))
    assert torch.allclose(ours.logits(features), plain.logits(features), atol=1e-4, rtol=1e-4)
    assert (
        float((scores(ours) - scores(plain)).abs().mean()) < 0.02
    )  # a value on the edge of a step may round either way
