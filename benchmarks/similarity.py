"""The Reflective Score against graded human similarity (STS-B): Spearman, directional and symmetric.

    python -m benchmarks.similarity --data DIR/stsb/test.jsonl --outputs outputs/stsb.jsonl
    python -m benchmarks.similarity outputs/stsb.jsonl

The first form scores every pair of sentences both ways round; the second prints the correlations. The scale of a
score depends on its reference, so correlations are of the share of the way from an unrelated text to the reference.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.outputs import Row, begin, part_of, read_rows, shard_arguments
from refdec import Score, ScoreSettings

RESAMPLES = 1000


def ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Ranks from 0, ties sharing the mean of theirs."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts + 1) / 2)[inverse], dtype=np.float64)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def share(score: Score) -> float:
    """0 for an unrelated text, 1 for the reference itself, not cut off."""
    return 1 + score.relative / max(score.span, 1e-6)


def report(path: Path) -> None:
    rows = read_rows(path)
    human = np.array([row["human"] for row in rows])
    forms = {
        "first as reference": np.array([row["forth"] for row in rows]),
        "second as reference": np.array([row["back"] for row in rows]),
        "symmetric": np.array([row["forth"] + row["back"] for row in rows]),
    }
    generator = np.random.default_rng(0)
    draws = generator.integers(0, len(rows), (RESAMPLES, len(rows)))
    table = {}
    for name, values in forms.items():
        found = spearman(values.tolist(), human.tolist())
        low, high = np.quantile(
            [spearman(values[draw].tolist(), human[draw].tolist()) for draw in draws], [0.025, 0.975]
        )
        print(f"{name:20} Spearman {found:.3f} (95 %: {low:.3f} to {high:.3f}), {len(rows)} pairs")
        table[name] = {"spearman": found, "low": float(low), "high": float(high)}
    print(
        json.dumps({"benchmark": "similarity", "outputs": path.name, "forms": table, "signature": rows[0]["signature"]})
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="JSON lines with sentence1, sentence2 and score")
    parser.add_argument("--rows", type=int)
    shard_arguments(parser)
    arguments, reflector, settings = begin(parser, ScoreSettings, report)
    rows: list[Row] = part_of(read_rows(arguments.data, arguments.rows), arguments)
    groups = [
        group
        for row in rows
        for group in ((row["sentence1"], [row["sentence2"]]), (row["sentence2"], [row["sentence1"]]))
    ]
    scored = reflector.score_all(groups, settings)
    arguments.outputs.parent.mkdir(parents=True, exist_ok=True)
    with arguments.outputs.open("w") as file:
        for number, row in enumerate(rows, start=1):
            (forth,), (back,) = next(scored), next(scored)
            line = {"id": row["id"], "human": row["score"], "forth": share(forth), "back": share(back)}
            file.write(json.dumps(line | {"signature": forth.signature}) + "\n")
            if number % 50 == 0:
                print(f"{number} of {len(rows)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
