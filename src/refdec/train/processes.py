"""The processes that train one model together, as torchrun starts them; one alone is the usual case."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from refdec.errors import ModelError, RefdecError

PATIENCE = timedelta(hours=1)
"""How long one waits for another: the first writes checkpoints and the pair. Torch's ten minutes may be too few."""

LOOK_SECONDS = 0.1
LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True)
class Processes:
    """Which of them this one is, and where it computes."""

    device: torch.device
    rank: int = 0
    world: int = 1
    _works: Iterator[int] = field(default_factory=itertools.count, repr=False, compare=False)

    @property
    def is_first(self) -> bool:
        """Whether it is the one that writes files and talks to people."""
        return self.rank == 0

    def most(self, *values: float) -> list[float]:
        """The highest of each over all processes."""
        if self.world == 1:
            return list(values)
        told = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(told, dist.ReduceOp.MAX)
        found: list[float] = told.tolist()
        return found

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        """Over all processes."""
        if self.world > 1:
            value = value.clone()
            dist.all_reduce(value)
            value /= self.world
        return value

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            dist.barrier()

    def first(self, work: Callable[[], None]) -> None:
        """Done by the first process alone. The others wait as long as it takes; where it fails, they fail, too."""
        if self.world == 1:
            work()
            return
        store, key = _store(), f"refdec/work/{next(self._works)}"
        if not self.is_first:
            while not store.check([key]):
                time.sleep(LOOK_SECONDS)
            if store.get(key) != b"done":
                raise ModelError("The first process could not do its part; it says why.")
            return
        try:
            work()
        except BaseException:
            _speaks()
            store.set(key, "failed")
            raise
        store.set(key, "done")


@contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """This process among those that torchrun started; on a GPU of its own where there are some."""
    world = _world()
    if world == 1:
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)  # what is done without naming a GPU is not done on another
        yield Processes(device)
        return
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if device.type == "cuda":
        if local >= torch.cuda.device_count():
            raise ModelError(
                f"torchrun started process {local} of this machine, which has {torch.cuda.device_count()} GPUs. Start "
                "as many as there are GPUs."
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
    """Of processes that fail together, or one after the other, the first to fail says why; the others end silently."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if _world() == 1 or _speaks():
            raise
        time.sleep(LAST_WORDS_SECONDS)  # torchrun ends all when one has ended: not before it has spoken
        raise SystemExit(2 if isinstance(error, RefdecError) else 1) from None


def _speaks() -> bool:
    """Whether this process is the first to ask: the one that failed before the others."""
    mine = os.environ["RANK"]
    first: bytes = _store().compare_set("refdec/failed", "", mine)
    return first == mine.encode()


def _world() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@cache
def _store() -> Store:
    """A few words that all processes see, kept by torchrun."""
    found: Store = next(iter(rendezvous("env://", timeout=PATIENCE)))[0]
    return found
