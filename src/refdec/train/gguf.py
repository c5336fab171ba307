"""A model in a GGUF file, read through `transformers` and written as the directory that everything else reads.

The packages that `transformers` needs for that are optional. Knows nothing of training.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from refdec.errors import ModelError
from refdec.files.whole import whole_directory, writing
from refdec.lm.model_files import quietly

NEEDED = ("accelerate", "gguf")


def is_gguf(model: str | Path) -> bool:
    return Path(model).suffix == ".gguf"


def read_config(file: Path) -> dict[str, Any]:
    """The contents of the config.json that the model would have."""
    from transformers import AutoConfig

    with _reading(file):
        config: dict[str, Any] = AutoConfig.from_pretrained(str(file.parent), gguf_file=file.name).to_dict()
        return config


def unpack(file: Path, folder: Path) -> None:
    """Write the model as config.json, safetensors in float32 and tokenizer.json, unless the folder has them."""
    if folder.exists():
        return
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with _reading(file):
        named = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
        model = AutoModelForCausalLM.from_pretrained(**named, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(**named)
    new, old = (folder.with_name(folder.name + end) for end in (".part", ".old"))
    with writing(folder), whole_directory(folder, new, old) as home:
        weights = model.state_dict()
        if model.config.tie_word_embeddings:
            del weights["lm_head.weight"]
        save_file(weights, home / "model.safetensors")
        (home / "config.json").write_text(model.config.to_json_string(), encoding="utf-8")
        (home / "tokenizer.json").write_text(tokenizer.backend_tokenizer.to_str(), encoding="utf-8")


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        raise ModelError(f"{file} needs {names}, which is not installed: pip install 'refdec[gguf]'.")
    if not file.is_file():
        raise ModelError(f"There is no file {file}.")
    try:
        with quietly():
            yield
    except Exception as error:  # a damaged file can raise almost anything
        raise ModelError(f"{file} cannot be read as GGUF ({str(error).splitlines()[0]}). Fetch it again.") from error
