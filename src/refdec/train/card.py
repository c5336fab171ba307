"""The model card: what was trained, and how, written from what really happened."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import torch

import refdec
from refdec.lm.direction import Direction
from refdec.train.measuring import TrainingResult
from refdec.train.model import Shape
from refdec.train.recipe import SHAPE, Recipe
from refdec.train.token_files import TokenFiles

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
    counts = token_files.counts
    entries = f"{token_files.vocabulary:,} entries, id {token_files.separator} before every document"
    rows = [
        ("architecture", _architecture(shape)),
        ("files", _files(shape, int8, results)),
        ("tokenizer", f"{f'that of {tokenizer}' if tokenizer else 'byte-level BPE'}, {entries}"),
        (
            "text",
            f"{counts.kept:,} documents, {counts.bytes / 1e6:,.1f} MB, {token_files.train_part.tokens:,} tokens to "
            f"learn from and {token_files.held_out_part.tokens:,} held out; {counts.duplicates:,} duplicates, "
            f"{counts.dropped:,} documents too short, {counts.removed_lines:,} lines of evaluations and "
            f"{counts.bad_rows:,} rows without text were left out",
        ),
        *(
            (f"{direction.value} training", _training(result, recipe, token_files))
            for direction, result in results.items()
        ),
        (
            "recipe",
            ", ".join(f"{key} {value}" for key, value in recipe.items() if not (begun_from and key in SHAPE)),
        ),
        ("begun from", begun_from or "nothing"),
        ("held-out loss", _losses(results)),
        ("made with", f"refdec {refdec.__version__}, torch {torch.__version__}, {_machine(device)}"),
    ]
    table = "\n".join(f"| {key} | {value.replace('|', chr(92) + '|')} |" for key, value in rows)
    samples = "\n".join(f"- {direction.value}: {result.sample}" for direction, result in results.items())
    what = f"a backward language model, the partner of {partner_of}" if partner_of else PAIR
    title = f"# {name}: {what}"
    return f"{title}\n\n| | |\n|---|---|\n{table}\n\nSamples, from nothing:\n\n{samples}\n"


def _architecture(shape: Shape) -> str:
    heads = f"{shape.heads} heads" + (f" ({shape.kv_heads} of keys)" if shape.kv_heads != shape.heads else "")
    return (
        f"Llama layout (`LlamaForCausalLM`): {shape.layers} layers, width {shape.width}, {heads}, SwiGLU of "
        f"{shape.inner}, {'tied' if shape.tied else 'separate'} embeddings, {shape.positions} positions; "
        f"{shape.parameters / 1e6:.1f} M parameters per model"
    )


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


def _losses(results: Mapping[Direction, TrainingResult]) -> str:
    return "; ".join(f"{direction.value} {result}" for direction, result in results.items())


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"
