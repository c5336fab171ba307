"""What a device is good at: bfloat16, compiled programs, and its peak of operations per second."""

from __future__ import annotations

import gc
import os
import re
import shutil
import tomllib
from pathlib import Path

import torch

from refdec.train.recipe import Budget

COMPILED_MINUTES, COMPILED_TOKENS = 2.0, 1 << 20
"""The smallest budgets for which a program is compiled on a CPU."""

COMPILERS = {"cpu": ("CXX", "g++"), "cuda": ("CC", "gcc", "clang")}
"""The compiler that torch calls for a device: named by an environment variable, or the first of these."""

PEAKS: dict[str, float] = tomllib.loads(Path(__file__).with_name("peaks.toml").read_text(encoding="utf-8"))
"""Dense bfloat16 operations per second of GPUs, by a word of their names."""


def peak(device: torch.device) -> float | None:
    """Operations per second of a GPU in `PEAKS`; None for others and for CPUs."""
    if device.type != "cuda":
        return None
    words = re.split(r"[ -]", torch.cuda.get_device_name(device))
    if {"PCIe", "NVL", "Laptop"} & set(words):
        return None
    return next((value for key, value in PEAKS.items() if key in words), None)


def pays_to_compile(device: torch.device, budget: Budget) -> bool:
    """On a GPU always, on a CPU where the half minute of compiling is won back."""
    is_long = (budget.minutes or 0) >= COMPILED_MINUTES or (budget.tokens or 0) >= COMPILED_TOKENS
    return device.type == "cuda" or (device.type == "cpu" and is_long)


def has_compiler(device: torch.device) -> bool:
    """Whether the compiler that torch calls for a device is installed."""
    variable, *usual = COMPILERS.get(device.type, ("",))
    names = [os.environ[variable]] if variable in os.environ else usual
    return any(map(shutil.which, names))


def is_quick_at_bfloat16(device: torch.device) -> bool:
    """Whether a device multiplies in bfloat16: a GPU from Ampere on, or a CPU with instructions for it."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    checks = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(check is not None and check() for check in checks)


def free_memory(device: torch.device) -> None:
    """Free unused memory; compiled models refer to themselves until they are collected."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
