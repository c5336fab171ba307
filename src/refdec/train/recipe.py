"""How a model is trained: its size, learning rates and budget, as settings like those of the tasks."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from refdec.errors import SettingsError
from refdec.settings import Settings, did_you_mean, setting

if TYPE_CHECKING:
    from refdec.train.model import Shape


@dataclass(frozen=True, slots=True)
class Recipe(Settings):
    """The defaults make models of 47 M parameters."""

    task: ClassVar[str] = "train"

    vocabulary: int = setting(16_384, "entries of the tokenizer", low=257, high=1 << 20)
    layers: int = setting(12, "layers of a model", low=1, high=200)
    width: int = setting(512, "width of a model", low=8, high=16_384)
    heads: int = setting(8, "attention heads per layer", low=1, high=256)
    inner: int = setting(1_408, "width inside an MLP", low=8, high=65_536)
    positions: int = setting(512, "tokens per sequence", low=16, high=65_536)
    batch_tokens: int = setting(131_072, "tokens per step, over all processes", low=16, high=1 << 28)
    matrix_rate: float = setting(0.02, "learning rate of Muon, for the matrices", low=0, high=10)
    other_rate: float = setting(0.004, "learning rate of AdamW, for embeddings and norms", low=0, high=10)
    momentum: float = setting(0.95, "momentum of Muon", low=0, high=1)
    weight_decay: float = setting(0.1, "shrinking of matrices per step, times the learning rate", low=0, high=10)
    warm_up: float = setting(0.01, "share of the budget in which the rates rise", low=0, high=1)
    decay: float = setting(0.5, "share of the budget, at its end, in which the rates fall to zero", low=0, high=1)
    documents: bool = setting(False, "keep attention inside a document")
    seed: int = setting(0, "seed of the first weights and of the order of reading", low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.width % (2 * self.heads):
            raise SettingsError(
                f"width is {self.width}, and {self.heads} heads do not share it in even parts. Choose others."
            )
        if self.batch_tokens % self.positions:
            raise SettingsError(
                f"batch_tokens is {self.batch_tokens}; it must be a multiple of positions, {self.positions}."
            )
        if self.warm_up + self.decay > 1:
            raise SettingsError(f"warm_up is {self.warm_up} and decay is {self.decay}; together they are at most 1.")

    @property
    def shape(self) -> Shape:
        from refdec.train.model import Shape  # imports torch, which a help text need not wait for

        return Shape(**{name: getattr(self, name) for name in (*SHAPE, "vocabulary", "positions")})

    @property
    def sequences(self) -> int:
        """Sequences per step, over all processes."""
        return self.batch_tokens // self.positions

    def rate(self, done: float) -> float:
        """The learning rates at some share of the budget, relative to their highest: up, level, down."""
        if done < self.warm_up:
            return done / self.warm_up
        return min(1.0, max(0.0, 1.0 - done) / self.decay) if self.decay else 1.0

    def gentler(self) -> Recipe:
        """The rates for a pair that can read already."""
        return self.replace(matrix_rate=GENTLE * self.matrix_rate, other_rate=GENTLE * self.other_rate)

    def turning(self) -> Recipe:
        """The recipe with which a forward model learned to read backward too; smaller models have smaller steps."""
        length = min(self.positions, TURNING_WINDOW)
        tokens = min(self.batch_tokens, TURNING_STEP) // length * length
        return self.replace(positions=length, batch_tokens=tokens, weight_decay=0.05, warm_up=0.02, decay=0.7)

    def better_batch(self, steps: int, enough: int) -> int | None:
        """Tokens per step that would teach more where only so many steps fit into a budget; None where it is fine.

        From `enough` steps on, smaller ones are no better; slightly fewer are not worth a warning.
        """
        sequences = self.sequences
        if steps >= 0.6 * enough:
            return None
        while steps < enough and sequences % 2 == 0:
            steps, sequences = 2 * steps, sequences // 2
        return sequences * self.positions if sequences < self.sequences else None


@dataclass(frozen=True, slots=True)
class BothWays(Settings):
    """How one model learns to read both ways."""

    task: ClassVar[str] = "train"

    backward_share: float = setting(0.5, "share of the windows that are read backward", low=0.01, high=0.99)
    keep_forward: float = setting(0.0, "weight with which it stays near the model it goes on from", low=0, high=1_000)
    rewordings: int = setting(0, "rewordings for the model to make itself, and to learn from", low=0, high=1 << 30)
    forward_start: int = setting(-1, "id before a document read forward; -1: the model's own", low=-1, high=1 << 20)
    backward_start: int = setting(-1, "id before one read backward; -1: an unused mark", low=-1, high=1 << 20)


TURNED = {"backward_share": 0.75}
"""What a model needs that reads forward already: most of what it has to learn is backward."""

TURNING_WINDOW, TURNING_STEP = 512, 131_072
"""Most tokens per sequence and per step with which a forward model learns to read backward."""

GENTLE = 0.3
"""Share of the learning rates for a pair that goes on; with all or a tenth it learns less. See training-figures.md."""

CPU_STEP = 4_096
"""Most tokens per step with which a CPU goes on from a model: a larger step takes minutes."""

SHAPE = ("layers", "width", "heads", "inner")
"""Settings that --from decides."""

SIZES: dict[str, Recipe] = {
    name: Recipe(**changes)
    for name, changes in tomllib.loads(Path(__file__).with_name("sizes.toml").read_text(encoding="utf-8")).items()
}
"""Named by their parameters, see sizes.toml."""


def size(name: str) -> Recipe:
    if name not in SIZES:
        raise SettingsError(f"There is no size {name!r}{did_you_mean(name, SIZES)}. Sizes: {', '.join(SIZES)}.")
    return SIZES[name]


def size_like(parameters: int, positions: int, *, on_cpu: bool) -> Recipe:
    """The recipe to go on from a model: the nearest size, with sequences that it can read and steps for the device."""
    near = min(SIZES.values(), key=lambda recipe: abs(math.log(recipe.shape.parameters / parameters)))
    length = min(near.positions, positions)
    tokens = min(near.batch_tokens, CPU_STEP) if on_cpu else near.batch_tokens
    return near.replace(positions=length, batch_tokens=max(1, tokens // length) * length)


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent on one direction: minutes, or tokens."""

    minutes: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if (self.minutes is None) == (self.tokens is None):
            raise SettingsError("A budget is either minutes or tokens. Give one of them.")
        if not (self.minutes or self.tokens or 0) > 0:
            raise SettingsError("The budget must be more than zero. Raise --minutes or --tokens.")

    def spent(self, tokens: int, seconds: float) -> float:
        """The share of the budget that is spent: 1 is all."""
        if self.minutes is not None:
            return seconds / (60 * self.minutes)
        assert self.tokens is not None
        return tokens / self.tokens
