"""How much a device could compute at best, so that a speed can be told as a share of it."""

from __future__ import annotations

import torch

PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12, "4090": 165e12, "3090": 71e12}
"""Dense bfloat16 operations a second with float32 sums, by the data sheets of NVIDIA."""


def peak(device: torch.device) -> float | None:
    """Of a GPU that is known; of others and of CPUs nothing is told."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((value for key, value in PEAKS.items() if key in name), None)
