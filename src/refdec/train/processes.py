"""The processes that train one model together, as torchrun starts them; usually there is only one."""

from __future__ import annotations

import atexit
import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from refdec.errors import ModelError, RefdecError

PATIENCE = timedelta(hours=1)
"""How long a process waits for another: the first writes checkpoints and the pair, which may take over ten minutes."""

LAST_WORDS = timedelta(seconds=20)
"""How long a process that fails silently waits for the message of the one that failed first."""

LOOK_SECONDS = 0.1
FAILED, SPOKEN = "refdec/failed", "refdec/spoken"  # keys in the store of torchrun


@dataclass(frozen=True)
class Processes:
    """The rank of this process among them, and its device."""

    device: torch.device
    rank: int = 0
    world: int = 1
    _works: Iterator[int] = field(default_factory=itertools.count, repr=False, compare=False)

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and messages."""
        return self.rank == 0

    def most(self, *values: float) -> list[float]:
        """The highest of each value over all processes."""
        if self.world == 1:
            return list(values)
        highest = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(highest, dist.ReduceOp.MAX)
        return highest.tolist()

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        """The mean over all processes."""
        if self.world > 1:
            value = value.clone()
            dist.all_reduce(value)
            value /= self.world
        return value

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            dist.barrier()

    def first(self, work: Callable[[], None]) -> None:
        """Let the first process do this alone. The others wait as long as it takes; where it fails, they fail too."""
        if self.world == 1:
            work()
            return
        store, key = _store(), f"refdec/work/{next(self._works)}"
        if not self.is_first:
            while not store.check([key]):
                time.sleep(LOOK_SECONDS)
            if store.get(key) != b"done":
                raise ModelError("The first process failed; see its message.")
            return
        try:
            work()
        except BaseException:
            _is_first_to_fail()
            store.set(key, "failed")
            raise
        store.set(key, "done")


@contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun started, each on its own GPU where there are GPUs."""
    world = _world()
    if world == 1:
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)  # for calls that name no GPU
        yield Processes(device)
        return
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if device.type == "cuda":
        if local >= torch.cuda.device_count():
            raise ModelError(
                f"torchrun started more processes on this machine than its {torch.cuda.device_count()} GPUs. Start one "
                "process per GPU (--nproc-per-node)."
            )
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(
        backend,
        store=_store(),
        rank=rank,
        world_size=world,
        timeout=PATIENCE,
        device_id=device if device.type == "cuda" else None,
    )
    yield Processes(device, rank, world)
    dist.destroy_process_group()  # not after an error: it would wait for the others


@contextmanager
def told_once() -> Iterator[None]:
    """Where several processes fail, only the first to fail prints its message."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if _world() == 1:
            raise
        if _is_first_to_fail():
            atexit.register(_store().set, SPOKEN, "")  # by then, the message is printed
            raise
        with suppress(RuntimeError):  # torchrun ends all processes once one has ended: wait for the message
            _store().wait([SPOKEN], LAST_WORDS)
        raise SystemExit(2 if isinstance(error, RefdecError) else 1) from None


def _is_first_to_fail() -> bool:
    rank = os.environ["RANK"]
    first: bytes = _store().compare_set(FAILED, "", rank)
    return first == rank.encode()


def _world() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@cache
def _store() -> Store:
    """Keys and values that all processes see, kept by torchrun."""
    return next(iter(rendezvous("env://", timeout=PATIENCE)))[0]  # type: ignore[no-any-return]
