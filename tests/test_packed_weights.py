"""Packed matrices: the same int8 values in fewer bytes, in every engine; what is damaged is refused."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from refdec import Direction, ModelError
from refdec.lm.engine import load_lms
from refdec.lm.linear import Stored, quantise
from refdec.lm.llama import LlamaLM
from refdec.lm.model_files import load_model, read_llama
from refdec.lm.packed_weights import pack, save_packed, unpack
from refdec.train.model import Llama, Shape

CPU = torch.device("cpu")
SHAPE = Shape(layers=2, width=32, heads=2, inner=64, vocabulary=400, positions=64)
MATRIX = "model.layers.1.mlp.up_proj.weight"
IDS = torch.arange(1, 60)[None]


def random_matrix(rows: int = 64, columns: int = 48, spread: float = 12.0) -> Stored:
    generator = torch.Generator().manual_seed(rows)
    values = torch.randn(rows, columns, generator=generator).mul(spread).round().clamp(-63, 63).to(torch.int8)
    return Stored(values, torch.rand(rows, generator=generator))


@pytest.fixture(scope="module")
def weights() -> dict[str, Stored]:
    model = Llama(SHAPE)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.2
    state = model.state_dict()
    return {name: Stored(*quantise(tensor)) if tensor.ndim == 2 else Stored(tensor) for name, tensor in state.items()}


@pytest.fixture
def directory(tmp_path: Path, weights: dict[str, Stored]) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(SHAPE.config()))
    save_packed(tmp_path, weights)
    return tmp_path


def test_packed_values_and_scales_are_read_as_they_were() -> None:
    three = random_matrix(6, 4)
    matrices = {"one": random_matrix(), "two": random_matrix(5, 1), "norm": Stored(torch.ones(3))}
    matrices["three"] = Stored(three.values, three.scale, torch.tensor([1.0, 2.0, 0.5, 4.0]))
    tensors = {"norm": torch.ones(3)}
    for name in ("one", "two", "three"):
        tensors |= pack(name, matrices[name])
    read = unpack(tensors)
    assert set(read) == set(matrices)
    for name, matrix in matrices.items():
        assert read[name].values.dtype == matrix.values.dtype
        assert torch.equal(read[name].float(), matrix.float())


def test_a_packed_value_takes_hardly_more_than_its_entropy() -> None:
    matrix = random_matrix(1000, 200)
    counts = torch.bincount(matrix.values.flatten().int() + 63).double()
    shares = counts[counts > 0] / counts.sum()
    entropy = -float((shares * shares.log2()).sum())
    assert entropy < 8 * len(pack("name", matrix)["name"]) / matrix.values.numel() < entropy + 0.06


def test_all_engines_read_packed_weights(directory: Path, weights: dict[str, Stored]) -> None:
    stored = read_llama(directory)
    assert stored is not None
    assert stored.keys() == weights.keys()
    for name, matrix in weights.items():
        assert torch.equal(stored[name].float(), matrix.float())
    (ours,) = load_lms(directory, [Direction.FORWARD], CPU, "float32")
    assert isinstance(ours, LlamaLM)
    plain = load_model(directory, CPU)
    with torch.inference_mode():
        logits = plain(input_ids=torch.cat([torch.zeros(1, 1, dtype=torch.int64), IDS], 1)).logits[:, :-1]
    expected = logits.log_softmax(-1).gather(2, IDS[..., None])[..., 0]
    assert torch.allclose(ours.score(ours.read([[]]), IDS), expected, atol=1e-3)


def test_large_weights_are_spread_over_files(tmp_path: Path, weights: dict[str, Stored]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SHAPE.config()))
    files = save_packed(tmp_path, weights, largest=20_000)
    assert [path.name for path in files] == [
        f"model-{number:05}-of-{len(files):05}.safetensors" for number in range(1, len(files) + 1)
    ]
    assert len(files) > 1
    assert max(path.stat().st_size for path in files) <= 20_000
    stored = read_llama(tmp_path)
    assert stored is not None
    assert all(torch.equal(stored[name].float(), matrix.float()) for name, matrix in weights.items())


def test_equal_weights_give_equal_files(directory: Path, weights: dict[str, Stored]) -> None:
    first = (directory / "model.safetensors").read_bytes()
    save_packed(directory, weights)
    assert (directory / "model.safetensors").read_bytes() == first


def _shaped(*sizes: int) -> Callable[[Tensor], Tensor]:
    return lambda _: torch.tensor(sizes)


DAMAGES: dict[str, tuple[str, Callable[[Tensor], Tensor], str]] = {
    "cut off": ("", lambda stream: stream[:-9].clone(), "64 rows of 32 values"),
    "changed": ("", lambda stream: torch.cat([stream[:60], stream[60:61] ^ 255, stream[61:]]), "damaged"),
    "empty": ("", lambda stream: stream[:0].clone(), "not a packed matrix"),
    "of floats": ("", lambda stream: stream.float(), "not a packed matrix"),
    "a number": ("", lambda _: torch.tensor(7, dtype=torch.uint8), "not a packed matrix"),
    "too long": (".shape", _shaped(64, 31), "64 rows of 31 values"),
    "too short": (".shape", _shaped(64, 33), "64 rows of 33 values"),
    "without end": (".shape", _shaped(1 << 40, 1 << 40), "not a packed matrix"),
    "negative": (".shape", _shaped(-64, -32), "not a packed matrix"),
    "of three sizes": (".shape", _shaped(64, 8, 4), "not a packed matrix"),
    "of another shape": (".shape", _shaped(32, 64), r"shape \(32, 64\), and its scales \(64,\)"),
    "with columns of another number": (
        ".columns",
        lambda _: torch.ones(31),
        r"shape \(64, 32\), and its scales \(31,\)",
    ),
    "with few scales": (".scale", lambda scale: scale[:9].clone(), r"shape \(64, 32\), and its scales \(9,\)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_packed_weights_are_refused(directory: Path, damage: str) -> None:
    ending, change, message = DAMAGES[damage]
    path = directory / "model.safetensors"
    tensors = load_file(path)
    tensors[MATRIX + ending] = change(tensors.get(MATRIX + ending, torch.ones(32)))
    save_file(tensors, path)
    for read in (read_llama, lambda place: load_model(place, CPU)):
        with pytest.raises(ModelError, match=message):
            read(directory)


def test_a_matrix_of_another_size_than_the_model_is_refused(directory: Path) -> None:
    path = directory / "model.safetensors"
    save_file(load_file(path) | pack(MATRIX, random_matrix(32, 64)), path)
    with pytest.raises(ModelError, match=f"another shape, {MATRIX} for one"):
        load_lms(directory, [Direction.FORWARD], CPU, "float32")


def test_a_stream_that_swells_is_not_read_to_its_end() -> None:
    tensors = pack("name", random_matrix())
    bomb = zlib.compress(bytes(50_000_000))
    tensors["name"] = torch.frombuffer(bytearray(bomb), dtype=torch.uint8)
    with pytest.raises(ValueError, match="64 rows of 48 values"):
        unpack(tensors)
