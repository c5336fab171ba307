"""The card of what was trained: what it is and how it came about, written from what really happened."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import torch

import refdec
from refdec.lm.direction import Direction
from refdec.train.measuring import Measured
from refdec.train.model import Shape
from refdec.train.recipe import SHAPE, Recipe
from refdec.train.shards import Shards

PAIR = "a forward and a backward language model"


def card(
    name: str,
    shape: Shape,
    recipe: Recipe,
    shards: Shards,
    found: Mapping[Direction, Measured],
    *,
    tokenizer: str,
    begun_from: str,
    partner_of: str,
    int8: bool,
    device: torch.device,
) -> str:
    """Markdown, as the README.md beside the models.

    `tokenizer` says whose it is, unless it was learned; `partner_of` names the forward model of a partner.
    """
    counts = shards.counts
    entries = f"{shards.vocabulary:,} entries, id {shards.separator} before every document"
    rows = [
        ("architecture", _architecture(shape)),
        ("files", _files(shape, int8, found)),
        ("tokenizer", f"{f'that of {tokenizer}' if tokenizer else 'byte-level BPE'}, {entries}"),
        (
            "text",
            f"{counts.kept:,} documents, {counts.bytes / 1e6:,.1f} MB, {shards.train_part.tokens:,} tokens to learn "
            f"from and {shards.held_out_part.tokens:,} held out; {counts.duplicates:,} duplicates, {counts.dropped:,} "
            f"documents too short, {counts.removed_lines:,} lines of evaluations and {counts.bad_rows:,} rows that are "
            "no text were left out",
        ),
        *(
            (f"{direction.value} training", _training(measured, recipe, shards))
            for direction, measured in found.items()
        ),
        (
            "recipe",
            ", ".join(f"{key} {value}" for key, value in recipe.items() if not (begun_from and key in SHAPE)),
        ),
        ("begun from", begun_from or "nothing"),
        ("held-out loss", _losses(found)),
        ("made with", f"refdec {refdec.__version__}, torch {torch.__version__}, {_machine(device)}"),
    ]
    table = "\n".join(f"| {key} | {value.replace('|', chr(92) + '|')} |" for key, value in rows)
    samples = "\n".join(f"- {direction.value}: {measured.sample}" for direction, measured in found.items())
    what = f"a backward language model, the partner of {partner_of}" if partner_of else PAIR
    title = f"# {name}: {what}"
    return f"{title}\n\n| | |\n|---|---|\n{table}\n\nSamples, from nothing:\n\n{samples}\n"


def _architecture(shape: Shape) -> str:
    heads = f"{shape.heads} heads" + (f" ({shape.kv_heads} of keys)" if shape.kv_heads != shape.heads else "")
    return (
        f"Llama layout (`LlamaForCausalLM`): {shape.layers} layers, width {shape.width}, {heads}, SwiGLU of "
        f"{shape.inner}, {'tied' if shape.tied else 'separate'} embeddings, {shape.positions} positions; "
        f"{shape.parameters / 1e6:.1f} M parameters a model"
    )


def _files(shape: Shape, int8: bool, found: Mapping[Direction, Measured]) -> str:
    size = f"{shape.bytes_on_disk(int8) / 1e6:.1f} MB a model"
    if not int8:
        loads = (
            "each directory loads with `transformers`, both" if len(found) > 1 else "it loads with `transformers`, and"
        )
        return f"safetensors, bfloat16, {size}; {loads} with `load_pair`"
    costs = ", ".join(
        f"{direction.value} {measured.int8.cost:+.4f}" for direction, measured in found.items() if measured.int8
    )
    return f"safetensors, int8 with one scale a row, {size}; only refdec reads them. It costs {costs} nats a token"


def _training(measured: Measured, recipe: Recipe, shards: Shards) -> str:
    state = measured.state
    gone_wrong = f", gone back {state.rollbacks} times" if state.rollbacks else ""
    times = state.tokens / shards.train_part.tokens
    return (
        f"{state.tokens:,} tokens seen, {times:.1f} times the text, in {state.step:,} steps of {recipe.batch_tokens:,} "
        f"and {state.seconds / 60:.1f} minutes{gone_wrong}; {measured.learned:.3f} nats a token of it at the end"
    )


def _losses(found: Mapping[Direction, Measured]) -> str:
    return "; ".join(f"{direction.value} {measured}" for direction, measured in found.items())


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"
