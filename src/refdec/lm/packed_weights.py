"""The packed form of a matrix: int8 values that are coded by how often they occur, and one scale per row.

A file has three tensors for it: `name`, the coded bytes; `name.scale`, a float32 per row; `name.shape`, its rows and
columns. Where columns have scales of their own, there is also `name.columns`. The bytes are a zlib stream with Huffman
codes alone, which any zlib reads: a value that occurs often takes few bits, so that a coarser step of the values makes
a smaller file. Knows nothing of models.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from refdec.lm.linear import Stored

SCALE, SHAPE, COLUMNS = ".scale", ".shape", ".columns"
MOST_MEMORY = 9
"""zlib's largest buffer: a table of codes per 32,768 values. Fewer values per table make a slightly larger file."""

LARGEST_FILE = 49_000_000
"""Bytes of a file, at most: repositories of code take no larger ones gladly."""

HEADER = 256
"""Bytes in the header of a file for one tensor, and for the file itself, at most."""

NOTE = {"quantization": "zlib stream of int8, weight = int8 * scale[row]"}
"""Only one entry: safetensors writes several in any order, and equal weights should give equal bytes."""


def pack(name: str, matrix: Stored) -> dict[str, torch.Tensor]:
    """The tensors that hold an int8 matrix in a file."""
    assert matrix.scale is not None
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, MOST_MEMORY, zlib.Z_HUFFMAN_ONLY)
    stream = coder.compress(matrix.values.contiguous().numpy().tobytes()) + coder.flush()
    tensors = {
        name: torch.frombuffer(bytearray(stream), dtype=torch.uint8),
        name + SCALE: matrix.scale.float(),
        name + SHAPE: torch.tensor(matrix.values.shape),
    }
    return tensors if matrix.columns is None else tensors | {name + COLUMNS: matrix.columns.float()}


def save_packed(directory: Path, weights: Mapping[str, Stored], largest: int = LARGEST_FILE) -> list[Path]:
    """Write the weights of a model: int8 matrices packed, all others as they are; in several files if one is too large.

    A file holds as many tensors as fit into so many bytes, in the order of the weights.
    """
    parts: list[dict[str, torch.Tensor]] = []
    left = 0
    for name, matrix in weights.items():
        tensors = {name: matrix.values} if matrix.scale is None else pack(name, matrix)
        size = sum(tensor.nbytes + HEADER for tensor in tensors.values())
        if not parts or size > left:
            parts.append({})
            left = largest - HEADER
        parts[-1] |= tensors
        left -= size
    stems = [f"model-{number:05}-of-{len(parts):05}" for number in range(1, len(parts) + 1)] if parts[1:] else ["model"]
    paths = [directory / f"{stem}.safetensors" for stem in stems]
    for path, part in zip(paths, parts, strict=True):
        save_file(part, path, metadata=NOTE)
    return paths


def unpack(tensors: Mapping[str, torch.Tensor]) -> dict[str, Stored]:
    """The tensors of files by name, each with its scale if it has one; packed ones in int8."""
    beside = {name + ending for name in tensors for ending in (SCALE, SHAPE, COLUMNS)}
    matrices = {name: tensor for name, tensor in tensors.items() if name not in beside}
    packed = [name for name in matrices if name + SHAPE in tensors]
    packed.sort(key=lambda name: -tensors[name].numel())  # the longest first, so that no thread is left alone with it
    with ThreadPoolExecutor() as pool:  # zlib lets other threads run
        inflated = pool.map(lambda name: _inflate(name, tensors[name], tensors[name + SHAPE]), packed)
        matrices |= dict(zip(packed, inflated, strict=True))
    for name, matrix in matrices.items():
        for scales, size in (
            (tensors.get(name + SCALE), matrix.shape[:1]),
            (tensors.get(name + COLUMNS), matrix.shape[1:]),
        ):
            if scales is not None and (matrix.ndim != 2 or scales.shape != size):
                raise ValueError(f"{name} has the shape {tuple(matrix.shape)}, and its scales {tuple(scales.shape)}")
    return {
        name: Stored(matrix, tensors.get(name + SCALE), tensors.get(name + COLUMNS))
        for name, matrix in matrices.items()
    }


def _inflate(name: str, stream: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    rows, columns = shape.tolist() if shape.shape == (2,) and shape.dtype == torch.int64 else (0, 0)
    most = 8 * stream.numel()  # a Huffman code has at least one bit
    if stream.dtype != torch.uint8 or stream.ndim != 1 or rows < 1 or not 1 <= columns <= most // rows:
        raise ValueError(f"{name} is not a packed matrix of {rows} rows and {columns} columns")
    coder = zlib.decompressobj()
    try:
        content = coder.decompress(stream.numpy().tobytes(), rows * columns + 1)  # no more, whatever the stream holds
    except zlib.error as error:
        raise ValueError(f"the packed values of {name} are damaged") from error
    if len(content) != rows * columns or not coder.eof:
        raise ValueError(f"{name} should hold {rows} rows of {columns} values, and its packed values are not so many")
    return torch.from_numpy(np.frombuffer(content, np.int8).reshape(rows, columns).copy())
