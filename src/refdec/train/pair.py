"""From a corpus to a pair, or to the partner of a model: tokenizer, shards, one direction after the other, the export.

Everything on the way is in a folder beside the result, so that the same call goes on after whatever stopped it. Knows
the order of things; each of them is done elsewhere.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from refdec.errors import InputError
from refdec.files.lock import locked
from refdec.files.whole import write_whole
from refdec.lm.direction import Direction
from refdec.lm.model_files import verify_checksums
from refdec.lm.tokens import Tokens
from refdec.train.batches import Batches
from refdec.train.card import card
from refdec.train.cleaning import Counts
from refdec.train.corpus import Corpus
from refdec.train.export import check_exportable, export_models, initial_shape, load_initial, tokens_of
from refdec.train.hardware import free_memory, pays_to_compile
from refdec.train.loop import Initial, Report, Trainer
from refdec.train.measuring import Measured, doubts, held_out_loss, measure
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe
from refdec.train.sharding import pays_to_shard
from refdec.train.shards import Shards, write_shards
from refdec.train.tokenizer import SAMPLE, load_tokenizer, start_of, train_tokenizer


@dataclass(frozen=True)
class Plan:
    """What is to be made of what: a pair, or the backward partner of a forward model."""

    corpus: Corpus
    folder: Path  # of the pair or the partner
    recipe: Recipe
    budget: Budget  # of each direction
    tokenizer: Path | None = None  # one that is there; without it, one is learned
    begin_from: Path | None = None  # a pair to go on from; for a partner, a model
    int8: bool = True
    partner_of: str | None = None  # a forward model that is there, a directory or a hub id
    sharded: bool | None = None  # whether each of several processes holds a share of a model; None: where that pays

    def __post_init__(self) -> None:
        if self.partner_of is not None and self.tokenizer is not None:
            raise InputError("A partner has the tokenizer of the model that it is made for. Leave out --tokenizer.")
        if self.begin_from is not None and self.tokenizer is not None:
            raise InputError("A model that goes on keeps its tokenizer. Leave out --tokenizer.")

    @property
    def work(self) -> Path:
        """What is kept on the way."""
        return self.folder.with_name(self.folder.name + ".training")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Those that are trained."""
        return tuple(Direction) if self.partner_of is None else (Direction.BACKWARD,)

    @property
    def beginnings(self) -> dict[Direction, str | Path]:
        """The models that are gone on from."""
        if self.begin_from is None:
            return {}
        if self.partner_of is None:
            return {direction: self.begin_from / direction.value for direction in Direction}
        return {Direction.BACKWARD: str(self.begin_from)}  # perhaps a hub id

    @property
    def tokenizer_name(self) -> str:
        """Whose tokenizer it is; nothing where it is learned."""
        given = self.tokenizer or self.begin_from
        return self.partner_name or ("" if given is None else given.name)

    @property
    def partner_name(self) -> str:
        """Of the model that a partner is made for, without where it lies; nothing for a pair."""
        if self.partner_of is None:
            return ""
        place = Path(self.partner_of).expanduser()
        return place.absolute().name if place.is_dir() else self.partner_of


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

    def trained(self, direction: Direction, report: Report, bits: float, flops: float) -> None:
        """A step was made; `bits` is the loss as bits a byte, `flops` are operations a second."""

    def tell(self, words: str) -> None:
        """Something to know."""


def make_pair(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """Train what the plan asks for, and export it. What an earlier call of the same plan did is not done again."""
    with ExitStack() as held:
        processes.first(lambda: _prepare(plan, watcher, held))
        return _make(plan, processes, watcher)


def _make(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """From shards on."""
    tokenizer = load_tokenizer(plan.work)
    shards = Shards.open(plan.work / "shards")
    recipe = plan.recipe.replace(vocabulary=max(shards.vocabulary, 257))
    initial = _initial(plan, recipe, shards.separator)
    found: dict[Direction, Measured] = {}
    weights: dict[Direction, Any] = {}
    for direction in plan.directions:
        watcher.stage(f"{direction.value}: getting ready")
        trainer = _trainer(plan, recipe, shards, direction, initial[direction], processes, watcher)
        before = None if plan.begin_from is None else shards.bits(held_out_loss(trainer, shards))
        _train(plan, trainer, shards, direction, watcher)
        watcher.stage(f"{direction.value}: measuring")
        weights[direction] = trainer.weights()
        found[direction] = measure(trainer, weights[direction], shards, tokenizer, direction, before, int8=plan.int8)
        shape = trainer.shape
        watcher.tell(f"{direction.value}: {found[direction]} of held-out text. {found[direction].sample}")
        for doubt in doubts(trainer, found[direction], shards, direction):
            watcher.tell(f"{direction.value}: {doubt}")
        del trainer  # the next one needs its room
        free_memory(processes.device)

    def export() -> None:
        watcher.stage("writing the files")
        text = card(
            plan.folder.name, shape, recipe, shards, found,
            tokenizer=plan.tokenizer_name, begun_from="" if plan.begin_from is None else plan.begin_from.name,
            partner_of=plan.partner_name, int8=plan.int8, device=processes.device,
        )  # fmt: skip
        export_models(plan.folder, weights, shape, tokenizer, text, int8=plan.int8)

    processes.first(export)
    return Made(shards, recipe, found)


def discard_work(plan: Plan) -> None:
    shutil.rmtree(plan.work, ignore_errors=True)


def _prepare(plan: Plan, watcher: Watcher, held: ExitStack) -> None:
    """The tokenizer and the shards, unless they are there, in a directory that is nobody else's meanwhile."""
    check_exportable(plan.folder)
    tokens = _given(plan)
    plan.work.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(plan.work))
    _refuse_another(plan, tokens)
    file = plan.work / "tokenizer.json"
    if tokens is None:
        if file.exists():
            tokenizer = load_tokenizer(file)
        else:
            watcher.stage(f"learning a tokenizer of {plan.recipe.vocabulary:,} entries")
            tokenizer = train_tokenizer(plan.corpus.sample(SAMPLE), plan.recipe.vocabulary)
        tokens = Tokens(tokenizer, start_of(tokenizer))
    write_whole(file, tokens.tokenizer.to_str(pretty=True))
    if not _are_there(plan, tokens):
        watcher.stage("tokenising the text")
        shards = plan.work / "shards"
        made = write_shards(plan.corpus, tokens.tokenizer, shards, separator=tokens.start, step=watcher.counted)
        if made.counts.bad_rows:
            first = made.counts.first_bad[0]
            watcher.tell(f"rows that are no text and are left out: {made.counts.bad_rows:,}. The first is {first}")


def _given(plan: Plan) -> Tokens | None:
    """The tokenizer that need not be learned, with the id that models read before a document."""
    if plan.partner_of is not None:
        tokens = tokens_of(plan.partner_of)
    elif plan.begin_from is not None:
        tokenizer = load_tokenizer(plan.begin_from)
        tokens = Tokens(tokenizer, initial_shape(plan.begin_from / Direction.FORWARD.value).start)
    elif plan.tokenizer is not None:
        tokenizer = load_tokenizer(plan.tokenizer)
        tokens = Tokens(tokenizer, start_of(tokenizer))
    else:
        return None
    for place in plan.beginnings.values():
        _check_beginning(plan, place, tokens)
    if len({initial_shape(place) for place in plan.beginnings.values()}) > 1:
        raise InputError(f"The models of {plan.begin_from} are of different shapes. Go on from another pair.")
    return tokens


def _check_beginning(plan: Plan, place: str | Path, tokens: Tokens) -> None:
    """Refuse a model that cannot go on with this text, before it is tokenised."""
    shape = initial_shape(place)
    if shape.vocabulary < tokens.vocabulary:
        raise InputError(
            f"The model in {place} knows {shape.vocabulary} tokens, and its tokenizer has {tokens.vocabulary} entries."
        )
    if shape.positions < plan.recipe.positions:
        raise InputError(
            f"The model in {place} reads {shape.positions} tokens, and the recipe's sequences have "
            f"{plan.recipe.positions}. Give --positions {shape.positions} or fewer."
        )
    if plan.partner_of is not None:
        if tokens_of(place).fingerprint != tokens.fingerprint:
            raise InputError(f"{place} and {plan.partner_of} do not share a tokenizer. Begin from another model.")
    elif shape.start != tokens.start:
        raise InputError(
            f"The models of {plan.begin_from} read different ids before a document, {tokens.start} and {shape.start}, "
            "so there is no text for both. Go on from another pair."
        )


def _refuse_another(plan: Plan, tokens: Tokens | None) -> None:
    """What is kept must be of the same recipe, begun in the same way, on the same text."""
    note = plan.work / "recipe.json"
    mine = dict(plan.recipe.items()) | {
        "partner_of": plan.partner_of,
        "from": plan.begin_from and str(plan.begin_from),
        "tokenizer": tokens and f"{tokens.fingerprint} with {tokens.start} before a document",
        "text": plan.corpus.digest,
    }
    try:
        kept = json.loads(note.read_text(encoding="utf-8")) if note.exists() else mine
    except ValueError:
        kept = {}
    for name, value in mine.items():
        if kept.get(name) != value:
            another = f"of another recipe: {name} was {kept.get(name)} and is {value}"
            if name == "text":
                another = "on other text: its files, their sizes, or how they are read have changed"
            raise InputError(f"{plan.work} holds a run {another}. Give the same settings, or remove that directory.")
    write_whole(note, json.dumps(mine, indent=1) + "\n")


def _are_there(plan: Plan, tokens: Tokens) -> bool:
    try:
        return Shards.open(plan.work / "shards").are_of(plan.corpus, tokens.tokenizer, tokens.start)
    except InputError:
        return False


def _initial(plan: Plan, recipe: Recipe, start: int) -> dict[Direction, Initial]:
    """The shape of each model, and its weights where it goes on from some."""
    if plan.begin_from is None:
        return dict.fromkeys(plan.directions, (replace(recipe.shape, start=start), None))
    verify_checksums(plan.begin_from)
    found = {direction: load_initial(place) for direction, place in plan.beginnings.items()}
    return {direction: (replace(shape, start=start), weights) for direction, (shape, weights) in found.items()}


def _trainer(
    plan: Plan,
    recipe: Recipe,
    shards: Shards,
    direction: Direction,
    initial: Initial,
    processes: Processes,
    watcher: Watcher,
) -> Trainer:
    batches = Batches(
        shards.train, direction, recipe.positions, recipe.sequences, recipe.seed, processes.rank, processes.world
    )
    compiled = pays_to_compile(processes.device, plan.budget)
    if not compiled and processes.device.type == "cuda":
        watcher.tell("there is no C compiler, so nothing is compiled, which is slower. Install gcc.")
    sharded = pays_to_shard(initial[0].parameters, processes.world) if plan.sharded is None else plan.sharded
    return Trainer(recipe, batches, plan.work / direction.value, processes, initial, compiled, sharded)


def _train(plan: Plan, trainer: Trainer, shards: Shards, direction: Direction, watcher: Watcher) -> None:
    each = trainer.shape.flops_per_token(trainer.recipe.positions)

    def watch(report: Report) -> None:
        watcher.trained(direction, report, shards.bits(report.loss), report.tokens_per_second * each)

    trainer.run(plan.budget, watch, watcher.tell)
