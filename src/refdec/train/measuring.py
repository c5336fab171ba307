"""What a model has learned: its loss on held-out text, the cost of int8, a sample, and warnings for its user.

Reads no more text than a device can read without a long wait. Knows models and windows, nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer

from refdec.lm.direction import Direction
from refdec.train.export import Int8Loss, int8_loss
from refdec.train.loop import State, Trainer
from refdec.train.model import Llama
from refdec.train.token_files import TokenFiles
from refdec.train.windows import Mark, windows_of

MEASURED, CPU_MEASURED = 1 << 20, 1 << 41
"""Most tokens of held-out text to measure with; on a CPU, most tokens times parameters: half a minute on two cores."""

FEW_WINDOWS, FEW = 64, 1 / 8
"""Most sequences, and the share of those tokens, for measurements that need less text: int8, reading direction."""

LAST = 20  # points of the loss curve that say what the training text costs at the end

BY_HEART = 0.2
"""Nats per token by which held-out text must be harder than training text before the user is warned."""

LOST = 0.01
"""Bits per byte that a model may lose of what it should keep before the user is warned."""

MUCH_DECAY = 0.2
"""Weight decay above which there is no gain, even where a text is read six times. See docs/training-figures.md."""

SAMPLE_TOKENS, SAMPLE_TOP_P = 40, 0.9


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What one direction reached."""

    nats: float  # per token of held-out text
    bits: float  # per byte of held-out text
    before: float | None  # bits per byte of the model that training began from
    state: State
    int8: Int8Loss | None  # where the weights are stored in int8
    sample: str

    def __str__(self) -> str:
        before = "" if self.before is None else f" (before {self.before:.3f})"
        return f"{self.bits:.3f} bits per byte{before}, {self.nats:.3f} nats per token"

    @property
    def learned(self) -> float:
        """Nats per token of the training text, over the last steps."""
        last = [loss for _, loss in self.state.curve[-LAST:]]
        return sum(last) / len(last)


def measure(
    trainer: Trainer,
    weights: Mapping[str, torch.Tensor],
    token_files: TokenFiles,
    tokenizer: Tokenizer,
    direction: Direction,
    before: float | None,
    *,
    int8: bool,
) -> TrainingResult:
    """The result of a run; `weights` are those of the trainer, and `int8` says whether they are stored so."""
    nats = held_out_loss(trainer, token_files, direction)
    cost: Int8Loss | None = None
    if int8:
        windows = _few_windows(trainer, token_files, direction, _mark(trainer, direction))
        documents = trainer.recipe.documents
        cost = int8_loss(weights, trainer.shape, windows, device=trainer.device, documents=documents)
    text = sample(trainer.whole(), tokenizer, direction, _start(trainer, direction))
    return TrainingResult(nats, token_files.bits(nats), before, trainer.state, cost, text)


def held_out_loss(trainer: Trainer, token_files: TokenFiles, direction: Direction) -> float:
    """Nats per token, with the weights as they are now."""
    length = trainer.recipe.positions
    stream = token_files.held_out[: max(_measurable(trainer), length + 1)]
    return trainer.evaluate(windows_of(stream, direction, length, mark=_mark(trainer, direction)))


def warnings(
    trainer: Trainer, result: TrainingResult, token_files: TokenFiles, direction: Direction, *, is_kept: bool = False
) -> list[str]:
    """What the user should know about a model that has learned the wrong thing, or lost what it should keep."""
    messages: list[str] = []
    if is_kept:
        if result.before is not None and result.bits > result.before + LOST:
            messages.append(
                f"it has lost some of what it could do ({result.before:.3f} bits per byte before). Raise "
                "--keep-forward, or lower --matrix-rate and --other-rate."
            )
        return messages
    if result.nats - result.learned > BY_HEART:
        decay = "" if trainer.recipe.weight_decay >= MUCH_DECAY else f", or a --weight-decay of {MUCH_DECAY}"
        messages.append(
            f"it knows its training text better than other text ({result.learned:.2f} against {result.nats:.2f} nats "
            f"per token). More text would help; so may a smaller size, less training{decay}."
        )
    if result.before is not None:
        if result.before <= result.bits:
            messages.append(
                f"it knows such text no better than before ({result.before:.3f} bits per byte). Lower --matrix-rate "
                "and --other-rate, or give it more text and time."
            )
        mark = _mark(trainer, direction)
        ways = (direction, direction.opposite)
        forth, back = (trainer.evaluate(_few_windows(trainer, token_files, way, mark)) for way in ways)
        if forth > back:
            messages.append(
                f"it still reads text better in the other direction ({back:.2f} against {forth:.2f} nats per token), "
                "as the model did that it began from. Train it longer."
            )
    return messages


@torch.no_grad()
def sample(model: Llama, tokenizer: Tokenizer, direction: Direction, start: int, seed: int = 0) -> str:
    """A text that the model writes from nothing, up to where the model ends it, in text order."""
    generator = torch.Generator().manual_seed(seed)
    device = model.head.device
    ids = [start]
    while len(ids) <= min(SAMPLE_TOKENS, model.shape.positions - 1):
        logits = model.logits(torch.tensor([ids], device=device))[0, -1].float().cpu()
        shares, entries = logits.softmax(0).sort(descending=True)
        kept = shares * (shares.cumsum(0) - shares < SAMPLE_TOP_P)
        drawn = int(entries[torch.multinomial(kept, 1, generator=generator)])
        if drawn == start:
            break
        ids.append(drawn)
    return " ".join(tokenizer.decode(direction.arrange(ids[1:])).split())


def _measurable(trainer: Trainer) -> int:
    """Tokens that the device can read without a long wait."""
    on_cpu = trainer.device.type == "cpu"
    return min(MEASURED, CPU_MEASURED // trainer.shape.parameters) if on_cpu else MEASURED


def _few_windows(trainer: Trainer, token_files: TokenFiles, direction: Direction, mark: Mark | None) -> torch.Tensor:
    length = trainer.recipe.positions
    fitting = int(FEW * _measurable(trainer)) // length
    return windows_of(token_files.held_out, direction, length, max(1, min(FEW_WINDOWS, fitting)), mark)


def _start(trainer: Trainer, direction: Direction) -> int:
    """The id before a document that is read in this direction."""
    start, backward = trainer.shape.start, trainer.shape.backward_start
    return start if backward is None or direction is Direction.FORWARD else backward


def _mark(trainer: Trainer, direction: Direction) -> Mark | None:
    """What tells a model that reads both ways which way a window is read."""
    shape = trainer.shape
    return None if shape.backward_start is None else Mark(shape.start, _start(trainer, direction))
