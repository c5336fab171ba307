"""From a corpus to a pair, or to the partner of a model: tokenizer, token files, both directions, export.

Intermediate files are in a folder beside the result, so that the same call goes on after whatever stopped it. Knows
the order of the steps; each is done elsewhere.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from refdec.errors import InputError, RefdecError
from refdec.files.lock import locked
from refdec.files.whole import write_whole
from refdec.lm.direction import Direction
from refdec.lm.model_files import verify_checksums
from refdec.lm.tokens import Tokens
from refdec.train.card import card
from refdec.train.cleaning import Counts
from refdec.train.corpus import Corpus
from refdec.train.export import check_exportable, export_models, initial_shape, load_initial, tokens_of
from refdec.train.fsdp import pays_to_shard
from refdec.train.hardware import COMPILERS, free_memory, has_compiler, pays_to_compile
from refdec.train.loop import Initial, StepReport, Trainer
from refdec.train.measuring import TrainingResult, held_out_loss, measure, warnings
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe
from refdec.train.token_files import TokenFiles, write_token_files
from refdec.train.tokenizer import SAMPLE, load_tokenizer, start_of, train_tokenizer
from refdec.train.windows import StreamWindows


@dataclass(frozen=True)
class Plan:
    """What to make: a pair, or the backward partner of a forward model."""

    corpus: Corpus
    folder: Path  # of the result
    recipe: Recipe
    budget: Budget  # per direction
    tokenizer: Path | None = None  # without one, a tokenizer is learned
    begin_from: Path | None = None  # a pair to go on from; for a partner, a model
    int8: bool = True
    partner_of: str | None = None  # a forward model: a directory or a hub id
    sharded: bool | None = None  # whether each of several processes holds a share of a model; None: by its size
    keep: bool = False  # leave the intermediate files

    def __post_init__(self) -> None:
        if self.partner_of is not None and self.tokenizer is not None:
            raise InputError("A partner takes over the tokenizer of its forward model. Leave out --tokenizer.")
        if self.begin_from is not None and self.tokenizer is not None:
            raise InputError("With --from, models keep their tokenizer. Leave out --tokenizer.")

    @property
    def work(self) -> Path:
        """The folder of intermediate files."""
        return self.folder.with_name(self.folder.name + ".training")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions to train."""
        return tuple(Direction) if self.partner_of is None else (Direction.BACKWARD,)

    @property
    def beginnings(self) -> dict[Direction, str | Path]:
        """The models to go on from."""
        if self.begin_from is None:
            return {}
        if self.partner_of is None:
            return {direction: self.begin_from / direction.value for direction in Direction}
        return {Direction.BACKWARD: str(self.begin_from)}  # it may be a hub id

    @property
    def tokenizer_name(self) -> str:
        """The name of the model that the tokenizer comes from; empty where it is learned."""
        given = self.tokenizer or self.begin_from
        return self.partner_name or ("" if given is None else given.name)

    @property
    def partner_name(self) -> str:
        """The name of the forward model of a partner, without its path; empty for a pair."""
        if self.partner_of is None:
            return ""
        place = Path(self.partner_of).expanduser()
        return place.absolute().name if place.is_dir() else self.partner_of


@dataclass(frozen=True)
class Made:
    """A finished pair or partner."""

    token_files: TokenFiles
    results: dict[Direction, TrainingResult]


class Watcher(Protocol):
    """Shows progress and messages to the user."""

    def stage(self, words: str) -> None:
        """The next stage of the work begins."""

    def counted(self, counts: Counts) -> None:
        """This much text is tokenised."""

    def trained(self, direction: Direction, report: StepReport, bits: float, flops: float) -> None:
        """A step is done; `bits` is the loss in bits per byte, `flops` are operations per second."""

    def tell(self, words: str) -> None:
        """A message that stays visible."""


def make_pair(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """Train what the plan asks for, and export it. Work that an earlier call of the same plan did is not repeated."""
    with ExitStack() as held:
        processes.first(lambda: _prepare(plan, watcher, held))
        made = _make(plan, processes, watcher)
        if processes.is_first and not plan.keep:  # before the lock is released: then another run may begin
            shutil.rmtree(plan.work, ignore_errors=True)
        return made


def _make(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """Train from token files, and export."""
    tokenizer = load_tokenizer(plan.work)
    token_files = TokenFiles.open(plan.work / "tokens")
    recipe = plan.recipe.replace(vocabulary=max(token_files.vocabulary, 257))
    initial = _initial(plan, recipe, token_files.separator)
    shape = initial[plan.directions[0]][0]
    flops = shape.flops_per_token(recipe.positions)
    compiled = _compiles(plan, processes, watcher)
    sharded = pays_to_shard(shape.parameters, processes.world) if plan.sharded is None else plan.sharded
    results: dict[Direction, TrainingResult] = {}
    weights: dict[Direction, Any] = {}

    def train(direction: Direction) -> None:
        name = direction.value

        def tell(words: str) -> None:
            watcher.tell(f"{name}: {words}")

        def watch(report: StepReport) -> None:
            watcher.trained(direction, report, token_files.bits(report.loss), report.tokens_per_second * flops)

        watcher.stage(f"{name}: getting ready")
        stream, rank, world = token_files.train, processes.rank, processes.world
        windows = StreamWindows(stream, direction, recipe.positions, recipe.sequences, recipe.seed, rank, world)
        trainer = Trainer(recipe, windows, plan.work / name, processes, initial[direction], compiled, sharded)
        before = None
        if plan.begin_from is not None:
            before = token_files.bits(held_out_loss(trainer, token_files, direction))
        trainer.run(plan.budget, watch, tell, advise=direction is plan.directions[0])  # advice holds for the whole run
        watcher.stage(f"{name}: measuring")
        weights[direction] = trainer.weights()
        result = measure(trainer, weights[direction], token_files, tokenizer, direction, before, int8=plan.int8)
        results[direction] = result
        tell(f"{result} of held-out text. A sample: {result.sample}")
        for warning in warnings(trainer, result, token_files, direction):
            tell(warning)

    for direction in plan.directions:
        train(direction)
        free_memory(processes.device)  # of its trainer, for the next one

    def export() -> None:
        watcher.stage("writing the files")
        text = card(
            plan.folder.name, shape, recipe, token_files, results,
            tokenizer=plan.tokenizer_name, begun_from="" if plan.begin_from is None else plan.begin_from.name,
            partner_of=plan.partner_name, int8=plan.int8, device=processes.device,
        )  # fmt: skip
        export_models(plan.folder, weights, shape, tokenizer, text, int8=plan.int8)

    processes.first(export)
    return Made(token_files, results)


def _prepare(plan: Plan, watcher: Watcher, held: ExitStack) -> None:
    """Make the tokenizer and the token files, unless they exist, in a directory that this run locks."""
    check_exportable(plan.folder)
    tokens = _given(plan)
    plan.work.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(plan.work))
    _refuse_another(plan, tokens)
    try:
        _tokenise(plan, tokens, watcher)
    except RefdecError:
        if not any((plan.work / direction.value).exists() for direction in plan.directions):
            shutil.rmtree(plan.work, ignore_errors=True)  # nothing is trained yet: other settings may be tried
        raise


def _tokenise(plan: Plan, tokens: Tokens | None, watcher: Watcher) -> None:
    file = plan.work / "tokenizer.json"
    if tokens is None:
        if file.exists():
            tokenizer = load_tokenizer(file)
        else:
            watcher.stage(f"learning a tokenizer of {plan.recipe.vocabulary:,} entries")
            tokenizer = train_tokenizer(plan.corpus.sample(SAMPLE), plan.recipe.vocabulary)
        tokens = Tokens(tokenizer, start_of(tokenizer))
    write_whole(file, tokens.tokenizer.to_str(pretty=True))
    if not _are_tokenised(plan, tokens):
        watcher.stage("tokenising the text")
        counts = write_token_files(plan.corpus, tokens, plan.work / "tokens", step=watcher.counted).counts
        if counts.bad_rows:
            watcher.tell(f"rows without text, left out: {counts.bad_rows:,}. The first is {counts.first_bad[0]}")


def _given(plan: Plan) -> Tokens | None:
    """The tokenizer that the plan names, with the id that models read before a document; None: learn one."""
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
        raise InputError(f"The models of {plan.begin_from} have different shapes. Go on from another pair.")
    return tokens


def _check_beginning(plan: Plan, place: str | Path, tokens: Tokens) -> None:
    """Refuse a model that cannot go on with this text, before the text is tokenised."""
    shape = initial_shape(place)
    if shape.vocabulary < tokens.vocabulary:
        raise InputError(
            f"The model in {place} has {shape.vocabulary} tokens, and its tokenizer has {tokens.vocabulary} entries: "
            "they do not belong together. Go on from another model."
        )
    if shape.positions < plan.recipe.positions:
        raise InputError(
            f"The model in {place} reads {shape.positions} tokens at most, and sequences have {plan.recipe.positions}. "
            f"Give --positions {shape.positions} or fewer."
        )
    if plan.partner_of is not None:
        if tokens_of(place).fingerprint != tokens.fingerprint:
            raise InputError(f"{place} and {plan.partner_of} do not share a tokenizer. Begin from another model.")
    elif shape.start != tokens.start:
        raise InputError(
            f"The models of {plan.begin_from} read different ids before a document ({tokens.start} and {shape.start}), "
            "so they cannot be trained on the same tokens. Go on from another pair."
        )


def _refuse_another(plan: Plan, tokens: Tokens | None) -> None:
    """Refuse a folder that holds a run with another recipe, beginning or text."""
    note = plan.work / "recipe.json"
    settings = dict(plan.recipe.items()) | {
        "partner_of": plan.partner_of,
        "from": plan.begin_from and str(plan.begin_from),
        "tokenizer": tokens and f"{tokens.fingerprint} with {tokens.start} before a document",
        "text": plan.corpus.digest,
    }
    try:
        earlier = json.loads(note.read_text(encoding="utf-8")) if note.exists() else settings
    except ValueError:
        earlier = {}
    for name, value in settings.items():
        if earlier.get(name) != value:
            difference = f"with another recipe: {name} was {earlier.get(name)} and is {value}"
            if name == "text":
                difference = "on other text: its files, their sizes, or how they are read have changed"
            raise InputError(f"{plan.work} holds a run {difference}. Give the same settings, or remove that directory.")
    write_whole(note, json.dumps(settings, indent=1) + "\n")


def _are_tokenised(plan: Plan, tokens: Tokens) -> bool:
    try:
        return TokenFiles.open(plan.work / "tokens").are_of(plan.corpus, tokens)
    except InputError:
        return False


def _initial(plan: Plan, recipe: Recipe, start: int) -> dict[Direction, Initial]:
    """The shape of each model, and the weights that it goes on from, if any."""
    if plan.begin_from is None:
        return dict.fromkeys(plan.directions, (replace(recipe.shape, start=start), None))
    verify_checksums(plan.begin_from)
    models = {direction: load_initial(place) for direction, place in plan.beginnings.items()}
    return {direction: (replace(shape, start=start), weights) for direction, (shape, weights) in models.items()}


def _compiles(plan: Plan, processes: Processes, watcher: Watcher) -> bool:
    """Whether to compile; the user is told where only the compiler is missing."""
    if not pays_to_compile(processes.device, plan.budget):
        return False
    if has_compiler(processes.device):
        return True
    name = COMPILERS[processes.device.type][1]
    watcher.tell(f"no C compiler was found, so the model is not compiled and trains more slowly. Install {name}.")
    return False
