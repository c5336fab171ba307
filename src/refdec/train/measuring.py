"""What a model has learned: its loss on held-out text, what int8 costs, and what its user should know.

Reads no more text than a device can read without long waiting. Knows models and windows, nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer

from refdec.lm.direction import Direction
from refdec.train.batches import windows_of
from refdec.train.export import Int8Loss, int8_loss
from refdec.train.loop import State, Trainer
from refdec.train.samples import sample
from refdec.train.shards import Shards

MEASURED, CPU_MEASURED = 1 << 20, 1 << 41
"""Tokens of held-out text to measure with, at most; on a CPU, that times parameters: half a minute on two cores."""

FEW_WINDOWS, FEW = 64, 1 / 8
"""Sequences, or the share of those tokens, for what needs fewer: what int8 costs, which way a model reads."""

LAST = 20  # points of the curve that tell what the training text costs at the end

BY_HEART = 0.2
"""Nats a token by which held-out text is harder than training text, before that is told."""

MUCH_DECAY = 0.2
"""Weight decay above which there is no gain, even where a text is read six times. See docs/training.md."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one direction reached."""

    nats: float  # a token of held-out text
    bits: float  # a byte of it
    before: float | None  # the same of the model that was gone on from
    state: State
    int8: Int8Loss | None  # where it is stored so
    sample: str

    def __str__(self) -> str:
        before = "" if self.before is None else f" (before {self.before:.3f})"
        return f"{self.bits:.3f} bits a byte{before}, {self.nats:.3f} nats a token"

    @property
    def learned(self) -> float:
        """Nats a token of the training text, over the last steps."""
        last = [loss for _, loss in self.state.curve[-LAST:]]
        return sum(last) / len(last)


def measure(
    trainer: Trainer,
    weights: Mapping[str, torch.Tensor],
    shards: Shards,
    tokenizer: Tokenizer,
    direction: Direction,
    before: float | None,
    *,
    int8: bool,
) -> Measured:
    """What was reached; `weights` are those of the trainer, and `int8` says whether they are stored so."""
    nats = held_out_loss(trainer, shards)
    cost: Int8Loss | None = None
    if int8:
        windows, documents = _few_windows(trainer, shards, direction), trainer.recipe.documents
        cost = int8_loss(weights, trainer.shape, windows, device=trainer.device, documents=documents)
    return Measured(
        nats=nats,
        bits=shards.bits(nats),
        before=before,
        state=trainer.state,
        int8=cost,
        sample=sample(trainer.whole(), tokenizer, direction),
    )


def held_out_loss(trainer: Trainer, shards: Shards) -> float:
    """Nats a token, as the model is now."""
    return trainer.evaluate(shards.held_out[: max(_measurable(trainer), trainer.recipe.positions + 1)])


def doubts(trainer: Trainer, measured: Measured, shards: Shards, direction: Direction) -> list[str]:
    """What its user should know about a model that has learned the wrong thing."""
    found: list[str] = []
    if measured.nats - measured.learned > BY_HEART:
        decay = "" if trainer.recipe.weight_decay >= MUCH_DECAY else f", or a --weight-decay of {MUCH_DECAY}"
        found.append(
            f"it knows its text better than other text ({measured.learned:.2f} against {measured.nats:.2f} nats a "
            f"token). More text would help; so may a smaller size, less training{decay}."
        )
    if measured.before is not None:
        if measured.before <= measured.bits:
            found.append(
                f"it knows such text no better than before ({measured.before:.3f} bits a byte). Lower --matrix-rate "
                "and --other-rate, or give it more text and time."
            )
        ways = (direction, direction.opposite)
        own, opposite = (trainer.loss_of(_few_windows(trainer, shards, way)) for way in ways)
        if own > opposite:
            found.append(
                f"it still finds text less surprising the other way round ({opposite:.2f} against {own:.2f} nats a "
                "token), as the model did that it was begun from. Train it longer."
            )
    return found


def _measurable(trainer: Trainer) -> int:
    """Tokens that can be read without long waiting."""
    on_cpu = trainer.device.type == "cpu"
    return min(MEASURED, CPU_MEASURED // trainer.shape.parameters) if on_cpu else MEASURED


def _few_windows(trainer: Trainer, shards: Shards, direction: Direction) -> torch.Tensor:
    length = trainer.recipe.positions
    fitting = int(FEW * _measurable(trainer)) // length
    return windows_of(shards.held_out, direction, length, max(1, min(FEW_WINDOWS, fitting)))
