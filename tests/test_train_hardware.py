"""What training knows of a device, whether this machine has it or not."""

from __future__ import annotations

import sys

import pytest
import torch

from refdec.train.hardware import has_compiler, is_quick_at_bfloat16, pays_to_compile, peak
from refdec.train.recipe import Budget

CPU, GPU, OTHER = map(torch.device, ("cpu", "cuda", "mps"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA RTX A1000", None),
        ("NVIDIA L4", 121e12),
        ("NVIDIA L40", 181e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA GeForce RTX 4090", 165e12),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
    ],
)
def test_the_peak_is_that_of_the_very_gpu(name: str, expected: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
    assert peak(GPU) == expected
    assert peak(CPU) is None


def test_a_program_is_compiled_where_that_pays() -> None:
    short, long = Budget(minutes=0.1), Budget(minutes=30)
    assert pays_to_compile(GPU, short)
    assert not pays_to_compile(OTHER, long)
    assert not pays_to_compile(CPU, short)
    assert pays_to_compile(CPU, long)
    assert not pays_to_compile(CPU, Budget(tokens=10_000))
    assert pays_to_compile(CPU, Budget(tokens=100_000_000))


def test_the_compiler_of_the_device_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CC", "CXX"):
        monkeypatch.setenv(variable, sys.executable)  # something that is installed
    assert has_compiler(CPU)
    assert has_compiler(GPU)
    assert not has_compiler(OTHER)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert not has_compiler(CPU)
    assert has_compiler(GPU)


@pytest.mark.parametrize(("capability", "expected"), [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_bfloat16_is_for_gpus_that_have_it(
    capability: tuple[int, int], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert is_quick_at_bfloat16(GPU) == expected
    assert not is_quick_at_bfloat16(OTHER)


def test_bfloat16_is_for_processors_with_instructions_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    for has in ((False, False), (True, False), (False, True)):
        for name, value in zip(names, has, strict=True):
            monkeypatch.setattr(torch.cpu, name, lambda value=value: value, raising=False)
        assert is_quick_at_bfloat16(CPU) == any(has)
    for name in names:
        monkeypatch.delattr(torch.cpu, name)
    assert not is_quick_at_bfloat16(CPU)
