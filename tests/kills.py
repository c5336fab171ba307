"""Kill a batch again and again, let it go on, and compare its output with that of an undisturbed run, byte for byte.

A kill waits for an event, never for the clock: the lock, the manifest, so many rows or the whole output on disk. The
tests do it with a few rows. With many:

    python -m tests.kills --rows 2000 --kills 20 --engine ray
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.small_pair import SMALL_SETTINGS, make_small_pair, small_texts

STARTS = 10
"""How often a command is started that fails: on a busy machine, Ray gives up its start after half a minute."""


@dataclass(frozen=True)
class Killed:
    """A run that was killed again and again."""

    same: bool  # whether its output is that of the undisturbed run
    rows_at_kills: tuple[int, ...]  # rows that were on disk when it was killed


@dataclass(frozen=True)
class Undisturbed:
    """A run on the local engine that nobody killed, to compare with."""

    command: tuple[str, ...]  # without the path of the output
    rows: int
    output: bytes
    seconds: float


def write_rows(path: Path, count: int) -> None:
    """Write rows of which some cannot be worked on."""
    with path.open("w") as file:
        for number, text in enumerate(small_texts(count)):
            file.write(json.dumps({"id": number, "text": "" if number % 97 == 50 else text, "tag": 'é "\n'}) + "\n")


def run_undisturbed(folder: Path, pair: Path, rows: int) -> Undisturbed:
    """Run a batch of so many rows in a folder."""
    write_rows(folder / "in.jsonl", rows)
    command = [sys.executable, "-m", "refdec", "batch", "paraphrase", "--forward", str(pair), "--device", "cpu"]
    command += [*SMALL_SETTINGS, "--samples=2", "--quiet", str(folder / "in.jsonl")]
    began = time.monotonic()
    subprocess.run([*command, str(folder / "whole.jsonl")], check=True)
    return Undisturbed(tuple(command), rows, (folder / "whole.jsonl").read_bytes(), time.monotonic() - began)


def kill_and_resume(whole: Undisturbed, out: Path, kills: int, options: Sequence[str], seed: int = 0) -> Killed:
    """Run the same batch with other options, killed so often before it may finish."""
    command = [*whole.command, *options, str(out)]
    kept: list[int] = []
    home = out.with_name(f"{out.name}.parts")
    for has_happened in _events(out, home, whole.rows, kills, random.Random(seed)):
        _start_and_kill(command, has_happened)
        kept.append(_lines(home) if (home / "manifest.json").exists() else whole.rows if out.exists() else 0)
    _finish(command)
    return Killed(out.read_bytes() == whole.output, tuple(kept))


def _start_and_kill(command: Sequence[str], has_happened: Callable[[], bool]) -> None:
    for _ in range(STARTS):
        process = subprocess.Popen(command)
        while process.poll() is None and not has_happened():
            time.sleep(0.001)
        if not process.returncode:  # it runs, or has just come to its end
            break
    process.kill()
    process.wait()


def _finish(command: Sequence[str]) -> None:
    for left in reversed(range(STARTS)):
        if subprocess.run(command, check=not left).returncode == 0:
            break


def _events(out: Path, home: Path, rows: int, kills: int, numbers: random.Random) -> Iterator[Callable[[], bool]]:
    """So many events, each after the one before it: mostly that so many rows are on disk, at last the whole output."""
    early = [out.with_name(f".{out.name}.lock").exists, (home / "manifest.json").exists]
    late = kills > 1
    for row in sorted(numbers.sample(range(1, rows), kills - late)):
        yield numbers.choice(early) if numbers.random() < 0.25 else partial(_has_lines, home, row)
    if late:
        yield (home / f"whole-{out.name}").exists


def _has_lines(home: Path, count: int) -> bool:
    return _lines(home) >= count


def _lines(home: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in home.glob("part-*.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    options = ["--engine", "ray", "--workers", "2", "--cpus", "1"] if asked.engine == "ray" else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = make_small_pair(folder / "pair")
        whole = run_undisturbed(folder, pair, asked.rows)
        killed = kill_and_resume(whole, folder / "out.jsonl", asked.kills, options, asked.seed)
    print(f"{asked.rows} rows, engine {asked.engine}: undisturbed {whole.seconds:.0f} s; killed {asked.kills} times")
    print(f"rows kept when it was killed: {', '.join(map(str, killed.rows_at_kills))}")
    print("the output is the same, byte for byte" if killed.same else "THE OUTPUT DIFFERS")
    sys.exit(not killed.same)


if __name__ == "__main__":
    main()
