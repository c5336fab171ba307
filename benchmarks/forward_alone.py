"""The plain comparison for infilling: the forward model alone continues o1, and its first whole sentence is taken.

    python -m benchmarks.forward_alone --data DIR --split dev --rows 200 --outputs outputs/forward-alone.jsonl
    refdec evaluate anlg --data DIR --split dev --rows 200 --system rd:paper --system outputs/forward-alone.jsonl

Goes on where an earlier run of the same settings stopped. It never sees o2.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from benchmarks.outputs import changes, load_reflector, model_arguments
from refdec import InfillSettings, Pair
from refdec.evaluate.experiments.data import data_folder, read_gaps
from refdec.evaluate.experiments.outputs import OutputFile
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_branching
from refdec.reflect.side import FramedIds, Side
from refdec.tasks.extract import is_closed, sentence_runs, well_formed
from refdec.tasks.signature import signature

ATTEMPTS = 8
"""Samples of the forward model; the first with a whole sentence counts."""


def continue_forward(pair: Pair, left: str, settings: InfillSettings) -> str:
    """The first whole sentence that the forward model alone says after a text."""
    side = Side(pair, "left")
    model = side.inward
    draws = uniforms(settings.seed, left, "forward alone", ATTEMPTS, settings.tokens)
    allowed = side.allowed(model, FramedIds((), (), ()))
    alone = torch.ones(1, device=model.device)
    rows = sample_branching(
        model, Sampling([pair.tokens.encode(" " + left)], alone, draws, settings.context_top_p, allowed)
    )
    for ids in rows:
        runs = [run for run in sentence_runs(pair.tokens.decode(ids), "left")[-1:] if is_closed(run)]
        for text in well_formed(runs, ""):
            return text
    return pair.tokens.decode(rows[0]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--split", default="dev", help="of aNLG")
    parser.add_argument("--rows", type=int, help="only the first so many")
    parser.add_argument("--outputs", type=Path, required=True, help="where fillings go")
    model_arguments(parser)
    arguments = parser.parse_args()
    gaps = read_gaps(data_folder(arguments.data), "anlg", arguments.split)
    reflector = load_reflector(arguments)
    settings = reflector.settings(InfillSettings, arguments.preset, changes(arguments))
    arguments.outputs.parent.mkdir(parents=True, exist_ok=True)
    mark = signature("forward-alone", reflector.pair, settings)
    with OutputFile(arguments.outputs, mark, [gap.id for gap in gaps]) as file:
        todo = [gap for gap in gaps[: arguments.rows] if gap.id not in file.done]
        for number, gap in enumerate(todo, start=1):
            file.append({"id": gap.id, "output": continue_forward(reflector.pair, gap.left, settings)})
            print(f"{number} of {len(todo)}", file=sys.stderr)


if __name__ == "__main__":
    main()
