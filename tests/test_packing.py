"""Rounding for packed files: where the loss is sensitive, errors are small; what is written is a model that loads."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from benchmarks import packing as benchmark
from torch import Tensor
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from refdec import Direction
from refdec.lm.engine import load_lms
from refdec.lm.linear import Stored
from refdec.lm.model_files import read_llama, verify_checksums
from refdec.train.packing import (
    DAMPING,
    LARGEST,
    Compensation,
    Sensitivity,
    measure_sensitivity,
    relative_steps,
    round_compensated,
    round_plainly,
)
from tests.small_pair import SENTENCES


def cost(weight: Tensor, rounded: Stored, sensitivity: Sensitivity) -> float:
    """The rise of the loss that a sensitivity predicts."""
    errors = rounded.float() - weight
    return float(torch.einsum("r,ri,ij,rj->", sensitivity.rows, errors, sensitivity.inputs, errors)) / 2


@pytest.fixture(scope="module")
def weight() -> Tensor:
    return torch.randn(40, 96, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def sensitivity() -> Sensitivity:
    """Inputs that vary together, and rows that count differently."""
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(500, 12, generator=generator) @ torch.randn(12, 96, generator=generator)
    inputs += 0.3 * torch.randn(500, 96, generator=generator)
    return Sensitivity(inputs.t() @ inputs / 500, torch.linspace(0.2, 1.8, 40))


def test_later_columns_make_up_for_the_errors_of_earlier_ones(weight: Tensor, sensitivity: Sensitivity) -> None:
    steps, compensation = torch.full((40,), 0.2), Compensation.of(sensitivity.inputs)
    plain, compensated = round_plainly(weight, steps), round_compensated(weight, steps, compensation)
    assert cost(weight, compensated, sensitivity) < 0.25 * cost(weight, plain, sensitivity)


def test_the_cost_of_compensated_rounding_is_known_beforehand(weight: Tensor, sensitivity: Sensitivity) -> None:
    """Errors are spread evenly over a step; a step is small enough here that no row needs a larger one."""
    steps, compensation = torch.full((40,), 0.2), Compensation.of(sensitivity.inputs)
    predicted = float(sensitivity.rows.sum()) * weight.shape[1] * compensation.cost * 0.2**2 / 12 / 2
    damped = sensitivity.inputs + DAMPING * sensitivity.inputs.diagonal().mean() * torch.eye(96)
    rounded = round_compensated(weight, steps, compensation)
    assert cost(weight, rounded, Sensitivity(damped, sensitivity.rows)) == pytest.approx(predicted, rel=0.1)


def test_inputs_that_vary_alone_are_rounded_to_the_nearest(weight: Tensor) -> None:
    alone = Compensation.of(torch.diag(torch.rand(96, generator=torch.Generator().manual_seed(3)) + 0.1))
    steps = torch.full((40,), 0.15)
    assert torch.equal(round_compensated(weight, steps, alone).values, round_plainly(weight, steps).values)


@pytest.mark.parametrize("step", [0.5, 1e-3])
def test_no_value_is_larger_than_the_kernels_take(weight: Tensor, sensitivity: Sensitivity, step: float) -> None:
    steps = torch.full((40,), step)
    for rounded in (
        round_plainly(weight, steps),
        round_compensated(weight, steps, Compensation.of(sensitivity.inputs)),
    ):
        assert rounded.values.dtype == torch.int8
        assert int(rounded.values.abs().max()) <= LARGEST


def test_rows_of_zeros_stay_zero(sensitivity: Sensitivity) -> None:
    nothing = torch.zeros(40, 96)
    compensated = round_compensated(nothing, torch.full((40,), 0.1), Compensation.of(sensitivity.inputs))
    assert torch.equal(compensated.float(), nothing)


def test_steps_give_every_row_the_same_cost_per_weight(sensitivity: Sensitivity) -> None:
    compensation = Compensation.of(sensitivity.inputs)
    steps = relative_steps(sensitivity, compensation)
    assert torch.allclose(steps.square() * sensitivity.rows * compensation.cost, torch.ones(40))
    rare = Sensitivity(sensitivity.inputs, torch.tensor([0.0] * 20 + [2.0] * 20))
    assert bool(relative_steps(rare, compensation).isfinite().all())


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, bos_token_id=0, tie_word_embeddings=True,
    )  # fmt: skip
    made = LlamaForCausalLM(config).eval()
    generator = torch.Generator().manual_seed(4)
    for parameter in made.parameters():
        if parameter.ndim == 2:
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.2
    return made


def test_sensitivity_predicts_how_far_the_model_moves(model: LlamaForCausalLM) -> None:
    """Within a factor of four: errors at different places of a window are taken as independent, and they are not."""
    generator = torch.Generator().manual_seed(5)
    windows = torch.randint(50, (24, 64), generator=generator)
    measured = measure_sensitivity(model, windows, generator)
    parameters = dict(model.named_parameters())
    assert measured.keys() == {name for name, parameter in parameters.items() if parameter.ndim == 2}
    with torch.no_grad():
        before = model(input_ids=windows).logits.log_softmax(-1)
        for name, sensitivity in measured.items():
            exact = parameters[name].data
            errors = 0.01 * torch.randn(exact.shape, generator=generator)
            parameters[name].data = exact + errors
            after = model(input_ids=windows).logits.log_softmax(-1)
            parameters[name].data = exact
            moved = float(functional.kl_div(after, before, log_target=True, reduction="sum")) / windows.numel()
            assert 0.25 < cost(exact, Stored(exact + errors), sensitivity) / moved < 4, name


def test_a_model_is_packed_into_so_many_bytes(
    small_pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out, text = tmp_path / "model", tmp_path / "packed", tmp_path / "text.txt"
    shutil.copytree(small_pair / "forward", source)
    shutil.copy(small_pair / "tokenizer.json", source)
    text.write_text("\n\n".join(SENTENCES * 4))
    whole = source.joinpath("model.safetensors").stat().st_size / 4  # a byte per weight
    arguments = [str(source), str(out), "--text", str(text), "--megabytes", str(0.8 * whole / 1e6)]
    monkeypatch.setattr(sys, "argv", ["packing", *arguments, "--calibrate", "4", "--measure", "4"])
    benchmark.main()
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(report["choices"]) == {"int8", *benchmark.PACKED}
    for name in benchmark.PACKED:
        assert 0.78 < report["choices"][name]["megabytes"] * 1e6 / whole < 0.8
        assert abs(report["choices"][name]["forward"]["rise"]) < 0.1
    verify_checksums(out)
    assert {path.name for path in out.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json", "SHA256SUMS"}
    stored = read_llama(out)
    assert stored is not None
    assert all(int(item.values.abs().max()) <= LARGEST for item in stored.values() if item.scale is not None)
    load_lms(out, [Direction.FORWARD], torch.device("cpu"), "float32")
