"""Training as its promises: on time, resumable to the digit whatever stopped it, back on its way when it goes wrong."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import signal
import threading
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from refdec.errors import InputError, ModelError, SettingsError
from refdec.lm.direction import Direction
from refdec.train import checkpoint, loop
from refdec.train.checkpoint import Checkpoint
from refdec.train.loop import StepReport, Trainer
from refdec.train.muon import Muon
from refdec.train.processes import Processes
from refdec.train.recipe import SIZES, Budget, Recipe, size, size_like
from refdec.train.watchdog import FIRST, STAYS, Watchdog
from refdec.train.windows import StreamWindows, windows_of

TINY = Recipe(
    vocabulary=300, layers=2, width=32, heads=2, inner=48, positions=16, batch_tokens=128, matrix_rate=0.02, warm_up=0.1
)
STREAM = np.random.default_rng(0).integers(0, 300, 4_000).astype(np.uint16) // 7
HELD_OUT = windows_of(STREAM, Direction.FORWARD, TINY.positions)
CPU = Processes(torch.device("cpu"))


def batches(direction: Direction = Direction.FORWARD, **changes: Any) -> StreamWindows:
    given: dict[str, Any] = {"length": TINY.positions, "sequences": TINY.sequences, "seed": 0} | changes
    return StreamWindows(STREAM, direction, **given)


def trainer(home: Path, recipe: Recipe = TINY, **changes: Any) -> Trainer:
    return Trainer(recipe, batches(), home, CPU, **changes)


def test_every_window_is_read_once_an_epoch() -> None:
    given = batches(sequences=1)
    starts = [int(given.at(step)[0, 0]) for step in range(given.windows)]
    whole = {tuple(given.at(step)[0].tolist()) for step in range(given.windows)}
    assert len(starts) == given.windows
    assert len(whole) == given.windows
    again = {tuple(given.at(given.windows + step)[0].tolist()) for step in range(given.windows)}
    assert whole != again  # boundaries move


def test_backward_windows_are_the_forward_ones_reversed() -> None:
    forward, backward = batches().at(3), batches(Direction.BACKWARD).at(3)
    assert torch.equal(backward, forward.flip(1))


def test_held_out_text_is_read_whole_however_short() -> None:
    whole = windows_of(STREAM[:50], Direction.FORWARD, 16)
    assert whole.shape == (3, 17)
    assert torch.equal(whole[1:, 0], whole[:-1, -1])  # each begins where the one before it ended
    assert torch.equal(
        windows_of(STREAM[:10], Direction.BACKWARD, 16), windows_of(STREAM[:10], Direction.FORWARD, 16).flip(1)
    )
    assert windows_of(STREAM[:50], Direction.FORWARD, 16, most=2).shape == (2, 17)


def test_processes_share_a_step_without_overlap() -> None:
    whole = batches().at(2)
    shares = [batches(rank=rank, world=2).at(2) for rank in range(2)]
    assert torch.equal(torch.cat(shares), whole)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="text has 10 tokens, and at least two sequences of 16 tokens are needed"):
        StreamWindows(STREAM[:10], Direction.FORWARD, 16, 1, 0)
    with pytest.raises(InputError, match="8 sequences per step cannot be divided evenly among 3 processes"):
        batches(world=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": 3}, "3 heads do not share it"),
        ({"batch_tokens": 100}, "must be a multiple of positions"),
        ({"warm_up": 0.8, "decay": 0.5}, "together they are at most 1"),
        ({"layers": 0}, "layers is 0"),
    ],
)
def test_recipes_that_do_not_add_up_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        TINY.replace(**changes)


def test_sizes_have_the_parameters_of_their_names() -> None:
    for name, recipe in SIZES.items():
        assert recipe.shape.parameters == pytest.approx(1e6 * int(name.removesuffix("m")), rel=0.15)
    with pytest.raises(SettingsError, match="did you mean '47m'"):
        size("47")


def test_rates_rise_stay_and_fall_over_the_budget() -> None:
    recipe = TINY.replace(warm_up=0.1, decay=0.4)
    assert [recipe.rate(done) for done in (0, 0.05, 0.1, 0.5, 0.6)] == pytest.approx([0, 0.5, 1, 1, 1])
    assert [recipe.rate(done) for done in (0.8, 1.0, 1.2)] == pytest.approx([0.5, 0, 0])
    assert TINY.replace(warm_up=0, decay=0).rate(1.0) == 1.0


def test_a_budget_is_minutes_or_tokens() -> None:
    assert Budget(minutes=2).spent(0, 60) == 0.5
    assert Budget(tokens=100).spent(25, 1e9) == 0.25
    for given in ({}, {"minutes": 1, "tokens": 1}, {"minutes": 0}):
        with pytest.raises(SettingsError):
            Budget(**given)


def test_a_loss_that_is_no_number_or_stays_up_is_noticed() -> None:
    watchdog = Watchdog()
    assert not any(watchdog.wrong(5 - 0.01 * step) for step in range(2 * FIRST))
    assert not any(watchdog.wrong(8.0) for _ in range(STAYS - 1))
    assert not watchdog.wrong(4.0)  # it was one bad step
    messages = [watchdog.wrong(8.0) for _ in range(STAYS)]
    assert not any(messages[:-1])
    assert "stayed there" in messages[-1]
    assert "the loss is nan" in watchdog.wrong(math.nan)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_muon_steps_as_that_of_torch_does(decay: float) -> None:
    sizes = [(8, 8), (8, 8), (16, 8), (8, 24), (8, 24)]
    numbers = torch.Generator().manual_seed(0)
    first = [torch.randn(*size, generator=numbers).requires_grad_() for size in sizes]
    second = [matrix.detach().clone().requires_grad_() for matrix in first]
    ours = Muon(first, lr=0.02, momentum=0.9, weight_decay=decay)
    theirs = torch.optim.Muon(second, lr=0.02, momentum=0.9, weight_decay=decay)
    for _ in range(4):
        for mine, other in zip(first, second, strict=True):
            mine.grad = torch.randn(mine.shape, generator=numbers)
            other.grad = mine.grad.clone()
        ours.step()
        theirs.step()  # type: ignore[no-untyped-call]
    for mine, other in zip(first, second, strict=True):
        assert (mine - other).norm() / other.norm() < 1e-2  # torch's rounds to bfloat16 inside
    assert ours.state_dict()["state"].keys() == theirs.state_dict()["state"].keys()


def test_training_learns_and_ends_with_its_tokens(tmp_path: Path) -> None:
    reports: list[StepReport] = []
    run = trainer(tmp_path / "run")
    before = run.evaluate(HELD_OUT)
    trained = run.run(Budget(tokens=128 * 60), reports.append)
    assert run.evaluate(HELD_OUT) < before - 0.5
    assert trained.state.step == 60
    assert [report.step for report in reports] == list(range(1, 61))
    assert reports[-1].done < 1
    assert all(torch.isfinite(tensor).all() for tensor in trained.weights().values())


def test_a_budget_of_time_ends_on_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=0.01)  # seconds that pass from one look at the clock to the next
    monkeypatch.setattr("refdec.train.loop.time.monotonic", lambda: next(clock))
    reports: list[StepReport] = []
    trained = trainer(tmp_path / "run").run(Budget(minutes=1 / 60), reports.append)
    assert reports[-1].seconds < 1.0 <= trained.state.seconds < 1.1
    assert len(reports) > 10


def test_a_budget_for_few_steps_is_told_early_with_a_better_size(tmp_path: Path) -> None:
    messages: list[str] = []
    trainer(tmp_path / "few").run(Budget(tokens=128 * 20), tell=messages.append)
    assert len(messages) == 1
    assert messages[0].startswith("about 20 steps fit into the budget. Smaller ones would teach more: stop, remove ")
    assert messages[0].endswith(", and give --batch-tokens 32.")
    trainer(tmp_path / "more").run(Budget(tokens=128 * 45), tell=messages.append)
    assert len(messages) == 1
    assert TINY.better_batch(149, 250) == 64
    assert TINY.better_batch(150, 250) is None
    assert TINY.replace(batch_tokens=16).better_batch(5, 250) is None  # no smaller step is possible


def test_a_model_that_is_there_is_trained_like_the_nearest_size() -> None:
    recipes = [size_like(count, 512, on_cpu=False) for count in (10, 9_000_000, 60_000_000)]
    assert recipes == [SIZES[name] for name in ("5m", "15m", "47m")]
    short = size_like(60_000_000, 100, on_cpu=True)  # sequences that it can read, and steps that a CPU can make
    assert short == SIZES["47m"].replace(positions=100, batch_tokens=4_000)


def test_a_run_that_goes_on_gives_the_same_loss_curve_to_the_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(tokens=128 * 30)
    whole = trainer(tmp_path / "whole").run(budget)
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)

    def stop(report: StepReport) -> None:
        if report.step in (7, 19):
            raise RuntimeError("killed")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="killed"):
            trainer(tmp_path / "parted").run(budget, stop)
    parted = trainer(tmp_path / "parted").run(budget)
    assert parted.state.curve == whole.state.curve
    assert all(torch.equal(parted.weights()[name], tensor) for name, tensor in whole.weights().items())


def test_ctrl_c_saves_first(tmp_path: Path) -> None:
    def interrupt(report: StepReport) -> None:
        if report.step == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path / "run").run(Budget(tokens=128 * 30), interrupt)
    saved = checkpoint.load(tmp_path / "run")
    assert saved is not None
    assert saved.values["step"] == 5


def test_a_run_that_goes_wrong_goes_back_and_reads_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)
    run = trainer(tmp_path / "run")
    messages: list[str] = []

    def spoil(report: StepReport) -> None:
        if report.step == 10 and not run.state.rollbacks:  # the next checkpoint is due before the loss shows it
            with torch.no_grad():
                next(run.model.parameters()).fill_(math.nan)

    trained = run.run(Budget(tokens=128 * 20), spoil, messages.append)
    assert trained.state.rollbacks == 1
    assert trained.state.step == 20
    assert trained.state.skipped == 2
    assert any("the loss is nan. Going back to step 9" in words for words in messages)


def test_a_last_step_that_goes_wrong_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)
    run = trainer(tmp_path / "run")
    messages: list[str] = []

    def spoil(report: StepReport) -> None:
        if report.step == 20 and not run.state.rollbacks:
            with torch.no_grad():
                next(run.model.parameters()).fill_(math.inf)

    trained = run.run(Budget(tokens=128 * 20), spoil, messages.append)
    assert (trained.state.step, trained.state.rollbacks) == (20, 1)
    assert messages[-1].startswith("at step 20 some weights are not finite. Going back to step 19")
    assert all(bool(tensor.isfinite().all()) for tensor in trained.weights().values())


def test_a_loss_that_is_high_is_not_saved(tmp_path: Path) -> None:
    run = trainer(tmp_path / "run")
    run._watchdog.up = 1
    run._save(print)
    assert not (tmp_path / "run").exists()
    run._watchdog.up = 0
    run._save(print)
    assert (tmp_path / "run").exists()


def test_a_budget_without_room_for_a_step_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="too small for a single step"):
        trainer(tmp_path / "run").run(Budget(minutes=1e-9))


def test_the_curve_of_a_long_run_has_its_beginning_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CURVE", 8)
    recipe = TINY.replace(layers=1, width=8, inner=8)
    state = trainer(tmp_path / "run", recipe).run(Budget(tokens=128 * 150)).state
    steps = [tokens // 128 for tokens, _ in state.curve]
    apart = {later - before for before, later in itertools.pairwise(steps)}
    assert apart == {state.stride} == {16}
    assert steps[0] <= 16


def test_training_that_goes_wrong_again_and_again_ends_with_a_sentence(tmp_path: Path) -> None:
    recipe = TINY.replace(matrix_rate=10.0, other_rate=10.0, warm_up=0.0)
    spoiled = {name: tensor * math.nan for name, tensor in trainer(tmp_path / "x").weights().items()}
    with pytest.raises(ModelError, match="Training went wrong 4 times"):
        trainer(tmp_path / "run", recipe, initial=(TINY.shape, spoiled)).run(Budget(tokens=128 * 20))


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path: Path) -> None:
    trainer(tmp_path / "run").run(Budget(tokens=128 * 2))
    with pytest.raises(InputError, match="is of another recipe"):
        trainer(tmp_path / "run", TINY.replace(matrix_rate=0.01)).run(Budget(tokens=128 * 4))


def test_a_checkpoint_is_whole_or_the_one_before_it(tmp_path: Path) -> None:
    home = tmp_path / "run"
    first = Checkpoint({"a": torch.ones(2)}, {}, {"step": 1})
    checkpoint.save(home, first)
    checkpoint.save(home, Checkpoint({"a": torch.zeros(2)}, {}, {"step": 2}))
    saved = checkpoint.load(home)
    assert saved is not None
    assert saved.values == {"step": 2}
    home.rename(home.with_name("run.old"))  # killed between two steps
    saved = checkpoint.load(home)
    assert saved is not None
    assert saved.values == {"step": 2}
    (home.with_name("run.old") / "weights.safetensors").write_bytes(b"odd")
    with pytest.raises(ModelError, match=r"run\.old cannot be used"):
        checkpoint.load(home)
    assert checkpoint.load(tmp_path / "nothing") is None


def test_a_checkpoint_with_an_odd_name_stays_until_the_next_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "run"
    checkpoint.save(home, Checkpoint({}, {}, {"step": 1}))
    home.rename(home.with_name("run.old"))  # killed between two steps,

    def replace(*_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):  # and again
            checkpoint.save(home, Checkpoint({}, {}, {"step": 2}))
    saved = checkpoint.load(home)
    assert saved is not None
    assert saved.values == {"step": 1}


def test_a_full_disk_is_told_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    messages: list[str] = []
    trained = trainer(tmp_path / "run").run(Budget(tokens=128 * 3), tell=messages.append)
    assert trained.state.step == 3
    assert any("a checkpoint needs" in words for words in messages)


def train_until_killed(home: Path, told: Connection, moment: str) -> None:
    """In a separate process: save after every step, and at the given moment report it and wait to be killed."""
    loop.SAVE_SECONDS = -1.0
    steps: list[int] = []
    real_replace = os.replace

    def stand_still() -> None:
        told.send(moment)
        threading.Event().wait()

    def save(tensors: Any, path: Path) -> None:
        save_file(tensors, path)
        if moment == "a file half written" and path.name == checkpoint.OPTIMISER and len(steps) > 3:
            os.truncate(path, path.stat().st_size // 2)
            stand_still()

    def replace(source: Path, target: Path) -> None:
        if moment == "between two names" and source.name.endswith(".new") and len(steps) > 3:
            stand_still()
        real_replace(source, target)

    def watch(report: StepReport) -> None:
        steps.append(report.step)
        if moment == "after a step" and len(steps) > 3:
            stand_still()

    checkpoint.save_file = save  # type: ignore[attr-defined]
    os.replace = replace  # type: ignore[assignment]
    trainer(home).run(Budget(tokens=128 * 30), watch)


def test_a_run_that_is_killed_goes_on_to_the_same_digits(tmp_path: Path) -> None:
    home = tmp_path / "killed"
    processes = get_context("forkserver")  # fresh ones, which need not import everything again
    processes.set_forkserver_preload([__name__])
    steps = []
    for moment in ("after a step", "a file half written", "between two names"):
        receiver, sender = processes.Pipe(duplex=False)
        process = processes.Process(target=train_until_killed, args=(home, sender, moment))
        process.start()
        sender.close()
        assert receiver.recv() == moment
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        saved = checkpoint.load(home)
        assert saved is not None
        steps.append(saved.values["step"])
    assert steps == sorted(set(steps))  # it came further every time
    assert steps[-1] < 30
    killed, whole = (trainer(place).run(Budget(tokens=128 * 30)) for place in (home, tmp_path / "whole"))
    assert killed.state.curve == whole.state.curve
    assert all(torch.equal(killed.weights()[name], tensor) for name, tensor in whole.weights().items())


def test_a_run_that_is_stopped_before_its_first_step_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)

    def stop(_: StepReport) -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        trainer(tmp_path / "run").run(Budget(tokens=128 * 3), stop)
    saved = checkpoint.load(tmp_path / "run")
    assert saved is not None
    assert saved.values["step"] == 0
    assert trainer(tmp_path / "run").run(Budget(tokens=128 * 3)).state.step == 3


def test_a_compiled_program_trains_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "is_quick_at_bfloat16", lambda _: False)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))  # all but the code for a device
    recipe, budget = TINY.replace(layers=1), Budget(tokens=128 * 10)
    plain, compiled = (
        trainer(tmp_path / str(choice), recipe, compiled=choice).run(budget).state.curve for choice in (False, True)
    )
    assert [loss for _, loss in compiled] == pytest.approx([loss for _, loss in plain], abs=1e-3)
