"""The folder of a method with weights of its own: a card, the weights, and a tokenizer.

The card is written last, so a folder without one is no method. Knows no method in particular.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from refdec.errors import ModelError
from refdec.files.whole import replace_synced, write_whole, writing
from refdec.lm.model_files import checksum

CARD = "method.json"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class Card:
    """What a folder holds.

    Attributes:
        method: the name of the method
        settings: what the model must be built with again, such as its shape
        trained: facts about the training: parameters, data, steps, loss, seed, version
    """

    method: str
    settings: dict[str, Any]
    trained: dict[str, Any]

    @property
    def parameters(self) -> int:
        return int(self.trained["parameters"])


def read_card(folder: Path) -> Card | None:
    """The card of a folder; None where there is no such folder, or no method in it."""
    path = folder / CARD
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        card = Card(str(content["method"]), dict(content["settings"]), dict(content["trained"]))
        card.parameters  # noqa: B018  refuses a card without it
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not the card of a method. Train the method again.") from error
    return card


def write_method(folder: Path, card: Card, weights: dict[str, torch.Tensor], tokenizer: str | None = None) -> None:
    """Write weights, the tokenizer as JSON if there is one, and at last the card."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{WEIGHTS}.part"
    with writing(folder / WEIGHTS):
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, part)
        replace_synced(part, folder / WEIGHTS)
    if tokenizer is not None:
        write_whole(folder / TOKENIZER, tokenizer)
    content = {"method": card.method, "settings": card.settings, "trained": card.trained}
    write_whole(folder / CARD, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    try:
        weights: dict[str, torch.Tensor] = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{folder / WEIGHTS} cannot be read. Train the method again.") from error
    return weights


def digest(folder: Path) -> str:
    """Eight characters that change when the weights do: part of the signature."""
    return checksum(folder / WEIGHTS)[:8]
