"""Several processes train as one does: with copies of the model or with shares of it, from Python and as a command.

Real processes, started by torchrun. One pair of them makes everything that is held against one process; see
`in_processes`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from refdec.errors import InputError
from refdec.lm.direction import Direction
from refdec.train import checkpoint, loop, processes
from refdec.train.fsdp import pays_to_shard, share_of, shares
from refdec.train.loop import StepReport, Trainer
from refdec.train.muon import Muon
from refdec.train.processes import Processes, joined, told_once
from refdec.train.recipe import Budget
from refdec.train.windows import StreamWindows
from tests.test_train_loop import CPU, HELD_OUT, STREAM, TINY

if TYPE_CHECKING:
    from tests.conftest import Run  # which brings more than the processes that are started here need

ODD = TINY.replace(vocabulary=301, layers=3, inner=47)
"""Two processes cannot divide anything of this evenly: rows, layers, matrices of a shape."""

STEPS, STOPPED = 6, 3
PATIENCE = 600  # seconds until a test gives up: far more than a busy machine takes
MATRICES = [(5, 3), (5, 3), (5, 3), (3, 8), (1, 4)]
ROOT = Path(__file__).parent.parent


def in_float32(set_value: Callable[[Any, str, Any], None]) -> None:
    """In several passes per step, as many for one process as for two."""
    set_value(loop, "is_quick_at_bfloat16", lambda _: False)
    set_value(loop, "CPU_TOKENS", 2 * ODD.positions)


def trainer(home: Path, us: Processes, sharded: bool, compiled: bool = False) -> Trainer:
    given = StreamWindows(STREAM, Direction.FORWARD, ODD.positions, ODD.sequences, ODD.seed, us.rank, us.world)
    return Trainer(ODD, given, home, us, sharded=sharded, compiled=compiled)


def train(home: Path, us: Processes, sharded: bool = False, compiled: bool = False) -> Trainer:
    return trainer(home, us, sharded, compiled).run(Budget(tokens=STEPS * ODD.batch_tokens))


def train_a_part(home: Path, us: Processes, sharded: bool = False) -> None:
    """Train until it is stopped after some steps, each of which is saved."""

    def stop(report: StepReport) -> None:
        if report.step > STOPPED:
            raise RuntimeError("stopped")

    before, loop.SAVE_SECONDS = loop.SAVE_SECONDS, -1.0
    with pytest.raises(RuntimeError, match="stopped"):
        trainer(home, us, sharded).run(Budget(tokens=STEPS * ODD.batch_tokens), stop)
    loop.SAVE_SECONDS = before


def muon(share: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
    """Matrices after a few steps, in whatever form they are shared."""
    numbers = torch.Generator().manual_seed(0)
    matrices = [share(torch.randn(*size, generator=numbers)).requires_grad_() for size in MATRICES]
    optimiser = Muon(matrices, lr=0.1, momentum=0.9, weight_decay=0.1)
    for _ in range(3):
        for matrix in matrices:
            matrix.grad = share(torch.randn(matrix.shape, generator=numbers))
        optimiser.step()
    return [matrix.detach() for matrix in matrices]


def in_processes(home: Path) -> None:
    """The work of one of two processes; the first writes the results to files."""
    in_float32(setattr)
    with joined(torch.device("cpu")) as us:
        results: dict[str, Any] = {}

        def note(name: str, sharded: bool, compiled: bool = False) -> None:
            trained = train(home / name, us, sharded, compiled)
            measured, weights = [0.0, 0.0], trained.weights()
            dist.all_gather_object(measured, trained.evaluate(HELD_OUT))
            results[name] = {"curve": trained.state.curve, "measured": measured}
            us.first(lambda: save_file(weights, home / f"{name}.safetensors"))

        note("replicated", False)
        train_a_part(home / "sharded", us, sharded=True)
        for name in ("sharded to replicated", "sharded to one"):
            us.first(lambda name=name: shutil.copytree(home / "sharded", home / name))  # type: ignore[misc]
        note("sharded", True)
        note("sharded to replicated", False)
        note("one to sharded", True)
        torch.compile = partial(torch.compile, backend="aot_eager")  # all but the code for a device
        note("replicated, compiled", False, True)
        note("sharded, compiled", True, True)
        like = distribute_tensor(torch.zeros(2, 1), init_device_mesh("cpu", (2,)), [Shard(0)])
        moved = [matrix.full_tensor() for matrix in muon(lambda whole: share_of(whole, like))]  # type: ignore[attr-defined]
        results["muon"] = max(
            float((mine - other).abs().max()) for mine, other in zip(moved, muon(lambda whole: whole), strict=True)
        )
        if us.is_first:
            (home / "results.json").write_text(json.dumps(results))


def torchrun(*arguments: str, home: Path, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=home, env=environment, text=True, **options)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one process and of two."""
    home = tmp_path_factory.mktemp("processes")
    with pytest.MonkeyPatch.context() as patch:
        in_float32(patch.setattr)
        train_a_part(home / "one to sharded", CPU)
        script = home / "two.py"
        script.write_text(
            "import os, pathlib, sys\nfrom tests.test_train_processes import in_processes\n"
            "in_processes(pathlib.Path(sys.argv[1]))\n"
            "os._exit(0)\n"  # torch's own threads can abort a process that takes itself apart
        )
        assert torchrun(str(script), str(home), home=home).wait(PATIENCE) == 0
    return home


@pytest.fixture(scope="module")
def one(home: Path) -> Iterator[Trainer]:
    """The run of one process that the others are compared with."""
    with pytest.MonkeyPatch.context() as patch:
        in_float32(patch.setattr)
        yield train(home / "one", CPU)


@pytest.mark.parametrize(
    "name",
    [
        "replicated",
        "sharded",
        "sharded to replicated",
        "one to sharded",
        "sharded to one",
        "replicated, compiled",
        "sharded, compiled",
    ],
)
def test_it_is_the_same_run_in_one_process_and_in_two_and_from_one_to_the_other(
    home: Path, one: Trainer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    in_float32(monkeypatch.setattr)
    if name == "sharded to one":
        other = train(home / name, CPU)
        curve, measured, weights = other.state.curve, [other.evaluate(HELD_OUT)], other.weights()
    else:
        result = json.loads((home / "results.json").read_text())[name]
        curve, measured, weights = result["curve"], result["measured"], load_file(home / f"{name}.safetensors")
    assert [tokens for tokens, _ in curve] == [tokens for tokens, _ in one.state.curve]
    assert [loss for _, loss in curve] == pytest.approx([loss for _, loss in one.state.curve], abs=1e-4)
    assert measured == pytest.approx([one.evaluate(HELD_OUT)] * len(measured), abs=1e-4)  # in every process
    assert all(torch.allclose(weights[name], tensor, atol=1e-4) for name, tensor in one.weights().items())


@pytest.mark.parametrize("name", ["replicated", "sharded"])
@pytest.mark.usefixtures("one")
def test_a_checkpoint_does_not_show_how_many_processes_wrote_it(home: Path, name: str) -> None:
    alone, two = checkpoint.load(home / "one"), checkpoint.load(home / name)
    assert alone is not None
    assert two is not None
    assert two.values.keys() == alone.values.keys()
    assert two.values["optimiser"] == alone.values["optimiser"]
    for mine, others in ((alone.weights, two.weights), (alone.optimiser, two.optimiser)):
        assert mine.keys() == others.keys()
        assert all(torch.allclose(others[name], tensor, atol=1e-4) for name, tensor in mine.items())


def test_muon_steps_the_same_in_shares(home: Path) -> None:
    assert json.loads((home / "results.json").read_text())["muon"] < 1e-6


def test_shares_are_those_of_torch() -> None:
    for count in range(1, 12):
        for world in range(1, 6):
            parts = [len(part) for part in torch.arange(count).chunk(world)]
            assert shares(count, world) == parts + [0] * (world - len(parts))


def test_a_large_model_is_shared_by_several_processes() -> None:
    assert pays_to_shard(300_000_000, 2)
    assert not pays_to_shard(300_000_000, 1)
    assert not pays_to_shard(100_000_000, 8)


def test_work_of_the_first_is_done_where_there_is_one() -> None:
    done: list[int] = []
    CPU.first(lambda: done.append(1))
    assert done == [1]


TRAIN = (
    "train", "stories.txt", "--tokens=20480", "--vocabulary=400", "--layers=2", "--width=32", "--heads=2",
    "--inner=64", "--positions=64", "--batch-tokens=2048", "--held-out=0.1", "--device=cpu",
)  # fmt: skip

SLOW = """
import time
from refdec.cli import main, progress
from refdec.train import loop
progress.LOG_SECONDS = 0
steps, report, interruptible = [], loop.Trainer._report, loop.interruptible

def wait_for_a_signal(self, done):  # after the second step: it does not end before somebody stops it
    steps.append(done)
    while len(steps) > 2 and not signals:
        time.sleep(0.01)
    return report(self, done)

@loop.contextmanager
def noted(loud):
    global signals
    with interruptible(loud) as signals:
        yield signals

loop.Trainer._report, loop.interruptible = wait_for_a_signal, noted
main.main()
"""


@pytest.fixture
def stories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    from tests.small_pair import SENTENCES

    texts = [f"{sentence} {SENTENCES[-number]} {number}" for number, sentence in enumerate(SENTENCES)]
    (tmp_path / "stories.txt").write_text("\n\n".join(texts))
    return tmp_path


def ours(said: str) -> list[str]:
    """The lines of refdec, without those of torchrun."""
    return [line for line in said.splitlines() if line.startswith("refdec: ")]


def test_a_command_for_two_processes_is_stopped_goes_on_in_shares_and_gives_the_pair_of_one(
    command: Run, stories: Path
) -> None:
    (stories / "slow.py").write_text(SLOW)
    process = torchrun("slow.py", *TRAIN, "-o", "pair", home=stories, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = ""
    while " per second, loss " not in said:
        line = process.stderr.readline()
        assert line, said  # it has ended
        said += line
    process.send_signal(signal.SIGINT)
    said += process.communicate(timeout=PATIENCE)[1]
    assert process.returncode != 0
    assert len([line for line in ours(said) if "getting ready" in line]) == 1  # the first alone speaks
    assert ours(said)[-1] == "refdec: stopped."
    assert ours(said).count("refdec: stopped.") == 1
    assert checkpoint.load(stories / "pair.training" / "forward") is not None
    assert not (stories / "pair").exists()

    process = torchrun("-m", "refdec", *TRAIN, "-o", "pair", "--sharded", home=stories, stdout=-1, stderr=-1)
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert any("going on at step" in line for line in ours(said))
    assert len([line for line in ours(said) if "nats per token of held-out text" in line]) == 2  # a direction each
    assert out.splitlines()[-1] == "the pair is in pair; its card is pair/README.md"

    code, one, _ = command(*TRAIN, "-o", "one")
    assert code == 0
    assert nats(out) == pytest.approx(nats(one), abs=0.02)  # in bfloat16, where the processor is quick at it
    for part in Direction:
        names = [load_file(stories / place / part.value / "model.safetensors").keys() for place in ("one", "pair")]
        assert names[0] == names[1]


def test_an_error_of_the_first_while_the_others_wait_ends_all_with_one_sentence(stories: Path) -> None:
    process = torchrun("-m", "refdec", *TRAIN, "-o", ".", home=stories, stderr=subprocess.PIPE)
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode != 0
    assert len(ours(said)) == 1
    assert "holds files that no export wrote" in ours(said)[0]


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Processes]:
    """Pretend to be one of two processes that torchrun started."""
    store = dist.HashStore()  # type: ignore[attr-defined]
    monkeypatch.setattr(processes, "_store", lambda: store)
    monkeypatch.setattr(processes, "LAST_WORDS", timedelta(milliseconds=1))
    monkeypatch.setenv("WORLD_SIZE", "2")

    def become(rank: int) -> Processes:
        monkeypatch.setenv("RANK", str(rank))
        return Processes(torch.device("cpu"), rank, 2)

    return become


@pytest.mark.parametrize(("error", "code"), [(InputError("odd"), 2), (KeyboardInterrupt(), 1), (ValueError(), 1)])
def test_what_all_see_is_said_by_who_sees_it_first(
    two: Callable[[int], Processes], error: BaseException, code: int
) -> None:
    two(1)
    with pytest.raises(type(error)), told_once():
        raise error
    two(0)
    with pytest.raises(SystemExit) as end, told_once():
        raise error
    assert end.value.code == code


def test_who_is_silent_ends_after_who_speaks(two: Callable[[int], Processes], monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    at_exit: list[Callable[[], None]] = []

    class Store(dist.HashStore):  # type: ignore[misc, name-defined]
        def wait(self, *_: Any) -> None:
            order.append("the other waits")
            at_exit[0]()

        def set(self, key: str, _: str) -> None:
            order.append(key)

    store = Store()
    monkeypatch.setattr(processes, "_store", lambda: store)
    monkeypatch.setattr("atexit.register", lambda *call: at_exit.append(partial(*call)))
    two(1)
    with pytest.raises(InputError), told_once():
        raise InputError("odd")
    assert order == []  # it speaks while it ends
    two(0)
    with pytest.raises(SystemExit), told_once():
        raise InputError("odd")
    assert order == ["the other waits", processes.SPOKEN]


def test_who_waits_for_work_that_fails_leaves_the_word_to_who_did_it(two: Callable[[int], Processes]) -> None:
    def fail() -> None:
        raise InputError("odd")

    with pytest.raises(InputError, match="odd"):
        two(0).first(fail)
    with pytest.raises(SystemExit), told_once():
        two(1).first(fail)


def test_work_that_is_done_is_waited_for_in_turn(two: Callable[[int], Processes]) -> None:
    done: list[str] = []
    first, other = two(0), two(1)
    for name in ("a", "b"):
        first.first(lambda name=name: done.append(name))  # type: ignore[misc]
        other.first(lambda: done.append("twice"))
    assert done == ["a", "b"]


def nats(out: str) -> list[float]:
    """The nats per token that the command prints for each direction."""
    return [float(figure) for figure in re.findall(r"([\d.]+) nats per token", out)]
