"""Which engine runs a model, and in which precision.

Llama-shaped models run in our own engine, all others in `transformers`. The default precision is the fastest that the
device has without a visible loss. (The engines of `batch` are something else: they spread rows over processes.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from refdec.errors import ModelError
from refdec.lm.direction import Direction
from refdec.lm.linear import Stored
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.model_files import load_model, read_json, read_llama
from refdec.lm.native_network import NativeNetwork, can_run, fastest_library
from refdec.lm.network import Network, TorchNetwork
from refdec.lm.protocol import LanguageModel

PRECISIONS = ("float32", "bfloat16", "int8")


def choose_precision(directories: Sequence[Path], device: torch.device, wanted: str | None) -> str:
    """The precision that was asked for, if the device and the models have it; by default the fastest good one."""
    shapes = [LlamaShape.of(read_json(directory / "config.json")) for directory in directories]
    ours = all(shape is not None for shape in shapes)
    if wanted is None:
        if device.type == "cuda":
            return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
        fast = all(shape and (can_run(fastest_library(), shape) or _multiplies_int8()) for shape in shapes)
        return "int8" if fast and device.type == "cpu" else "float32"
    if wanted not in PRECISIONS:
        raise ModelError(f"There is no precision {wanted!r}. Choose one of {', '.join(PRECISIONS)}.")
    if wanted == "int8" and (device.type != "cpu" or not ours):
        what = f"on {device.type}" if ours else "for models that are not Llama-shaped"
        raise ModelError(f"There is no int8 arithmetic {what}. Choose float32 or bfloat16.")
    return wanted


def load_lms(
    directory: Path, directions: Sequence[Direction], device: torch.device, precision: str
) -> list[LanguageModel]:
    """A model for each of these directions, all with the weights in one directory, which are loaded once."""
    config = read_json(directory / "config.json")
    shape = LlamaShape.of(config)
    stored = None if shape is None else read_llama(directory)
    if shape is None or stored is None:
        from refdec.lm.transformers_lm import TransformersLM

        model = load_model(directory, device, torch.bfloat16 if precision == "bfloat16" else torch.float32)
        config = model.config.get_text_config().to_dict()
        return [TransformersLM(model, direction, start_token(config, direction)) for direction in directions]
    lacking = shape.lacking({name: tuple(matrix.values.shape) for name, matrix in stored.items()})
    if lacking:
        raise ModelError(
            f"The weights in {directory} cannot be read ({len(lacking)} tensors are missing or of another shape, "
            f"{lacking[0]} for one). Fetch or export them again."
        )
    network = make_network(shape, stored, device, precision)
    return [LlamaLM(network, direction, start_token(config, direction)) for direction in directions]


def make_network(shape: LlamaShape, stored: Mapping[str, Stored], device: torch.device, precision: str) -> Network:
    """A Llama-shaped network of weights that are in memory, in compiled code where that runs it."""
    code = fastest_library() if precision == "int8" else None
    if can_run(code, shape):
        return NativeNetwork(code, shape, stored)
    return TorchNetwork(shape, stored, device, precision)


def reads_both_ways(config: Mapping[str, Any]) -> bool:
    """Whether config.json names an id to start with for each direction: then the model reads both ways."""
    return all(isinstance(config.get(start_name(direction)), int) for direction in Direction)


def start_name(direction: Direction) -> str:
    """The entry of config.json that names the id before a document which is read in this direction."""
    return f"{direction.value}_start_id"


def start_token(config: Mapping[str, Any], direction: Direction = Direction.FORWARD) -> int:
    """The id before the first token of a document that is read in this direction, as config.json names it."""
    for name in (start_name(direction), "bos_token_id", "eos_token_id"):
        value = config.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, int):
            return value
    raise ModelError(
        f"config.json of the {config.get('model_type')} model has neither bos_token_id nor eos_token_id, so nothing "
        "marks the start of a document. Set one of them there."
    )


def _multiplies_int8() -> bool:
    """Whether this CPU has instructions for int8 products; without them torch is slower in int8 than in float32."""
    checks = ("_is_avx512_vnni_supported", "_is_vnni_supported", "_is_amx_tile_supported", "_is_amx_int8_supported")
    return any(getattr(torch.cpu, check, bool)() for check in checks)
