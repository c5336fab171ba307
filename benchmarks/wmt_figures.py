"""Agreement of segment scores with human rankings (WMT18 DARR): tau and its 95 % bootstrap interval.

    python -m benchmarks.wmt_figures DIR/wmt18/cs-en scores/cs-en.jsonl --chrf

The folder has segments.jsonl, translations.jsonl and darr.jsonl of one language pair; a file of scores has a line
{"sid", "system", "score"} for every judged translation. `--chrf` puts sacrebleu's chrF beside them, with beta 3 as
in the WMT18 results (needs `refdec[evaluate]`).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from refdec.errors import InputError, ModelError, RefdecError
from refdec.metrics.kendall import kendall_like, tau_interval

Scores = dict[tuple[int, str], float]
RESAMPLES = 1000


def figures(
    darr: Iterable[dict[str, Any]], scores: Scores, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, float]:
    """Tau with the ends of its interval, and how many pairs and segments it is made of."""
    segments: dict[int, list[tuple[float, float]]] = {}
    for row in darr:
        both = (_score(scores, row["sid"], row["better"]), _score(scores, row["sid"], row["worse"]))
        segments.setdefault(row["sid"], []).append(both)
    tau = kendall_like(pair for pairs in segments.values() for pair in pairs)
    low, high = tau_interval(segments.values(), resamples, seed)
    return {
        "tau": round(tau, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "pairs": sum(len(pairs) for pairs in segments.values()),
        "segments": len(segments),
    }


def chrf(segments: Iterable[dict[str, Any]], translations: Iterable[dict[str, Any]]) -> Scores:
    try:
        from sacrebleu.metrics import CHRF
    except ImportError:
        raise ModelError("chrF needs a package that is not installed: pip install 'refdec[evaluate]'.") from None
    metric = CHRF(beta=3)
    references = {row["sid"]: row["reference"] for row in segments}
    return {
        (row["sid"], row["system"]): float(metric.sentence_score(row["translation"], [references[row["sid"]]]).score)
        for row in translations
    }


def _score(scores: Scores, sid: int, system: str) -> float:
    score = scores.get((sid, system), math.nan)
    if math.isnan(score):
        raise InputError(f"There is no score for segment {sid} of {system}, which people judged.")
    return score


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise InputError(f"There is no {path}. Is it packed (zstd -d unpacks .zst)?")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def report(folder: Path, paths: list[Path], with_chrf: bool, resamples: int, seed: int) -> None:
    darr = _lines(folder / "darr.jsonl")
    everything: dict[str, Scores] = {}
    for path in paths:
        rows = _lines(path)
        everything[path.name] = {(row["sid"], row["system"]): float(row["score"]) for row in rows}
        if any(row.get("fluency") for row in rows):  # a sum of two parts: each by itself, too
            fluency = {(row["sid"], row["system"]): float(row["fluency"]) for row in rows}
            everything["  contexts alone"] = {key: score - fluency[key] for key, score in everything[path.name].items()}
            everything["  fluency alone"] = fluency
    if with_chrf:
        everything["chrF"] = chrf(_lines(folder / "segments.jsonl"), _lines(folder / "translations.jsonl"))
    print(f"{'scores':24} {'pairs':>7} {'segments':>9} {'tau':>7} {'95 % interval':>16}")
    table = []
    for name, scores in everything.items():
        found = figures(darr, scores, resamples, seed)
        interval = f"{found['low']:.3f} to {found['high']:.3f}"
        print(f"{name:24} {found['pairs']:7} {found['segments']:9} {found['tau']:7.3f} {interval:>16}")
        table.append({"scores": name, **found})
    print(json.dumps({"benchmark": "wmt", "pair": folder.name, "resamples": resamples, "seed": seed, "table": table}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of a language pair")
    parser.add_argument("files", nargs="*", type=Path, help="files of scores")
    parser.add_argument("--chrf", action="store_true", help="score with chrF too")
    parser.add_argument("--resamples", type=int, default=RESAMPLES, help="bootstrap resamples of the segments")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not arguments.files and not arguments.chrf:
        parser.error("give files of scores, or --chrf")
    try:
        report(arguments.folder, arguments.files, arguments.chrf, arguments.resamples, arguments.seed)
    except RefdecError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
