"""From a corpus to a pair, or to the partner of a model: tokenizer, token files, training, export.

A pair is two models, one after the other, or a single one that reads both ways.

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

import torch

from refdec.errors import InputError, RefdecError
from refdec.files.lock import locked
from refdec.files.whole import write_whole
from refdec.lm.direction import Direction
from refdec.lm.engine import choose_precision, load_lms
from refdec.lm.model_files import locate, verify_checksums
from refdec.lm.tokens import Tokens
from refdec.train import gguf
from refdec.train.card import card
from refdec.train.cleaning import Counts
from refdec.train.corpus import Corpus
from refdec.train.export import (
    backward_start,
    check_exportable,
    export_models,
    initial_shape,
    load_initial,
    tokens_of,
)
from refdec.train.fsdp import pays_to_shard
from refdec.train.hardware import COMPILERS, free_memory, has_compiler, pays_to_compile
from refdec.train.loop import Initial, Keeping, StepReport, Trainer
from refdec.train.measuring import TrainingResult, held_out_loss, measure, warnings
from refdec.train.model import Shape
from refdec.train.processes import Processes
from refdec.train.recipe import BothWays, Budget, Recipe
from refdec.train.rewordings import ModelJudge, Rewordings, Rewriter, make_rewordings
from refdec.train.token_files import TokenFiles, write_token_files
from refdec.train.tokenizer import BACKWARD, END_OF_TEXT, SAMPLE, load_tokenizer, start_of, train_tokenizer
from refdec.train.windows import REWORDED, Mark, MixedWindows, StreamWindows, Windows, forward_rows

Run = tuple[Direction, ...]
"""The directions that one model learns to read."""


@dataclass(frozen=True)
class Plan:
    """What to make: a pair, or the backward partner of a forward model."""

    corpus: Corpus
    folder: Path  # of the result
    recipe: Recipe
    budget: Budget  # per model
    tokenizer: Path | None = None  # without one, a tokenizer is learned
    begin_from: Path | None = None  # a pair of two models to go on from; else a model, for both ways also in GGUF
    int8: bool = True
    partner_of: str | None = None  # a forward model: a directory or a hub id
    sharded: bool | None = None  # whether each of several processes holds a share of a model; None: by its size
    keep: bool = False  # leave the intermediate files
    both_ways: BothWays | None = None  # make one model that reads both ways, and not two

    def __post_init__(self) -> None:
        if self.both_ways is not None and self.partner_of is not None:
            raise InputError("A partner reads one way, and --both-ways makes a model that needs none. Choose one.")
        if self.both_ways is not None and self.begin_from is None:
            needed = {"--keep-forward": self.both_ways.keep_forward, "--rewordings": self.both_ways.rewordings}
            for option, value in needed.items():
                if value:
                    raise InputError(f"{option} needs a model that reads forward already. Name one in --from.")
            if self.tokenizer is None and max(self.both_ways.forward_start, self.both_ways.backward_start) >= 0:
                raise InputError(
                    "A tokenizer that is learned has its own marks. Leave out --forward-start and --backward-start."
                )
        if self.partner_of is not None and self.tokenizer is not None:
            raise InputError("A partner takes over the tokenizer of its forward model. Leave out --tokenizer.")
        if self.begin_from is not None and self.tokenizer is not None:
            raise InputError("With --from, models keep their tokenizer. Leave out --tokenizer.")

    @property
    def work(self) -> Path:
        """The folder of intermediate files."""
        return self.folder.with_name(self.folder.name + ".training")

    @property
    def runs(self) -> tuple[Run, ...]:
        """The models to train."""
        if self.both_ways is not None:
            return (tuple(Direction),)
        return ((Direction.FORWARD,), (Direction.BACKWARD,)) if self.partner_of is None else ((Direction.BACKWARD,),)

    @property
    def beginnings(self) -> dict[Run, str | Path]:
        """The models to go on from."""
        if self.begin_from is None:
            return {}
        if len(self.runs) > 1:
            return {run: self.begin_from / run[0].value for run in self.runs}
        unpacked = self.work / "parent"
        return {self.runs[0]: unpacked if gguf.is_gguf(self.begin_from) else str(self.begin_from)}  # maybe a hub id

    def home(self, run: Run) -> Path:
        """The folder of the checkpoints of a model."""
        return self.work / _name(run).replace(" ", "-")

    @property
    def tokenizer_name(self) -> str:
        """The name of the model that the tokenizer comes from; empty where it is learned."""
        return self.partner_name or _short(self.tokenizer) or self.parent_name

    @property
    def partner_name(self) -> str:
        """The name of the forward model of a partner; empty for a pair."""
        return _short(self.partner_of)

    @property
    def parent_name(self) -> str:
        """The name of what training begins from; empty where that is nothing."""
        return _short(self.begin_from)


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

    def reworded(self, rewordings: Rewordings, wanted: int) -> None:
        """This many rewordings are made."""

    def trained(self, name: str, report: StepReport, bits: float, flops: float) -> None:
        """A step is done; `bits` is the loss in bits per byte, `flops` are operations per second."""

    def tell(self, words: str) -> None:
        """A message that stays visible."""


def make_pair(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """Train what the plan asks for, and export it. Work that an earlier call of the same plan did is not repeated."""
    with ExitStack() as held:
        processes.first(lambda: _prepare(plan, processes.device, watcher, held))
        made = _make(plan, processes, watcher)
        if processes.is_first and not plan.keep:  # before the lock is released: then another run may begin
            shutil.rmtree(plan.work, ignore_errors=True)
        return made


def _make(plan: Plan, processes: Processes, watcher: Watcher) -> Made:
    """Train from token files, and export."""
    tokenizer = load_tokenizer(plan.work)
    token_files = TokenFiles.open(plan.work / "tokens")
    tokens = Tokens(tokenizer, token_files.separator)
    recipe = _fitted(plan, tokens)
    initial = _initial(plan, recipe, tokens)
    shape = initial[plan.runs[0]][0]
    flops = shape.flops_per_token(recipe.positions)
    compiled = _compiles(plan, processes, watcher)
    sharded = pays_to_shard(shape.parameters, processes.world) if plan.sharded is None else plan.sharded
    rewordings = Rewordings.load(_rewordings(plan))
    results: dict[Direction, TrainingResult] = {}
    weights: dict[Direction, Any] = {}

    def train(run: Run) -> None:
        name = _name(run)

        def tell(words: str) -> None:
            watcher.tell(f"{name}: {words}")

        def watch(report: StepReport) -> None:
            watcher.trained(name, report, token_files.bits(report.loss), report.tokens_per_second * flops)

        watcher.stage(f"{name}: getting ready")
        windows, keeping = _windows(plan, recipe, token_files, processes, shape, run, tokens)
        trainer = Trainer(recipe, windows, plan.home(run), processes, initial[run], compiled, sharded, keeping)
        before: dict[Direction, float] = {}
        if plan.begin_from is not None:
            before = {way: token_files.bits(held_out_loss(trainer, token_files, way)) for way in run}
        trainer.run(plan.budget, watch, tell, advise=run == plan.runs[0])  # advice holds for the whole run
        watcher.stage(f"{name}: measuring")
        trained = weights[run[0]] = trainer.weights()
        for way in run:
            result = measure(trainer, trained, token_files, tokenizer, way, before.get(way), int8=plan.int8)
            results[way] = result
            watcher.tell(f"{way.value}: {result} of held-out text. A sample: {result.sample}")
            is_kept = keeping is not None and way is Direction.FORWARD
            for warning in warnings(trainer, result, token_files, way, is_kept=is_kept):
                watcher.tell(f"{way.value}: {warning}")

    for run in plan.runs:
        train(run)
        free_memory(processes.device)  # of its trainer, for the next one

    def export() -> None:
        watcher.stage("writing the files")
        text = card(
            plan.folder.name, shape, recipe, token_files, results,
            tokenizer=plan.tokenizer_name, begun_from=plan.parent_name,
            partner_of=plan.partner_name, both_ways=plan.both_ways, rewordings=rewordings, int8=plan.int8,
            device=processes.device,
        )  # fmt: skip
        export_models(plan.folder, weights, shape, tokenizer, text, int8=plan.int8)

    processes.first(export)
    return Made(token_files, results)


def _prepare(plan: Plan, device: torch.device, watcher: Watcher, held: ExitStack) -> None:
    """Make the tokenizer, the token files and rewordings, unless they exist, in a directory that this run locks."""
    check_exportable(plan.folder)
    begun = plan.work.exists()
    plan.work.mkdir(parents=True, exist_ok=True)
    held.enter_context(locked(plan.work))
    try:
        if plan.begin_from is not None and gguf.is_gguf(plan.begin_from):
            watcher.stage(f"unpacking {plan.begin_from.name}")
            gguf.unpack(plan.begin_from, plan.work / "parent")
        tokens = _given(plan)
        _refuse_another(plan, tokens)
        begun = any(plan.home(run).exists() for run in plan.runs)
        tokens = _tokenise(plan, tokens, watcher)
    except RefdecError:
        if not begun:
            shutil.rmtree(plan.work, ignore_errors=True)  # nothing is trained yet: other settings may be tried
        raise
    if plan.both_ways is not None and plan.both_ways.rewordings:
        _reword(plan, plan.both_ways.rewordings, tokens, device, watcher)


def _reword(plan: Plan, wanted: int, tokens: Tokens, device: torch.device, watcher: Watcher) -> None:
    """Let the model that training begins from reword sentences of the text."""
    watcher.stage("rewording sentences")
    parent = next(iter(plan.beginnings.values()))
    home = locate(parent)
    (model,) = load_lms(home, (Direction.FORWARD,), device, choose_precision([home], device, None))
    rewriter = Rewriter(model, tokens, plan.recipe.seed)

    def step(made: Rewordings) -> None:
        watcher.reworded(made, wanted)

    made = make_rewordings(plan.corpus, rewriter, ModelJudge(rewriter), wanted, _rewordings(plan), step)
    if len(made.pairs) < wanted:
        watcher.tell(f"{len(made.pairs):,} of {made.tried:,} sentences were reworded well, fewer than {wanted:,}.")


def _tokenise(plan: Plan, tokens: Tokens | None, watcher: Watcher) -> Tokens:
    file = plan.work / "tokenizer.json"
    if tokens is None:
        if file.exists():
            tokenizer = load_tokenizer(file)
        else:
            watcher.stage(f"learning a tokenizer of {plan.recipe.vocabulary:,} entries")
            specials = (END_OF_TEXT,) if plan.both_ways is None else (END_OF_TEXT, BACKWARD)
            tokenizer = train_tokenizer(plan.corpus.sample(SAMPLE), plan.recipe.vocabulary, specials)
        tokens = Tokens(tokenizer, start_of(tokenizer))
    write_whole(file, tokens.tokenizer.to_str(pretty=True))
    if not _are_tokenised(plan, tokens):
        watcher.stage("tokenising the text")
        counts = write_token_files(plan.corpus, tokens, plan.work / "tokens", step=watcher.counted).counts
        if counts.bad_rows:
            watcher.tell(f"rows without text, left out: {counts.bad_rows:,}. The first is {counts.first_bad[0]}")
    return tokens


def _given(plan: Plan) -> Tokens | None:
    """The tokenizer that the plan names, with the id that models read before a document; None: learn one."""
    if plan.partner_of is not None:
        tokens = tokens_of(plan.partner_of)
    elif plan.begin_from is not None and plan.both_ways is not None:
        tokens = tokens_of(plan.beginnings[plan.runs[0]])
    elif plan.begin_from is not None:
        tokenizer = load_tokenizer(plan.begin_from)
        tokens = Tokens(tokenizer, initial_shape(plan.begin_from / Direction.FORWARD.value).start)
    elif plan.tokenizer is not None:
        tokenizer = load_tokenizer(plan.tokenizer)
        tokens = Tokens(tokenizer, start_of(tokenizer))
    else:
        return None
    if plan.both_ways is not None and plan.both_ways.forward_start >= 0:
        tokens = Tokens(tokens.tokenizer, plan.both_ways.forward_start)
    for place in plan.beginnings.values():
        _check_beginning(plan, place, tokens)
    if len({initial_shape(place) for place in plan.beginnings.values()}) > 1:
        raise InputError(f"The models of {plan.begin_from} have different shapes. Go on from another pair.")
    if plan.both_ways is not None:
        _initial_shape(plan, _fitted(plan, tokens), tokens)  # refuses ids that cannot be
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
    elif plan.both_ways is None and shape.start != tokens.start:
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
        **{name: getattr(plan.both_ways, name, None) for name in BothWays.names()},
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


def _fitted(plan: Plan, tokens: Tokens) -> Recipe:
    """The recipe with as many entries as the tokenizer has."""
    return plan.recipe.replace(vocabulary=max(tokens.vocabulary, 257))


def _initial(plan: Plan, recipe: Recipe, tokens: Tokens) -> dict[Run, Initial]:
    """The shape of each model, and the weights that it goes on from, if any."""
    shape = _initial_shape(plan, recipe, tokens)
    if plan.begin_from is None:
        return dict.fromkeys(plan.runs, (shape, None))
    verify_checksums(plan.begin_from)
    return {run: (shape, load_initial(place)[1]) for run, place in plan.beginnings.items()}


def _initial_shape(plan: Plan, recipe: Recipe, tokens: Tokens) -> Shape:
    """The shape of all models, with the ids that they read before a document."""
    parent = next(iter(plan.beginnings.values()), None)
    shape = replace(recipe.shape if parent is None else initial_shape(parent), start=tokens.start)
    if plan.both_ways is None:
        return replace(shape, backward_start=None)
    chosen = plan.both_ways.backward_start
    backward = chosen if chosen >= 0 else backward_start(tokens, parent)
    return replace(shape, backward_start=backward, positions=recipe.positions)  # backward it knows no others


def _windows(
    plan: Plan, recipe: Recipe, token_files: TokenFiles, processes: Processes, shape: Shape, run: Run, tokens: Tokens
) -> tuple[Windows, Keeping | None]:
    """What a model reads, and what of it keeps it near the model that it began from."""
    stream, length, rank, world = token_files.train, recipe.positions, processes.rank, processes.world
    if shape.backward_start is None or plan.both_ways is None:
        return StreamWindows(stream, run[0], length, recipe.sequences, recipe.seed, rank, world), None
    marks = [Mark(shape.start, start) for start in (shape.start, shape.backward_start)]
    rows = forward_rows(recipe.sequences // world, plan.both_ways.backward_share)
    counts = (rows * world, recipe.sequences - rows * world)
    forward, backward = (
        StreamWindows(stream, way, length, count, recipe.seed + number, rank, world, mark)
        for number, (way, count, mark) in enumerate(zip(run, counts, marks, strict=True))
    )
    rewordings = Rewordings.load(_rewordings(plan))
    reworded: tuple[StreamWindows, ...] = ()
    if rewordings.pairs:
        ids = rewordings.stream(tokens, 2 * length + 1)
        reworded = tuple(
            StreamWindows(ids, way, length, 1, recipe.seed, mark=mark) for way, mark in zip(run, marks, strict=True)
        )
    every = max(1, round(REWORDED * counts[1] / recipe.sequences))
    weight = plan.both_ways.keep_forward
    return MixedWindows(forward, backward, reworded, every), Keeping(rows, weight) if weight else None


def _rewordings(plan: Plan) -> Path:
    return plan.work / "rewordings.json"


def _short(model: str | Path | None) -> str:
    """The name of a model, without its path: a file or a directory, or a hub id."""
    place = Path(model or "").expanduser()
    return "" if model is None else place.absolute().name if place.exists() else str(model)


def _name(run: Run) -> str:
    return run[0].value if len(run) == 1 else "both ways"


def _compiles(plan: Plan, processes: Processes, watcher: Watcher) -> bool:
    """Whether to compile; the user is told where only the compiler is missing."""
    if not pays_to_compile(processes.device, plan.budget):
        return False
    if has_compiler(processes.device):
        return True
    name = COMPILERS[processes.device.type][1]
    watcher.tell(f"no C compiler was found, so the model is not compiled and trains more slowly. Install {name}.")
    return False
