"""The cost of a batch besides its models: memory by rows, and Ray against one process.

    python -m benchmarks.batch memory --rows 1000000 --plot memory.svg
    python -m benchmarks.batch engines --rows 600

Trains a pair of toy models, so that almost nothing but the machinery is measured. Prints a table and, last, a JSON
line; ends with an exit code of its own where rows are missing or engines give other outputs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.small_pair import SMALL_SETTINGS, make_small_pair, small_texts

from refdec import Reflector, load_pair

EVERY = 1.0  # seconds between two looks at the memory


def memory(folder: Path, rows: int, plot: Path | None) -> None:
    """Score texts against one fingerprint, and watch the resident memory of the process."""
    pair = make_small_pair(folder / "pair")
    reflector = Reflector(load_pair(pair, device="cpu", precision="float32"))
    fingerprint = reflector.fingerprint("Anna walked.", contexts=1, context_tokens=1, kept_contexts=1, frame="none")
    fingerprint.save(folder / "known.json")
    with (folder / "in.csv").open("w") as file:
        file.write("id,text\n")
        file.writelines(f"{number},Text {number}\n" for number in range(rows))
    out = folder / "out.csv"
    command = _command("score", pair, ["--precision=float32", "--fingerprint", str(folder / "known.json")])
    command += ["--resamples=0", "--sides=right", str(folder / "in.csv"), str(out)]
    began = time.monotonic()
    process = subprocess.Popen(command)
    samples: list[tuple[float, int, float]] = []  # seconds, rows on disk, MB
    while process.poll() is None:
        kept = max(_kept(out), samples[-1][1] if samples else 0)  # at the very end the parts are gone
        samples.append((time.monotonic() - began, kept, _resident(process.pid)))
        time.sleep(EVERY)
    seconds = time.monotonic() - began
    made = sum(1 for _ in out.open()) - 1 if out.exists() else 0
    print(f"{'seconds':>8} {'rows kept':>10} {'MB':>6}")
    for second, kept, size in samples[:: max(1, len(samples) // 20)]:
        print(f"{second:8.0f} {kept:10,} {size:6.0f}")
    print(f"{seconds:8.0f} {made:10,} rows in the output, exit code {process.returncode}")
    later = [size for _, kept, size in samples if kept > rows / 10]
    figures = {"rows": made, "seconds": round(seconds), "peak_mb": round(max(size for *_, size in samples))}
    figures |= {"after_a_tenth_mb": round(later[0]), "last_mb": round(later[-1])} if later else {}
    print(json.dumps(figures | _machine()))
    if plot is not None:
        _draw(plot, samples)
    if process.returncode or made != rows:
        sys.exit(f"The batch failed: exit code {process.returncode}, {made:,} of {rows:,} rows in the output.")


def engines(folder: Path, rows: int) -> None:
    """Compute the same rows with one process, then with one and with two workers of Ray."""
    pair = make_small_pair(folder / "pair")
    with (folder / "in.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in small_texts(rows))
    kinds = {
        "local": [],
        "ray, 1 worker, 2 cores": ["--engine=ray", "--workers=1", "--cpus=2"],
        "ray, 2 workers, 1 core": ["--engine=ray", "--workers=2", "--cpus=1"],
    }
    times_by_engine: dict[str, dict[str, float]] = {}
    outputs = set()
    for name, options in kinds.items():
        times = []
        for count in (1, rows):  # one row measures the start
            out = folder / f"{len(times_by_engine)}-{count}.jsonl"
            command = _command("paraphrase", pair, [*SMALL_SETTINGS, "--samples=2", f"--limit={count}", *options])
            began = time.monotonic()
            subprocess.run([*command, str(folder / "in.jsonl"), str(out)], check=True)
            times.append(time.monotonic() - began)
        outputs.add(out.read_bytes())
        times_by_engine[name] = {"start": times[0], "row": (times[1] - times[0]) / (rows - 1)}
    print(f"{'engine':24} {'start, s':>9} {'ms per row':>10} {'against local':>14}")
    for name, figures in times_by_engine.items():
        ratio = figures["row"] / times_by_engine["local"]["row"]
        print(f"{name:24} {figures['start']:9.1f} {1000 * figures['row']:10.1f} {ratio:14.2f}")
    print(json.dumps({"rows": rows, "engines": times_by_engine, "same": len(outputs) == 1} | _machine()))
    if len(outputs) > 1:
        sys.exit(f"The outputs of the engines differ: {len(outputs)} outputs of the same {rows:,} rows.")


def _command(task: str, pair: Path, options: Sequence[str]) -> list[str]:
    names = ["--forward", str(pair), "--device", "cpu", "--quiet"]
    return [sys.executable, "-m", "refdec", "batch", task, *names, *options]


def _kept(out: Path) -> int:
    try:
        done = json.loads((out.with_name(out.name + ".parts") / "manifest.json").read_text())["done"]
    except OSError:
        return 0
    return sum(last - first + 1 for first, last in done)


def _resident(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def _machine() -> dict[str, object]:
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def _draw(path: Path, samples: Sequence[tuple[float, int, float]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 2.6))
    axes.plot([kept / 1e6 for _, kept, _ in samples], [size for *_, size in samples], color="#2a6f97")
    axes.set(xlabel="rows done, millions", ylabel="resident memory, MB", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    of_memory = kinds.add_parser("memory")
    of_memory.add_argument("--rows", type=int, default=1_000_000)
    of_memory.add_argument("--plot", type=Path)
    of_engines = kinds.add_parser("engines")
    of_engines.add_argument("--rows", type=int, default=600)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if asked.kind == "memory":
            memory(Path(name), asked.rows, asked.plot)
        else:
            engines(Path(name), asked.rows)


if __name__ == "__main__":
    main()
