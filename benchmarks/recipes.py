"""Which recipe learns most in the same time? Each is trained for some minutes on the same text, one after the other.

    python -m benchmarks.recipes TOKENS --minutes 1 --try "" --try "matrix_rate=0.01" --try "layers=24 width=384"
    python -m benchmarks.recipes TOKENS --size 125m --minutes 0.5 --try "" --out recipes.jsonl

TOKENS is a folder of token files, from `benchmarks.token_files`. A try is settings of a recipe (none: the size as it
is) and of the text: `tokens=FOLDER` takes other token files, such as those of another vocabulary; `reads=backward`
reads from right to left; `reads=both` makes one model for both directions, which the first token of a sequence tells
apart, with twice the budget, as a pair has. Prints held-out bits per byte before and after, speed and the share of the
device's peak (`refdec.train.hardware`); `--out` adds a JSON line per try to a file. With `--turn FILE` and one try per
process, the next one compiles while this one trains, and only one trains at a time. The table in
docs/training-figures.md:

    for size in 8192 16384 32768; do python -m benchmarks.token_files CORPUS tokens-$size --vocabulary $size; done
    grep -v '^#' benchmarks/recipes.txt | xargs -P 3 -d '\\n' -I TRY python -m benchmarks.recipes tokens-16384 \\
        --minutes 0.6 --turn turn --out recipes.jsonl --try TRY
"""

from __future__ import annotations

import argparse
import fcntl
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from refdec.lm.device import choose_device
from refdec.lm.direction import Direction
from refdec.train.export import load_initial
from refdec.train.hardware import has_compiler, pays_to_compile, peak
from refdec.train.loop import Trainer
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe, size
from refdec.train.token_files import TokenFiles
from refdec.train.windows import StreamWindows, Windows, windows_of

SPARE = 64
"""Entries added for the ids of the two directions: a round number, which is faster on a GPU."""


@dataclass(frozen=True)
class Try:
    """A recipe, and what it reads."""

    words: str
    recipe: Recipe
    token_files: TokenFiles
    reads: str  # forward, backward, both

    @classmethod
    def of(cls, words: str, base: Recipe, folder: Path) -> Try:
        kinds: dict[str, Any] = {name: type(value) for name, value in base.items()}
        given = dict(word.split("=", 1) for word in words.split())
        token_files = TokenFiles.open(Path(given.pop("tokens", folder)))
        reads = given.pop("reads", Direction.FORWARD.value)
        unknown = given.keys() - kinds.keys()
        if unknown:
            raise SystemExit(f"{unknown.pop()} is not a setting of a recipe.")
        changes = {
            name: value == "True" if kinds[name] is bool else kinds[name](value) for name, value in given.items()
        }
        vocabulary = token_files.vocabulary + (SPARE if reads == "both" else 0)
        return cls(words, base.replace(vocabulary=vocabulary, **changes), token_files, reads)

    @property
    def directions(self) -> list[Direction]:
        return list(Direction) if self.reads == "both" else [Direction(self.reads)]

    def windows(self) -> Windows:
        """What is trained on."""
        stream, sequences = self.token_files.train, self.recipe.sequences // len(self.directions)
        ways = [
            StreamWindows(stream, way, self.recipe.positions, sequences, self.recipe.seed) for way in self.directions
        ]
        return ways[0] if len(ways) == 1 else BothWays(ways, self.token_files.vocabulary)

    def held_out(self) -> torch.Tensor:
        """The windows that are measured on."""
        ways = [windows_of(self.token_files.held_out, way, self.recipe.positions) for way in self.directions]
        return ways[0] if len(ways) == 1 else marked(ways, self.token_files.vocabulary)

    def budget(self, given: Budget) -> Budget:
        if self.reads != "both":
            return given
        return Budget(given.minutes and 2 * given.minutes, given.tokens and 2 * given.tokens)


class BothWays:
    """Windows of both directions in every step."""

    def __init__(self, ways: Sequence[StreamWindows], first_mark: int) -> None:
        self._ways, self._first_mark = ways, first_mark

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        return marked([way.at(step, skip) for way in self._ways], self._first_mark)


def marked(parts: Sequence[torch.Tensor], first_mark: int) -> torch.Tensor:
    """Windows of several directions, each with the id of its direction in place of its first token."""
    for number, part in enumerate(parts):
        part[:, 0] = first_mark + number
    return torch.cat(list(parts))


class InTurn(Trainer):
    """Waits until no other process trains; the next one trains when this process ends."""

    turn: Path | None = None

    def _warm_up(self) -> None:
        super()._warm_up()
        if self.turn is not None:
            self._held = self.turn.open("w")
            fcntl.flock(self._held, fcntl.LOCK_EX)


def attempt(
    attempted: Try, budget: Budget, device: torch.device, turn: Path | None = None, begin_from: Path | None = None
) -> dict[str, Any]:
    recipe, token_files, held_out = attempted.recipe, attempted.token_files, attempted.held_out()
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        compiled = pays_to_compile(device, budget) and has_compiler(device)
        initial = None if begin_from is None else load_initial(begin_from / attempted.reads)
        trainer = InTurn(recipe, attempted.windows(), Path(home) / "run", Processes(device), initial, compiled)
        trainer.turn = turn
        before = trainer.evaluate(held_out)
        trained = trainer.run(budget, tell=print)
        seconds = trained.state.seconds
        loss = trainer.evaluate(held_out)
    speed, best = trained.state.tokens / seconds, peak(device)
    return {
        "bits": token_files.bits(loss),
        "bits_before": token_files.bits(before),
        "nats": loss,
        "tokens": trained.state.tokens,
        "epochs": trained.state.tokens / len(token_files.train),
        "tokens_per_second": speed,
        "mfu": None if best is None else speed * recipe.shape.flops_per_token(recipe.positions) / best,
        "parameters": recipe.shape.parameters,
        "int8_bytes": recipe.shape.bytes_on_disk(int8=True),
        "seconds": seconds,
        "wall": time.monotonic() - began,
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0,
        "rollbacks": trained.state.rollbacks,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokens_folder", type=Path, metavar="TOKENS")
    parser.add_argument("--try", dest="tries", action="append", required=True)
    parser.add_argument("--size", default="47m")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--turn", type=Path)
    parser.add_argument("--from", dest="begin_from", type=Path, metavar="PAIR", help="go on from its models")
    parser.add_argument("--device")
    given = parser.parse_args()
    device = choose_device(given.device)
    print(f"{'before':>9} {'bits/byte':>9} {'M tokens':>9} {'k tokens/s':>10} {'MFU':>5} {'M':>5}  try")
    for words in given.tries:
        attempted = Try.of(words, size(given.size), given.tokens_folder)
        torch.compiler.reset()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        budget = attempted.budget(Budget(given.minutes, given.tokens))
        figures = attempt(attempted, budget, device, given.turn, given.begin_from)
        share = "" if figures["mfu"] is None else f"{figures['mfu']:.1%}"
        bits = f"{figures['bits_before']:9.4f} {figures['bits']:9.4f}"
        speed = f"{figures['tokens'] / 1e6:9.1f} {figures['tokens_per_second'] / 1e3:10.1f}"
        print(f"{bits} {speed} {share:>5} {figures['parameters'] / 1e6:5.1f}  {words or given.size}", flush=True)
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"try": words, "size": given.size, **figures}) + "\n")


if __name__ == "__main__":
    main()
