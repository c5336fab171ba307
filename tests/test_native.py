"""The compiled network computes what torch computes in int8, whatever the shape, the processor or the threads."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import pytest
import torch

from refdec import Direction, load_pair
from refdec.lm import engine, native_network
from refdec.lm.linear import Stored, quantise
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.native.build import VARIANTS
from refdec.lm.native_network import NativeNetwork, can_run, load_library
from refdec.lm.network import TorchNetwork

SHAPES = {
    "three queries per key": (9, 3, 16, 40, 48, 100, True),
    "one query per key": (4, 4, 32, 64, 64, 130, True),
    "odd width, own output matrix": (2, 1, 16, 31, 16, 64, False),
    "four queries per key": (8, 2, 64, 128, 96, 50, True),
    "five queries per key": (5, 1, 16, 80, 160, 70, True),
}


@pytest.fixture(params=VARIANTS)
def code(request: pytest.FixtureRequest) -> CDLL:
    if request.param not in native_network._instructions():
        pytest.skip(f"this processor has no {request.param}")
    library = load_library(request.param)
    if library is None:
        pytest.skip("the package was built without a C++ compiler")
    return library


@pytest.fixture
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def model_of(name: str) -> tuple[LlamaShape, dict[str, Stored]]:
    heads, kv_heads, size, width, inner, vocabulary, tied = SHAPES[name]
    shape = LlamaShape(
        layers=2, width=width, inner=inner, heads=heads, kv_heads=kv_heads, head_size=size, vocabulary=vocabulary,
        window=64, epsilon=1e-5, theta=10000.0, tied=tied,
    )  # fmt: skip
    random = torch.Generator().manual_seed(5)
    stored = {}
    for part, sizes in shape.sizes.items():
        values = torch.randn(sizes, generator=random)
        stored[part] = Stored(1 + 0.1 * values) if len(sizes) == 1 else Stored(*quantise(0.2 * values))
    return shape, stored


def native(code: CDLL, name: str) -> LlamaLM:
    return LlamaLM(NativeNetwork(code, *model_of(name)), Direction.FORWARD, 0)


PREFIXES = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11]]
ROWS = torch.tensor([0, 0, 1, 2, 2, 2, 1])
TOKENS = torch.arange(7 * 9).view(7, 9) % 50


@pytest.mark.parametrize("name", SHAPES)
def test_it_computes_what_torch_computes(code: CDLL, name: str) -> None:
    shape, stored = model_of(name)
    plain = LlamaLM(TorchNetwork(shape, stored, torch.device("cpu"), "int8"), Direction.FORWARD, 0)
    models = (plain, native(code, name))
    features = [model.features(model.read(PREFIXES).select(ROWS), TOKENS) for model in models]
    difference = (features[0] - features[1]).abs() / features[0].abs().max()
    # An input at the border of two int8 numbers may be rounded to the other one, where a float32 sum differs.
    assert float(difference.median()) < 1e-3
    assert float(difference.max()) < 0.05
    logits, expected = native(code, name).logits(features[0]), plain.logits(features[0])
    assert torch.allclose(logits, expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("name", SHAPES)
def test_reading_step_by_step_gives_the_very_same_numbers(code: CDLL, name: str) -> None:
    model = native(code, name)
    reading = model.read(PREFIXES).select(ROWS)
    at_once = model.features(reading, TOKENS)
    for step in range(TOKENS.shape[1]):
        assert torch.equal(reading.features, at_once[:, step])
        reading = model.extend(reading, TOKENS[:, step])


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("name", SHAPES)
def test_neither_other_rows_nor_threads_change_a_digit(code: CDLL, name: str) -> None:
    model = native(code, name)
    together = model.features(model.read(PREFIXES * 20), TOKENS.repeat(9, 1)[:60])
    torch.set_num_threads(1)
    for row in (0, 1, 2, 31, 59):
        alone = model.features(model.read([PREFIXES[row % 3]]), TOKENS[row % 7][None])
        assert torch.equal(alone[0], together[row])
    assert torch.equal(model.logits(together[31]), model.logits(together)[31])


def test_every_processor_gives_the_same_numbers() -> None:
    present = [variant for variant in VARIANTS if variant in native_network._instructions()]
    libraries = [library for variant in present if (library := load_library(variant)) is not None]
    if len(libraries) < 2:
        pytest.skip("this processor runs one variant only")
    models = [native(library, "three queries per key") for library in libraries]
    features = [model.features(model.read(PREFIXES), TOKENS[:3]) for model in models]
    for other in features[1:]:
        assert torch.equal(features[0], other)


def test_the_largest_numbers_are_multiplied_exactly(code: CDLL) -> None:
    shape, stored = model_of("one query per key")
    signs = torch.where(torch.arange(shape.vocabulary * shape.width).view(shape.vocabulary, -1) % 3 == 0, -127, 127)
    stored["model.embed_tokens.weight"] = Stored(signs.to(torch.int8), torch.ones(shape.vocabulary))
    model = LlamaLM(NativeNetwork(code, shape, stored), Direction.FORWARD, 0)
    inputs = signs[:5].float()
    assert torch.equal(model.logits(inputs), inputs @ signs.float().T)


def test_ids_and_places_that_do_not_exist_are_refused(code: CDLL) -> None:
    model = native(code, "one query per key")
    for prefix in ([130], [-1], [1] * 64):
        with pytest.raises(IndexError):
            model.read([prefix])


def test_shapes_that_it_does_not_know_are_left_to_torch(code: CDLL) -> None:
    shape, _ = model_of("one query per key")
    assert can_run(code, shape)
    assert not can_run(None, shape)
    for change in ({"head_size": 24}, {"inner": 40}, {"kv_heads": 3}):
        sizes = {name: getattr(shape, name) for name in LlamaShape.__dataclass_fields__} | change
        assert not can_run(code, LlamaShape(**sizes))


def test_a_library_made_of_another_source_is_not_used(monkeypatch: pytest.MonkeyPatch, code: CDLL) -> None:  # noqa: ARG001
    monkeypatch.setattr(native_network, "digest", lambda: "another")
    assert all(load_library(variant) is None for variant in VARIANTS)


def test_without_a_library_torch_computes_int8(small_pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "fastest_library", lambda: None)
    model = load_pair(small_pair, device="cpu", precision="int8").forward
    assert isinstance(model, LlamaLM)
    assert isinstance(model.network, TorchNetwork)
