"""A Llama-shaped network in int8 on a CPU, computed by our own C++ code: one call per pass instead of 1,500 operations.

It computes what `TorchNetwork` computes in int8, up to the rounding of sums in float32. The libraries are compiled when
the package is built, see native/build.py; where there is none, `TorchNetwork` is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import torch

from refdec.lm.head import LinearHead
from refdec.lm.linear import Stored
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.native.build import VARIANTS, digest, library
from refdec.lm.network import cost_of, rotary_tables
from refdec.lm.prefix_cache import Prefixes, TailBuffer

GROUP = 64
"""Packed matrices are filled up to a multiple of so many outputs."""

LANES = 16
"""Head sizes and the width of the MLP must be multiples of this."""


class _Matrix(ctypes.Structure):
    _fields_ = (
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("packed", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
    )


class _Layer(ctypes.Structure):
    _fields_ = (
        ("attention_norm", ctypes.c_void_p),
        ("inner_norm", ctypes.c_void_p),
        ("qkv", _Matrix),
        ("output", _Matrix),
        ("gate_up", _Matrix),
        ("down", _Matrix),
    )


class _Network(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("layers", "width", "inner", "heads", "kv_heads", "head_size")),
        ("vocabulary", ctypes.c_int32),
        ("epsilon", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("cosine", "sine", "embedding", "final_norm", "each")),
        ("head", _Matrix),
    )


class _Prefixes(ctypes.Structure):
    _fields_ = (
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("count", ctypes.c_int32),
        ("places", ctypes.c_int32),
        ("index", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
    )


class _Tail(ctypes.Structure):
    _fields_ = (
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("capacity", ctypes.c_int32),
        ("filled", ctypes.c_int32),
    )


@cache
def fastest_library() -> ctypes.CDLL | None:
    """The compiled code for this processor; None where there is none, or only one of another source."""
    for variant in VARIANTS:
        if variant in _instructions():
            return load_library(variant)
    return None


def load_library(variant: str) -> ctypes.CDLL | None:
    path = library(variant)
    if not path.is_file():
        return None
    code = ctypes.CDLL(str(path))
    code.refdec_source.restype = ctypes.c_char_p
    number, pointer = ctypes.c_int, ctypes.c_void_p
    code.refdec_pack.argtypes = (pointer, number, number, pointer, pointer)
    code.refdec_run.argtypes = (pointer, number, number, *(pointer,) * 5, number)
    code.refdec_logits.argtypes = (pointer, number, pointer, pointer, number)
    return code if code.refdec_source().decode() == digest() else None


@cache
def _instructions() -> frozenset[str]:
    """Sets of instructions that this processor has, by their names in Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())


def can_run(code: ctypes.CDLL | None, shape: LlamaShape) -> TypeGuard[ctypes.CDLL]:
    """Whether there is compiled code, and it knows models of this shape."""
    return code is not None and not (shape.head_size % LANES or shape.inner % LANES or shape.heads % shape.kv_heads)


class NativeNetwork:
    """A network whose passes are calls of compiled code."""

    precision = "int8"
    dtype = torch.float32
    device = torch.device("cpu")

    def __init__(self, code: ctypes.CDLL, shape: LlamaShape, stored: Mapping[str, Stored]) -> None:
        self._code, self.shape = code, shape
        self._kept: list[Any] = []  # what the compiled code points to
        embedding = stored["model.embed_tokens.weight"]
        output = embedding if shape.tied else stored["lm_head.weight"]
        table = embedding.float().contiguous()
        self.head = LinearHead(table if output is embedding else output.float())
        self._columns = output.columns
        self.cost = cost_of(shape, self.precision)
        cosine, sine = rotary_tables(shape, self.device)
        homes = [f"model.layers.{number}." for number in range(shape.layers)]
        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            layers = list(threads.map(lambda home: self._layer(stored, home), homes))
        sizes = (shape.layers, shape.width, shape.inner, shape.heads, shape.kv_heads, shape.head_size)
        tables = (cosine.contiguous(), sine.contiguous(), table, stored["model.norm.weight"].float())
        each = (_Layer * shape.layers)(*layers)
        self._kept.append(each)
        pointers = [self._pointer(tensor) for tensor in tables]
        self._network = _Network(
            *sizes,
            shape.vocabulary,
            shape.epsilon,
            *pointers,
            ctypes.addressof(each),
            self._matrix([output.quantised()]),
        )

    def run(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        prefixes: Prefixes | None,
        tail: TailBuffer | None,
        filled: int,
    ) -> torch.Tensor:
        rows, n = tokens.shape
        if not 0 <= int(tokens.min()) <= int(tokens.max()) < self.shape.vocabulary:
            raise IndexError(f"There are token ids that are not below {self.shape.vocabulary}.")
        if int(positions.max()) >= self.shape.window:
            raise IndexError(f"There are tokens beyond the window of {self.shape.window}.")
        if tail is None:
            tail = TailBuffer.empty(self.shape, rows, n, self.dtype, self.device)
        features = torch.empty(rows, n, self.shape.width)
        tokens, positions = tokens.contiguous(), positions.contiguous()
        before = _Prefixes()
        if prefixes is not None:
            shared = prefixes.rows
            pointers = (prefixes.keys.data_ptr(), prefixes.values.data_ptr())
            before = _Prefixes(
                *pointers, *prefixes.keys.shape[1:4:2], shared.index.data_ptr(), shared.lengths.data_ptr()
            )
        after = _Tail(tail.keys.data_ptr(), tail.values.data_ptr(), tail.capacity, filled)
        self._code.refdec_run(
            ctypes.byref(self._network), rows, n, tokens.data_ptr(), positions.data_ptr(), ctypes.byref(before),
            ctypes.byref(after), features.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
        return features

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        inputs = (features if self._columns is None else features * self._columns).float().contiguous()
        logits = torch.empty(len(inputs), self.shape.vocabulary)
        pointers = (inputs.data_ptr(), logits.data_ptr())
        self._code.refdec_logits(ctypes.byref(self._network), len(inputs), *pointers, torch.get_num_threads())
        return logits

    def _layer(self, stored: Mapping[str, Stored], home: str) -> _Layer:
        def matrix(*names: str) -> list[Stored]:
            return [stored[f"{home}{name}_proj.weight"].without_columns() for name in names]

        norms = (stored[f"{home}{name}_layernorm.weight"].float() for name in ("input", "post_attention"))
        # Gates and values take turns, so that a block of outputs has both.
        turns = torch.arange(2 * self.shape.inner).view(2, -1, LANES).transpose(0, 1).flatten()
        return _Layer(
            *map(self._pointer, norms),
            self._matrix(matrix("self_attn.q", "self_attn.k", "self_attn.v")),
            self._matrix(matrix("self_attn.o")),
            self._matrix(matrix("mlp.gate", "mlp.up"), turns),
            self._matrix(matrix("mlp.down")),
        )

    def _matrix(self, parts: Sequence[Stored], order: torch.Tensor | None = None) -> _Matrix:
        """Several int8 matrices with the same inputs as one, packed; outputs in this order."""
        values = torch.cat([part.values for part in parts]).contiguous()
        scales = torch.cat([part.scale for part in parts if part.scale is not None]).float()
        outputs, inputs = values.shape
        order = torch.arange(outputs) if order is None else order
        rows = order.to(torch.int32)
        groups = -(-outputs // GROUP)
        packed = torch.empty(groups, -(-inputs // 4), GROUP, 4, dtype=torch.uint8)
        self._code.refdec_pack(values.data_ptr(), outputs, inputs, rows.data_ptr(), packed.data_ptr())
        padded = torch.zeros(groups * GROUP)
        padded[:outputs] = scales[order]
        return _Matrix(inputs, outputs, self._pointer(packed), self._pointer(padded))

    def _pointer(self, tensor: torch.Tensor) -> int:
        kept = tensor.contiguous()
        self._kept.append(kept)
        return kept.data_ptr()
