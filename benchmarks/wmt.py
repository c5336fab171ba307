"""The Reflective Score of every judged translation of a WMT18 language pair, as a file for benchmarks.wmt_figures.

    python -m benchmarks.wmt --data DIR/wmt18/cs-en --outputs outputs/cs-en.jsonl --set contexts=64
    python -m benchmarks.wmt_figures DIR/wmt18/cs-en outputs/cs-en.jsonl --chrf

`--shard 0/4` takes every fourth reference, for several processes; join the files afterwards.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from benchmarks.outputs import changes, load_reflector, model_arguments, part_of, read_rows, shard_arguments
from refdec import ScoreSettings

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
"""A few translations have control characters in them, which refdec refuses; here they are taken for spaces."""


def judged(folder: Path) -> dict[int, tuple[str, dict[str, str]]]:
    """For each judged segment its reference, and the translations that take part in a judgement, by system."""
    references = {row["sid"]: row["reference"] for row in read_rows(folder / "segments.jsonl")}
    said = {
        (row["sid"], row["system"]): CONTROL.sub(" ", row["translation"])
        for row in read_rows(folder / "translations.jsonl")
    }
    result: dict[int, tuple[str, dict[str, str]]] = {}
    for row in read_rows(folder / "darr.jsonl"):
        _, systems = result.setdefault(row["sid"], (references[row["sid"]], {}))
        for system in (row["better"], row["worse"]):
            systems[system] = said[row["sid"], system]
    return dict(sorted(result.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of a language pair")
    parser.add_argument("--outputs", type=Path, required=True)
    parser.add_argument("--segments", type=int, help="only so many references")
    shard_arguments(parser)
    model_arguments(parser)
    arguments = parser.parse_args()
    reflector = load_reflector(arguments)
    settings = reflector.settings(ScoreSettings, arguments.preset, changes(arguments))
    segments = part_of(list(judged(arguments.data).items())[: arguments.segments], arguments)
    arguments.outputs.parent.mkdir(parents=True, exist_ok=True)
    groups = [(reference, list(dict.fromkeys(systems.values()))) for _, (reference, systems) in segments]
    scored = reflector.score_all(groups, settings)
    with arguments.outputs.open("w") as file:
        for number, ((sid, (_, systems)), scores) in enumerate(zip(segments, scored, strict=True), start=1):
            by_text = dict(zip(dict.fromkeys(systems.values()), scores, strict=True))
            for system, text in systems.items():
                found = by_text[text]
                line = {"sid": sid, "system": system, "score": found.score, "fluency": found.fluency}
                line["signature"] = found.signature
                file.write(json.dumps(line) + "\n")
            if number % 50 == 0:
                print(f"{number} of {len(segments)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
