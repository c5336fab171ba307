"""Training one direction: windows in, weights out, within a budget of time or tokens.

Saves what it has now and then, and when it is interrupted; goes on from there exactly. When the loss goes wrong, it
goes back to what was saved and reads something else. Knows nothing of text, nor of the other direction.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from refdec.errors import InputError, ModelError
from refdec.train import checkpoint
from refdec.train.batches import Ids, Windows
from refdec.train.checkpoint import Checkpoint
from refdec.train.hardware import is_quick_at_bfloat16
from refdec.train.model import Llama, Shape
from refdec.train.optimiser import Optimiser
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe
from refdec.train.sharding import gathered, own, shard, share_of
from refdec.train.watchdog import Watchdog

CPU_TOKENS, GPU_TOKENS = 1 << 12, 1 << 17
"""Tokens of a pass at most; a step has as many passes as it needs."""

HELD_BYTES = 48
"""Of a token, for each number of the stream in each layer, while it waits for its gradient."""

SAVE_SECONDS, QUICK_SAVE = 120.0, 2.4
"""Between two checkpoints, and what one may take: where it takes longer, they are as much rarer."""

RECENT = 20  # steps over which the speed is told
TRIED_STEPS, TRIED = 10, 0.1  # or the share of a budget after which it is known how many steps will fit into it
ENOUGH_STEPS = {"cpu": 70, "cuda": 600}
"""Above which smaller steps teach no more. On a CPU each costs a lot by itself. See docs/training.md."""

Initial = tuple[Shape, dict[str, torch.Tensor] | None]
CURVE = 500  # points of the loss curve that are kept
ROLLBACKS = 3


@dataclass(frozen=True, slots=True)
class Report:
    """How it goes, after a step."""

    step: int
    tokens: int
    seconds: float
    done: float  # share of the budget
    loss: float  # nats a token, smoothed
    tokens_per_second: float
    rate: float  # of learning, against its highest


@dataclass
class State:
    """Where a run is. Plain values, which are saved with the weights."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    skipped: int = 0  # steps whose text went wrong and is left out
    rollbacks: int = 0
    curve: list[tuple[int, float]] = field(default_factory=list)  # tokens, loss
    stride: int = 1  # steps from one point of the curve to the next
    watchdog: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """What came out."""

    weights: dict[str, torch.Tensor]
    state: State


class Objective(nn.Module):
    """The mean loss of windows, so that what wraps a module can wrap it."""

    def __init__(self, model: Llama) -> None:
        super().__init__()
        self.model = model

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.model.loss(rows[:, :-1], rows[:, 1:])


class Trainer:
    """One model on its way."""

    def __init__(
        self,
        recipe: Recipe,
        batches: Windows,
        home: Path,
        processes: Processes,
        initial: Initial | None = None,
        compiled: bool = False,
        sharded: bool = False,
    ) -> None:
        """`initial` is a shape and the weights to go on from, or none; without it, the shape is the recipe's.

        `compiled`: see `pays_to_compile`. `sharded`: of several processes, each holds a share of the model (FSDP)
        rather than all of it (DDP); see `pays_to_shard`. What is saved and what comes out are the same.
        """
        self.recipe, self._batches, self._home, self._processes = recipe, batches, home, processes
        self.device = processes.device
        self._initial = None if initial is None else initial[1]
        self.shape = recipe.shape if initial is None else initial[0]
        self._compiled = compiled
        self._sharded = sharded and processes.world > 1
        self.model = Llama(self.shape, documents=recipe.documents)
        self._objective: Callable[[torch.Tensor], torch.Tensor] = self._wrap(Objective(self.model))
        self._begin()

    def run(
        self,
        budget: Budget,
        watch: Callable[[Report], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Trained:
        """Train until the budget is spent. What is there already counts."""
        self._resume(tell)
        self._warm_up()
        began = time.monotonic() - self.state.seconds
        saved, pause = time.monotonic(), SAVE_SECONDS
        advised = bool(self.state.step) or self._initial is not None  # a model that can read needs few steps
        self._recent.append((saved, self.state.tokens))
        with _interruptible(loud=self._processes.is_first) as interrupted:
            while True:
                now = time.monotonic()
                self.state.seconds = now - began
                spent = budget.spent(self.state.tokens, self.state.seconds)
                done, stop, due = self._processes.most(spent, bool(interrupted), now - saved > pause)
                if stop or (done >= 1 and self._is_sound()):
                    break
                if done >= 1:
                    self._roll_back("the weights are no numbers", tell)
                    continue
                if due:
                    self._save(tell)
                    saved = time.monotonic()
                    pause = SAVE_SECONDS * max(1.0, (saved - now) / QUICK_SAVE)
                if not advised and self.state.step and (self.state.step >= TRIED_STEPS or done >= TRIED):
                    self._advise(done, tell)
                    advised = True
                loss = self._step(done)
                problem = self._note(loss)
                if problem:
                    self._roll_back(problem, tell)
                    continue
                watch(self._report(done))
            if not stop and not self.state.step:
                raise ModelError(
                    "Training went wrong, and no time is left to begin anew. Lower the learning rates."
                    if self.state.rollbacks
                    else "The budget is too small for a single step. Give more."
                )
            self._save(tell)
            if any(self._processes.most(bool(interrupted))):
                raise KeyboardInterrupt
        return Trained(self.weights(), self.state)

    def weights(self) -> dict[str, torch.Tensor]:
        """All of them, on the CPU, in every process; where the model is in shares, every process must ask."""
        found = gathered(self.model.state_dict())
        return {name: tensor.detach().float().cpu() for name, tensor in found.items()}

    def whole(self) -> Llama:
        """The model in one piece: itself, or a copy where it is in shares. Then every process must ask."""
        if not self._sharded:
            return self.model
        found = Llama(self.shape, documents=self.recipe.documents)
        found.load_state_dict(self.weights())
        return found.to(self.device)

    def evaluate(self, stream: Ids) -> float:
        """Nats a token of held-out text, read as the training text is; as `whole`, for every process."""
        return self.loss_of(self._batches.windows_of(stream))

    def loss_of(self, windows: torch.Tensor) -> float:
        """Nats a token of windows in reading order; as `whole`, for every process."""
        model = self.whole()
        with self._precision():
            return model.mean_loss(windows, self._at_once)

    @property
    def _at_once(self) -> int:
        """Sequences of a pass."""
        tokens = CPU_TOKENS
        if self.device.type == "cuda":
            memory = torch.cuda.get_device_properties(self.device).total_memory
            held = HELD_BYTES if is_quick_at_bfloat16(self.device) else 2 * HELD_BYTES
            tokens = min(GPU_TOKENS, int(memory / 3 / (held * self.shape.layers * self.shape.width)))
        mine = self.recipe.sequences // self._processes.world
        fitting = max(1, tokens // self.recipe.positions)
        return max(count for count in range(1, min(mine, fitting) + 1) if mine % count == 0)

    def _wrap(self, objective: nn.Module) -> Any:
        if self._sharded:
            return shard(objective, self.model.model.layers, self.device, self._compiled)
        objective.to(self.device)
        if self._compiled:
            objective.compile(fullgraph=True, dynamic=False)
        if self._processes.world > 1:
            return DistributedDataParallel(objective)
        return objective

    def _precision(self) -> Any:
        """bfloat16 where that is fast; the weights themselves stay in float32."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=is_quick_at_bfloat16(self.device))

    def _begin(self) -> None:
        """As if nothing had been read yet."""
        if self._initial is None:
            model = Llama(self.shape) if self._sharded else self.model
            model.initialise(torch.Generator().manual_seed(self.recipe.seed))
            if self._sharded:
                self._load(model.state_dict())
        else:
            self._load(self._initial)
        self.optimiser = Optimiser(self.model, self.recipe, bfloat16=is_quick_at_bfloat16(self.device))
        self.state, self._watchdog = State(), Watchdog()
        self._clear()

    def _load(self, weights: dict[str, torch.Tensor]) -> None:
        """Weights in one piece."""
        mine = self.model.state_dict()
        self.model.load_state_dict({name: share_of(tensor, mine.get(name)) for name, tensor in weights.items()})

    def _clear(self) -> None:
        self._ahead: tuple[tuple[int, int], torch.Tensor] | None = None
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self._smooth = math.nan

    def _resume(self, tell: Callable[[str], None]) -> None:
        found = checkpoint.load(self._home)
        if found is not None:
            self._restore(found)
            tell(f"going on at step {self.state.step:,}, {self.state.tokens:,} tokens.")

    def _restore(self, found: Checkpoint) -> None:
        values = dict(found.values)
        numbers = values.pop("optimiser")
        recipe = values.pop("recipe")
        if recipe != dict(self.recipe.items()):
            raise InputError(
                f"The checkpoint {self._home} is of another recipe. Give the same settings, or remove it to begin anew."
            )
        self._load(found.weights)
        self.optimiser.restore(found.optimiser, numbers)
        self.state = State(**values)
        self.state.curve = [(int(tokens), float(loss)) for tokens, loss in self.state.curve]
        self._watchdog = Watchdog(**self.state.watchdog)  # type: ignore[arg-type]
        self._clear()

    def _save(self, tell: Callable[[str], None]) -> None:
        """Unless something is going wrong: then what was saved before is the better place to go back to."""
        if self._watchdog.up or not self._is_sound():
            return
        tensors, numbers = self.optimiser.state()
        weights = gathered(self.model.state_dict(), self._processes.is_first)
        tensors = gathered(tensors, self._processes.is_first)
        if self._processes.is_first:
            self.state.watchdog = asdict(self._watchdog)
            values = {"recipe": dict(self.recipe.items()), "optimiser": numbers, **asdict(self.state)}
            try:
                checkpoint.save(self._home, Checkpoint(weights, tensors, values))
            except InputError as error:
                tell(str(error))
        self._processes.wait()

    def _is_sound(self) -> bool:
        """Whether all weights are numbers, which the loss tells only a step later; every process must ask."""
        sizes = torch.stack(torch._foreach_norm(own(self.model.parameters())))
        return not any(self._processes.most(not bool(sizes.isfinite().all())))

    def _warm_up(self) -> None:
        """Compile before the clock starts."""
        rows = self._batches.at(0)[: self._at_once].to(self.device)
        with self._precision():
            self._objective(rows).backward()  # type: ignore[no-untyped-call]
        self.model.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _step(self, done: float) -> torch.Tensor:
        """One step of the optimisers; the loss over all processes, which may not be computed yet."""
        rows = self._read()
        parts = torch.split(rows, self._at_once)
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(parts, start=1):
            with self._shared(last=number == len(parts)):
                with self._precision():
                    loss = self._objective(part) / len(parts)
                loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        self.optimiser.step(done)
        self.state.step += 1
        self.state.tokens += self.recipe.batch_tokens
        loss = self._processes.mean(total)
        self._ahead = (self._place, self._batches.at(*self._place))  # while the device computes
        return loss

    def _shared(self, last: bool) -> AbstractContextManager[None]:
        """Gradients are summed over processes once a step."""
        if self._sharded:
            self._objective.set_requires_gradient_sync(last)  # type: ignore[attr-defined]
        elif not last and self._processes.world > 1:
            found: AbstractContextManager[None] = self._objective.no_sync()  # type: ignore[attr-defined]
            return found
        return nullcontext()

    @property
    def _place(self) -> tuple[int, int]:
        return self.state.step, self.state.skipped

    def _read(self) -> torch.Tensor:
        """The windows of this step on the device."""
        place, rows = self._ahead or (self._place, None)
        if rows is None or place != self._place:
            rows = self._batches.at(*self._place)
        return rows.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else rows

    def _note(self, loss: torch.Tensor) -> str:
        value = float(loss)
        problem = self._watchdog.wrong(value)
        if not problem:
            self._smooth = value if math.isnan(self._smooth) else 0.9 * self._smooth + 0.1 * value
            if self.state.step % self.state.stride == 0:
                self.state.curve.append((self.state.tokens, value))
            if len(self.state.curve) > 2 * CURVE:
                self.state.curve, self.state.stride = _thinned(self.state.curve), 2 * self.state.stride
        return problem

    def _roll_back(self, problem: str, tell: Callable[[str], None]) -> None:
        """To what was saved last, and on with other text."""
        at, skipped, rollbacks = self.state.step, self.state.skipped, self.state.rollbacks + 1
        if rollbacks > ROLLBACKS:
            raise ModelError(
                f"Training went wrong {rollbacks} times: at step {at:,} {problem}. Lower the learning rates, or look "
                "at the text."
            )
        found = checkpoint.load(self._home)
        if found is None:
            self._begin()
        else:
            self._restore(found)
        self.state.skipped = skipped + at - self.state.step
        self.state.rollbacks = rollbacks
        self._recent.append((time.monotonic(), self.state.tokens))
        tell(f"At step {at:,} {problem}. Going back to step {self.state.step:,}, and on with other text.")

    def _advise(self, done: float, tell: Callable[[str], None]) -> None:
        """Say it early where a budget is too small for steps of this size."""
        steps = round(self.state.step / done)
        better = self.recipe.better_batch(steps, ENOUGH_STEPS.get(self.device.type, 0))
        if better is not None:
            tell(
                f"about {steps:,} steps fit into the budget. Smaller ones would teach more: stop, remove "
                f"{self._home.parent}, and give --batch-tokens {better}."
            )

    def _report(self, done: float) -> Report:
        self._recent.append((time.monotonic(), self.state.tokens))
        (first, before), (last, now) = self._recent[0], self._recent[-1]
        speed = (now - before) / (last - first) if last > first else math.nan
        state = self.state
        return Report(state.step, state.tokens, state.seconds, done, self._smooth, speed, self.recipe.rate(done))


def _thinned(curve: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Half as many points, each the mean of two."""
    pairs = zip(curve[::2], curve[1::2], strict=False)
    return [(second[0], (first[1] + second[1]) / 2) for first, second in pairs]


@contextmanager
def _interruptible(loud: bool) -> Iterator[list[int]]:
    """Ctrl-C and a polite kill are noted, so that a step is finished and saved first; a second one does not wait."""
    noted: list[int] = []

    def note(number: int, _: Any) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)
        if loud:  # not by print, which may be what was interrupted
            os.write(2, b"\nrefdec: finishing this step, then saving. Once more stops at once.\n")

    try:
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: whoever runs it there stops it in another way
        yield noted
        return
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
