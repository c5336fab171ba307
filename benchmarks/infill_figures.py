"""Figures of infilled texts (aNLG): BLEU-4, ROUGE-L, METEOR, distinct-2, copying, repeating, length, passing.

    python -m benchmarks.infill_figures outputs/*.jsonl
    python -m benchmarks.infill_figures outputs/other.jsonl --references DIR/anlg/test.jsonl --rows 200

A line of outputs has `left`, `right`, `references`, and either `text` (and `passes`) or `results`, of which the
first is the output. Lines that have `id` and `output` alone find the rest in the file of `--references` (`id`, `o1`,
`o2`, `references`). Needs `refdec[evaluate]` and, for METEOR, a Java runtime.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from refdec.errors import InputError, RefdecError
from refdec.metrics.bleu import corpus_bleu
from refdec.metrics.diversity import bare_sentences, distinct, repeats_a_sentence
from refdec.metrics.meteor import corpus_meteor
from refdec.metrics.overlap import copies
from refdec.metrics.rouge import corpus_rouge_l
from refdec.metrics.words import bare_words

COLUMNS = {
    "bleu4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "meteor": "METEOR",
    "distinct2": "distinct-2",
    "copies": "copies %",
    "repeats": "repeats %",
    "words": "words",
    "passes": "passes %",
}


def figures(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Over rows with left, right, text and references; `passes` only where every row says it."""
    if not rows:
        raise InputError("There are no outputs to score.")
    texts, references = [row["text"] for row in rows], [row["references"] for row in rows]
    found = {
        "bleu4": round(corpus_bleu(texts, references, order=4), 1),
        "rouge_l": round(corpus_rouge_l(texts, references), 1),
        "meteor": round(corpus_meteor(texts, references), 1),
        "distinct2": round(distinct(texts, 2), 3),
        "copies": _percent([copies(row["text"], (row["left"], row["right"])) for row in rows]),
        "repeats": _percent([repeats(row["text"], row["left"], row["right"]) for row in rows]),
        "words": round(sum(len(bare_words(text)) for text in texts) / len(texts), 1),
    }
    if all("passes" in row for row in rows):
        found["passes"] = _percent([row["passes"] for row in rows])
    return found


def repeats(text: str, left: str, right: str) -> bool:
    """Whether a sentence occurs twice in the text, or the text as a whole is a sentence of its surroundings."""
    around = bare_sentences(left) + bare_sentences(right)
    return repeats_a_sentence(text) or tuple(bare_words(text)) in around


def read(path: Path, known: dict[str, dict[str, Any]], rows: int | None = None) -> list[dict[str, Any]]:
    """The rows of a file in the one form that `figures` takes."""
    lines = path.read_text(encoding="utf-8").splitlines()[:rows]
    return [_row(json.loads(line), known, f"{path.name}, line {number}") for number, line in enumerate(lines, start=1)]


def _row(line: dict[str, Any], known: dict[str, dict[str, Any]], place: str) -> dict[str, Any]:
    line = known.get(line.get("id", ""), {}) | line
    row = {
        "left": line.get("left", line.get("o1")),
        "right": line.get("right", line.get("o2")),
        "references": line.get("references"),
    }
    if "results" in line:
        best = line["results"][0] if line["results"] else {"text": "", "passes": False}
        row |= {name: best[name] for name in ("text", "passes") if name in best}
    else:
        row["text"] = line.get("text", line.get("output"))
        row |= {"passes": line["passes"]} if "passes" in line else {}
    missing = [name for name in ("left", "right", "references", "text") if row.get(name) is None]
    if missing or not row["references"]:
        names = ", ".join(missing) or "references"
        raise InputError(f"{place} has no {names}. Does it need the file of references (--references)?")
    return row


def _percent(marks: list[bool]) -> float:
    return round(100 * sum(marks) / len(marks), 1)


def report(paths: list[Path], known: dict[str, dict[str, Any]], count: int | None) -> None:
    print(f"{'outputs':24} {'rows':>5} " + " ".join(f"{title:>{len(title) + 1}}" for title in COLUMNS.values()))
    table = []
    for path in paths:
        rows = read(path, known, count)
        found = figures(rows)
        values = " ".join(f"{found.get(name, '-'):>{len(title) + 1}}" for name, title in COLUMNS.items())
        print(f"{path.stem:24} {len(rows):5} {values}")
        table.append({"outputs": path.name, "rows": len(rows), **found})
    print(json.dumps({"benchmark": "infill", "table": table}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="files of outputs to score")
    parser.add_argument("--references", type=Path, help="JSON lines with id, o1, o2 and references")
    parser.add_argument("--rows", type=int, help="only the first so many rows")
    arguments = parser.parse_args()
    lines = arguments.references.read_text(encoding="utf-8").splitlines() if arguments.references else []
    known = {row["id"]: row for row in map(json.loads, lines)}
    try:
        report(arguments.files, known, arguments.rows)
    except RefdecError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
