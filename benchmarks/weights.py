"""Learning context weights on real sources: the certified solver beside the authors' Adam, and equal weights.

    python -m benchmarks.weights --data DIR/quora/dev.jsonl --rows 50

Prints the certified gap of each solver, evaluations of the objective, the difference in log RD(source) and the ratio
of their times, over both sides of every source, and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch

from refdec import load_pair
from refdec.reflect.contexts import inward_source, read_sources, sample_contexts
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import run
from refdec.reflect.side import both_sides
from refdec.reflect.weights import SOLVERS, LearnedWeights, Problem
from refdec.settings import ParaphraseSettings, preset
from refdec.tasks.frame import FRAMES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines with a source")
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--preset", default="paper")
    arguments = parser.parse_args()
    pair, settings = load_pair(), preset(ParaphraseSettings, arguments.preset)
    sources = [json.loads(line)["source"] for line in arguments.data.read_text().splitlines()[: arguments.rows]]
    learned: dict[str, list[LearnedWeights]] = {name: [] for name in SOLVERS}
    seconds = dict.fromkeys(SOLVERS, 0.0)
    for number, source in enumerate(sources, start=1):
        framed = FRAMES[settings.frame].encode(pair.tokens, source)
        for side in both_sides(pair):
            draws = uniforms(0, source, f"contexts {side.name}", settings.contexts, settings.context_tokens)
            contexts = run(pair, sample_contexts(side, framed.all, draws, settings.context_top_p, lambda found: found))
            model, tokens = side.inward, inward_source(side, framed)
            arrange = model.direction.arrange
            (experts,) = read_sources(model, [([arrange(ids) for ids in contexts], tokens)])
            problem = Problem(experts, torch.tensor(tokens, device=model.device), side.allowed(model, framed))
            for name, solve in SOLVERS.items():
                began = time.perf_counter()
                learned[name] += solve(model.head, [problem])
                seconds[name] += time.perf_counter() - began
        print(f"{number} of {len(sources)}", file=sys.stderr)
    report = {"benchmark": "weights", "problems": len(learned["newton"]), "preset": arguments.preset, "pair": pair.name}
    print(f"{'solver':8} {'gap, mean':>10} {'gap, worst':>11} {'evaluations':>12} {'most':>5} {'log RD':>9}")
    for name, solved in learned.items():
        gaps, counts = [item.gap for item in solved], [item.evaluations for item in solved]
        row = {
            "gap_mean": statistics.mean(gaps),
            "gap_worst": max(gaps),
            "evaluations_mean": statistics.mean(counts),
            "evaluations_most": max(counts),
            "log_rd_mean": statistics.mean(item.objective for item in solved),
        }
        print(
            f"{name:8} {row['gap_mean']:10.2e} {row['gap_worst']:11.2e} {row['evaluations_mean']:12.1f} "
            f"{row['evaluations_most']:5} {row['log_rd_mean']:9.3f}"
        )
        report[name] = row
    certified, theirs = learned["newton"], learned["adam"]
    differences = [mine.objective - other.objective for mine, other in zip(certified, theirs, strict=True)]
    report |= {"above_adam_mean": statistics.mean(differences), "above_adam_least": min(differences)}
    report["time_ratio"] = seconds["adam"] / seconds["newton"]
    print(
        f"log RD above Adam's: {report['above_adam_mean']:.3f} nats in the mean, {report['above_adam_least']:.3f} at "
        f"least; {report['time_ratio']:.1f} times faster"
    )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
