"""Fillings for the gaps of a data set (aNLG: o1, o2 and references), as a file for benchmarks.infill_figures.

    python -m benchmarks.infill --data DIR/anlg/dev.jsonl --rows 200 --outputs outputs/infill.jsonl --preset paper
    python -m benchmarks.infill --data DIR/anlg/dev.jsonl --rows 200 --outputs outputs/forward.jsonl --forward-alone
    python -m benchmarks.infill_figures outputs/infill.jsonl outputs/forward.jsonl

`--forward-alone` is the plain comparison: the forward model continues o1 and its first whole sentence is taken.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.outputs import Row, changes, load_reflector, model_arguments, read_rows, write_rows
from refdec import InfillSettings, Pair
from refdec.reflect.randomness import uniforms
from refdec.reflect.sample import Sampling, sample
from refdec.reflect.side import FramedIds, Side
from refdec.signature import signature
from refdec.tasks.extract import is_closed, sentence_runs, well_formed

ATTEMPTS = 8
"""Samples of the forward model; the first with a whole sentence counts."""


def continue_forward(pair: Pair, left: str, settings: InfillSettings) -> str:
    """The first whole sentence that the forward model alone says after a text."""
    side = Side(pair, "left")
    model = side.inward
    draws = uniforms(settings.seed, left, "forward alone", ATTEMPTS, settings.tokens)
    allowed = side.allowed(model, FramedIds((), (), ()))
    alone = torch.ones(1, device=model.device)
    rows = sample(model, Sampling([pair.tokens.encode(" " + left)], alone, draws, settings.context_top_p, allowed))
    for ids in rows:
        runs = [run for run in sentence_runs(pair.tokens.decode(ids), "left")[-1:] if is_closed(run)]
        for text in well_formed(runs, ""):
            return text
    return pair.tokens.decode(rows[0]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines with o1, o2 and references")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--skip", type=int, default=0, help="rows to leave out at the beginning")
    parser.add_argument("--outputs", type=Path, required=True)
    parser.add_argument("--forward-alone", action="store_true")
    model_arguments(parser)
    arguments = parser.parse_args()
    reflector = load_reflector(arguments)
    settings = reflector.settings(InfillSettings, arguments.preset, changes(arguments))
    task = "forward-alone" if arguments.forward_alone else "infill"
    mark = signature(task, reflector.pair, settings)

    def make(row: Row) -> Row:
        kept = {"id": row["id"], "references": row["references"], "signature": mark}
        if arguments.forward_alone:
            text = continue_forward(reflector.pair, row["o1"], settings)
            return {"left": row["o1"], "right": row["o2"], "text": text, **kept}
        return reflector.infill(row["o1"], row["o2"], settings).to_dict() | kept

    write_rows(arguments.outputs, read_rows(arguments.data, arguments.rows, arguments.skip), make, mark)


if __name__ == "__main__":
    main()
