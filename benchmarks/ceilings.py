"""The measured ceilings of a machine: operations per second by precision, and bytes per second.

    python -m benchmarks.ceilings --device cuda

Large matrix products on random data and a large copy, with all of torch's threads. The machine must be idle: one
busy process can cost more than half. Prints a table, and one JSON line last. `refdec.lm.cost` turns
these ceilings into the time that a piece of work takes at least.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

BUDGET = 0.4  # seconds for one measurement
REPEATS = 20  # at most


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The ceilings of one device, as torch reaches them."""

    flops: dict[str, float]  # precision -> operations per second; a multiplication and an addition are two
    bytes_per_second: float  # read plus written


def measure(device: str | torch.device) -> Ceilings:
    """The ceilings of a device; about two seconds on a CPU."""
    where = torch.device(device)
    if where.type == "cuda":
        flops = {name: _product(where, getattr(torch, name), 8192) for name in ("bfloat16", "float32")}
        return Ceilings(flops, _copy(where, gibibytes=2))
    flops = {"float32": _product(where, torch.float32, 1024)}
    if where.type == "cpu":
        flops["int8"] = _int8_product()
    return Ceilings(flops, _copy(where, gibibytes=0.25))


def _product(device: torch.device, dtype: torch.dtype, size: int) -> float:
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    return 2 * size**3 / _median(device, lambda: torch.mm(left, right, out=out))


def _int8_product(rows: int = 512, inner: int = 576, columns: int = 3072) -> float:
    """The shapes of an MLP of the embedded pair; the second matrix is stored by columns, as weights are."""
    left = torch.randint(-127, 128, (rows, inner), dtype=torch.int8)
    right = torch.randint(-127, 128, (columns, inner), dtype=torch.int8).t()
    return 2 * rows * inner * columns / _median(torch.device("cpu"), lambda: torch._int_mm(left, right))


def _copy(device: torch.device, gibibytes: float) -> float:
    source = torch.ones(int(gibibytes * 2**30) // 4, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _median(device, lambda: target.copy_(source))


def _median(device: torch.device, work: Callable[[], object]) -> float:
    """Median seconds of the work after a warm-up."""

    def once() -> float:
        began = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - began

    until = time.perf_counter() + BUDGET
    once()
    once()
    times = [once()]
    while len(times) < REPEATS and time.perf_counter() < until:
        times.append(once())
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="a torch device")
    device = torch.device(parser.parse_args().device)
    name = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"CPU, torch threads: {torch.get_num_threads()}"
    )
    ceilings = measure(device)
    print(name)
    for precision, value in ceilings.flops.items():
        print(f"{precision:10} {value / 1e9:12,.1f} G operations per second")
    print(f"{'memory':10} {ceilings.bytes_per_second / 1e9:12,.1f} GB per second, read plus written")
    print(json.dumps({"benchmark": "ceilings", "device": str(device), "name": name, **asdict(ceilings)}))


if __name__ == "__main__":
    main()
