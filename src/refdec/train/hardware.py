"""What a device is good at: which precision, whether compiling pays, and how much it could compute at best."""

from __future__ import annotations

import gc
import os
import re
import shutil

import torch

from refdec.train.recipe import Budget

COMPILED_MINUTES, COMPILED_TOKENS = 2.0, 1 << 20
"""From which budget on a processor's program is compiled first."""

COMPILERS = {"cpu": ("CXX", "g++"), "cuda": ("CC", "gcc", "clang")}
"""What torch needs to compile for a device: by the name of a variable, or the first of these."""

PEAKS = {
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L40": 181e12,
    "L4": 121e12,
    "4090": 165e12,
    "3090": 71e12,
}
"""Dense bfloat16 operations a second with float32 sums, by the data sheets of NVIDIA. Slower makes are not known."""


def peak(device: torch.device) -> float | None:
    """Of a GPU that is known; of others and of CPUs nothing is told."""
    if device.type != "cuda":
        return None
    words = re.split(r"[ -]", torch.cuda.get_device_name(device))
    if {"PCIe", "NVL", "Laptop"} & set(words):
        return None
    return next((value for key, value in PEAKS.items() if key in words), None)


def pays_to_compile(device: torch.device, budget: Budget) -> bool:
    """On a GPU always, on a processor where half a minute is won back; both where there is a compiler."""
    is_long = (budget.minutes or 0) >= COMPILED_MINUTES or (budget.tokens or 0) >= COMPILED_TOKENS
    return (is_long or device.type == "cuda") and has_compiler(device)


def has_compiler(device: torch.device) -> bool:
    """The one that torch calls to make a program for a device."""
    variable, *usual = COMPILERS.get(device.type, ("",))
    names = [os.environ[variable]] if variable in os.environ else usual
    return any(map(shutil.which, names))


def is_quick_at_bfloat16(device: torch.device) -> bool:
    """Whether a device multiplies in bfloat16: a GPU from Ampere on, or a processor with instructions for it."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    known = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(supported is not None and supported() for supported in known)


def free_memory(device: torch.device) -> None:
    """Of what nobody holds any more; compiled models hold themselves until they are collected."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
