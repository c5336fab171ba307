"""One run of `refdec method train`: its plan, and what the training of every method needs.

Each method's own file says what it learns; this one makes tokenizers, spends the budget and writes the folder.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import refdec
from refdec.baselines.folder import Card, read_card, write_method
from refdec.baselines.learning import Effort, Lesson, Report, State, learn
from refdec.baselines.own_tokens import SPECIALS, OwnTokens
from refdec.baselines.seq2seq import Shape
from refdec.baselines.sizes import SIZES, Size
from refdec.baselines.surface import Surface
from refdec.baselines.training_rows import Excluded
from refdec.errors import InputError, SettingsError
from refdec.files.lock import locked
from refdec.files.whole import check_writable
from refdec.lm.device import choose_device
from refdec.settings import did_you_mean
from refdec.train.card import machine_name
from refdec.train.recipe import Recipe
from refdec.train.tokenizer import train_tokenizer

TOKENIZER_CHARACTERS = 20_000_000
"""Text to learn a tokenizer from, at most."""


@dataclass(frozen=True)
class Plan:
    """What a user asks for.

    Attributes:
        method: the name of the method
        data: files of pairs or of sentences
        folder: where the method is to be
        minutes: time to learn, or None
        steps: steps of the optimiser over all lessons, or None
        text: plain text, for a method that learns from that too
        excluded: a file with ids of rows to leave out
        size: a name in `SIZES`
        seed: of first weights, order and noise
        device: by default a GPU where there is one
        force: whether a finished method may be overwritten
        changes: settings of the method's own training
        begin_from: the pair that a method goes on from, by default the embedded one
    """

    method: str
    data: tuple[Path, ...]
    folder: Path
    minutes: float | None = None
    steps: int | None = None
    text: tuple[Path, ...] = ()
    excluded: Path | None = None
    size: str = "small"
    seed: int = 0
    device: str | None = None
    force: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    begin_from: Path | None = None

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise SettingsError(
                f"There is no size {self.size!r}{did_you_mean(self.size, SIZES)}. Sizes: small, medium."
            )
        if (self.minutes is None) == (self.steps is None):
            raise SettingsError("A budget is either minutes or steps. Give one of them.")
        if not (self.minutes or self.steps or 0) > 0:
            raise SettingsError("The budget must be more than zero. Raise --minutes or --steps.")
        if read_card(self.folder) is not None and not self.force:
            raise InputError(f"{self.folder} holds a trained method. Name another folder, or give --force.")

    @property
    def training(self) -> Path:
        """Where checkpoints are until the method is finished."""
        return self.folder.with_name(self.folder.name + ".training")


@dataclass
class Study:
    """A run that is under way."""

    plan: Plan
    watch: Callable[[Report], None]
    tell: Callable[[str], None]
    states: dict[str, State] = field(default_factory=dict)

    @property
    def size(self) -> Size:
        return SIZES[self.plan.size]

    @property
    def recipe(self) -> Recipe:
        return self.size.recipe.replace(seed=self.plan.seed)

    @property
    def device(self) -> torch.device:
        return choose_device(self.plan.device)

    @property
    def excluded(self) -> Excluded:
        return Excluded.of(self.plan.excluded)

    def shape(self, vocabulary: OwnTokens, *, copying: bool) -> Shape:
        recipe = self.recipe
        return Shape(
            len(vocabulary), recipe.layers, recipe.width, recipe.heads, recipe.inner, recipe.positions, copying,
            self.size.dropout,
        )  # fmt: skip

    def vocabulary(self, texts: Iterable[str]) -> OwnTokens:
        """Learn a tokenizer from these texts."""
        self.tell("learning a tokenizer")
        spaced = (f" {text}" for text in _some(texts, TOKENIZER_CHARACTERS))
        return OwnTokens(train_tokenizer(spaced, self.recipe.vocabulary, SPECIALS))

    def weights_generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.plan.seed)

    def learn(
        self, lesson: Lesson, share: float = 1.0, passes: float | None = None, recipe: Recipe | None = None
    ) -> State:
        """Spend a share of the budget on a lesson; the recipe is by default that of the size."""
        plan = self.plan
        minutes = None if plan.minutes is None else share * plan.minutes
        steps = None if plan.steps is None else max(1, round(share * plan.steps))
        effort = Effort(minutes, steps, self.size.passes if passes is None else passes)
        facts = {
            "method": plan.method,
            "size": plan.size,
            "seed": plan.seed,
            "budget": [plan.minutes, plan.steps],
            "changes": plan.changes,
            "from": plan.begin_from and str(plan.begin_from),
            "data": _digest((*plan.data, *plan.text, *([plan.excluded] if plan.excluded else []))),
        }
        home = plan.training / lesson.name
        state = learn(lesson, recipe or self.recipe, effort, home, facts, self.watch, self.tell)
        self.states[lesson.name] = state
        return state

    def write(
        self,
        model: torch.nn.Module,
        shape: Shape,
        surface: Surface,
        vocabulary: OwnTokens,
        facts: dict[str, Any],
        **settings: Any,
    ) -> Card:
        """Write a finished encoder-decoder with its card."""
        facts = {"size": self.plan.size, "excluded_ids": len(self.excluded.ids), **facts}
        made_of = {"shape": shape.to_dict(), "surface": surface.to_dict(), **settings}
        return self.finish(model, made_of, vocabulary.definition, facts)

    def finish(self, model: torch.nn.Module, settings: dict[str, Any], tokenizer: str, facts: dict[str, Any]) -> Card:
        """Write a finished method with its card, and remove what was only needed to go on."""
        plan = self.plan
        last = list(self.states.values())[-1]
        lessons = {
            name: {
                "steps": state.step,
                "minutes": round(state.seconds / 60, 2),
                "rows_read": state.rows,
                "tokens_read": state.tokens,
                "held_out_loss": round(state.best_loss, 4),
                "held_out_loss_before": round(state.first_loss, 4),
                "best_step": state.best_step,
            }
            for name, state in self.states.items()
        }
        trained = {
            "parameters": sum(tensor.numel() for tensor in model.parameters()),
            "data": [path.name for path in plan.data],
            "text": [path.name for path in plan.text],
            **facts,
            "lessons": lessons,
            "held_out_loss": round(last.best_loss, 4),
            "seed": plan.seed,
            "machine": machine_name(self.device),
            "refdec": refdec.__version__,
            "torch": torch.__version__,
        }
        card = Card(plan.method, settings, trained)
        weights = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
        write_method(plan.folder, card, weights, tokenizer)
        shutil.rmtree(plan.training, ignore_errors=True)
        return card


def make_method(
    plan: Plan, train: Callable[[Study], Card], watch: Callable[[Report], None], tell: Callable[[str], None]
) -> Card:
    """Train a method and write its folder. The same plan goes on where a run was stopped."""
    for path in (*plan.data, *plan.text):
        if not path.exists():
            raise InputError(f"There is no file {path}.")
    choose_device(plan.device)
    if plan.folder.exists() and not plan.folder.is_dir():
        raise InputError(f"{plan.folder} is a file. Name a folder.")
    check_writable(plan.training / "checkpoint" if plan.training.is_dir() else plan.training)
    plan.training.mkdir(exist_ok=True)
    with locked(plan.training):
        return train(Study(plan, watch, tell))


def _some(texts: Iterable[str], characters: int) -> Iterable[str]:
    for text in texts:
        yield text
        characters -= len(text)
        if characters <= 0:
            return


def _digest(paths: Iterable[Path]) -> str:
    """Equal for files of the same names and sizes."""
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    parts = [f"{file.name} {file.stat().st_size}" for file in files if file.is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
