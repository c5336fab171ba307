"""The device that models run on: which one, and whether its memory ran out."""

from __future__ import annotations

import torch

from refdec.errors import ModelError, OutOfMemory

GIB = 1 << 30

REMEDY = "Wait until other programs have freed theirs, or use a smaller pair or device cpu."
"""What to do where memory does not suffice."""


SHORTAGES = ("out of memory", "ALLOC_FAILED", "DefaultCPUAllocator")
"""Parts of the messages of CUDA, its libraries and torch's CPU allocator when memory runs out."""


def choose_device(device: str | torch.device | None) -> torch.device:
    """The device that was asked for; by default a CUDA GPU where there is one, else the CPU."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        if is_out_of_memory(error):
            raise OutOfMemory(f"The memory of {device} is full. {REMEDY}") from None
        first_line = str(error).splitlines()[0]
        raise ModelError(f"There is no device {str(device)!r} here ({first_line}). Try cpu.") from None
    if chosen.type == "mps":
        raise ModelError(
            "Apple's GPU (mps) is not supported: it has no float64, in which contexts are weighted. Use device cpu."
        )
    return chosen


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether memory ran out, on a GPU or on a CPU, told by the error or by one that it followed.

    Python and torch's GPU allocator have an exception for this; CUDA's libraries and torch's CPU allocator a message.
    """
    while error is not None:
        if isinstance(error, (OutOfMemory, MemoryError, torch.OutOfMemoryError)):
            return True
        if isinstance(error, RuntimeError) and any(mark in str(error) for mark in SHORTAGES):
            return True
        error = error.__context__
    return False


def free_memory(device: torch.device) -> str:
    """How much memory a CUDA GPU has left, other programs counted, in words for a message."""
    if device.type != "cuda":
        return ""
    try:
        free, total = torch.cuda.mem_get_info(device)
    except RuntimeError:  # not even asking fits
        return ""
    return f" ({free / GIB:.1f} of its {total / GIB:.1f} GiB are free)"
