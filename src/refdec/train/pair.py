"""From a corpus to a pair: tokenizer, shards, the two directions one after the other, and the export.

Everything on the way is in a folder beside the result, so that the same call goes on after whatever stopped it. Knows
the order of things; each of them is done elsewhere.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer

from refdec.errors import InputError
from refdec.files import write_whole
from refdec.lm.direction import Direction
from refdec.lm.files import verify_checksums
from refdec.train.batches import Batches, windows_of
from refdec.train.card import Measured, card
from refdec.train.cleaning import Counts
from refdec.train.corpus import Corpus
from refdec.train.export import check_exportable, export_pair, int8_loss, load_initial
from refdec.train.loop import Initial, Report, Trainer, pays_to_compile
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe
from refdec.train.samples import sample
from refdec.train.shards import Shards, write_shards
from refdec.train.tokenizer import SAMPLE, load_tokenizer, train_tokenizer

INT8_WINDOWS = 64
"""Held-out sequences on which the cost of int8 is measured."""


@dataclass(frozen=True)
class Plan:
    """What is to be made of what."""

    corpus: Corpus
    folder: Path  # of the pair
    recipe: Recipe
    budget: Budget  # of each direction
    tokenizer: Path | None = None  # one that is there; without it, one is learned
    begin_from: Path | None = None  # a pair to go on from
    int8: bool = True

    @property
    def work(self) -> Path:
        """What is kept on the way."""
        return self.folder.with_name(self.folder.name + ".training")


@dataclass(frozen=True)
class Made:
    """What came out."""

    shards: Shards
    recipe: Recipe
    found: dict[Direction, Measured]


class Watcher(Protocol):
    """Is told how it goes."""

    def stage(self, words: str) -> None:
        """Something new begins."""

    def counted(self, counts: Counts) -> None:
        """So much text was tokenised."""

    def trained(self, direction: Direction, report: Report, bits: float) -> None:
        """A step was made; `bits` is the loss as bits a byte."""

    def tell(self, words: str) -> None:
        """Something to know."""


def make_pair(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """Train both directions and export them. What an earlier call of the same plan did is not done again."""
    if processes.is_first:
        check_exportable(plan.folder)
        _prepare(plan, watcher)
    processes.wait()
    tokenizer = load_tokenizer(plan.work)
    shards = Shards.open(plan.work / "shards")
    recipe = plan.recipe.replace(vocabulary=max(shards.vocabulary, 257))
    initial = _initial(plan, tokenizer)
    found: dict[Direction, Measured] = {}
    weights: dict[Direction, Any] = {}
    for direction in Direction:
        trainer = _train(plan, recipe, shards, direction, initial.get(direction), processes, watcher)
        weights[direction] = trainer.weights()
        found[direction] = _measure(trainer, shards, tokenizer, direction)
        shape = trainer.shape
        bits = found[direction].bits
        watcher.tell(f"{direction.value}: {bits:.3f} bits a byte of held-out text. {found[direction].sample}")
    if processes.is_first:
        watcher.stage("writing the pair")
        text = card(
            plan.folder.name, shape, recipe, shards, found,
            begun_from="" if plan.begin_from is None else plan.begin_from.name, int8=plan.int8, device=processes.device,
        )  # fmt: skip
        export_pair(plan.folder, weights, shape, tokenizer, text, int8=plan.int8)
    processes.wait()
    return Made(shards, recipe, found)


def discard_work(plan: Plan) -> None:
    shutil.rmtree(plan.work, ignore_errors=True)


def _prepare(plan: Plan, watcher: Watcher) -> None:
    """The tokenizer and the shards, unless they are there."""
    plan.work.mkdir(parents=True, exist_ok=True)
    _refuse_another(plan)
    file = plan.work / "tokenizer.json"
    given = plan.tokenizer or plan.begin_from
    if given is not None:
        tokenizer = load_tokenizer(given)
    elif file.exists():
        tokenizer = load_tokenizer(file)
    else:
        watcher.stage(f"learning a tokenizer of {plan.recipe.vocabulary:,} entries")
        tokenizer = train_tokenizer(plan.corpus.sample(SAMPLE), plan.recipe.vocabulary)
    write_whole(file, tokenizer.to_str(pretty=True))
    if not _are_there(plan, tokenizer):
        watcher.stage("tokenising the text")
        write_shards(plan.corpus, tokenizer, plan.work / "shards", step=watcher.counted)


def _refuse_another(plan: Plan) -> None:
    """What is kept must be of the same recipe."""
    note = plan.work / "recipe.json"
    mine = dict(plan.recipe.items())
    try:
        kept = json.loads(note.read_text(encoding="utf-8")) if note.exists() else mine
    except ValueError:
        kept = {}
    for name, value in mine.items():
        if kept.get(name) != value:
            raise InputError(
                f"{plan.work} holds a run of another recipe: {name} was {kept.get(name)} and is {value}. Give the same "
                "settings, or remove that directory."
            )
    write_whole(note, json.dumps(mine, indent=1) + "\n")


def _are_there(plan: Plan, tokenizer: Tokenizer) -> bool:
    try:
        return Shards.open(plan.work / "shards").are_of(plan.corpus, tokenizer)
    except InputError:
        return False


def _initial(plan: Plan, tokenizer: Tokenizer) -> dict[Direction, Initial]:
    if plan.begin_from is None:
        return {}
    verify_checksums(plan.begin_from)
    found = {direction: load_initial(plan.begin_from / direction.value) for direction in Direction}
    for shape, _ in found.values():
        if shape.vocabulary < tokenizer.get_vocab_size(with_added_tokens=True):
            raise InputError(f"The tokenizer of {plan.begin_from} has more entries than its models know.")
        if shape.positions < plan.recipe.positions:
            raise InputError(
                f"The models of {plan.begin_from} read {shape.positions} tokens, and the recipe's sequences have "
                f"{plan.recipe.positions}. Give --positions {shape.positions} or fewer."
            )
    return found


def _train(
    plan: Plan,
    recipe: Recipe,
    shards: Shards,
    direction: Direction,
    initial: Initial | None,
    processes: Processes,
    watcher: Watcher,
) -> Trainer:
    batches = Batches(
        shards.train, direction, recipe.positions, recipe.sequences, recipe.seed, processes.rank, processes.world
    )
    watcher.stage(f"{direction.value}: getting ready")
    compiled = pays_to_compile(processes.device, plan.budget)
    trainer = Trainer(recipe, batches, plan.work / direction.value, processes, initial, compiled)
    per_nat = 1 / (shards.bytes_per_token * math.log(2))
    watch: Callable[[Report], None] = lambda report: watcher.trained(direction, report, report.loss * per_nat)  # noqa: E731
    trainer.run(plan.budget, watch, watcher.tell)
    return trainer


def _measure(trainer: Trainer, shards: Shards, tokenizer: Tokenizer, direction: Direction) -> Measured:
    nats = trainer.evaluate(shards.held_out)
    windows = windows_of(shards.held_out, direction, trainer.recipe.positions, INT8_WINDOWS)
    return Measured(
        nats=nats,
        bits=nats / shards.bytes_per_token / math.log(2),
        state=trainer.state,
        int8=int8_loss(trainer.weights(), trainer.shape, windows, device=trainer.device),
        sample=sample(trainer.model, tokenizer, direction),
    )
