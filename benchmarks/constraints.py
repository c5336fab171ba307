"""Constrained paraphrases: does what is returned satisfy its constraints, how often is there something, at what price.

    python -m benchmarks.constraints --data DIR/quora/dev.jsonl DIR/quora/test.jsonl --outputs outputs/kept.jsonl
    python -m benchmarks.constraints outputs/kept.jsonl

Takes the first sources that have a number or a name in them. In every third one its first number or name is replaced
by a placeholder such as {item}. Numbers, names and placeholders must be kept. Each source is paraphrased twice:
steered towards the constraints, and freely, where candidates that break them are sieved out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.outputs import Row, begin, part_of, read_rows, shard_arguments, write_rows
from refdec import Constraints, ParaphraseResult, ParaphraseSettings
from refdec.tasks.signature import signature

KEPT = Constraints(automatic=("numbers", "names", "placeholders"))
PLACEHOLDERS = ("{item}", "{name}", "<b>", "%s")


def constrained_sources(rows: list[Row], count: int) -> list[Row]:
    """Sources with something to keep in them; every third has a placeholder."""
    found: list[Row] = []
    for row in rows:
        source = row["source"]
        keep = KEPT.on(source).keep
        if not keep:
            continue
        if len(found) % 3 == 2:
            source = source.replace(keep[0], PLACEHOLDERS[len(found) // 3 % len(PLACEHOLDERS)], 1)
        found.append({"source": source, "keep": list(KEPT.on(source).keep)})
    return found[:count]


def summary(result: ParaphraseResult, keep: Constraints) -> dict[str, Any]:
    """What of a result counts here: candidates that satisfy the constraints, and whether all do."""
    fresh = [item for item in result.candidates if not item.copy]
    good = [item for item in fresh if not keep.failures(item.text)]
    return {
        "returned": len(result.candidates),
        "breaking": sum(bool(keep.failures(item.text)) for item in result.candidates),
        "fresh": len(fresh),
        "good": len(good),
        "best": good[0].to_dict() if good else None,
        "rejected": result.rejected,
    }


def report(path: Path) -> None:
    rows = read_rows(path)
    print(f"{'':10} {'returned':>9} {'breaking':>9} {'with one':>9} {'good/text':>12} {'score':>7} {'Novelty':>8}")
    table = {}
    for form in ("steered", "sieved"):
        found = [row[form] for row in rows]
        bests = [item["best"] for item in found if item["best"]]
        both = [row for row in rows if row["steered"]["best"] and row["sieved"]["best"]]
        figures = {
            "returned": sum(item["returned"] for item in found),
            "breaking": sum(item["breaking"] for item in found),
            "texts_with_one": round(100 * len(bests) / len(rows), 1),
            "good_a_text": round(sum(item["good"] for item in found) / len(rows), 2),
            "score": round(sum(item["relative"] for item in bests) / max(1, len(bests)), 2),
            "novelty": round(sum(item["novelty"] for item in bests) / max(1, len(bests)), 1),
            "score_where_both_have_one": round(
                sum(row[form]["best"]["relative"] for row in both) / max(1, len(both)), 2
            ),
        }
        table[form] = figures
        print(
            f"{form:10} {figures['returned']:9} {figures['breaking']:9} {figures['texts_with_one']:7.1f} % "
            f"{figures['good_a_text']:12.2f} {figures['score']:7.2f} {figures['novelty']:8.1f}"
        )
    free = [row["free"]["relative"] for row in rows if row["free"]]
    print(f"best non-copy without constraints: score {sum(free) / max(1, len(free)):.2f}, {len(rows)} texts")
    print(json.dumps({"benchmark": "constraints", "rows": len(rows), **table, "signature": rows[0]["signature"]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", help="JSON lines with a source; the files are taken in order")
    parser.add_argument("--rows", type=int, default=500)
    shard_arguments(parser)
    arguments, reflector, settings = begin(parser, ParaphraseSettings, report)
    mark = signature("paraphrase", reflector.pair, settings, KEPT)

    def make(row: Row) -> Row:
        keep = KEPT.on(row["source"])
        known = reflector.fingerprint(row["source"], settings.description())
        steered = reflector.paraphrase(None, settings, constraints=KEPT, fingerprint=known)
        free = reflector.paraphrase(None, settings, fingerprint=known)
        return row | {
            "steered": summary(steered, keep),
            "sieved": summary(free, keep),
            "free": free.best.to_dict() if free.best else None,
            "signature": mark,
        }

    everything = [row for path in arguments.data for row in read_rows(path)]
    rows = part_of(constrained_sources(everything, arguments.rows), arguments)
    write_rows(arguments.outputs, rows, make, mark)


if __name__ == "__main__":
    main()
