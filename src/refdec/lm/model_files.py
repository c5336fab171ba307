"""Model files: finding, checking and reading them.

A model is a directory: `config.json`, safetensors, a tokenizer. Weights may be stored as int8 with one float
scale per row (`name` and `name.scale`), or packed (`packed_weights.py`). The paper's own models are read from the
pickle that they were released in, by torch's restricted unpickler. Knows nothing of directions or of text.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open

from refdec.errors import ModelError
from refdec.lm.linear import Stored
from refdec.lm.packed_weights import unpack

if TYPE_CHECKING:  # importing transformers takes longer than loading the embedded pair, which does without it
    from transformers import PreTrainedConfig, PreTrainedModel

CHECKSUMS = "SHA256SUMS"
HUB_FILES = ["*.safetensors", "*.safetensors.index.json", "config.json", "tokenizer*", "*.model", "vocab*", "merges*"]
HUB_FILES += ["*.spm", "special_tokens_map.json", "added_tokens.json", "generation_config.json", CHECKSUMS]
RELEASED = "pytorch_model.bin"
"""The only pickle that is ever read, and only if it holds OpenGPT2."""

PROBE_FILE = "probe.safetensors"
"""A net that belongs to a pair and lies beside its weights, but is none of them: see probe.py."""

PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


def locate(name: str | Path) -> Path:
    """The directory of a model, given as a path or a hub id; a hub id is fetched into the hub's cache."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise ModelError(f"{path} is a file; name the directory that holds config.json and the weights.")
    if isinstance(name, Path) or name.count("/") > 1 or name.startswith((".", "/", "~")):
        raise ModelError(f"There is no directory {path}. Name a model directory or a hub id such as owner/model.")
    from refdec.lm import opengpt2

    home = _fetch(name, HUB_FILES)
    if not any(home.glob("*.safetensors")) and opengpt2.may_describe(read_json(home / "config.json")):
        _fetch(name, [RELEASED])
    return home


def _fetch(name: str, patterns: list[str]) -> Path:
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # the hub client raises a dozen kinds
        raise ModelError(
            f"There is no directory {name}, and fetching {name} from the model hub failed ({_first_line(error)}). "
            "Check the name and the network, or download the model first and name its directory."
        ) from error


def read_llama(directory: Path) -> dict[str, Stored] | None:
    """The weights of a Llama-shaped model, as they are stored; None if they have other names."""
    with _reading(directory):
        tensors = _read(directory, lambda names: "model.embed_tokens.weight" in names)
        return None if tensors is None else unpack(tensors)


def _read(directory: Path, wanted: Callable[[set[str]], bool]) -> dict[str, torch.Tensor] | None:
    """All tensors of the safetensors in a directory, if their names are the wanted ones."""
    with ExitStack() as opened:
        weights = sorted(path for path in directory.glob("*.safetensors") if path.name != PROBE_FILE)
        files = [opened.enter_context(safe_open(str(path), framework="pt")) for path in weights]
        homes = {name: file for file in files for name in file.keys()}  # noqa: SIM118
        return {name: file.get_tensor(name) for name, file in homes.items()} if wanted(set(homes)) else None


def load_model(directory: Path, device: torch.device, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """The causal language model in a directory, as a `transformers` model."""
    with _reading(directory):
        model = _load_opengpt2(directory)
        if model is None:
            config = load_config(directory)
            quantised = _read(directory, lambda names: any(f"{name}.scale" in names for name in names))
            with quietly():
                model = _build(directory, config, quantised)
    return model.to(device, dtype)


@contextmanager
def _reading(directory: Path) -> Iterator[None]:
    """Refuse a directory that is unsafe or damaged, and files in it that turn out to be unreadable."""
    refuse_unsafe(directory)
    verify_checksums(directory)
    try:
        yield
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError) as error:
        raise ModelError(
            f"The weights in {directory} cannot be read ({_first_line(error)}). Fetch or export them again."
        ) from error


def refuse_unsafe(directory: Path) -> None:
    """Refuse models that could run code: pickled weights, or Python files of their own."""
    config = read_json(directory / "config.json")
    if "auto_map" in config:
        raise ModelError(
            f"The model in {directory} needs to run its own code (auto_map in config.json), which refdec never does. "
            "Use a model with an architecture that transformers knows."
        )
    if not any(directory.glob("*.safetensors")):
        from refdec.lm import opengpt2

        if (directory / RELEASED).is_file() and opengpt2.may_describe(config):
            return
        pickles = sorted(path.name for pattern in PICKLES for path in directory.glob(pattern))
        if pickles:
            raise _pickled(directory, pickles[0])
        raise ModelError(f"There are no *.safetensors weights in {directory}. Name a directory that has them.")


def _pickled(directory: Path, name: str) -> ModelError:
    return ModelError(
        f"The weights in {directory} are pickled ({name}), and a pickle can run any code. "
        "Convert them to safetensors (model.save_pretrained does) and load that."
    )


def checksum(path: Path) -> str:
    """The SHA-256 of a file, as SHA256SUMS lists it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_checksums(directory: Path) -> None:
    """Refuse a directory in which a file that SHA256SUMS lists is missing or differs."""
    listing = directory / CHECKSUMS
    if not listing.is_file():
        return
    for line in listing.read_text().splitlines():
        expected, _, name = line.partition("  ")
        path = directory / name
        if not path.is_file():
            raise ModelError(f"{path} is missing, though {listing.name} lists it. Install or fetch the model again.")
        if checksum(path) != expected:
            raise ModelError(
                f"{path} is damaged or was changed: its SHA-256 differs from the one in {listing.name}. "
                "Install or fetch the model again."
            )


def load_config(directory: Path) -> PreTrainedConfig:
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    try:
        config = AutoConfig.from_pretrained(str(directory), trust_remote_code=False, local_files_only=True)
    except (ValueError, OSError, KeyError) as error:
        raise ModelError(
            f"{directory / 'config.json'} cannot be used ({_first_line(error)}). Fetch the model again, or use another."
        ) from error
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise ModelError(
            f"The model in {directory} is a {config.model_type}, which is not a causal language model. "
            "Name a model that predicts the next token."
        )
    if getattr(config, "activation_function", None) == "gelu_new":
        config.activation_function = "gelu_pytorch_tanh"  # the same function, in one kernel instead of eight
    return config


def _load_opengpt2(directory: Path) -> PreTrainedModel | None:
    """One of the paper's own models, recognised by the names of its tensors; None if the files have another layout."""
    from refdec.lm import opengpt2

    if any(directory.glob("*.safetensors")):
        stored = _read(directory, lambda names: opengpt2.find_prefix(names) is not None)
        if stored is None:
            return None
    else:
        stored = _unpickle(directory / RELEASED)
        if opengpt2.find_prefix(stored) is None:
            raise _pickled(directory, RELEASED)
    try:
        return opengpt2.build(read_json(directory / "config.json"), stored)
    except ValueError as error:
        raise ModelError(
            f"The OpenGPT2 model in {directory} cannot be used ({_first_line(error)}). Fetch the released files again."
        ) from error


def _unpickle(path: Path) -> dict[str, torch.Tensor]:
    """Tensors by name, and nothing else: the restricted unpickler builds no other objects and calls no code."""
    try:
        # Files from before torch 1.6 are not archives and cannot be mapped into memory.
        stored = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # a damaged pickle can raise almost anything
        raise ModelError(
            f"{path} is damaged or holds more than tensors, so it is not read. Fetch the released file again."
        ) from error
    if not isinstance(stored, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in stored.values()):
        raise ModelError(f"{path} does not hold tensors by name. Fetch the released file again.")
    return stored


def _build(directory: Path, config: PreTrainedConfig, quantised: dict[str, torch.Tensor] | None) -> PreTrainedModel:
    """The model of a directory, or of tensors in int8, packed or not, that were read from it."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    state = None if quantised is None else {name: matrix.float() for name, matrix in unpack(quantised).items()}
    model, report = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)].from_pretrained(
        str(directory) if state is None else None,
        config=config,
        state_dict=state,
        dtype=torch.float32,
        use_safetensors=True,
        local_files_only=True,
        output_loading_info=True,
    )
    lacking = sorted(report["missing_keys"]) + sorted(str(key) for key in report["mismatched_keys"])
    if lacking:
        raise ValueError(f"{len(lacking)} tensors are missing or of another shape, {lacking[0]} for one")
    return model


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"There is no {path.name} in {path.parent}. Name a model directory, see docs/models.md."
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({_first_line(error)}). Fetch the model again.") from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} does not hold a JSON object. Fetch the model again.")
    return content


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the progress bars and notices of transformers for a while."""
    from transformers.utils import logging as transformers_logging

    bars, level = transformers_logging.is_progress_bar_enabled(), transformers_logging.get_verbosity()
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
