"""How much memory a pass may take, where a GPU stands in that needs none."""

from __future__ import annotations

import pytest
import torch

from refdec.reflect import memory

GIB = 1 << 30
GPU = torch.device("cuda")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """A GPU of 80 GiB of which 50 are free and this process holds 4; what torch was told to hold the process to."""
    told: dict[int, float] = {}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (50 * GIB, 80 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 4 * GIB)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda part, number: told.update({number: part}))
    monkeypatch.setattr(memory, "_FREE", {})
    monkeypatch.setattr(memory, "_PARTS", {})
    return told


def free() -> float:
    memory.measure_again(GPU)
    return memory._FREE[GPU] / GIB


@pytest.mark.usefixtures("gpu")
def test_all_that_is_free_counts_where_a_process_has_the_gpu_to_itself() -> None:
    assert free() == 50


def test_a_process_with_a_part_of_a_gpu_counts_what_is_left_of_its_part(gpu: dict[int, float]) -> None:
    memory.take_part(GPU, 0.25)
    assert gpu == {0: 0.25}
    assert free() == 80 * 0.25 - 4


def test_a_part_promises_no_more_than_others_leave(gpu: dict[int, float]) -> None:
    memory.take_part(GPU, 0.9)
    assert gpu == {0: 0.9}
    assert free() == 50
