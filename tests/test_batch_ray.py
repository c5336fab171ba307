"""Rows on workers in other processes: each comes back once and as it should, whichever of the processes dies.

Most workers here only pretend, so that nothing but the engine takes time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from refdec.batch import ray_engine
from refdec.batch.item import Item, Outcome
from refdec.batch.ray_engine import Cluster, Fleet
from refdec.errors import InputError, ModelError, RefdecError, SettingsError

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.filterwarnings("ignore::UserWarning:ray"),
]

ONE: dict[str, Any] = {"workers": 1, "cpus": 0.5, "on_gpus": False}
TWO = ONE | {"workers": 2}


@dataclass(frozen=True)
class Numbers:
    """So many items. What is read of them is told in a file, and may have to wait for another file, or go wrong."""

    count: int
    told: Path | None = None
    gate: Path | None = None  # nothing is read after the first half before it is there
    problem: Exception | None = None

    def __iter__(self) -> Iterator[Item]:
        for number in range(1, self.count + 1):
            if number == 1 + self.count // 2:
                self._half()
            yield Item(number, number + 1, f"digest {number}", (f"text {number}",))
            if self.told is not None:
                with self.told.open("a") as file:
                    file.write(f"{os.getpid():9}\n")

    def _half(self) -> None:
        if self.problem is not None:
            raise self.problem
        while self.gate is not None and not self.gate.exists():
            time.sleep(0.01)


@dataclass(frozen=True)
class Gate:
    """Items from a number on wait for a file."""

    file: Path
    number: int

    def wait(self, number: int) -> None:
        while number >= self.number and not self.file.exists():
            time.sleep(0.01)


class Pretender:
    """Gives every text back, and tells which process did. May claim to be short of memory for one item.

    What it begins is told in a file, a byte for each item.
    """

    def __init__(
        self,
        _: Fleet,
        seconds: float = 0.0,
        loading: str = "",
        working: str = "",
        short: int = 0,
        gate: Gate | None = None,
        told: Path | None = None,
    ) -> None:
        self._seconds, self._working, self._short, self._gate, self._told = seconds, working, short, gate, told
        if loading:
            raise ModelError(loading)

    def outcomes(self, items: Iterable[Item], batch_size: int | None) -> Iterator[Outcome]:
        for item in items:
            if self._told is not None:
                with self._told.open("a") as file:
                    file.write(".")
            if self._gate is not None:
                self._gate.wait(item.number)
            time.sleep(self._seconds)
            if self._working:
                raise ValueError(self._working)
            fields = {"texts": list(item.texts), "process": os.getpid()}
            retry = item.number == self._short
            yield Outcome(item.number, item.line, item.digest, fields, item.error, f"batches of {batch_size}", retry)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield start_patiently(stack, None)


def start_patiently(stack: ExitStack, address: str | None) -> Cluster:
    """A Ray that may need several tries: on a busy machine, it gives up its start after half a minute."""
    for _ in range(10):
        with contextlib.suppress(ModelError):
            return stack.enter_context(ray_engine.cluster(address))
    return stack.enter_context(ray_engine.cluster(address))


def wait_until(condition: Callable[[], bool]) -> None:
    """Far longer than a busy machine takes to end Ray's processes, but not for ever."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end, "What the test waits for has not happened in ten minutes."
        time.sleep(0.05)


def is_gone(process: int) -> bool:
    """Whether a process has ended, even where nobody has asked for its exit code yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_items_come_back_as_outcomes_whatever_is_in_them(cluster: Cluster) -> None:
    texts = ['"quoted"\r\n', "tab\tand\0nothing", "", " 語 👩‍👩‍👧 é ", "x" * 100_000]
    items = [Item(3**30, 7, "a digest", tuple(texts)), Item(5, 9, "", (), "There is no text."), Item(6, 10, "of none")]
    made = sorted(cluster.spread(Pretender, items, batch_size=2, **ONE), key=lambda outcome: outcome.line)
    for item, outcome in zip(items, made, strict=True):
        fields = {"texts": list(item.texts), "process": outcome.fields["process"]}
        assert outcome == Outcome(item.number, item.line, item.digest, fields, item.error, "batches of 2")


def test_a_row_that_ran_out_of_memory_elsewhere_is_to_be_tried_again_here(cluster: Cluster) -> None:
    made = cluster.spread(partial(Pretender, short=2), Numbers(3), **ONE)
    assert {outcome.number: outcome.retry for outcome in made} == {1: False, 2: True, 3: False}


def test_no_items_are_no_outcomes(cluster: Cluster) -> None:
    assert list(cluster.spread(Pretender, [], **ONE)) == []


def test_rows_are_what_one_worker_makes_of_them(
    cluster: Cluster, small_pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refdec.batch.input_table import InputTable
    from refdec.batch.job import Job, Models
    from refdec.batch.parts import Done
    from refdec.batch.todo import Todo
    from refdec.batch.worker import Worker
    from tests.conftest import TINY
    from tests.small_pair import small_texts

    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in ["", *small_texts(5)]))
    models = Models(str(small_pair), device="cpu")
    job = Job.make("paraphrase", there=["text"], device="cpu", models=models, **TINY)
    todo = Todo(InputTable.at(Path("in.jsonl"), "jsonl"), job, Done.at(Path("none")))
    expected = list(Worker(job).outcomes(todo))
    assert [bool(outcome.error) for outcome in expected] == [True] + 5 * [False]
    made = cluster.outcomes(job, todo, workers=1, batch_size=2)
    assert sorted(made, key=lambda outcome: outcome.number) == expected


def test_a_killed_worker_costs_no_row_and_gives_none_twice(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gate = Gate(tmp_path / "gate", 150)
    run = cluster.spread(partial(Pretender, gate=gate), Numbers(300), **TWO)
    first = [next(run) for _ in range(30)]
    killed = first[-1].fields["process"]
    os.kill(killed, signal.SIGKILL)
    gate.file.touch()
    seen = Counter(outcome.number for outcome in [*first, *run])
    assert seen == Counter(range(1, 301))
    assert capfd.readouterr() == ("", "")


def test_a_killed_reader_costs_no_row_and_gives_none_twice(cluster: Cluster, tmp_path: Path) -> None:
    told, gate = tmp_path / "told", tmp_path / "gate"
    run = cluster.spread(Pretender, Numbers(160, told, gate), **TWO)
    first = next(run)
    wait_until(lambda: len(told.read_text().split()) >= 80)
    (reader,) = set(told.read_text().split())
    os.kill(int(reader), signal.SIGKILL)
    gate.touch()
    assert Counter(outcome.number for outcome in [first, *run]) == Counter(range(1, 161))
    assert len(set(told.read_text().split())) == 2


def test_the_reader_waits_for_the_workers(cluster: Cluster, tmp_path: Path) -> None:
    told, begun = tmp_path / "told", tmp_path / "begun"
    run = cluster.spread(partial(Pretender, seconds=0.02, told=begun), Numbers(100_000, told), **ONE)
    ahead = [told.stat().st_size // 10 - begun.stat().st_size for _ in islice(run, 80)]
    assert max(ahead) < 10_000  # Ray's buffers, which fill while the worker starts; without them all would be read
    run.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "problem", "kind", "message"),
    [
        (Pretender, InputError("in.jsonl changed."), InputError, "in.jsonl changed."),
        (partial(Pretender, loading="There is no such model."), None, ModelError, "There is no such model."),
        (partial(Pretender, working="Nobody foresaw this."), None, ValueError, "Nobody foresaw this."),
    ],
    ids=["in the reader", "while models load", "at work"],
)
def test_what_goes_wrong_elsewhere_is_raised_here_as_it_is(
    cluster: Cluster,
    make: Callable[[Fleet], Pretender],
    problem: Exception | None,
    kind: type[Exception],
    message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(kind) as raised:
        list(cluster.spread(make, Numbers(40, problem=problem), **ONE))
    assert (type(raised.value), str(raised.value)) == (kind, message)
    assert capfd.readouterr() == ("", "")


def test_workers_end_when_nobody_goes_on(cluster: Cluster) -> None:
    run = cluster.spread(partial(Pretender, seconds=0.02), Numbers(100_000), **ONE)
    worker = next(run).fields["process"]
    run.close()  # type: ignore[attr-defined]
    wait_until(partial(is_gone, worker))


def elsewhere(address: str | None) -> tuple[str, int]:
    """A run in another process that breaks off: what kind of device it had, and which process its worker was."""
    script = f"""if True:
        from contextlib import ExitStack
        from functools import partial
        from tests.test_batch_ray import ONE, Numbers, Pretender, start_patiently

        with ExitStack() as stack:
            cluster = start_patiently(stack, {address!r})
            run = cluster.spread(partial(Pretender, seconds=0.01), Numbers(10_000), **ONE)
            print(cluster.device, next(run).fields["process"])
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    device, worker = done.stdout.split()
    return device, int(worker)


def test_a_ray_of_our_own_says_nothing_and_is_gone_with_the_run(cluster: Cluster) -> None:
    device, worker = elsewhere(None)
    assert device == cluster.device
    wait_until(partial(is_gone, worker))


def test_a_cluster_is_joined_and_stays(cluster: Cluster) -> None:
    import ray

    _, worker = elsewhere(ray.get_runtime_context().gcs_address)
    wait_until(partial(is_gone, worker))
    assert len(list(cluster.spread(Pretender, Numbers(8), **ONE))) == 8


@pytest.mark.parametrize(
    ("there", "asked", "expected"),
    [
        ({"CPU": 8.0}, {}, Fleet(4, 2, 0)),
        ({"CPU": 1.0}, {}, Fleet(1, 1, 0)),
        ({"CPU": 2.0}, {"workers": 2}, Fleet(2, 1, 0)),
        ({"CPU": 2.0}, {"workers": 4}, Fleet(4, 0.5, 0)),
        ({"CPU": 8.0}, {"cpus": 4}, Fleet(2, 4, 0)),
        ({"CPU": 16.0, "GPU": 2.0}, {}, Fleet(2, 1, 1)),
        ({"CPU": 16.0, "GPU": 2.0}, {"workers": 1, "cpus": 4}, Fleet(1, 4, 1)),
        ({"CPU": 16.0, "GPU": 2.0}, {"gpu": 0.0}, Fleet(8, 2, 0)),
        ({"CPU": 16.0, "GPU": 2.0}, {"gpu": 0.25}, Fleet(8, 1, 0.25)),
        ({"CPU": 16.0, "GPU": 1.0}, {"gpu": 0.1, "workers": 4}, Fleet(4, 1, 0.1)),
        ({"CPU": 8.0}, {"gpu": 0.25}, Fleet(4, 2, 0)),
        ({"CPU": 4.0}, {"workers": 64, "own": False}, Fleet(64, 2, 0)),
        ({"memory": 1.0}, {"own": False}, Fleet(1, 2, 0)),
        ({"CPU": 2.0}, {"workers": 2, "cpus": 2}, "2 with 2 CPU cores each exceed the 2 cores of this machine."),
        ({"CPU": 8.0, "GPU": 1.0}, {"workers": 2}, "2 are more than fit on the 1 GPUs of this machine"),
        ({"CPU": 8.0, "GPU": 1.0}, {"workers": 5, "gpu": 0.25}, "5 are more than fit on the 1 GPUs of this machine"),
    ],
)
def test_there_is_a_worker_for_each_gpu_or_for_every_two_cores(
    there: dict[str, float], asked: dict[str, Any], expected: Fleet | str
) -> None:
    asked = {"workers": None, "cpus": None, "gpu": 1.0, "own": True} | asked
    if isinstance(expected, Fleet):
        assert Fleet.of(there, **asked) == expected
    else:
        with pytest.raises(SettingsError, match=expected):
            Fleet.of(there, **asked)


def test_a_gpu_gets_chunks_that_keep_it_busy_and_a_cpu_gets_small_ones() -> None:
    assert [Fleet(1, 1, 1).chunk(size) for size in (None, 10)] == [144, 30]
    assert [Fleet(1, 1, 0).chunk(size) for size in (None, 10)] == [8, 10]


@pytest.mark.parametrize("asked", [{"workers": 0}, {"cpus": -1.0}, {"batch_size": 0}])
def test_nothing_is_done_by_less_than_something(cluster: Cluster, asked: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="it must be more than 0"):
        cluster.spread(Pretender, [], **asked)


def test_an_address_without_a_cluster_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        def answer() -> None:
            line, _ = server.accept()
            with line:
                line.recv(1000)
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(SettingsError, match=f"Another program answers at {address}, not a Ray cluster"):
            ray_engine.check_address(address)
        thread.join()
    with pytest.raises(SettingsError, match=rf"No Ray cluster answers at {address} \(Connection refused\)"):
        ray_engine.check_address(address)
    with pytest.raises(SettingsError, match="neither auto nor host:port"):
        ray_engine.check_address("nowhere")
    with pytest.raises(SettingsError, match="cannot read the files of this machine"):
        ray_engine.check_address("ray://127.0.0.1:10001")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RefdecError, match=r"pip install 'refdec\[ray\]'"), ray_engine.cluster():
        pass
