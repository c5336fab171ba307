"""The speed of paraphrasing: refdec, the naive comparator and the machine's limits, side by side in one process.

    python -m benchmarks.run --data DIR/quora/dev.jsonl --inputs 8 --naive 1 --preset fast
    python -m benchmarks.run --data DIR/quora/dev.jsonl --inputs 256 --naive 4 --preset paper --device cuda
    python -m benchmarks.run --data DIR/quora/dev.jsonl --growth 10 100 1000 --preset paper --device cuda

Both run the same models on the same texts with the same settings. A phase's floor is the time that its operations and
bytes take at the rates that a large matrix product and a large copy reach on this machine. Prints tables for people,
and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.ceilings import Ceilings, measure
from benchmarks.naive import PHASES, load_naive
from benchmarks.outputs import changes, model_arguments, read_rows
from refdec import ParaphraseSettings, Reflector, load_pair
from refdec.lm.cost import Work
from refdec.lm.pair import EMBEDDED
from refdec.reflect.workers import Observation, observers
from refdec.tasks.signature import signature


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a run, per input."""

    seconds: float  # mean of the two models, which run at the same time
    tokens: float  # read by both
    flops: float
    floor: float  # seconds, for both models on one device

    @classmethod
    def of(cls, seen: Sequence[Observation], reflector: Reflector, ceilings: Ceilings, inputs: int) -> Phase:
        work, cost = sum((item.work for item in seen), Work()), reflector.pair.forward.cost
        rate = ceilings.flops[reflector.pair.precision]
        return cls(
            seconds=sum(item.seconds for item in seen) / 2 / inputs,
            tokens=work.tokens / inputs,
            flops=cost.flops(work.tokens, work.head_tokens, work.attended) / inputs,
            floor=cost.floor(work, rate, ceilings.bytes_per_second) / inputs,
        )


def peak_memory(device: torch.device) -> float:
    """The peak memory in GiB, of the GPU or, on a CPU, of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def timed(reflector: Reflector, texts: Sequence[str], settings: ParaphraseSettings) -> float:
    began = time.perf_counter()
    for _ in reflector.paraphrase(iter(texts), settings):
        pass
    return time.perf_counter() - began


def measure_ours(
    reflector: Reflector, texts: Sequence[str], settings: ParaphraseSettings, ceilings: Ceilings, alone: int
) -> dict[str, Any]:
    """Seconds per input, alone and in a batch, and per phase."""
    timed(reflector, texts[: min(len(texts), 64)], settings)  # compiles kernels, captures graphs, fills caches
    single = [timed(reflector, [text], settings) for text in texts[:alone]]
    seen: list[Observation] = []
    observers.append(seen.append)
    seconds = timed(reflector, texts, settings) / len(texts)
    observers.remove(seen.append)
    names = dict.fromkeys(item.phase for item in seen)
    phases = {
        name: Phase.of([item for item in seen if item.phase == name], reflector, ceilings, len(texts)) for name in names
    }
    return {
        "inputs": len(texts),
        "seconds": seconds,
        "alone": statistics.median(single),
        "phases": {name: asdict(phase) for name, phase in phases.items()},
    }


def measure_naive(home: Path, device: str, texts: Sequence[str], settings: ParaphraseSettings) -> dict[str, Any]:
    """Seconds per input of the comparator, one after the other: it has no batches."""
    naive = load_naive(home, device)
    naive.paraphrase(texts[0], settings.replace(contexts=4, samples=2))
    totals = dict.fromkeys(PHASES, 0.0)
    began = time.perf_counter()
    for text in texts:
        naive.paraphrase(text, settings)
        totals = {phase: totals[phase] + naive.seconds[phase] for phase in PHASES}
    seconds = (time.perf_counter() - began) / len(texts)
    return {
        "inputs": len(texts),
        "seconds": seconds,
        "phases": {phase: total / len(texts) for phase, total in totals.items()},
    }


def show(ours: dict[str, Any], naive: dict[str, Any] | None) -> None:
    """Print the table."""
    columns = f"{'refdec':>10} {'naive':>10} {'ratio':>7} {'tokens':>9} {'TFLOP':>7} {'floor':>10} {'share':>6}"
    print(f"{'phase':12} {columns}")
    between = ours["seconds"]
    for name, phase in ours["phases"].items():
        between -= phase["seconds"]
        beside = naive["phases"].get(name) if naive else None
        print(
            f"{name:12} {_ms(phase['seconds'])} {_ms(beside)} {_ratio(beside, phase['seconds'])} "
            f"{phase['tokens']:9.0f} {phase['flops'] / 1e12:7.2f} {_ms(phase['floor'])} "
            f"{phase['floor'] / phase['seconds']:6.0%}"
        )
    print(f"{'between':12} {_ms(between)}")
    floor = sum(phase["floor"] for phase in ours["phases"].values())
    beside = naive["seconds"] if naive else None
    print(
        f"{'all':12} {_ms(ours['seconds'])} {_ms(beside)} {_ratio(beside, ours['seconds'])} {'':17} {_ms(floor)} "
        f"{floor / ours['seconds']:6.0%}"
    )
    print(f"{'alone':12} {_ms(ours['alone'])} {_ms(beside)} {_ratio(beside, ours['alone'])}")
    print(f"{1 / ours['seconds']:.2f} inputs per second, milliseconds above are per input")


def _ms(seconds: float | None) -> str:
    return f"{seconds * 1e3:10.1f}" if seconds is not None else f"{'-':>10}"


def _ratio(naive: float | None, ours: float) -> str:
    return f"{naive / ours:7.1f}" if naive is not None else f"{'-':>7}"


def growth(reflector: Reflector, texts: Sequence[str], sizes: Sequence[int], settings: ParaphraseSettings) -> list[Any]:
    """Seconds per input and peak memory, for several numbers of inputs."""
    device = reflector.pair.forward.device
    timed(reflector, texts[: min(sizes)], settings)
    table = []
    print(f"{'inputs':>8} {'s/input':>9} {'peak GiB':>9}")
    for size in sizes:
        rows = [texts[number % len(texts)] for number in range(size)]
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        seconds = timed(reflector, rows, settings) / size
        table.append({"inputs": size, "seconds": seconds, "peak_gib": peak_memory(device)})
        print(f"{size:8} {seconds:9.4f} {table[-1]['peak_gib']:9.2f}", flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines with source")
    parser.add_argument("--inputs", type=int, default=4)
    parser.add_argument("--alone", type=int, default=3, help="inputs that are timed one by one")
    parser.add_argument("--naive", type=int, default=1, help="inputs for the naive comparator; 0 leaves it out")
    parser.add_argument(
        "--growth", type=int, nargs="*", default=[], help="numbers of inputs to time one after the other"
    )
    model_arguments(parser)
    arguments = parser.parse_args()
    began = time.perf_counter()
    pair = load_pair(arguments.pair, device=arguments.device, precision=arguments.precision)
    loading = time.perf_counter() - began
    reflector = Reflector(pair)
    settings = reflector.settings(ParaphraseSettings, arguments.preset or "paper", changes(arguments))
    device = pair.forward.device
    texts = [row["source"] for row in read_rows(arguments.data)]
    result: dict[str, Any] = {
        "benchmark": "run",
        "signature": signature("paraphrase", pair, settings),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "loading": loading,
    }
    print(result["signature"])
    if arguments.growth:
        result["growth"] = growth(reflector, texts, arguments.growth, settings)
    else:
        ceilings = measure(device)
        result["ceilings"] = asdict(ceilings)
        rate = ceilings.flops[pair.precision]
        print(
            f"ceilings: {rate / 1e12:.2f} TFLOP/s in {pair.precision}, {ceilings.bytes_per_second / 1e9:.0f} GB/s; "
            f"the pair was loaded in {loading:.1f} s"
        )
        ours = measure_ours(reflector, texts[: arguments.inputs], settings, ceilings, arguments.alone)
        ours["peak_gib"] = peak_memory(device)
        naive = None
        if arguments.naive:
            naive = measure_naive(arguments.pair or EMBEDDED, str(device), texts[: arguments.naive], settings)
        show(ours, naive)
        print(f"peak memory of refdec: {ours['peak_gib']:.2f} GiB")
        result |= {"ours": ours, "naive": naive}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
