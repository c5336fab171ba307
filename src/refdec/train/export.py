"""Trained models as files that `load_pair` and, in bfloat16, plain `transformers` load; and such files as a beginning.

A pair is two directories beside a tokenizer, or one model that reads both ways. A directory is replaced in one step.
Knows weights by name and files; the card is handed in as text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from refdec.errors import InputError, ModelError
from refdec.files.whole import whole_directory, writing
from refdec.lm.direction import Direction
from refdec.lm.engine import reads_both_ways, start_token
from refdec.lm.linear import Stored, quantise
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.model_files import CHECKSUMS, checksum, load_config, locate, read_json, read_llama, refuse_unsafe
from refdec.lm.pair import load_tokenizer
from refdec.lm.tokens import Tokens
from refdec.train import gguf
from refdec.train.model import Llama, Shape
from refdec.train.tokenizer import unused_mark

CARD = "README.md"
TOKENIZER = "tokenizer.json"
INT8_NOTE = {"quantization": "int8 per row, weight = int8 * scale[row]"}
"""Only one entry: safetensors writes several in any order, and equal weights should give equal bytes."""


def check_exportable(folder: Path) -> None:
    """Refuse a directory that an export would refuse, before hours are spent on training.

    An export takes a directory that does not exist, is empty, or holds an earlier export and nothing else.
    """
    if folder.is_dir():
        other = sorted(_files(folder) - _exported(folder))
        if other:
            raise InputError(
                f"{folder} holds files that no export wrote, such as {other[0]}, and is not replaced. "
                "Name another directory."
            )
        if folder.is_mount():
            raise InputError(f"{folder} is a mount point and cannot be replaced. Name a directory inside it.")
    elif folder.exists():
        raise InputError(f"{folder} is a file, and the models need a directory. Name another place.")
    beside = next(parent for parent in folder.absolute().parents if parent.exists())
    if not beside.is_dir() or not os.access(beside, os.W_OK):
        raise InputError(f"{folder} cannot be written (no files can be made in {beside}).")


def export_models(
    folder: Path,
    models: Mapping[Direction, Mapping[str, Tensor]],
    shape: Shape,
    tokenizer: Tokenizer,
    card: str,
    *,
    int8: bool,
) -> None:
    """Write a pair, or one model alone; an earlier export is replaced.

    Each model of a pair has its own directory; one alone is in the folder itself, beside its tokenizer: a partner, or
    one that reads both ways, which is listed under either direction and whose shape has a backward start. In bfloat16
    each directory of a pair has a copy of the tokenizer, so that `transformers` loads it. int8 files hold one byte per
    weight and one scale per row, and only refdec reads them.
    """
    check_exportable(folder)
    for direction, weights in models.items():
        _check(weights, shape, f"The {direction.value} weights")
    if tokenizer.get_vocab_size(with_added_tokens=True) > shape.vocabulary:
        raise ModelError(
            f"The tokenizer has {tokenizer.get_vocab_size(with_added_tokens=True)} entries and the models have "
            f"{shape.vocabulary}: they do not belong together."
        )
    for start in (shape.start, shape.backward_start):
        if start is not None and tokenizer.id_to_token(start) is None:
            raise ModelError(f"The tokenizer has no entry {start}, which the models read before a document.")
    target = Path(os.path.realpath(folder))
    new, old = (target.with_name(f".{target.name}-{os.getpid()}.{end}") for end in ("part", "old"))
    with writing(target, (SafetensorError,)), whole_directory(target, new, old) as home:
        (home / TOKENIZER).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")
        for direction, weights in models.items():
            place = home if len(models) == 1 else home / direction.value
            place.mkdir(exist_ok=True)
            declared = {"direction": direction.value} if shape.backward_start is None else {}
            _write_json(place / "config.json", shape.config() | declared)
            _write_weights(place / "model.safetensors", weights, int8)
            (place / "model.safetensors").chmod((place / "config.json").stat().st_mode)  # readable for all
            if not int8:
                (place / TOKENIZER).write_bytes((home / TOKENIZER).read_bytes())
                _write_json(place / "tokenizer_config.json", _tokenizer_config(tokenizer, shape))
        sums = [f"{checksum(home / name)}  {name}\n" for name in sorted(_files(home))]
        (home / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
        (home / CARD).write_text(card, encoding="utf-8")


def load_initial(directory: str | Path) -> tuple[Shape, dict[str, Tensor]]:
    """The shape and the float32 weights of a model to go on from: a directory or a hub id, of the Llama layout.

    A model of a pair is named by its own directory; `verify_checksums` says whether the pair is undamaged.
    """
    home = locate(directory)
    shape = initial_shape(home)
    stored = read_llama(home)
    if stored is None:
        raise _another_layout(home, read_json(home / "config.json"))
    weights = {name: item.float() for name, item in stored.items() if not name.endswith("rotary_emb.inv_freq")}
    if shape.tied:
        weights.pop("lm_head.weight", None)
    _check(weights, shape, f"The weights in {home}")
    return shape, weights


def initial_shape(model: str | Path) -> Shape:
    """The shape alone, without reading weights; a model that training cannot go on from is refused here.

    The model is a directory, a hub id or a GGUF file.
    """
    config = gguf.read_config(Path(model)) if gguf.is_gguf(model) else read_json(locate(model) / "config.json")
    shape = Shape.of(config)
    if shape is None:
        raise _another_layout(model, config)
    return shape


def _another_layout(home: str | Path, config: Mapping[str, Any]) -> ModelError:
    kind = config.get("model_type")
    return ModelError(
        f"The model in {home} (a {kind}) is not of the plain Llama layout, which alone can be trained. Begin from "
        "another model, or leave out --from."
    )


def tokens_of(model: str | Path) -> Tokens:
    """The tokenizer of a model and the id that it reads before a document, both as `load_pair` finds them.

    The model is a directory or a hub id, of any architecture.
    """
    home = locate(model)
    refuse_unsafe(home)
    config = read_json(home / "config.json")
    if LlamaShape.of(config) is None:
        config = load_config(home).get_text_config().to_dict()
    tokens = Tokens(load_tokenizer(home), start_token(config))
    if not 0 <= tokens.start < tokens.vocabulary:
        raise ModelError(
            f"The model in {home} reads the id {tokens.start} before a document, and its tokenizer has "
            f"{tokens.vocabulary} entries: they do not belong together. Set bos_token_id in config.json."
        )
    tokens.tokenizer.no_truncation()
    tokens.tokenizer.no_padding()
    return tokens


def backward_start(tokens: Tokens, model: str | Path | None) -> int:
    """The id before a document that is read backward: what the model's config.json says, or an unused mark."""
    config = {} if model is None else read_json(locate(model) / "config.json")
    if reads_both_ways(config):
        return start_token(config, Direction.BACKWARD)
    used: set[Any] = {tokens.start}
    for name in ("bos", "eos", "pad", "unk"):
        value = config.get(f"{name}_token_id")
        used |= set(value if isinstance(value, list) else [value])
    return unused_mark(tokens.tokenizer, used)


@dataclass(frozen=True, slots=True)
class Int8Loss:
    """Nats per token with the exact weights, and with the same weights stored in int8."""

    exact: float
    int8: float

    @property
    def cost(self) -> float:
        return self.int8 - self.exact


def int8_loss(
    weights: Mapping[str, Tensor],
    shape: Shape,
    windows: Tensor,
    *,
    device: torch.device,
    documents: bool = False,
    rows: int = 8,
) -> Int8Loss:
    """What rounding the weights to int8 costs on windows of ids (count, length + 1), in reading order.

    Computed in float32, so that nothing else is rounded; a CPU that also multiplies in int8 loses a little more.
    """
    losses = []
    stored = {name: Stored(item).quantised().float() if item.ndim == 2 else item for name, item in weights.items()}
    for state in (weights, stored):
        model = Llama(shape, documents=documents).to(device)
        model.load_state_dict(state)
        losses.append(model.mean_loss(windows, rows))
    return Int8Loss(*losses)


def _check(weights: Mapping[str, Tensor], shape: Shape, what: str) -> None:
    """Refuse weights that are not exactly those of this shape, or not all finite."""
    sizes = shape.sizes
    wrong = [name for name, size in sizes.items() if name not in weights or weights[name].shape != size]
    if wrong:
        raise ModelError(
            f"{what} are not those of a model of this shape ({len(wrong)} tensors are missing or of another size, "
            f"such as {wrong[0]})."
        )
    extra = sorted(weights.keys() - sizes.keys())
    if extra:
        raise ModelError(f"{what} hold tensors that a model of this shape does not have, such as {extra[0]}.")
    broken = next((name for name, tensor in weights.items() if not bool(tensor.isfinite().all())), None)
    if broken:
        raise ModelError(f"{what} are not all finite numbers, for example in {broken}: training went wrong.")


def _write_weights(path: Path, weights: Mapping[str, Tensor], int8: bool) -> None:
    tensors: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        values = tensor.detach().to("cpu", torch.float32)
        if not int8:
            tensors[name] = values.to(torch.bfloat16).contiguous()
        elif values.ndim == 2:
            tensors[name], tensors[f"{name}.scale"] = quantise(values.contiguous())
        else:
            tensors[name] = values.clone()
    save_file(tensors, path, metadata=INT8_NOTE if int8 else {"format": "pt"})


def _tokenizer_config(tokenizer: Tokenizer, shape: Shape) -> dict[str, object]:
    """The settings that `transformers` needs besides tokenizer.json."""
    mark = tokenizer.id_to_token(shape.start)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": mark,
        "eos_token": mark,
        "clean_up_tokenization_spaces": False,
        "model_max_length": shape.positions,
    }


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _exported(folder: Path) -> set[str]:
    """The files that an export wrote: those that its checksums list, the list itself and the card."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return set()
    return {line.partition("  ")[2] for line in lines} | {CHECKSUMS, CARD}
