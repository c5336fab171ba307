"""The engine of many workers: Ray Data sends items to actors that each hold a pair, on this machine or on a cluster.

One task reads the items, on the machine where the run began, and never far ahead of the workers. On a cluster refdec is
installed on every node, and models are the pair that comes with it, hub ids, or paths that every node sees. A worker or
a reader that dies is replaced; no row is lost and none comes twice, because reading again gives the same items. Knows
nothing of files and tasks.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, chdir, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from refdec.batch.item import Item, Outcome
from refdec.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from refdec.batch.job import Job
    from refdec.batch.todo import Todo
    from refdec.batch.worker import Worker

CPUS = 2
"""Cores of a worker without a GPU: the two models of a pair run side by side."""

WAVE, WAVES = 48, 3
"""Rows that a GPU computes together, and how many such waves a chunk has, so that the GPU always has work."""

CHUNK = 8
"""Rows of a chunk where there is no GPU. Chunks that are under way when a run breaks off are made again."""

STORE = 512 << 20
"""Bytes of memory for waiting chunks, where Ray was started for this run."""

PATIENCE = 60.0
"""Seconds that a cluster may take to answer at all; a busy head takes its time."""

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first bytes of a client of Ray. The head answers in kind; the dashboard, whose port people may give, does not."""

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # messages of Ray's processes stay in their log files
    "RAY_DATA_DOWNSTREAM_CAPACITY_OBJECT_STORE_BUDGET_UTIL_THRESHOLD": "0",  # the reader waits however small items are
    # On a busy machine, Ray's processes take longer to find each other than Ray waits by itself.
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_py_gcs_connect_timeout_s": "300",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_raylet_client_connect_timeout_milliseconds": "30000",
}
"""Settings that Ray takes from the environment alone, when it is imported."""


class Hands(Protocol):
    """Makes outcomes of items, inside an actor: a Worker, or a stand-in."""

    def outcomes(self, items: Iterable[Item], batch_size: int | None) -> Iterator[Outcome]: ...


@contextmanager
def cluster(address: str | None = None) -> Iterator[Cluster]:
    """A Ray to work with: one that is started here for this run, or the one at `auto` or `host:port`.

    Where this process has joined one already, that one is used, and it stays.
    """
    ray = _import_ray()
    joined = ray.is_initialized()
    try:
        if not joined:
            _connect(ray, address)
        with ExitStack() as runs:
            yield Cluster(ray, runs, own=not joined and address is None)
    finally:
        if joined:
            gc.collect()  # actors end when nothing refers to them, and a run that failed refers to itself
        else:
            ray.shutdown()


class Cluster:
    """A Ray on which runs are spread over workers."""

    def __init__(self, ray: Any, runs: ExitStack, own: bool) -> None:
        self._ray, self._runs, self._own = ray, runs, own
        self._resources: Mapping[str, float] = ray.cluster_resources()

    @property
    def device(self) -> str:
        """The kind of device that workers have."""
        return "cuda" if self._resources.get("GPU", 0) >= 1 else "cpu"

    def outcomes(self, job: Job, todo: Todo, **sizes: Any) -> Iterator[Outcome]:
        """The outcome of each item, in the order in which workers make them. The sizes are those of `spread`."""
        device = job.models.device
        return self.spread(partial(_worker, job), todo, on_gpus=device is None or device.startswith("cuda"), **sizes)

    def spread(
        self,
        make: Callable[[Fleet], Hands],
        todo: Iterable[Item],
        *,
        workers: int | None = None,
        cpus: float | None = None,
        gpus: float | None = None,
        batch_size: int | None = None,
        on_gpus: bool = True,
    ) -> Iterator[Outcome]:
        """The same with the hands that `make` makes in each actor. `on_gpus`: whether they could use one.

        There is a worker for each GPU or, where there are none, for every two cores; `cpus` are the cores of one, and
        `gpus` the part of a GPU that it gets. A worker on a GPU computes `batch_size` rows together.
        """
        for name, value in {"workers": workers, "cpus": cpus, "gpus": gpus, "batch_size": batch_size}.items():
            if value is not None and not value > 0:
                raise SettingsError(f"{name} is {value}; it must be more than 0.")
        if gpus is not None and gpus > 1:
            raise SettingsError(f"gpus is {gpus:g}; a worker uses one GPU at most. Give 1, or a part such as 0.25.")
        fleet = Fleet.of(self._resources, workers, cpus, (gpus or 1.0) if on_gpus else 0.0, self._own)
        run = self._run(make, todo, fleet, batch_size)
        self._runs.callback(run.close)  # before Ray is gone, whoever else still holds it
        return run

    def _run(
        self, make: Callable[[Fleet], Hands], todo: Iterable[Item], fleet: Fleet, batch_size: int | None
    ) -> Generator[Outcome, None, None]:
        with _plain_errors(self._ray), closing(_chunks(self._ray, make, todo, fleet, batch_size)) as chunks:
            for chunk in chunks:
                yield from _unpack(chunk)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The number of workers, and the cores of each and its part of a GPU, 0 for none."""

    workers: int
    cpus: float
    gpu: float

    @classmethod
    def of(cls, there: Mapping[str, float], workers: int | None, cpus: float | None, gpu: float, own: bool) -> Fleet:
        """The workers for these resources. A cluster may grow, so more workers than it holds may be asked for.

        `gpu` is the part of a GPU that each would use, 0 where they cannot use one.
        """
        cores, cards = there.get("CPU", 0.0), int(there.get("GPU", 0.0)) if gpu else 0
        places = cards * int(1 / gpu) if gpu else 0
        if cards:
            fleet = cls(workers or places, cpus or 1, gpu)
        else:
            share = cores / (workers or 1) if own else float(CPUS)
            cpus = cpus or min(CPUS, int(share) if share > 1 else share)
            fleet = cls(workers or max(1, int(cores // cpus)), cpus, 0.0)
        if own and fleet.workers * fleet.cpus > cores:
            raise SettingsError(
                f"Workers: {fleet.workers} with {fleet.cpus:g} CPU cores each exceed the {cores:g} cores of this "
                "machine. Take fewer workers, or fewer cores for each."
            )
        if own and cards and fleet.workers > places:
            raise SettingsError(
                f"Workers: {fleet.workers} are more than fit on the {cards} GPUs of this machine with {gpu:g} of one "
                "each. Take fewer, or a smaller part of a GPU for each (--gpus)."
            )
        return fleet

    def chunk(self, batch_size: int | None) -> int:
        """The number of rows that go to a worker at a time."""
        return WAVES * (batch_size or WAVE) if self.gpu else batch_size or CHUNK


def _worker(job: Job, fleet: Fleet) -> Worker:
    """A worker on the one GPU that Ray shows to its process, or with no more threads than it has cores."""
    import torch

    from refdec.batch.worker import Worker
    from refdec.reflect.memory import take_part

    if fleet.gpu:
        if fleet.gpu < 1:
            take_part(torch.device("cuda"), fleet.gpu)
        return Worker(replace(job, models=replace(job.models, device="cuda")))
    torch.set_num_threads(max(1, int(fleet.cpus)))
    return Worker(job)


def _import_ray() -> Any:
    """Ray, with its messages turned off."""
    if "ray" not in sys.modules:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError:
        raise ModelError("The Ray engine needs a package that is not installed: pip install 'refdec[ray]'.") from None
    warnings.filterwarnings("ignore", module=r"ray\.")
    for handler in logging.getLogger("ray.data").handlers:
        if handler.name == "console":
            handler.setLevel(logging.CRITICAL + 1)
    return ray


def _connect(ray: Any, address: str | None) -> None:
    where: dict[str, Any] = {"address": "local", "include_dashboard": False, "object_store_memory": STORE}
    if address is not None:
        check_address(address)
        where = {"address": address}
    try:
        with _hushed():
            ray.init(**where, log_to_driver=False, logging_level=logging.CRITICAL)
    except Exception as error:  # Ray raises that itself where it starts too slowly
        reason = str(error).strip().partition("\n")[0]
        if address is None:
            raise ModelError(f"Ray could not be started: {reason}") from error
        raise SettingsError(f"There is no Ray cluster to join at {address}: {reason}") from error


def check_address(address: str) -> None:
    """Refuse an address at once that Ray would try for minutes."""
    if address == "auto":
        return
    if "://" in address:
        raise SettingsError(
            f"Through {address} a cluster cannot read the files of this machine. Run the command on a machine of the "
            "cluster, with --address auto or the host:port of its head."
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise SettingsError(f"The address {address} is neither auto nor host:port, such as 10.0.0.1:6379.")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as line:
            line.sendall(GREETING)
            answer = line.recv(9)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"No Ray cluster answers at {address} ({reason}). Does its head run there?") from None
    if answer[3:4] != b"\4":
        raise SettingsError(
            f"Another program answers at {address}, not a Ray cluster. The port of its head is usually 6379."
        )


@contextmanager
def _hushed() -> Iterator[None]:
    """Silence Ray while it starts: its C++ part writes past Python, and takes its log level from the environment."""
    name = "RAY_BACKEND_LOG_LEVEL"
    before = os.environ.get(name)
    os.environ.setdefault(name, "fatal")
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
        if before is None:
            del os.environ[name]


def _chunks(
    ray: Any, make: Callable[[Fleet], Hands], todo: Iterable[Item], fleet: Fleet, batch_size: int | None
) -> Generator[Any, None, None]:
    """Chunks of outcomes, as they come in.

    A row of the dataset is a chunk. Ray Data would gather small rows into blocks of many megabytes before passing them
    on; with one row per block, each chunk goes to a worker and comes back by itself.
    """
    context = ray.data.DataContext.get_current().copy()
    context.target_max_block_size = 1
    context.enable_progress_bars = False
    context.raise_original_map_exception = True
    context.execution_options.preserve_order = False
    with ray.data.DataContext.current(context):
        # The reader needs no core of its own: workers may have taken them all.
        items = ray.data.read_datasource(_source(ray, todo, fleet.chunk(batch_size)), num_cpus=0, override_num_blocks=1)
        made = items.map_batches(
            _Actor,
            fn_constructor_args=(make, fleet, batch_size),
            batch_size=1,
            batch_format="pyarrow",
            # One chunk that a worker computes, and one that waits for it.
            compute=ray.data.ActorPoolStrategy(size=fleet.workers, max_tasks_in_flight_per_actor=2),
            num_cpus=fleet.cpus,
            num_gpus=fleet.gpu or None,
        )
    # Fetching ahead would hold a chunk back until the next one is there.
    yield from made.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)


def _source(ray: Any, todo: Iterable[Item], size: int) -> Any:
    """A datasource that reads in one task, on this machine and from this directory."""
    from ray.data.block import BlockMetadata

    home = Path.cwd()

    def read() -> Iterator[Any]:
        try:
            with chdir(home):
                items = iter(todo)
                while chunk := list(islice(items, size)):
                    yield _pack(chunk)
        except Exception as error:
            raise _Raised(error) from None

    class Items(ray.data.Datasource):  # type: ignore[misc]
        supports_distributed_reads = False

        def estimate_inmemory_data_size(self) -> None:
            """Unknown."""

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            nothing_known = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return [ray.data.ReadTask(read, nothing_known)]

    return Items()


class _Actor:
    """A worker in a process of its own."""

    def __init__(self, make: Callable[[Fleet], Hands], fleet: Fleet, batch_size: int | None) -> None:
        self._batch_size = batch_size
        self._problem: Exception | None = None
        try:
            self._hands = make(fleet)
        except Exception as error:
            self._problem = error  # raised with the first chunk: from a constructor, Ray passes on the text only

    def __call__(self, chunk: Any) -> Any:
        try:
            if self._problem is not None:
                raise self._problem
            return _pack(self._hands.outcomes(_unpack(chunk), self._batch_size))
        except Exception as error:
            raise _Raised(error) from None


class _Raised(Exception):  # noqa: N818
    """Carries an exception to the driver as it is. Ray adds to the messages of all others."""


@contextmanager
def _plain_errors(ray: Any) -> Iterator[None]:
    """Raise an exception of another process as if it came from this one."""
    try:
        yield
    except (ray.exceptions.RayError, ray.data.exceptions.ExecutionTimeoutError) as error:
        error.__traceback__ = error.__context__ = None  # frames in which the run is still alive
        cause = getattr(error, "cause", error)
        if isinstance(cause, _Raised):
            raise cause.args[0] from None
        raise ModelError(f"The run failed on Ray's side: {str(cause).strip()}") from error


def _pack(records: Iterable[Item] | Iterable[Outcome]) -> Any:
    """A table of one cell that holds all records. Ray's own messages between processes are pickled in the same way."""
    import pyarrow as pa

    return pa.table({"records": [pickle.dumps(list(records))]})


def _unpack(table: Any) -> Iterator[Any]:
    for cell in table["records"]:
        yield from pickle.loads(cell.as_py())
