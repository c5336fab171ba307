"""A blind reading: a sheet for a reader who does not know which system wrote what, and the table of the verdicts.

    python -m benchmarks.reading draw --ours outputs/ours.jsonl --contexts outputs/paper.jsonl --to outputs/reading
    python -m benchmarks.reading table outputs/reading --verdicts outputs/verdicts.jsonl

`draw` takes files of outputs of benchmarks.faithful. Rows are drawn by a seed; for each, the sheet has our result where
one is good, the best result of contexts alone, and a human reference, all shuffled. The sheet (sheet.jsonl) has items
with a source and a text; whose they are stands in key.jsonl, which the reader does not get. A verdict is one JSON line
{"item": ..., "verdict": ...}. `table` prints shares with 95 % intervals, and the verdicts by the ids of the rows.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.faithful import best_good, kind_of
from benchmarks.outputs import Row, read_rows
from refdec import InputError
from refdec.files.whole import write_whole

WANTED = {"news": 40, "encyclopedia": 20, "questions": 40}
GROUPS = {"sentences": ("news", "encyclopedia"), "questions": ("questions",)}
SYSTEMS = ("ours", "contexts", "reference")
VERDICTS = ("same", "nearly", "broken", "different")
NORMAL = 1.959964  # standard deviations that hold 95 % of a normal distribution


def draw(
    ours: Sequence[Row], contexts: Sequence[Row], wanted: Mapping[str, int], seed: int
) -> tuple[list[Row], list[Row], list[Row]]:
    """The sheet, its key, and the rows that were drawn, which need not all have a result of ours."""
    random = Random(seed)
    alone = {row["id"]: row for row in contexts}
    drawn: list[Row] = []
    for kind, count in wanted.items():
        rows = sorted((row for row in ours if kind_of(row["id"]) == kind), key=lambda row: str(row["id"]))
        if len(rows) < count:
            raise InputError(f"There are {len(rows)} rows of the kind {kind} and {count} are to be drawn. Make more.")
        drawn += random.sample(rows, count)
    entries: list[tuple[str, Row, str]] = []
    for row in drawn:
        if best := best_good(row):
            entries.append(("ours", row, best["text"]))
        if row["id"] in alone and alone[row["id"]]["results"]:
            entries.append(("contexts", row, alone[row["id"]]["results"][0]["text"]))
        entries.append(("reference", row, random.choice(row["references"])))
    random.shuffle(entries)
    sheet, key = [], []
    for number, (system, row, text) in enumerate(entries, start=1):
        item = f"item-{number:03}"
        sheet.append({"item": item, "source": row["source"], "text": text})
        key.append({"item": item, "row": row["id"], "system": system})
    return sheet, key, [{"row": row["id"]} for row in drawn]


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The interval of a share by Wilson's score; it holds for shares near nothing and near all too."""
    share, square = hits / count, NORMAL**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    half = NORMAL / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def judged(key: Sequence[Row], verdicts: Iterable[Row]) -> list[Row]:
    """The key with a verdict for each item; a verdict that is missing, double or unknown is refused."""
    given: dict[str, str] = {}
    items = {row["item"] for row in key}
    for row in verdicts:
        if row["item"] not in items:
            raise InputError(f"The verdict on {row['item']} is of no item of this sheet.")
        if row["verdict"] not in VERDICTS:
            raise InputError(f"The verdict on {row['item']} is {row['verdict']!r}; it must be {', '.join(VERDICTS)}.")
        if row["item"] in given:
            raise InputError(f"There are two verdicts on {row['item']}. Keep one.")
        given[row["item"]] = row["verdict"]
    if missing := sorted(items - given.keys()):
        raise InputError(f"{len(missing)} items have no verdict, such as {missing[0]}.")
    return [row | {"verdict": given[row["item"]]} for row in key]


def figures(rows: Sequence[Row], drawn: Sequence[Row]) -> dict[str, dict[str, dict[str, Any]]]:
    """For each group and system: counts of verdicts, rows without a text, and shares in per cent with intervals."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for group, kinds in GROUPS.items():
        in_group = sum(kind_of(row["row"]) in kinds for row in drawn)
        table[group] = {}
        for system in SYSTEMS:
            said = Counter(row["verdict"] for row in rows if row["system"] == system and kind_of(row["row"]) in kinds)
            if not said:
                continue
            table[group][system] = {
                **{verdict: said[verdict] for verdict in VERDICTS},
                "without": in_group - said.total(),
                "kept": _share(said["same"] + said["nearly"], said.total()),
                "changed": _share(said["different"], said.total()),
            }
    return table


def _share(hits: int, count: int) -> list[float]:
    """Per cent, and the ends of its interval."""
    return [round(100 * value, 1) for value in (hits / count, *wilson(hits, count))]


def print_table(table: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    print("| | system | " + " | ".join(VERDICTS) + " | no text | same or nearly | different |")
    print("|---" * (len(VERDICTS) + 5) + "|")
    for group, systems in table.items():
        for system, row in systems.items():
            counts = " | ".join(str(row[verdict]) for verdict in VERDICTS)
            shares = " | ".join("{} % ({} to {})".format(*row[name]) for name in ("kept", "changed"))
            print(f"| {group} | {system} | {counts} | {row['without']} | {shares} |")


def print_verdicts(rows: Sequence[Row]) -> None:
    """Verdicts by the ids of the rows, without the texts."""
    by_row: dict[str, dict[str, str]] = {}
    for row in rows:
        by_row.setdefault(row["row"], {})[row["system"]] = row["verdict"]
    print("| row | " + " | ".join(SYSTEMS) + " |")
    print("|---" * (len(SYSTEMS) + 1) + "|")
    for identifier, said in sorted(by_row.items()):
        print(f"| {identifier} | " + " | ".join(said.get(system, "-") for system in SYSTEMS) + " |")


def _write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="make a sheet and its key")
    drawing.add_argument("--ours", type=Path, nargs="+", required=True, help="outputs of the system that is read")
    drawing.add_argument("--contexts", type=Path, nargs="+", required=True, help="outputs of contexts alone")
    drawing.add_argument("--to", type=Path, required=True, help="a folder for sheet, key and the ids of the rows")
    drawing.add_argument("--seed", type=int, default=0)
    for kind, count in WANTED.items():
        drawing.add_argument(f"--{kind}", type=int, default=count, help="rows of this kind [default: %(default)s]")
    tabling = commands.add_parser("table", help="the table of the verdicts")
    tabling.add_argument("folder", type=Path, help="the folder that was drawn")
    tabling.add_argument("--verdicts", type=Path, required=True, help="JSON lines with item and verdict")
    arguments = parser.parse_args()
    if arguments.command == "draw":
        ours, contexts = (
            [row for path in files for row in read_rows(path)] for files in (arguments.ours, arguments.contexts)
        )
        wanted = {kind: getattr(arguments, kind) for kind in WANTED}
        parts = zip(("sheet", "key", "drawn"), draw(ours, contexts, wanted, arguments.seed), strict=True)
        for name, rows in parts:
            _write(arguments.to / f"{name}.jsonl", rows)
        return
    rows = judged(read_rows(arguments.folder / "key.jsonl"), read_rows(arguments.verdicts))
    table = figures(rows, read_rows(arguments.folder / "drawn.jsonl"))
    print_table(table)
    print()
    print_verdicts(rows)
    print(json.dumps({"benchmark": "reading", **table}))


if __name__ == "__main__":
    main()
