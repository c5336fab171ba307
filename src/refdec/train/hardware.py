"""What a device is good at: which precision, whether compiling pays, and how much it could compute at best."""

from __future__ import annotations

import os
import shutil

import torch

from refdec.train.recipe import Budget

COMPILED_MINUTES, COMPILED_TOKENS = 2.0, 1 << 20
"""From which budget on a processor's program is compiled first."""

PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12, "4090": 165e12, "3090": 71e12}
"""Dense bfloat16 operations a second with float32 sums, by the data sheets of NVIDIA."""


def peak(device: torch.device) -> float | None:
    """Of a GPU that is known; of others and of CPUs nothing is told."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((value for key, value in PEAKS.items() if key in name), None)


def pays_to_compile(device: torch.device, budget: Budget) -> bool:
    """Always on a GPU; on a processor, half a minute is won back in a few, where there is a compiler for C++."""
    if device.type != "cpu":
        return device.type == "cuda"
    is_long = (budget.minutes or 0) >= COMPILED_MINUTES or (budget.tokens or 0) >= COMPILED_TOKENS
    return is_long and shutil.which(os.environ.get("CXX", "g++")) is not None


def is_quick_at_bfloat16(device: torch.device) -> bool:
    """Whether a device multiplies in bfloat16: a GPU, or a processor with instructions for it."""
    if device.type != "cpu":
        return device.type == "cuda"
    known = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(supported is not None and supported() for supported in known)
