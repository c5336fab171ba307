"""Each promise is held against a slow formula, for the plain functions and, where Triton can run, for the kernels.

Triton runs on a GPU, or without one under TRITON_INTERPRET=1.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType

import pytest
import torch
from torch import Tensor

from refdec.lm.prefix_cache import Prefix, SharedRows, Tail
from refdec.reflect import reference

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
TRITON = importlib.util.find_spec("triton") is not None and (INTERPRETED or torch.cuda.is_available())
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
MODULES = ["plain", "kernels"] if TRITON else ["plain"]
TOLERANCE = {torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
"""Values are of order one: a few units in the last place, which in attention add up over roundings of the weights."""

# Triton's interpreter computes with numpy, which warns of the infinities that masks are made of.
WARNINGS = ["ignore::RuntimeWarning", "ignore::DeprecationWarning"] if INTERPRETED else []
pytestmark = [pytest.mark.filterwarnings(warning) for warning in WARNINGS]


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(f"refdec.lm.{request.param}")


def normal(generator: torch.Generator, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=generator).to(DEVICE, dtype)


def near(got: Tensor, expected: Tensor) -> bool:
    tolerance = TOLERANCE[got.dtype]
    return got.shape == expected.shape and torch.allclose(got.double(), expected.double(), tolerance, tolerance)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("rows", "width"), [(1, 16), (3, 48), (7, 576), (2, 2049)])
@pytest.mark.parametrize("added", [True, False])
def test_stream_is_added_to_in_place_and_normalised(
    module: ModuleType, rows: int, width: int, dtype: torch.dtype, added: bool
) -> None:
    generator = torch.Generator().manual_seed(width)
    stream, weight = normal(generator, rows, width), normal(generator, width, dtype=dtype)
    delta = normal(generator, rows, width, dtype=dtype) if added else None
    total = stream.double() + (delta.double() if delta is not None else 0)
    expected = total / (total.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()
    got = module.add_norm(stream, delta, weight, 1e-5, dtype)
    assert got.dtype == dtype
    assert near(got, expected)
    assert near(stream, total)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("heads", "kv_heads", "size"), [(1, 1, 4), (4, 4, 16), (9, 3, 64), (6, 2, 24)])
@pytest.mark.parametrize("integer", [torch.int32, torch.int64])
@pytest.mark.parametrize("kept", [True, False])
def test_pairs_turn_as_complex_numbers(
    module: ModuleType, heads: int, kv_heads: int, size: int, dtype: torch.dtype, integer: torch.dtype, kept: bool
) -> None:
    generator = torch.Generator().manual_seed(size)
    rows, window, capacity = 5, 11, 3
    angles = torch.arange(window)[:, None] * 0.7 ** torch.arange(size // 2)
    qkv = normal(generator, rows, (heads + 2 * kv_heads) * size, dtype=dtype)
    positions = torch.tensor([0, 3, 3, 10, 7], dtype=integer, device=DEVICE)
    split = qkv.double().view(rows, -1, 2, size // 2)
    turn = torch.polar(torch.ones(rows, size // 2).double(), angles[positions.cpu()].double()).to(DEVICE)
    turned = torch.complex(split[:, :, 0], split[:, :, 1]) * turn[:, None]
    expected = torch.cat([turned.real, turned.imag], dim=-1)
    expected[:, heads + kv_heads :] = split[:, heads + kv_heads :].flatten(-2)

    # One tail is laid out as (places, rows, heads), the other as (rows, heads, places).
    keys = torch.zeros(capacity, rows, kv_heads, size, dtype=dtype, device=DEVICE).permute(1, 2, 0, 3)
    values = torch.zeros(rows, kv_heads, capacity, size, dtype=dtype, device=DEVICE)
    place = torch.tensor([2], dtype=torch.int32, device=DEVICE)
    tables = angles.cos().to(DEVICE), angles.sin().to(DEVICE)
    module.rotate(qkv, positions, *tables, heads, kv_heads, size, *(((keys, values), place) if kept else ()))
    assert near(qkv, expected.flatten(1))
    if kept:
        now = qkv.view(rows, -1, size)
        assert torch.equal(keys[:, :, 2], now[:, heads : heads + kv_heads])
        assert torch.equal(values[:, :, 2], now[:, heads + kv_heads :])
        assert not keys[:, :, :2].any()
        assert not values[:, :, :2].any()


def slow_attention(q: Tensor, prefix: Prefix | None, tail: Tail, scale: float) -> Tensor:
    """Row by row, head by head and query by query, in double precision."""
    rows, n, heads, _ = q.shape
    group = heads // tail.keys.shape[1]
    result = torch.empty(q.shape, dtype=torch.float64)
    for row in range(rows):
        for head in range(heads):
            for query in range(n):
                seen = int(tail.filled) - n + query + 1
                keys = tail.keys[row, head // group, :seen].double()
                values = tail.values[row, head // group, :seen].double()
                if prefix is not None:
                    which = int(prefix.rows.index[row])
                    length = int(prefix.rows.lengths[which])
                    keys = torch.cat([prefix.keys[which, head // group, :length].double(), keys])
                    values = torch.cat([prefix.values[which, head // group, :length].double(), values])
                weights = (keys @ q[row, query, head].double() * scale).softmax(0)
                result[row, query, head] = (weights @ values).cpu()
    return result.flatten(2).to(q.device)


INDICES = {
    "each its own": ([0, 1, 2], [5, 5, 5]),
    "one for all": ([0, 0, 0, 0], [70]),
    "in groups": ([0, 0, 1, 1, 2, 2], [3, 0, 9]),
    "in turns": ([0, 1, 0, 1], [4, 40]),
    "irregular": ([2, 0, 2, 2, 1, 0], [1, 33, 6, 8]),
    "all empty": ([0, 1], [0, 0]),
    "none": ([0, 0, 0], []),
}


@pytest.mark.parametrize("order", INDICES)
@pytest.mark.parametrize(
    ("heads", "kv_heads", "size", "n", "filled", "capacity"),
    [(2, 2, 16, 1, 1, 1), (4, 2, 8, 1, 5, 9), (6, 2, 24, 3, 3, 3), (2, 1, 64, 5, 70, 80), (3, 3, 16, 35, 36, 40)],
)
@pytest.mark.parametrize("on_device", [True, False])
def test_attention_is_softmax_over_prefix_and_tail(
    module: ModuleType,
    order: str,
    heads: int,
    kv_heads: int,
    size: int,
    n: int,
    filled: int,
    capacity: int,
    on_device: bool,
) -> None:
    check_attention(module, order, (heads, kv_heads, size, n, filled, capacity), on_device, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(4, 2, 64, 1, 20, 32), (3, 1, 32, 30, 30, 30)])
def test_attention_in_half_precision(module: ModuleType, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    if module.__name__.endswith("kernels") and INTERPRETED and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter multiplies no matrices in bfloat16.")
    check_attention(module, "irregular", shape, True, dtype)
    check_attention(module, "none", shape, True, dtype)


def check_attention(
    module: ModuleType, order: str, shape: tuple[int, ...], on_device: bool, dtype: torch.dtype
) -> None:
    heads, kv_heads, size, n, filled, capacity = shape
    generator = torch.Generator().manual_seed(sum(shape))
    index, lengths = INDICES[order]
    rows = len(index)
    # Queries and the tail are parts of one buffer, as after the projection; what is not filled must not matter.
    buffer = normal(generator, rows, capacity, heads + 2 * kv_heads, size, dtype=dtype) * 1.5
    buffer[:, filled:] = torch.nan if module.__name__.endswith("kernels") else 100.0
    q = buffer[:, filled - n : filled, :heads]
    keys, values = buffer[:, :, heads:].transpose(1, 2).chunk(2, dim=1)
    prefix = None
    if lengths:
        shared = normal(generator, len(lengths), max(lengths) + 2, 2 * kv_heads, size, dtype=dtype).transpose(1, 2)
        plan = SharedRows.of(torch.tensor(index, device=DEVICE), torch.tensor(lengths, device=DEVICE))
        prefix = Prefix(shared[:, :kv_heads], shared[:, kv_heads:], plan)
    held = torch.tensor([filled], dtype=torch.int32, device=DEVICE) if on_device else filled
    tail = Tail(keys, values, held)
    got = module.attend(q, prefix, tail, size**-0.5)
    assert got.is_contiguous()
    assert got.dtype == dtype
    assert near(got, slow_attention(q, prefix, tail, size**-0.5))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (5, 48), (2, 1536)])
def test_gate_is_the_silu_of_the_first_half(module: ModuleType, rows: int, width: int, dtype: torch.dtype) -> None:
    gate_up = normal(torch.Generator().manual_seed(width), rows, 2 * width, dtype=dtype)
    gate, up = gate_up.double()[:, :width], gate_up.double()[:, width:]
    got = module.gated(gate_up)
    assert got.dtype == dtype
    assert near(got, gate / (1 + (-gate).exp()) * up)


def drawn_by_reference(logits: Tensor, allowed: Tensor, top_p: float, uniform: float, slack: float) -> list[int]:
    """The tokens from the one drawn with a little less of both numbers to the one drawn with a little more."""
    logprobs = logits.double().masked_fill(~allowed, -torch.inf).log_softmax(-1).tolist()
    order = sorted(range(len(logprobs)), key=lambda token: -logprobs[token])
    first = reference.draw(logprobs, max(top_p - slack, 0.0), max(uniform - slack, 0.0))
    last = reference.draw(logprobs, min(top_p + slack, 1.0), min(uniform + slack, 1.0))
    return order[order.index(first) : order.index(last) + 1]


@pytest.mark.parametrize("vocabulary", [1, 2, 65, 500, 1024])
@pytest.mark.parametrize("scale", [0.0, 0.1, 2.0, 30.0])
@pytest.mark.parametrize("grain", [0.0, 0.5])  # coarse logits have many equals
@pytest.mark.parametrize("masks", [1, 3])
def test_draw_is_the_one_the_plain_version_makes(
    module: ModuleType, vocabulary: int, scale: float, grain: float, masks: int
) -> None:
    generator = torch.Generator().manual_seed(vocabulary)
    rows = 24
    logits = torch.randn(rows, vocabulary, generator=generator) * scale
    if grain:
        logits = (logits / grain).round() * grain
    allowed = torch.rand(masks, vocabulary, generator=generator) < 0.6
    allowed[1:2] = True
    allowed[:, 0] = True
    which = torch.arange(rows) % masks
    top_p = torch.rand(rows, generator=generator)
    top_p[:4] = torch.tensor([0.0, 1.0, 1.0, 1e-6])
    uniform = torch.rand(rows, generator=generator)
    uniform[1:3] = torch.tensor([0.0, 1 - 2**-24])
    got = module.draw(*(part.to(DEVICE) for part in (logits, allowed, which, top_p, uniform)))
    assert got.dtype == torch.int64
    slack = 3e-6 if module.__name__.endswith("kernels") else 0.0  # the kernel sums in single precision
    for row, token in enumerate(got.tolist()):
        mask = allowed[row % masks]
        assert token in drawn_by_reference(logits[row], mask, float(top_p[row]), float(uniform[row]), slack)
        assert mask[token]


@pytest.mark.skipif("kernels" not in MODULES, reason="Triton runs on a GPU, or under TRITON_INTERPRET=1")
@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 30.0])
@pytest.mark.parametrize("grain", [0.0, 0.5])
def test_long_rows_are_drawn_from_in_parts_as_the_plain_version_draws(
    monkeypatch: pytest.MonkeyPatch, scale: float, grain: float
) -> None:
    kernels = importlib.import_module("refdec.lm.kernels")
    for name, value in (("SHORT_ROW", 256), ("PART", 256), ("FEW", 128)):  # some nuclei have more than 128 tokens
        monkeypatch.setattr(kernels, name, value)
    generator = torch.Generator().manual_seed(1)
    rows, vocabulary = 16, 1000
    logits = torch.randn(rows, vocabulary, generator=generator) * scale
    if grain:
        logits = (logits / grain).round() * grain
    allowed = torch.rand(2, vocabulary, generator=generator) < 0.6
    allowed[:, 0] = True
    top_p = torch.rand(rows, generator=generator)
    top_p[:4] = torch.tensor([0.0, 1.0, 0.9, 0.999])
    uniform = torch.rand(rows, generator=generator)
    which = torch.arange(rows) % 2
    got = kernels.draw(*(part.to(DEVICE) for part in (logits, allowed, which, top_p, uniform)))
    for row, token in enumerate(got.tolist()):
        mask = allowed[row % 2]
        assert token in drawn_by_reference(logits[row], mask, float(top_p[row]), float(uniform[row]), 3e-6)
        assert mask[token]


def test_draws_follow_the_nucleus(module: ModuleType) -> None:
    rows = 400
    uniform = (torch.arange(rows) + 0.5) / rows
    logits = torch.tensor([0.15, 0.5, 0.05, 0.3]).log().expand(rows, -1).contiguous() + 7
    everything = torch.ones(1, 4, dtype=torch.bool)
    arguments = logits, everything, torch.zeros(rows, dtype=torch.int64), torch.full((rows,), 0.79), uniform
    drawn = module.draw(*(part.to(DEVICE) for part in arguments))
    assert torch.bincount(drawn.cpu(), minlength=4).tolist() == [0, 250, 0, 150]


def test_of_equals_the_lower_ids_are_in_the_nucleus(module: ModuleType) -> None:
    rows, vocabulary = 16, 300
    arguments = (
        torch.zeros(rows, vocabulary),
        torch.ones(1, vocabulary, dtype=torch.bool),
        torch.zeros(rows, dtype=torch.int64),
        torch.full((rows,), 99.5 / vocabulary),
        (torch.arange(rows) + 0.5) / rows,
    )
    drawn = module.draw(*(part.to(DEVICE) for part in arguments))
    assert drawn.tolist() == [int((row + 0.5) / rows * 100) for row in range(rows)]


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("vocabulary", [1, 31, 1024, 3000])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_chosen_tokens_have_their_log_probabilities(
    module: ModuleType, rows: int, vocabulary: int, scale: float
) -> None:
    generator = torch.Generator().manual_seed(vocabulary)
    logits = torch.randn(rows, vocabulary, generator=generator) * scale
    tokens = torch.randint(vocabulary, (rows,), generator=generator)
    expected = logits.double().log_softmax(-1).gather(1, tokens[:, None])[:, 0]
    got = module.chosen(logits.to(DEVICE), tokens.to(DEVICE)).cpu().double()
    assert torch.allclose(got, expected, rtol=0, atol=1e-4)
