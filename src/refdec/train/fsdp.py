"""A model sharded over processes (FSDP): each process holds some rows of every weight, and their optimiser state.

The weights of a layer are gathered when it computes, and dropped afterwards. Knows modules and tensors, not what they
are for; every function here leaves an unsharded tensor as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

PARAMETERS = 200_000_000
"""Parameters above which a model is sharded rather than copied to every process."""


def pays_to_shard(parameters: int, processes: int) -> bool:
    """Weights, gradients and AdamW's state take 16 bytes per parameter, which only large models must divide."""
    return processes > 1 and parameters > PARAMETERS


def shard(whole: nn.Module, layers: Iterable[nn.Module], device: torch.device, compiled: bool = False) -> FSDPModule:
    """Shard a module that is on the CPU, as it may not fit on one device, over the devices of all processes.

    Layers are gathered one by one, the remaining weights with the whole. Only calls of the whole and of its layers
    gather. Weights are gathered in float32, so that each process computes as a single one would. `compiled` compiles
    the layers inside the gathering: each sees plain weights, and all have one program.
    """
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for layer in layers:
        if compiled:
            layer.forward = torch.compile(layer.forward, fullgraph=True, dynamic=False)
        fully_shard(layer, mesh=mesh)
    return fully_shard(whole, mesh=mesh)


def gathered(tensors: Mapping[str, torch.Tensor], keep: bool = True) -> dict[str, torch.Tensor]:
    """Unsharded tensors, on the CPU if they were sharded. Every process must call this; without `keep` it gets none."""
    unsharded: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        whole = tensor.full_tensor().cpu() if isinstance(tensor, DTensor) else tensor
        if keep:
            unsharded[name] = whole
    return unsharded


def share_of(tensor: torch.Tensor, like: torch.Tensor | None) -> torch.Tensor:
    """The rows of a tensor that this process holds, if `like` is sharded; else all of it."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def local_parts(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The part of each tensor that this process holds, not a copy."""
    return [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors]


def shares(count: int, processes: int) -> list[int]:
    """How many of `count` rows or matrices each process holds: as many as the first, until none are left."""
    most = -(-count // processes)
    return [max(0, min(most, count - most * rank)) for rank in range(processes)]


class Exchange:
    """Swaps rows of all matrices of one shape for some whole matrices, and back, so that each is worked on once."""

    def __init__(self, like: DTensor, count: int) -> None:
        mesh = like.device_mesh
        self._group, rank = mesh.get_group(), mesh.get_local_rank()
        self._columns = like.shape[1]
        self._rows, self._counts = shares(like.shape[0], mesh.size()), shares(count, mesh.size())
        self._local_rows, self._local_count = self._rows[rank], self._counts[rank]

    def wholes(self, stacked: torch.Tensor) -> torch.Tensor:
        """(all matrices, local rows, columns) to (local matrices, all rows, columns)."""
        sent = [count * self._local_rows * self._columns for count in self._counts]
        received = [rows * self._local_count * self._columns for rows in self._rows]
        parts = torch.split(self._send(stacked.flatten(), sent, received), received)
        shapes = [(self._local_count, rows, self._columns) for rows in self._rows]
        return torch.cat([part.view(shape) for part, shape in zip(parts, shapes, strict=True)], dim=1)

    def parts(self, wholes: torch.Tensor) -> torch.Tensor:
        """(local matrices, all rows, columns) to (all matrices, local rows, columns)."""
        sent = [rows * self._local_count * self._columns for rows in self._rows]
        received = [count * self._local_rows * self._columns for count in self._counts]
        flat = torch.cat([part.flatten() for part in torch.split(wholes, self._rows, dim=1)])
        return self._send(flat, sent, received).view(sum(self._counts), self._local_rows, self._columns)

    def _send(self, flat: torch.Tensor, sent: list[int], received: list[int]) -> torch.Tensor:
        buffer = flat.new_empty(sum(received))
        dist.all_to_all_single(buffer, flat, received, sent, group=self._group)
        return buffer
