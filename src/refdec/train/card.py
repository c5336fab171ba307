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
from refdec.train.recipe import SHAPE, BothWays, Recipe
from refdec.train.rewordings import SHOWN, Rewordings
from refdec.train.token_files import TokenFiles
from refdec.train.windows import REWORDED

TEMPLATE = Path(__file__).with_name("card.md")
PAIR = "a forward and a backward language model"
BOTH_WAYS = "one language model that reads forward and backward"


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
    both_ways: BothWays | None = None,
    rewordings: Rewordings | None = None,
    int8: bool,
    device: torch.device,
) -> str:
    """The Markdown of the README.md beside the models.

    `tokenizer` names the model that it comes from, unless it was learned; `partner_of` names a partner's forward model.
    """
    shared = f" ({shape.kv_heads} of keys)" if shape.kv_heads != shape.heads else ""
    settings = [f"{key} {value}" for key, value in recipe.items() if not (begun_from and key in SHAPE)]
    told = {way.value: _training(result, recipe, token_files) for way, result in results.items()}
    start = f"id {token_files.separator} before every document"
    what = f"a backward language model, the partner of {partner_of}" if partner_of else PAIR
    if both_ways is not None:
        what, start = (
            BOTH_WAYS,
            f"{start} that is read forward, {shape.backward_start} before one that is read backward",
        )
        told = {"both ways": next(iter(told.values())) + _mixture(both_ways)}
    rows = [f"| {name} training | {training} |" for name, training in told.items()]
    if rewordings is not None and rewordings.pairs:
        rows.append(f"| rewordings | {_cell(_reworded(rewordings))} |")
    if begun_from:
        begun_from += "; its licence and its terms hold for what is made of it too"
    return TEMPLATE.read_text(encoding="utf-8").format(
        name=name,
        what=what,
        shape=shape,
        heads=f"{shape.heads} heads{shared}",
        embeddings="tied" if shape.tied else "separate",
        parameters=shape.parameters / 1e6,
        files=_files(shape, int8, results, alone=bool(partner_of) or both_ways is not None),
        tokenizer=_cell(f"that of {tokenizer}" if tokenizer else "byte-level BPE"),
        start=start,
        token_files=token_files,
        counts=token_files.counts,
        megabytes=token_files.counts.bytes / 1e6,
        training="\n".join(rows),
        recipe=", ".join(settings),
        begun_from=_cell(begun_from or "nothing"),
        losses="; ".join(f"{way.value} {result}" for way, result in results.items()),
        versions=f"refdec {refdec.__version__}, torch {torch.__version__}",
        machine=_cell(machine_name(device)),
        samples="\n".join(f"- {way.value}: {result.sample}" for way, result in results.items()),
    )


def _cell(value: str) -> str:
    return value.replace("|", r"\|")


def _mixture(both_ways: BothWays) -> str:
    """Which windows there were, and what was done with them."""
    share = both_ways.backward_share
    kept = f", these by divergence from the model it began from, weight {both_ways.keep_forward:g}"
    return f"; {share:.0%} of the windows backward, {1 - share:.0%} forward{kept if both_ways.keep_forward else ''}"


def _reworded(rewordings: Rewordings) -> str:
    source, reworded = rewordings.pairs[0]
    return (
        f"one window in {REWORDED} holds pairs of sentences that the model made itself after {len(SHOWN['examples'])} "
        f"examples: {len(rewordings.pairs):,} of {rewordings.tried:,} plain sentences, judged by {rewordings.judge}. "
        f'The first: "{source}"{SHOWN["link"]}"{reworded}"'
    )


def _files(shape: Shape, int8: bool, results: Mapping[Direction, TrainingResult], *, alone: bool) -> str:
    size = f"{shape.bytes_on_disk(int8) / 1e6:.1f} MB per model"
    if not int8:
        loads = "each directory loads with `transformers`, both"
        if alone:
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


def machine_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"
