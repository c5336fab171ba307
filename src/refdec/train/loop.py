"""Training one model: windows in, weights out, within a budget of time or tokens.

Saves checkpoints now and then, and when it is interrupted; a resumed run continues exactly. When the loss goes wrong,
training goes back to the last checkpoint and skips the text. Knows nothing of text, nor of directions.
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
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from refdec.errors import InputError, ModelError
from refdec.train import checkpoint
from refdec.train.checkpoint import Checkpoint
from refdec.train.fsdp import gathered, local_parts, shard, share_of
from refdec.train.hardware import is_quick_at_bfloat16
from refdec.train.model import Llama, Shape
from refdec.train.optimiser import Optimiser
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe
from refdec.train.watchdog import Watchdog
from refdec.train.windows import Windows

CPU_TOKENS, GPU_TOKENS = 1 << 12, 1 << 17
"""Most tokens per pass; a step makes as many passes as it needs."""

HELD_BYTES = 48
"""Bytes that a token holds per layer and unit of width until its gradient is computed."""

SAVE_SECONDS, QUICK_SAVE = 120.0, 2.4
"""Seconds between checkpoints, and seconds that one may take; where it takes longer, they are as much rarer."""

RECENT = 20  # steps over which the speed is averaged
TRIED_STEPS, TRIED = 10, 0.1  # steps, or share of the budget, after which the number of steps that fit can be told
ENOUGH_STEPS = {"cpu": 70, "cuda": 600}
"""Steps above which smaller ones teach no more. See docs/training-figures.md."""

Initial = tuple[Shape, dict[str, torch.Tensor] | None]
CURVE = 500  # points of the loss curve that are kept, at least
ROLLBACKS = 3  # then training gives up


@dataclass(frozen=True, slots=True)
class StepReport:
    """Progress after a step."""

    step: int
    tokens: int
    seconds: float
    done: float  # share of the budget
    loss: float  # nats per token, smoothed
    apart: float  # nats per token of windows that are kept as the parent reads them; 0 where there are none
    tokens_per_second: float


@dataclass
class State:
    """How far a run is: plain values, which are saved with the weights."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    skipped: int = 0  # steps whose text is left out, because training went wrong there
    rollbacks: int = 0
    curve: list[tuple[int, float]] = field(default_factory=list)  # tokens, loss
    stride: int = 1  # steps from one point of the curve to the next
    watchdog: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Keeping:
    """Windows that are not learned: on them, the model is kept near its parent, the model that it goes on from."""

    rows: int  # the first of each step, per process
    weight: float  # of a nat of divergence, beside a nat of other windows


Wanted = tuple[torch.Tensor, torch.Tensor]
"""Features of the parent, and its output matrix."""


class WindowLoss(nn.Module):
    """The mean loss of windows, or their divergence from the parent, as a module, which DDP and FSDP can wrap."""

    def __init__(self, model: Llama) -> None:
        super().__init__()
        self.model = model

    def forward(self, rows: torch.Tensor, wanted: Wanted | None = None) -> torch.Tensor:
        if wanted is None:
            return self.model.loss(rows[:, :-1], rows[:, 1:])
        return self.model.divergence(rows[:, :-1], *wanted)


class Trainer:
    """One model in training."""

    def __init__(
        self,
        recipe: Recipe,
        windows: Windows,
        home: Path,
        processes: Processes,
        initial: Initial | None = None,
        compiled: bool = False,
        sharded: bool = False,
        keeping: Keeping | None = None,
    ) -> None:
        """`initial` is a shape, with the weights to go on from or None; without it, the recipe's shape is used.

        `compiled`: see `pays_to_compile`. `sharded`: each of several processes holds a share of the model (FSDP)
        rather than all of it (DDP), see `pays_to_shard`; checkpoints and results are the same. `keeping` needs weights
        to go on from; every process holds all of the parent.
        """
        self.recipe, self._home, self._processes = recipe, home, processes
        self._rows_at = lru_cache(maxsize=1)(windows.at)
        self.device = processes.device
        self._initial = None if initial is None else initial[1]
        self.shape = recipe.shape if initial is None else initial[0]
        self._compiled = compiled
        self._sharded = sharded and processes.world > 1
        self.model = Llama(self.shape, documents=recipe.documents)
        self._objective = self._wrap(WindowLoss(self.model))
        self._keeping = keeping
        self._parent = None if keeping is None else self._frozen()
        self._begin()

    def run(
        self,
        budget: Budget,
        watch: Callable[[StepReport], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
        *,
        advise: bool = True,
    ) -> Self:
        """Train until the budget is spent; what an earlier run spent of it counts. Returns the trainer itself.

        `advise`: tell the user of a better step size where few steps fit into the budget.
        """
        self._resume(tell)
        self._warm_up()
        began = time.monotonic() - self.state.seconds
        saved, pause = time.monotonic(), SAVE_SECONDS
        advise &= not self.state.step and self._initial is None  # a model that can read needs few steps
        self._recent.append((saved, self.state.tokens))
        with interruptible(loud=self._processes.is_first) as interrupted:
            while True:
                now = time.monotonic()
                self.state.seconds = now - began
                spent = budget.spent(self.state.tokens, self.state.seconds)
                done, stop, due = self._processes.most(spent, bool(interrupted), now - saved > pause)
                if advise and self.state.step and (self.state.step >= TRIED_STEPS or done >= TRIED):
                    self._advise(done, tell)
                    advise = False
                if stop or (done >= 1 and self._is_sound()):
                    break
                if done >= 1:
                    self._roll_back("some weights are not finite", tell)
                    continue
                if due:
                    self._save(tell)
                    saved = time.monotonic()
                    pause = SAVE_SECONDS * max(1.0, (saved - now) / QUICK_SAVE)
                loss = self._step(done)
                problem = self._note(loss)
                if problem:
                    self._roll_back(problem, tell)
                    continue
                watch(self._report(done))
            if not stop and not self.state.step:
                raise ModelError(
                    "Training went wrong, and no time is left to begin anew. Lower --matrix-rate and --other-rate."
                    if self.state.rollbacks
                    else "The budget is too small for a single step. Raise --minutes or --tokens."
                )
            self._save(tell)
            if any(self._processes.most(bool(interrupted))):
                raise KeyboardInterrupt
        return self

    def weights(self) -> dict[str, torch.Tensor]:
        """Float32 copies of all weights on the CPU. Where the model is sharded, every process must call this."""
        return {name: tensor.detach().float().cpu() for name, tensor in gathered(self.model.state_dict()).items()}

    def whole(self) -> Llama:
        """The model, or an unsharded copy of it. Where it is sharded, every process must call this."""
        if not self._sharded:
            return self.model
        copy = Llama(self.shape, documents=self.recipe.documents)
        copy.load_state_dict(self.weights())
        return copy.to(self.device)

    def evaluate(self, windows: torch.Tensor) -> float:
        """Nats per token of windows in reading order. Where the model is sharded, every process must call this."""
        model = self.whole()
        with self._precision():
            return model.mean_loss(windows, self._at_once)

    @property
    def _at_once(self) -> int:
        """Sequences per pass."""
        tokens = CPU_TOKENS
        if self.device.type == "cuda":
            memory = torch.cuda.get_device_properties(self.device).total_memory
            held = HELD_BYTES if is_quick_at_bfloat16(self.device) else 2 * HELD_BYTES
            tokens = min(GPU_TOKENS, int(memory / 3 / (held * self.shape.layers * self.shape.width)))
        sequences = self.recipe.sequences // self._processes.world
        if self._keeping is not None:
            sequences = math.gcd(sequences, self._keeping.rows)  # all passes have one size, for one program
        fitting = max(1, tokens // self.recipe.positions)
        return max(count for count in range(1, min(sequences, fitting) + 1) if sequences % count == 0)

    def _wrap(self, objective: nn.Module) -> Any:
        if self._sharded:
            return shard(objective, self.model.model.layers, self.device, self._compiled)
        objective.to(self.device)
        if self._compiled:
            objective.compile(fullgraph=True, dynamic=False)
        if self._processes.world > 1:
            return DistributedDataParallel(objective)
        return objective

    def _frozen(self) -> Llama:
        """The parent."""
        if self._initial is None:
            raise InputError("There is no model to stay near to. Name one to go on from.")
        parent = Llama(self.shape, documents=self.recipe.documents)
        parent.load_state_dict(self._initial)
        parent.requires_grad_(False).to(self.device)
        if self._compiled:
            parent.compile(fullgraph=True, dynamic=False)
        return parent

    def _precision(self) -> Any:
        """bfloat16 where the device is fast at it; the weights themselves stay in float32."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=is_quick_at_bfloat16(self.device))

    def _begin(self) -> None:
        """Set everything to its state before the first step."""
        weights = self._initial
        if weights is None:
            model = Llama(self.shape)
            model.initialise(torch.Generator().manual_seed(self.recipe.seed))
            weights = model.state_dict()
        self._load(weights)
        self.optimiser = Optimiser(self.model, self.recipe, bfloat16=is_quick_at_bfloat16(self.device))
        self.state, self._watchdog = State(), Watchdog()
        self._clear()

    def _load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take over unsharded weights."""
        current = self.model.state_dict()
        self.model.load_state_dict({name: share_of(tensor, current.get(name)) for name, tensor in weights.items()})

    def _clear(self) -> None:
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self._smooth, self._apart = math.nan, 0.0

    def _resume(self, tell: Callable[[str], None]) -> None:
        saved = checkpoint.load(self._home)
        if saved is not None:
            self._restore(saved)
            tell(f"going on at step {self.state.step:,}, {self.state.tokens:,} tokens.")

    def _restore(self, saved: Checkpoint) -> None:
        values = dict(saved.values)
        numbers = values.pop("optimiser")
        recipe = values.pop("recipe")
        if recipe != dict(self.recipe.items()):
            raise InputError(
                f"The checkpoint {self._home} is of another recipe. Give the same settings, or remove it to begin anew."
            )
        self._load(saved.weights)
        self.optimiser.restore(saved.optimiser, numbers)
        self.state = State(**values)
        self.state.curve = [(int(tokens), float(loss)) for tokens, loss in self.state.curve]
        self._watchdog = Watchdog(**self.state.watchdog)  # type: ignore[arg-type]
        self._clear()

    def _save(self, tell: Callable[[str], None]) -> None:
        """Write a checkpoint, unless training is going wrong: then the one before is the better place to go back to."""
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
        """Whether all weights are finite, which the loss shows only a step later. Every process must call this."""
        sizes = torch.stack(torch._foreach_norm(local_parts(self.model.parameters())))
        return not any(self._processes.most(not bool(sizes.isfinite().all())))

    def _warm_up(self) -> None:
        """Compile before the clock starts."""
        for part, is_kept in {is_kept: (part, is_kept) for part, is_kept in self._passes(self._read())}.values():
            self._loss(part, is_kept).backward()
        self.model.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _step(self, done: float) -> torch.Tensor:
        """One step of the optimisers. Returns mean losses over all processes, which a GPU may still be computing.

        They are (2,): that of learned windows, and the divergence of kept ones.
        """
        passes = self._passes(self._read())
        kept = sum(is_kept for _, is_kept in passes)
        total = torch.zeros(2, device=self.device)
        for number, (part, is_kept) in enumerate(passes, start=1):
            with self._shared(last=number == len(passes)):
                loss = self._loss(part, is_kept)
                weight = self._keeping.weight if is_kept and self._keeping is not None else 1.0
                (loss * (weight / len(passes))).backward()
            total[int(is_kept)] += loss.detach() / (kept if is_kept else len(passes) - kept)
        self.optimiser.step(done)
        self.state.step += 1
        self.state.tokens += self.recipe.batch_tokens
        loss = self._processes.mean(total)
        self._rows_at(self.state.step, self.state.skipped)  # those of the next step, while the device computes
        return loss

    def _passes(self, rows: torch.Tensor) -> list[tuple[torch.Tensor, bool]]:
        """The windows of a step in passes of equal size, and whether they are kept."""
        kept = 0 if self._keeping is None else self._keeping.rows
        return [(part, place * self._at_once < kept) for place, part in enumerate(torch.split(rows, self._at_once))]

    def _loss(self, rows: torch.Tensor, is_kept: bool) -> Any:
        """The mean loss of learned windows, or the mean divergence of kept ones."""
        with self._precision():
            if not is_kept or self._parent is None:
                return self._objective(rows)
            with torch.no_grad():
                wanted = self._parent(rows[:, :-1]), self._parent.head
            return self._objective(rows, wanted)

    def _shared(self, last: bool) -> AbstractContextManager[None]:
        """Sum gradients over processes only in the last pass of a step."""
        if self._sharded:
            self._objective.set_requires_gradient_sync(last)
        elif not last and self._processes.world > 1:
            return self._objective.no_sync()  # type: ignore[no-any-return]
        return nullcontext()

    def _read(self) -> torch.Tensor:
        """The windows of this step on the device."""
        rows = self._rows_at(self.state.step, self.state.skipped)
        return rows.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else rows

    def _note(self, losses: torch.Tensor) -> str:
        value, self._apart = losses.tolist()
        problem = self._watchdog.wrong(value + self._apart)
        if not problem:
            self._smooth = value if math.isnan(self._smooth) else 0.9 * self._smooth + 0.1 * value
            if self.state.step % self.state.stride == 0:
                self.state.curve.append((self.state.tokens, value))
            if len(self.state.curve) > 2 * CURVE:
                self.state.curve, self.state.stride = _thinned(self.state.curve), 2 * self.state.stride
        return problem

    def _roll_back(self, problem: str, tell: Callable[[str], None]) -> None:
        """Go back to the last checkpoint, and on with other text."""
        at, skipped, rollbacks = self.state.step, self.state.skipped, self.state.rollbacks + 1
        if rollbacks > ROLLBACKS:
            raise ModelError(
                f"Training went wrong {rollbacks} times: at step {at:,} {problem}. Lower --matrix-rate and "
                "--other-rate, or look at the text."
            )
        saved = checkpoint.load(self._home)
        if saved is None:
            self._begin()
        else:
            self._restore(saved)
        self.state.skipped = skipped + at - self.state.step
        self.state.rollbacks = rollbacks
        self._recent.append((time.monotonic(), self.state.tokens))
        tell(f"at step {at:,} {problem}. Going back to step {self.state.step:,}, and on with other text.")

    def _advise(self, done: float, tell: Callable[[str], None]) -> None:
        """Tell the user early where few steps of this size fit into the budget."""
        steps = max(1, round(self.state.step / done))
        better = self.recipe.better_batch(steps, ENOUGH_STEPS.get(self.device.type, 0))
        if better is not None:
            fit = "1 step fits" if steps == 1 else f"{steps:,} steps fit"
            tell(
                f"about {fit} into the budget. Smaller ones would teach more: stop, remove {self._home.parent}, and "
                f"give --batch-tokens {better}."
            )

    def _report(self, done: float) -> StepReport:
        self._recent.append((time.monotonic(), self.state.tokens))
        (first, before), (last, now) = self._recent[0], self._recent[-1]
        speed = (now - before) / (last - first) if last > first else math.nan
        state = self.state
        return StepReport(state.step, state.tokens, state.seconds, done, self._smooth, self._apart, speed)


def _thinned(curve: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Half as many points, each the mean of two."""
    pairs = zip(curve[::2], curve[1::2], strict=False)
    return [(second[0], (first[1] + second[1]) / 2) for first, second in pairs]


@contextmanager
def interruptible(loud: bool) -> Iterator[list[int]]:
    """Note Ctrl-C and SIGTERM, so that a step is finished and saved first; a second signal does not wait."""
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
