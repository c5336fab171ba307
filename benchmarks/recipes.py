"""Which recipe learns most in the same time? Each is trained for some minutes on the same text, one after the other.

    python -m benchmarks.recipes SHARDS --minutes 1 --try "" --try "matrix_rate=0.01" --try "layers=24 width=384"
    python -m benchmarks.recipes SHARDS --size 125m --minutes 0.5 --try "" --out recipes.jsonl

A try is settings of a recipe, or nothing for the size as it is, and of what is read: `tokens=FOLDER` takes other
shards, such as those of another vocabulary; `reads=backward` reads from right to left; `reads=both` makes one model
that reads either way, told which by the first token of a sequence, and gives it twice the budget, as a pair has.
Prints held-out bits a byte before and after, speed and the share of the device's peak, where it is known
(`refdec.train.hardware`); `--out` adds a JSON line for each try to a file. With `--turn FILE`, one try a process, the
next one compiles while this one trains, and none trains beside another. The table in docs/training.md:

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

from refdec.lm.direction import Direction
from refdec.lm.pair import choose_device
from refdec.train.windows import StreamWindows, TokenArray
from refdec.train.export import load_initial
from refdec.train.hardware import pays_to_compile, peak
from refdec.train.loop import Trainer
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe, size
from refdec.train.token_files import TokenFiles

SPARE = 64
"""Entries added for the two ids of directions: a round number, for the GPU's sake."""


@dataclass(frozen=True)
class Try:
    """A recipe, and what it reads."""

    words: str
    recipe: Recipe
    shards: TokenFiles
    reads: str  # forward, backward, both

    @classmethod
    def of(cls, words: str, base: Recipe, shards: Path) -> Try:
        kinds: dict[str, Any] = {name: type(value) for name, value in base.items()}
        given = dict(word.split("=", 1) for word in words.split())
        found = TokenFiles.open(Path(given.pop("tokens", folder)))
        reads = given.pop("reads", Direction.FORWARD.value)
        unknown = given.keys() - kinds.keys()
        if unknown:
            raise SystemExit(f"{unknown.pop()} is no setting of a recipe.")
        changes = {
            name: value == "True" if kinds[name] is bool else kinds[name](value) for name, value in given.items()
        }
        vocabulary = found.vocabulary + (SPARE if reads == "both" else 0)
        return cls(words, base.replace(vocabulary=vocabulary, **changes), found, reads)

    def batches(self) -> StreamWindows | BothWays:
        length, sequences, seed = self.recipe.positions, self.recipe.sequences, self.recipe.seed
        if self.reads != "both":
            return StreamWindows(self.shards.train, Direction(self.reads), length, sequences, seed)
        ways = [StreamWindows(self.shards.train, direction, length, sequences // 2, seed) for direction in Direction]
        return BothWays(ways, self.shards.vocabulary)

    def budget(self, given: Budget) -> Budget:
        if self.reads != "both":
            return given
        return Budget(given.minutes and 2 * given.minutes, given.tokens and 2 * given.tokens)


class BothWays:
    """Windows of both directions in every step, each with the id of its direction in the place of its first token."""

    def __init__(self, ways: Sequence[StreamWindows], first_mark: int) -> None:
        self._ways, self._first_mark = ways, first_mark

    def at(self, step: int, skip: int = 0) -> torch.Tensor:
        return self._marked([way.at(step, skip) for way in self._ways])

    def windows_of(self, stream: TokenArray, most: int | None = None) -> torch.Tensor:
        return self._marked([way.windows_of(stream, most) for way in self._ways])

    def _marked(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        for number, part in enumerate(parts):
            part[:, 0] = self._first_mark + number
        return torch.cat(list(parts))


class InTurn(Trainer):
    """Trains once nobody else does, until its process ends."""

    turn: Path | None = None

    def _warm_up(self) -> None:
        super()._warm_up()
        if self.turn is not None:
            self._held = self.turn.open("w")
            fcntl.flock(self._held, fcntl.LOCK_EX)


def attempt(
    attempted: Try, budget: Budget, device: torch.device, turn: Path | None = None, begin_from: Path | None = None
) -> dict[str, Any]:
    recipe, shards = attempted.recipe, attempted.shards
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        compiled = pays_to_compile(device, budget)
        initial = None if begin_from is None else load_initial(begin_from / attempted.reads)
        trainer = InTurn(recipe, attempted.batches(), Path(home) / "run", Processes(device), initial, compiled)
        trainer.turn = turn
        before = trainer.evaluate(shards.held_out)
        trained = trainer.run(budget, tell=print)
        seconds = trained.state.seconds
        loss = trainer.evaluate(shards.held_out)
    speed, best = trained.state.tokens / seconds, peak(device)
    return {
        "bits": shards.bits(loss),
        "bits_before": shards.bits(before),
        "nats": loss,
        "tokens": trained.state.tokens,
        "epochs": trained.state.tokens / len(shards.train),
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
    parser.add_argument("shards", type=Path)
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
        attempted = Try.of(words, size(given.size), given.shards)
        torch.compiler.reset()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        budget = attempted.budget(Budget(given.minutes, given.tokens))
        found = attempt(attempted, budget, device, given.turn, given.begin_from)
        share = "" if found["mfu"] is None else f"{found['mfu']:.1%}"
        bits = f"{found['bits_before']:9.4f} {found['bits']:9.4f}"
        figures = f"{bits} {found['tokens'] / 1e6:9.1f} {found['tokens_per_second'] / 1e3:10.1f}"
        print(f"{figures} {share:>5} {found['parameters'] / 1e6:5.1f}  {words or given.size}", flush=True)
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"try": words, "size": given.size, **found}) + "\n")


if __name__ == "__main__":
    main()
