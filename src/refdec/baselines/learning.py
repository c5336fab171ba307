"""Teaching one model: batches in, the weights that were best on held-out rows out, within a budget.

Saves a checkpoint now and then and when it is interrupted; a resumed run goes on exactly. Knows nothing of text.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from refdec.errors import InputError, ModelError
from refdec.train import checkpoint
from refdec.train.checkpoint import Checkpoint
from refdec.train.hardware import is_quick_at_bfloat16
from refdec.train.loop import SAVE_SECONDS, interruptible
from refdec.train.optimiser import Optimiser
from refdec.train.recipe import Recipe

MEASUREMENTS = 12
"""Times that the held-out loss is measured."""

POOL = 64  # batches whose rows are sorted by length together

Numbers = NDArray[np.int64]


class Lesson(Protocol):
    """What a model is to learn."""

    @property
    def name(self) -> str:
        """A word for it, which names its checkpoint too."""

    @property
    def model(self) -> nn.Module:
        """The model, on its device."""

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each row; asked for once."""

    def loss(self, rows: Numbers, generator: torch.Generator, noise: np.random.Generator, done: float) -> Tensor:
        """The mean loss of these rows in nats per token; every draw comes from the generators."""

    def held_out_loss(self) -> float:
        """Nats per token of rows that are not learned."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What may be spent: minutes or steps, and passes over the rows; whatever ends first."""

    minutes: float | None
    steps: int | None
    passes: float

    def spent(self, seconds: float, steps: int, passes: float) -> float:
        """The share that is spent: 1 is all."""
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        by_steps = steps / self.steps if self.steps else 0.0
        return max(by_time, by_steps, passes / self.passes)


@dataclass(frozen=True, slots=True)
class Report:
    """Progress after a step."""

    lesson: str
    step: int
    done: float
    loss: float
    held_out: float
    seconds: float


@dataclass
class State:
    """How far a lesson is: plain values, which are saved with the weights."""

    step: int = 0
    rows: int = 0
    tokens: int = 0
    seconds: float = 0.0
    first_loss: float = math.nan
    best_loss: float = math.inf
    best_step: int = 0
    measured: int = 0
    finished: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


def learn(
    lesson: Lesson,
    recipe: Recipe,
    effort: Effort,
    home: Path,
    facts: dict[str, Any],
    watch: Callable[[Report], None],
    tell: Callable[[str], None],
) -> State:
    """Teach the lesson's model, and leave it with its best weights. A run goes on only with the same `facts`."""
    model = lesson.model
    device = next(model.parameters()).device
    quick = is_quick_at_bfloat16(device)
    optimiser = Optimiser(model, recipe, bfloat16=quick)
    state, best = State(facts=facts), _copied(model)
    saved = checkpoint.load(home)
    if saved is not None:
        state, best = _resumed(saved, home, facts, model, optimiser)
        if state.finished:
            model.load_state_dict(best)
            return state
        tell(f"{lesson.name}: going on at step {state.step:,}.")
    lengths = lesson.lengths
    batches = _batches(lengths, recipe.batch_tokens, recipe.seed, lesson.name, state.step)
    per_pass = len(lengths)
    if not state.measured:
        state.measured, best = 1, _measured(lesson, state, best, quick)
    began = last_save = time.monotonic()
    began -= state.seconds
    smooth = math.nan
    with interruptible(loud=True) as interrupted:
        while True:
            state.seconds = time.monotonic() - began
            done = effort.spent(state.seconds, state.step, state.rows / per_pass)
            if done * MEASUREMENTS >= state.measured or (done >= 1 and state.step):
                state.measured = int(done * MEASUREMENTS) + 1
                best = _measured(lesson, state, best, quick)
                watch(Report(lesson.name, state.step, min(1.0, done), smooth, state.best_loss, state.seconds))
            if interrupted or (done >= 1 and state.step):
                break
            if time.monotonic() - last_save > SAVE_SECONDS:
                _save(home, model, optimiser, state, best)
                last_save = time.monotonic()
            rows = next(batches)
            model.train()
            with torch.autocast(device.type, torch.bfloat16, enabled=quick):
                loss = lesson.loss(rows, *_generators(recipe.seed, lesson.name, state.step, device), done)
            loss.backward()  # type: ignore[no-untyped-call]
            value = float(loss.detach())
            if not math.isfinite(value):
                raise ModelError(
                    f"Training went wrong at step {state.step + 1:,}: the loss is {value}. Try another --seed."
                )
            optimiser.step(done)
            state.step += 1
            state.rows += len(rows)
            state.tokens += sum(lengths[row] for row in rows)
            smooth = value if math.isnan(smooth) else 0.95 * smooth + 0.05 * value
            watch(Report(lesson.name, state.step, min(1.0, done), smooth, state.best_loss, state.seconds))
        state.finished = done >= 1 and state.step > 0
        _save(home, model, optimiser, state, best)
        if interrupted and not state.finished:
            raise KeyboardInterrupt
    model.load_state_dict(best)
    return state


def batches_of_a_pass(lengths: Sequence[int], tokens: int, random: np.random.Generator) -> list[Numbers]:
    """All rows once, in random order, in batches of rows about as long that are at most so many tokens when padded."""
    order = random.permutation(len(lengths))
    sizes = np.asarray(lengths)
    rows_of_a_pool = max(1, int(POOL * tokens / max(1.0, float(sizes.mean()))))
    batches: list[Numbers] = []
    for first in range(0, len(order), rows_of_a_pool):
        pool = order[first : first + rows_of_a_pool]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        begin = 0
        for end in range(1, len(pool) + 1):
            if end == len(pool) or (end + 1 - begin) * sizes[pool[end]] > tokens:
                batches.append(pool[begin:end])
                begin = end
    return [batches[number] for number in random.permutation(len(batches))]


def _batches(lengths: Sequence[int], tokens: int, seed: int, name: str, skipped: int) -> Iterator[Numbers]:
    """Pass after pass; a run that goes on leaves out the batches that it had."""
    number = 0
    while True:
        batches = batches_of_a_pass(lengths, tokens, np.random.default_rng(_number(seed, name, f"pass {number}")))
        yield from batches[skipped:]
        skipped = max(0, skipped - len(batches))
        number += 1


def _number(*address: object) -> int:
    joined = "\x1f".join(map(str, address)).encode()
    return int.from_bytes(hashlib.blake2b(joined, digest_size=7).digest())


def _generators(seed: int, name: str, step: int, device: torch.device) -> tuple[torch.Generator, np.random.Generator]:
    """What a step draws from: its own, so that a resumed run draws the same."""
    address = _number(seed, name, f"step {step}")
    return torch.Generator(device).manual_seed(address), np.random.default_rng(address)


def _measured(lesson: Lesson, state: State, best: dict[str, Tensor], quick: bool) -> dict[str, Tensor]:
    """Measure on the held-out rows; the weights that are kept from now on."""
    lesson.model.eval()
    device = next(lesson.model.parameters()).device
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=quick):
        loss = lesson.held_out_loss()
    if math.isnan(state.first_loss):
        state.first_loss = loss
    if loss < state.best_loss:
        state.best_loss, state.best_step = loss, state.step
        return _copied(lesson.model)
    return best


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


def _save(home: Path, model: nn.Module, optimiser: Optimiser, state: State, best: dict[str, Tensor]) -> None:
    tensors, numbers = optimiser.state()
    weights = {f"best.{name}": tensor for name, tensor in best.items()}
    if state.finished:
        tensors = {}
    else:
        weights |= {f"now.{name}": tensor for name, tensor in _copied(model).items()}
    checkpoint.save(home, Checkpoint(weights, tensors, {"optimiser": numbers, **asdict(state)}))


def _resumed(
    saved: Checkpoint, home: Path, facts: dict[str, Any], model: nn.Module, optimiser: Optimiser
) -> tuple[State, dict[str, Tensor]]:
    values = dict(saved.values)
    numbers = values.pop("optimiser")
    state = State(**values)
    if state.facts != facts:
        changed = ", ".join(name for name in facts if facts[name] != state.facts.get(name))
        raise InputError(
            f"{home} is of a run with other settings ({changed}). Give the same, or remove {home.parent} to begin anew."
        )
    named = {
        part: {key: tensor for key, tensor in saved.weights.items() if key.startswith(part)}
        for part in ("best.", "now.")
    }
    if not state.finished:
        model.load_state_dict({key.removeprefix("now."): tensor for key, tensor in named["now."].items()})
        optimiser.restore(saved.optimiser, numbers)
    return state, {key.removeprefix("best."): tensor for key, tensor in named["best."].items()}
