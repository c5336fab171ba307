"""Which recipe learns most in the same time? Each is trained for some minutes on the same text, one after the other.

    python -m benchmarks.recipes SHARDS --minutes 1 --try "" --try "matrix_rate=0.01" --try "layers=24 width=384"
    python -m benchmarks.recipes SHARDS --size 125m --minutes 0.5 --try ""

A try is settings of a recipe, or nothing for the size as it is; `shards=FOLDER` takes other shards, such as those of
another vocabulary. Prints held-out bits a byte, speed and the share of the device's peak (989 TFLOP/s, dense bfloat16,
by NVIDIA's data sheet of the H100 and H200), and a JSON line for each.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from refdec.lm.direction import Direction
from refdec.lm.pair import choose_device
from refdec.train.batches import Batches
from refdec.train.loop import Trainer, pays_to_compile
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe, size
from refdec.train.shards import Shards

PEAK = 989e12


def parse(words: str, base: Recipe, shards: Path) -> tuple[Recipe, Path]:
    """A try: the recipe, and the shards it reads."""
    kinds: dict[str, Any] = {name: type(value) for name, value in base.items()}
    changes: dict[str, Any] = {}
    for word in words.split():
        name, _, value = word.partition("=")
        if name == "shards":
            shards = Path(value)
        else:
            changes[name] = kinds[name](value)
    return base.replace(**{"vocabulary": Shards.open(shards).vocabulary} | changes), shards


def attempt(
    recipe: Recipe, shards: Shards, direction: Direction, budget: Budget, device: torch.device
) -> dict[str, Any]:
    batches = Batches(shards.train, direction, recipe.positions, recipe.sequences, recipe.seed)
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        compiled = pays_to_compile(device, budget)
        trainer = Trainer(recipe, batches, Path(home) / "run", Processes(device), compiled=compiled)
        trained = trainer.run(budget, tell=print)
        seconds = trained.state.seconds
        loss = trainer.evaluate(shards.held_out)
    speed = trained.state.tokens / seconds
    return {
        "bits": loss / shards.bytes_per_token / math.log(2),
        "nats": loss,
        "tokens": trained.state.tokens,
        "epochs": trained.state.tokens / len(shards.train),
        "tokens_per_second": speed,
        "mfu": speed * recipe.shape.flops_per_token(recipe.positions) / PEAK,
        "parameters": recipe.shape.parameters,
        "int8_bytes": recipe.shape.bytes_on_disk(int8=True),
        "seconds": seconds,
        "wall": time.monotonic() - began,
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0,
        "rollbacks": trained.state.rollbacks,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shards", type=Path)
    parser.add_argument("--try", dest="tries", action="append", required=True)
    parser.add_argument("--size", default="47m")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--device")
    given = parser.parse_args()
    device = choose_device(given.device)
    direction = Direction.BACKWARD if given.backward else Direction.FORWARD
    print(f"{'bits/byte':>9} {'M tokens':>9} {'k tokens/s':>10} {'MFU':>5} {'M':>5}  try")
    for words in given.tries:
        recipe, folder = parse(words, size(given.size), given.shards)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        found = attempt(recipe, Shards.open(folder), direction, Budget(given.minutes, given.tokens), device)
        figures = f"{found['bits']:9.4f} {found['tokens'] / 1e6:9.1f} {found['tokens_per_second'] / 1e3:10.1f}"
        print(f"{figures} {found['mfu']:5.1%} {found['parameters'] / 1e6:5.1f}  {words or given.size}", flush=True)
        print(json.dumps({"try": words, "size": given.size, **found}), flush=True)


if __name__ == "__main__":
    main()
