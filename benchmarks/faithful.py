"""Is there a good paraphrase, how new is it, and does it say the same? The figures of a preset on rows of real data.

    python -m benchmarks.faithful outputs/dev.jsonl --data DIR/sentences/dev.jsonl DIR/quora/dev.jsonl --every 10
    python -m benchmarks.faithful outputs/dev.jsonl --facts DIR/facts.py

Rows are JSON lines with an id, a source and references; the id says which kind of text it is. Each row is paraphrased,
and its best results are appended to the file of outputs; rows that are there already are skipped, so a run that was
stopped goes on. Then the file is reported on, kind by kind. --facts names a Python file with a function
changed(source, text), which lists what differs. One JSON line comes last.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.outputs import Row, changes, load_reflector, model_arguments, read_rows
from refdec import InputError, Pair, ParaphraseResult, ParaphraseSettings, Reflector
from refdec.metrics.bleu import corpus_bleu
from refdec.metrics.sari import sari
from refdec.metrics.similarity import check_similarity, similarities
from refdec.reflect.schedule import run
from refdec.reflect.scoring import own_logprobs
from refdec.tasks.ranking import worst_window
from refdec.tasks.signature import signature
from refdec.version import comparable

KINDS = {"mrpc": "news", "asset": "encyclopedia", "mscoco": "captions", "quora": "questions"}
"""The kind of a row by how its id begins."""

TOGETHER = {"news and encyclopedia": ("news", "encyclopedia"), "questions and captions": ("questions", "captions")}
STORED = 20  # results of each row that are kept in the file, best first
KEPT = ("text", "novelty", "copy", "confidence", "cost", "changes", "flow")  # fields of a result that are kept
MOST_COST = 1.0
LEAST_CONFIDENCE = 0.5
FAR = 0.7  # a cosine below this is of another text

Changed = Callable[[str, str], Sequence[str]]


def is_good(result: Mapping[str, Any]) -> bool:
    """Whether a result counts as returned for use. A figure that is missing speaks neither for nor against it."""
    cost, confidence = result.get("cost"), result.get("confidence")
    return (
        not result["copy"]
        and (cost is None or cost <= MOST_COST)
        and (confidence is None or confidence >= LEAST_CONFIDENCE)
    )


def best_good(row: Row) -> Row | None:
    """The first result of a row in rank order that is good."""
    return next((result for result in row["results"] if is_good(result)), None)


def kind_of(identifier: str) -> str:
    return KINDS.get(identifier.partition("-")[0], "other")


def chosen_rows(rows: Sequence[Row], kinds: Sequence[str], every: int, count: int | None) -> list[Row]:
    """Every so many rows of these kinds, or of all, and at most so many of each kind."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(kind_of(row["id"]), []).append(row)
    return [row for kind, group in by_kind.items() if not kinds or kind in kinds for row in group[::every][:count]]


def stored(row: Row, result: ParaphraseResult, seconds: float, mark: str) -> Row:
    """The line of a row in the file of outputs."""
    results = [item.to_dict() for item in result.candidates if not item.copy][:STORED]
    return {
        "id": row["id"],
        "source": row["source"],
        "references": row["references"],
        "results": [{name: item[name] for name in KEPT if name in item} for item in results],
        "seconds": round(seconds, 3),
        "signature": mark,
    }


def paraphrase_rows(path: Path, rows: Sequence[Row], reflector: Reflector, settings: ParaphraseSettings) -> None:
    """Append the results of rows that the file lacks. On a GPU many are worked on together, so time is per text."""
    mark = signature("paraphrase", reflector.pair, settings)
    done = read_rows(path) if path.exists() else []
    if done and comparable(done[0]["signature"]) != comparable(mark):
        raise InputError(f"{path} holds outputs of other settings. Name another file.")
    there = {row["id"] for row in done}
    missing = [row for row in rows if row["id"] not in there]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        began = time.perf_counter()
        results = reflector.paraphrase((row["source"] for row in missing), settings)
        for number, (row, result) in enumerate(zip(missing, results, strict=True), start=1):
            now = time.perf_counter()
            file.write(json.dumps(stored(row, result, now - began, mark), ensure_ascii=False) + "\n")
            file.flush()
            print(f"{number} of {len(missing)}, {now - began:.1f} s", file=sys.stderr)
            began = now


def fluency(pair: Pair, texts: Sequence[str]) -> float:
    """The median over texts of their worst window, each read by itself by the forward model; nats per token."""
    ids = [pair.tokens.encode(text) for text in texts]
    scored: list[torch.Tensor] = run(pair, own_logprobs(pair.forward, ids))
    return statistics.median(worst_window(row) for row in scored)


def figures(rows: Sequence[Row], pair: Pair, changed: Changed | None) -> dict[str, Any]:
    """The figures of rows of one kind. Those of texts are over the rows that have a good result."""
    result: dict[str, Any] = {
        "rows": len(rows),
        "good": round(100 * sum(best_good(row) is not None for row in rows) / len(rows), 1),
        "seconds": round(statistics.fmean(row["seconds"] for row in rows), 2),
    }
    chosen = [(row, best) for row in rows if (best := best_good(row))]
    if not chosen:
        return result
    texts = [best["text"] for _, best in chosen]
    sources = [row["source"] for row, _ in chosen]
    references = [row["references"] for row, _ in chosen]
    cosines = similarities(texts, sources)
    result |= {
        "novelty": round(statistics.fmean(best["novelty"] for _, best in chosen), 1),
        "cosine": round(statistics.fmean(cosines), 3),
        "under": round(100 * sum(value < FAR for value in cosines) / len(cosines), 1),
        "sari": round(statistics.fmean(map(sari, sources, texts, references)), 1),
        "bleu": round(corpus_bleu(texts, references), 1),
        "worst_window": round(fluency(pair, texts), 2),
        "worst_window_of_references": round(fluency(pair, [group[0] for group in references]), 2),
    }
    if changed:
        result["facts"] = round(
            100 * sum(not changed(*both) for both in zip(sources, texts, strict=True)) / len(texts), 1
        )
    return result


def load_facts(path: Path) -> Changed:
    """The function `changed` of a Python file."""
    spec = importlib.util.spec_from_file_location("facts", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "changed"):
        raise InputError(f"{path} has no function changed(source, text).")
    checker: Changed = module.changed
    return checker


COLUMNS = {
    "rows": "rows",
    "good": "good %",
    "novelty": "Novelty",
    "cosine": "cosine",
    "under": "< 0.7 %",
    "facts": "facts %",
    "sari": "SARI",
    "bleu": "BLEU",
    "worst_window": "worst 5",
    "worst_window_of_references": "theirs",
    "seconds": "s/text",
}


def report(path: Path, pair: Pair, changed: Changed | None) -> None:
    rows = read_rows(path)
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(kind_of(row["id"]), []).append(row)
    for name, kinds in TOGETHER.items():
        together = [row for kind in kinds for row in by_kind.get(kind, [])]
        if all(kind in by_kind for kind in kinds):
            by_kind[name] = together
    table = {name: figures(group, pair, changed) for name, group in by_kind.items()}
    print(f"{'':22}" + "".join(f"{title:>9}" for title in COLUMNS.values()))
    for name, values in table.items():
        print(f"{name:22}" + "".join(f"{values.get(column, '-'):>9}" for column in COLUMNS))
    print(json.dumps({"benchmark": "faithful", **table, "signature": rows[0]["signature"]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path, help="the file of outputs; it is made or continued if data is given")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="JSON lines with id, source and references")
    parser.add_argument("--rows", type=int, help="at most so many rows of each kind")
    parser.add_argument("--every", type=int, default=1, help="take only every so many rows of each kind")
    parser.add_argument("--kind", nargs="*", default=[], choices=[*KINDS.values(), "other"], help="only these kinds")
    parser.add_argument("--facts", type=Path, help="a Python file that checks numbers, names and negation")
    model_arguments(parser)
    arguments = parser.parse_args()
    check_similarity()
    changed = load_facts(arguments.facts) if arguments.facts else None
    reflector = load_reflector(arguments)
    if arguments.data:
        rows = [row for path in arguments.data for row in read_rows(path)]
        settings = reflector.settings(ParaphraseSettings, arguments.preset, changes(arguments))
        chosen = chosen_rows(rows, arguments.kind, arguments.every, arguments.rows)
        paraphrase_rows(arguments.outputs, chosen, reflector, settings)
    report(arguments.outputs, reflector.pair, changed)


if __name__ == "__main__":
    main()
