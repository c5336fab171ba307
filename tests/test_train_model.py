"""The model that is trained: the same as transformers' Llama in values and gradients, and honest about its cost."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM

from refdec.errors import SettingsError
from refdec.lm.pair import EMBEDDED
from refdec.train import model as home
from refdec.train.model import Llama, Shape, document_mask

SMALL = Shape(layers=2, width=16, heads=2, inner=24, vocabulary=31, positions=16)
SHAPES = {
    "one layer": dataclasses.replace(SMALL, layers=1),
    "two layers": SMALL,
    "one head": Shape(layers=1, width=6, heads=1, inner=10, vocabulary=13, positions=7),
    "shared keys": Shape(layers=2, width=24, heads=4, kv_heads=2, inner=20, vocabulary=29, positions=11),
    "one key head": Shape(layers=1, width=24, heads=3, kv_heads=1, inner=17, vocabulary=29, positions=9),
    "heads of their own size": Shape(
        layers=2, width=15, heads=3, kv_heads=1, head_size=6, inner=7, vocabulary=11, positions=5
    ),
    "own output matrix": dataclasses.replace(SMALL, tied=False),
    "other constants": dataclasses.replace(SMALL, theta=100.0, epsilon=1e-3),
}


def randomise(model: Llama, seed: int = 0) -> Llama:
    """Weights that let every part of the model matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * (0.4 if weight.ndim == 2 else 1.0))
    return model


def draw_ids(shape: Shape, rows: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Ids and the ids after them, as they come from windows of a stream."""
    generator = torch.Generator().manual_seed(seed)
    windows = torch.randint(shape.vocabulary, (rows, shape.positions + 1), generator=generator)
    return windows[:, :-1], windows[:, 1:]


def theirs(model: Llama) -> LlamaForCausalLM:
    """The same weights in transformers."""
    other = LlamaForCausalLM(LlamaConfig(**model.shape.config())).eval()
    report = other.load_state_dict(model.state_dict(), strict=False)
    assert not report.unexpected_keys
    assert report.missing_keys == (["lm_head.weight"] if model.shape.tied else [])
    return other


def gradients(model: torch.nn.Module, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("name", SHAPES)
def test_values_and_gradients_are_those_of_transformers(name: str) -> None:
    shape = SHAPES[name]
    model, (ids, targets) = randomise(Llama(shape)), draw_ids(shape)
    other = theirs(model)
    logits = other(input_ids=ids).logits
    assert torch.allclose(model.logits(ids), logits, rtol=1e-5, atol=1e-5)
    expected_loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss = model.loss(ids, targets)
    assert torch.allclose(loss, expected_loss, rtol=1e-5, atol=1e-5)
    found, expected = gradients(model, loss), gradients(other, expected_loss)
    assert found.keys() == expected.keys() == model.state_dict().keys()
    for weight, gradient in expected.items():
        assert torch.allclose(found[weight], gradient, rtol=1e-5, atol=1e-5), weight


@pytest.mark.parametrize("rows", [1, 5, 48, 1000])
def test_the_loss_does_not_depend_on_the_pieces_it_is_computed_in(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, (ids, targets) = randomise(Llama(SMALL)), draw_ids(SMALL)
    plain = functional.cross_entropy(model.logits(ids).flatten(0, 1), targets.flatten())
    expected = gradients(model, plain)
    monkeypatch.setattr(home, "CPU_LOGITS", rows * SMALL.vocabulary)
    loss = model.loss(ids, targets)
    assert torch.allclose(loss, plain)
    found = gradients(model, loss)
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6), name
    assert torch.allclose(model.losses(ids, targets).mean(), plain)


def test_losses_of_tokens_add_up_to_the_loss() -> None:
    model, (ids, targets) = randomise(Llama(SMALL)), draw_ids(SMALL)
    each = model.losses(ids, targets)
    assert each.shape == ids.shape
    assert not each.requires_grad
    assert torch.allclose(model.loss(ids, targets), each.mean())
    with torch.no_grad():
        assert torch.equal(model.loss(ids, targets), each.sum() / each.numel())
    expected = functional.cross_entropy(model.logits(ids).flatten(0, 1), targets.flatten(), reduction="none")
    assert torch.allclose(each.flatten(), expected)


def test_nothing_after_a_token_changes_what_it_is_taken_for() -> None:
    model, (ids, _) = randomise(Llama(SMALL)), draw_ids(SMALL)
    changed = ids.clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % SMALL.vocabulary
    before, after = model(ids), model(changed)
    assert torch.equal(before[:, :9], after[:, :9])
    assert not torch.allclose(before[:, 9:], after[:, 9:])


def test_first_weights_belong_to_the_generator_alone() -> None:
    def first(seed: int) -> Llama:
        model = Llama(SMALL)
        model.initialise(torch.Generator().manual_seed(seed))
        return model

    before = torch.random.get_rng_state()
    one, same, other = first(1), first(1), first(2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(*both) for both in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.head, other.head)


def test_a_model_begins_knowing_nothing_and_learns() -> None:
    shape = dataclasses.replace(SMALL, width=32)
    model, (ids, targets) = Llama(shape), draw_ids(shape)
    model.initialise(torch.Generator().manual_seed(0))
    first = model.loss(ids, targets).item()
    assert abs(first - math.log(shape.vocabulary)) < 0.1
    matrices = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and "layers" in name]
    others = [weight for name, weight in model.named_parameters() if weight.ndim == 1 or "layers" not in name]
    optimisers = [torch.optim.Muon(matrices, lr=0.02), torch.optim.AdamW(others, lr=0.01)]
    for _ in range(20):
        model.loss(ids, targets).backward()  # type: ignore[no-untyped-call]
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()
    assert model.loss(ids, targets).item() < first - 1


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_shape_says_how_many_parameters_there_are(shape: Shape) -> None:
    assert shape.parameters == sum(weight.numel() for weight in Llama(shape).parameters())
    assert Shape.of(shape.config()) == shape


def test_the_shape_of_the_embedded_pair_is_known() -> None:
    shape = Shape.of(json.loads((EMBEDDED / "config.json").read_text()))
    assert shape is not None
    assert shape.parameters == 49_152 * 576 + 30 * (2 * 576 * (576 + 192) + 3 * 576 * 1536 + 2 * 576) + 576
    assert (shape.start, shape.backward_start) == (0, 3)
    assert shape.bytes_on_disk(int8=False) == 2 * shape.parameters
    assert 0 < shape.bytes_on_disk(int8=True) - shape.parameters < 0.01 * shape.parameters  # a scale per row


@pytest.mark.parametrize("name", ["two layers", "shared keys", "heads of their own size", "own output matrix"])
def test_a_shape_says_what_a_token_costs(name: str) -> None:
    """Counted while it runs. Of attention only the half that a causal mask leaves is counted by the shape."""
    shape = SHAPES[name]
    model, (ids, targets) = randomise(Llama(shape)), draw_ids(shape)
    with FlopCounterMode(display=False) as counter:
        model.loss(ids, targets).backward()  # type: ignore[no-untyped-call]
    products = sum(count for op, count in counter.get_flop_counts()["Global"].items() if "attention" not in str(op))
    attention = 12 * shape.layers * shape.heads * shape.head_size * shape.positions / 2
    assert shape.flops_per_token(shape.positions) - attention == products / ids.numel()


def test_documents_in_a_sequence_can_be_kept_apart() -> None:
    model, apart = randomise(Llama(SMALL)), randomise(Llama(SMALL, documents=True))
    ids = torch.tensor([[5, 6, 0, 7, 8, 9, 0, 3], [0, 1, 2, 3, 4, 5, 6, 7]])
    found = apart(ids)
    for row, begin, end in ((0, 0, 2), (0, 2, 6), (0, 6, 8), (1, 0, 8)):
        alone = model(ids[row : row + 1, begin:end])
        assert torch.allclose(found[row, begin:end], alone[0], atol=1e-5)
    together = model(ids)
    assert torch.allclose(found[0, :2], together[0, :2], atol=1e-5)
    assert not torch.allclose(found[0, 2:], together[0, 2:], atol=1e-2)


def test_a_token_sees_its_own_document_up_to_itself() -> None:
    expected = [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 1, 1, 0],
        [0, 0, 0, 1],
    ]
    assert document_mask(torch.tensor([[7, 0, 8, 0]]))[0, 0].int().tolist() == expected


@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.processes
def test_the_compiler_takes_the_whole_model(documents: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced in one piece, loss and gradients; the traced graph is run as it is."""
    monkeypatch.setattr(home, "CPU_LOGITS", 20 * SMALL.vocabulary)
    model = randomise(Llama(SMALL, documents=documents))
    _compare(model, torch.compile(model.loss, backend="aot_eager_decomp_partition", fullgraph=True, dynamic=False))


@pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "g++")) is None, reason="torch.compile needs a C++ compiler, and none is here"
)
@pytest.mark.processes
def test_a_compiled_model_computes_the_same() -> None:
    model = randomise(Llama(SHAPES["one layer"]))
    quickly: dict[str, Any] = {"cpp.simdlen": 1, "compile_threads": 1}  # a third of the time, for code that runs once
    _compare(model, torch.compile(model.loss, fullgraph=True, dynamic=False, options=quickly))


def _compare(model: Llama, compiled: Callable[..., Any]) -> None:
    ids, targets = draw_ids(model.shape)
    ids[0, 5] = 0
    loss = model.loss(ids, targets)
    expected = gradients(model, loss)
    again = compiled(ids, targets)
    assert torch.allclose(again, loss, rtol=1e-5, atol=1e-5)
    for name, gradient in gradients(model, again).items():
        assert torch.allclose(gradient, expected[name], rtol=1e-5, atol=1e-5), name


def test_in_bfloat16_the_weights_stay_exact_and_the_loss_close() -> None:
    model, (ids, targets) = randomise(Llama(SMALL), seed=1), draw_ids(SMALL)
    loss, each = model.loss(ids, targets), model.losses(ids, targets)
    expected = gradients(model, loss)
    with torch.autocast("cpu", torch.bfloat16):
        assert model(ids).dtype == torch.bfloat16
        rough = model.loss(ids, targets)
        rough_each = model.losses(ids, targets)
    assert rough.dtype == rough_each.dtype == torch.float32
    assert abs(rough.item() - loss.item()) < 0.05
    assert float((rough_each - each).abs().mean()) < 0.1
    for name, gradient in gradients(model, rough).items():
        assert gradient.dtype == torch.float32
        assert functional.cosine_similarity(gradient.flatten(), expected[name].flatten(), dim=0) > 0.99, name


def test_a_sequence_longer_than_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="17 ids was given to a model of 16 positions"):
        Llama(SMALL)(torch.zeros(1, 17, dtype=torch.long))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 0}, "layers is 0; it must be a whole number, 1 or more"),
        ({"inner": 2.5}, r"inner is 2.5; it must be a whole number"),
        ({"heads": 3, "kv_heads": 3, "head_size": 0}, "width is 16, and 3 heads do not share it evenly"),
        ({"heads": 16, "kv_heads": 0, "head_size": 0}, "head_size is 1; rotary positions need an even number"),
        ({"heads": 4, "kv_heads": 3}, "heads is 4; it must be a multiple of kv_heads, 3"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        dataclasses.replace(SMALL, **changes)
