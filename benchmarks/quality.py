"""Quality of paraphrases on a data set: SARI, BLEU, Novelty and similarity of the best-ranked non-copy.

    python -m benchmarks.quality --data DIR/quora/dev.jsonl --rows 100 --outputs outputs/fast.jsonl --preset fast
    python -m benchmarks.quality outputs/*.jsonl

The first form generates (and goes on where an earlier run of the same settings stopped); the second scores
files of outputs side by side. Generating needs the models alone, scoring needs `refdec[evaluate]`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.outputs import Row, changes, load_reflector, model_arguments, read_rows, write_rows
from refdec import ParaphraseSettings
from refdec.signature import signature

FLOORS = (None, 20, 30)
"""Novelty asked for: nothing, then at least 20 and 30 a sentence."""


def generate(arguments: argparse.Namespace) -> None:
    """Write one line of results a row, skipping rows that the file already has."""
    reflector = load_reflector(arguments)
    settings = reflector.settings(ParaphraseSettings, arguments.preset, changes(arguments))

    rows = read_rows(arguments.data, arguments.rows[0])
    done = len(read_rows(arguments.outputs)) if arguments.outputs.exists() else 0
    results = reflector.paraphrase((row["source"] for row in rows[done:]), settings)  # many at once on a GPU

    def make(row: Row) -> Row:
        return next(results).to_dict() | {"references": row["references"]}

    write_rows(arguments.outputs, rows, make, signature("paraphrase", reflector.pair, settings))


def choose(row: dict[str, Any], floor: int | None) -> str:
    """The best-ranked non-copy at or above the floor; the most novel one where none reaches it."""
    fresh = [result for result in row["results"] if not result["copy"]]
    novel = [result for result in fresh if floor is None or result["novelty"] >= floor]
    if novel:
        return str(novel[0]["text"])
    return str(max(fresh, key=lambda result: result["novelty"])["text"]) if fresh else str(row["source"])


def figures(rows: list[dict[str, Any]], floor: int | None) -> dict[str, float]:
    from refdec.metrics.bleu import corpus_bleu
    from refdec.metrics.novelty import corpus_novelty
    from refdec.metrics.sari import corpus_sari
    from refdec.metrics.similarity import similarities

    sources, references = [row["source"] for row in rows], [row["references"] for row in rows]
    chosen = [choose(row, floor) for row in rows]
    return {
        "sari": round(corpus_sari(sources, chosen, references), 1),
        "bleu": round(corpus_bleu(chosen, references), 1),
        "novelty": round(corpus_novelty(chosen, sources), 1),
        "similarity": round(sum(similarities(chosen, sources)) / len(rows), 3),
    }


def report(paths: list[Path], counts: list[int]) -> None:
    columns = f"{'SARI':>6} {'BLEU':>6} {'Novelty':>8} {'similarity':>11} {'s/row':>7}"
    print(f"{'outputs':24} {'rows':>5} {'floor':>6} {columns}")
    table = []
    for path in paths:
        everything = [json.loads(line) for line in path.read_text().splitlines()]
        for count in counts:
            rows = everything[:count]
            seconds = sum(row["seconds"] for row in rows) / len(rows)
            for floor in FLOORS:
                found = figures(rows, floor)
                values = (
                    f"{found['sari']:6.1f} {found['bleu']:6.1f} {found['novelty']:8.1f} {found['similarity']:11.3f}"
                )
                print(f"{path.stem:24} {len(rows):5} {floor or '-':>6} {values} {seconds:7.2f}")
                table.append({"outputs": path.name, "rows": len(rows), "floor": floor, "seconds": seconds, **found})
    print(json.dumps({"benchmark": "quality", "table": table}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="files of outputs to score")
    parser.add_argument("--data", type=Path, help="JSON lines with source and references")
    parser.add_argument("--rows", type=int, nargs="+", default=[100], help="how many rows; several to score")
    parser.add_argument("--outputs", type=Path, help="where generations go")
    model_arguments(parser)
    arguments = parser.parse_args()
    if arguments.files:
        report(arguments.files, arguments.rows)
    else:
        generate(arguments)


if __name__ == "__main__":
    main()
