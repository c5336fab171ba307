"""The model card: what was trained, and how, written from what really happened."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

import torch

import refdec
from refdec.lm.direction import Direction
from refdec.train.measuring import TrainingResult
from refdec.train.model import Shape
from refdec.train.recipe import SHAPE, Recipe
from refdec.train.token_files import TokenFiles

TEMPLATE = Path(__file__).with_name("card.md")
PAIR = "a forward and a backward language model"


def card(
    name: str,
    shape: Shape,
    recipe: Recipe,
    token_files: TokenFiles,
    results: Mapping[Direction, TrainingResult],
    *,
    tokenizer: str,
    begun_from: str,
    partner_of: str,
    int8: bool,
    device: torch.device,
) -> str:
    """The Markdown of the README.md beside the models.

    `tokenizer` names the model that it comes from, unless it was learned; `partner_of` names a partner's forward model.
    """
    shared = f" ({shape.kv_heads} of keys)" if shape.kv_heads != shape.heads else ""
    settings = [f"{key} {value}" for key, value in recipe.items() if not (begun_from and key in SHAPE)]
    rows = [f"| {way.value} training | {_training(result, recipe, token_files)} |" for way, result in results.items()]
    return TEMPLATE.read_text(encoding="utf-8").format(
        name=name,
        what=f"a backward language model, the partner of {partner_of}" if partner_of else PAIR,
        shape=shape,
        heads=f"{shape.heads} heads{shared}",
        embeddings="tied" if shape.tied else "separate",
        parameters=shape.parameters / 1e6,
        files=_files(shape, int8, results),
        tokenizer=_cell(f"that of {tokenizer}" if tokenizer else "byte-level BPE"),
        token_files=token_files,
        counts=token_files.counts,
        megabytes=token_files.counts.bytes / 1e6,
        training="\n".join(rows),
        recipe=", ".join(settings),
        begun_from=_cell(begun_from or "nothing"),
        losses="; ".join(f"{way.value} {result}" for way, result in results.items()),
        versions=f"refdec {refdec.__version__}, torch {torch.__version__}",
        machine=_cell(_machine(device)),
        samples="\n".join(f"- {way.value}: {result.sample}" for way, result in results.items()),
    )


def _cell(value: str) -> str:
    return value.replace("|", r"\|")


def _files(shape: Shape, int8: bool, results: Mapping[Direction, TrainingResult]) -> str:
    size = f"{shape.bytes_on_disk(int8) / 1e6:.1f} MB per model"
    if not int8:
        loads = "each directory loads with `transformers`, both"
        if len(results) == 1:
            loads = "it loads with `transformers`, and"
        return f"safetensors, bfloat16, {size}; {loads} with `load_pair`"
    costs = ", ".join(
        f"{direction.value} {result.int8.cost:+.4f}" for direction, result in results.items() if result.int8
    )
    return f"safetensors, int8 with one scale per row, {size}; only for refdec. int8 costs {costs} nats per token"


def _training(result: TrainingResult, recipe: Recipe, token_files: TokenFiles) -> str:
    state = result.state
    gone_wrong = f", went back {state.rollbacks} times" if state.rollbacks else ""
    times = state.tokens / token_files.train_part.tokens
    return (
        f"{state.tokens:,} tokens seen, {times:.1f} times the text, in {state.step:,} steps of {recipe.batch_tokens:,} "
        f"and {state.seconds / 60:.1f} minutes{gone_wrong}; {result.learned:.3f} nats per token of it at the end"
    )


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"
