"""Kill a batch at random moments, let it go on, and hold what comes out against an undisturbed run, byte for byte.

The tests do it with a few rows. With many:

    python -m tests.kills --rows 2000 --kills 20 --engine ray
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.small_pair import SMALL_SETTINGS, make_small_pair, small_texts


@dataclass(frozen=True)
class Killed:
    """What was seen of a run that was killed again and again."""

    same: bool  # whether its output is that of the undisturbed run
    kills: int
    rows_at_kills: tuple[int, ...]  # that were kept when it was killed
    seconds: float  # of the undisturbed run


def write_rows(path: Path, count: int) -> None:
    """Rows of which some cannot be worked on."""
    with path.open("w") as file:
        for number, text in enumerate(small_texts(count)):
            file.write(json.dumps({"id": number, "text": "" if number % 97 == 50 else text, "tag": 'é "\n'}) + "\n")


def kill_and_resume(folder: Path, pair: Path, rows: int, kills: int, options: Sequence[str], seed: int = 0) -> Killed:
    """A batch undisturbed, on the local engine; and with other options, killed so often before it may finish."""
    write_rows(folder / "in.jsonl", rows)
    command = [sys.executable, "-m", "refdec", "batch", "paraphrase", "--forward", str(pair), "--device", "cpu"]
    command += [*SMALL_SETTINGS, "--samples=2", "--quiet", str(folder / "in.jsonl")]
    whole, out = folder / "whole.jsonl", folder / "out.jsonl"
    began = time.monotonic()
    subprocess.run([*command, str(whole)], check=True)
    seconds = time.monotonic() - began
    command += options
    numbers = random.Random(seed)
    kept: list[int] = []
    home = out.with_name("out.jsonl.parts")
    for row in sorted(numbers.randrange(rows) for _ in range(kills)):
        process = subprocess.Popen([*command, str(out)])
        if numbers.random() < 0.25:  # while it starts, or soon after
            _wait(process, numbers.uniform(0, 10))
        else:
            while process.poll() is None and _lines(home) < row:
                time.sleep(0.01)
            _wait(process, numbers.uniform(0, 0.2))
        process.kill()
        process.wait()
        kept.append(rows if out.exists() and not home.exists() else _lines(home))
    subprocess.run([*command, str(out)], check=True)
    return Killed(out.read_bytes() == whole.read_bytes(), len(kept), tuple(kept), seconds)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _lines(home: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in home.glob("part-*.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    options = ["--engine", "ray", "--workers", "2", "--cpus", "1"] if given.engine == "ray" else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = make_small_pair(folder / "pair")
        found = kill_and_resume(folder, pair, given.rows, given.kills, options, given.seed)
    print(f"{given.rows} rows, engine {given.engine}: undisturbed {found.seconds:.0f} s; killed {found.kills} times")
    print(f"rows kept when it was killed: {', '.join(map(str, found.rows_at_kills))}")
    print("the output is the same, byte for byte" if found.same else "THE OUTPUT DIFFERS")
    sys.exit(not found.same)


if __name__ == "__main__":
    main()
