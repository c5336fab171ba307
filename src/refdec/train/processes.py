"""The processes that train one model together, as torchrun starts them; one alone is the usual case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist

from refdec.errors import ModelError


@dataclass(frozen=True)
class Processes:
    """Which of them this one is, and where it computes."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def is_first(self) -> bool:
        """Whether it is the one that writes files and talks to people."""
        return self.rank == 0

    def agree(self, value: float) -> float:
        """What the first process says."""
        if self.world == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.broadcast(told, 0)
        return float(told)

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


@contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """This process among those that torchrun started; on a GPU of its own where there are some."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
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
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Processes(device, rank, world)
    finally:
        dist.destroy_process_group()
