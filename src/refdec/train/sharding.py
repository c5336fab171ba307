"""A model in shares (FSDP): of every weight, each process holds some rows, and what the optimiser remembers of them.

The weights of a layer are gathered when it computes, and gone afterwards. Knows modules and tensors, not what they are
for; a tensor that is in one piece is left as it is everywhere here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor

PARAMETERS = 200_000_000
"""From which size on a model is shared rather than copied to every process."""


def pays_to_shard(parameters: int, processes: int) -> bool:
    """Weights, gradients and what AdamW remembers take 16 bytes a parameter: a small model has room for them anyway."""
    return processes > 1 and parameters > PARAMETERS


def shard(whole: nn.Module, layers: Iterable[nn.Module], device: torch.device, compiled: bool = False) -> FSDPModule:
    """Share a module on the CPU, which may not fit on a device, among all processes; on their devices afterwards.

    Layers are gathered one by one, what is outside of them with the whole. Only calls of the whole and of layers in it
    gather. Everything is gathered in float32, so that a share of a step is computed as one process would. `compiled`
    are the layers, inside of what gathers them: each sees plain weights, and all have one program.
    """
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for layer in layers:
        if compiled:
            layer.forward = torch.compile(layer.forward, fullgraph=True, dynamic=False)
        fully_shard(layer, mesh=mesh)
    return fully_shard(whole, mesh=mesh)


def gathered(tensors: Mapping[str, torch.Tensor], keep: bool = True) -> dict[str, torch.Tensor]:
    """All in one piece, on the CPU where they were not; every process must ask. Nothing for who keeps nothing."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        one = tensor.full_tensor().cpu() if isinstance(tensor, DTensor) else tensor
        if keep:
            found[name] = one
    return found


def share_of(tensor: torch.Tensor, like: torch.Tensor | None) -> torch.Tensor:
    """The rows that this process has, where it has some of `like`."""
    if not isinstance(like, DTensor):
        return tensor
    mesh = like.device_mesh
    rows = torch.split(tensor, shares(len(tensor), mesh.size()))[mesh.get_local_rank()]
    local = rows.to(like.device, copy=True).contiguous()
    shape, stride = tensor.shape, tensor.contiguous().stride()
    return DTensor.from_local(local, mesh, like.placements, run_check=False, shape=shape, stride=stride)


def own(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """What this process has of them, not a copy."""
    return [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors]


def shares(count: int, processes: int) -> list[int]:
    """How many rows, or matrices, each process has: as many as the first, while there are some."""
    most = -(-count // processes)
    return [max(0, min(most, count - most * rank)) for rank in range(processes)]


class Exchange:
    """Shares of many matrices of one shape for some whole matrices, and back: work on whole ones is done once."""

    def __init__(self, like: DTensor, count: int) -> None:
        mesh = like.device_mesh
        self._group, rank = mesh.get_group(), mesh.get_local_rank()
        self._columns = like.shape[1]
        self._rows, self._counts = shares(like.shape[0], mesh.size()), shares(count, mesh.size())
        self._my_rows, self._my_count = self._rows[rank], self._counts[rank]

    def wholes(self, stacked: torch.Tensor) -> torch.Tensor:
        """(all matrices, my rows, columns) to (my matrices, all rows, columns)."""
        sent = [count * self._my_rows * self._columns for count in self._counts]
        received = [rows * self._my_count * self._columns for rows in self._rows]
        parts = torch.split(self._send(stacked.flatten(), sent, received), received)
        columns = self._columns
        shapes = [(self._my_count, rows, columns) for rows in self._rows]
        return torch.cat([part.view(shape) for part, shape in zip(parts, shapes, strict=True)], dim=1)

    def parts(self, wholes: torch.Tensor) -> torch.Tensor:
        """(my matrices, all rows, columns) to (all matrices, my rows, columns)."""
        sent = [rows * self._my_count * self._columns for rows in self._rows]
        received = [count * self._my_rows * self._columns for count in self._counts]
        flat = torch.cat([part.flatten() for part in torch.split(wholes, self._rows, dim=1)])
        return self._send(flat, sent, received).view(sum(self._counts), self._my_rows, self._columns)

    def _send(self, flat: torch.Tensor, sent: list[int], received: list[int]) -> torch.Tensor:
        found = flat.new_empty(sum(received))
        dist.all_to_all_single(found, flat, received, sent, group=self._group)
        return found
