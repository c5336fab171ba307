"""Pairs: two language models that read in opposite directions and share a tokenizer, and loading them.

The two may be one set of weights that reads both ways, told apart by the id before a document.
Models that do not make a pair are refused here, so that they do not give odd texts later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import BPE

from refdec.errors import ModelError, OutOfMemory
from refdec.lm.device import REMEDY, choose_device, free_memory, is_out_of_memory
from refdec.lm.direction import Direction
from refdec.lm.engine import choose_precision, load_lms, reads_both_ways
from refdec.lm.examples import FILE as EXAMPLES_FILE
from refdec.lm.examples import Examples, read_examples
from refdec.lm.model_files import CHECKSUMS, PROBE_FILE, RELEASED, locate, read_json, verify_checksums
from refdec.lm.probe import Probe, load_probe
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Tokens

EMBEDDED = Path(__file__).resolve().parent.parent / "pretrained" / "pair-v1"

PROBE = (
    "The library on the corner opens at nine in the morning, but most people come after lunch. They sit by the "
    "window with a cup of coffee and read the newspaper, or they look for a book that a friend told them about. "
    "When it rains, there is not a single free chair, and nobody seems to mind."
)
"""A paragraph that shows which way a model reads: its loss is far lower in the right order."""


@dataclass(frozen=True)
class Pair:
    """A forward and a backward model over one vocabulary."""

    forward: LanguageModel
    backward: LanguageModel
    tokens: Tokens
    name: str  # part of every signature
    examples: Examples | None = None  # of rewording, for a pair that can go on from them
    probe: Probe | None = None  # of grammar, for a pair that has one beside its weights
    forward_home: Path | None = None  # the directory of the forward model's weights, where they were read from one

    @property
    def precision(self) -> str:
        """The precision of the arithmetic; both models' joined by a plus sign if they differ."""
        return "+".join(dict.fromkeys((self.forward.precision, self.backward.precision)))

    def reading(self, direction: Direction) -> LanguageModel:
        return self.forward if direction is Direction.FORWARD else self.backward

    @cached_property
    def unspoken(self) -> frozenset[int]:
        """Ids of entries with line breaks, and of marks for the models."""
        starts = {self.forward.start, self.backward.start}
        return self.tokens.containing("\n\r") | self.tokens.special | starts

    @cached_property
    def speakable(self) -> dict[Direction, torch.Tensor]:
        """For each model a mask (vocabulary,) of the ids that may occur in one line of text."""
        masks = {}
        for model in (self.forward, self.backward):
            mask = torch.ones(model.vocabulary, dtype=torch.bool)
            mask[sorted(self.unspoken)] = False
            mask[self.tokens.vocabulary :] = False
            masks[model.direction] = mask.to(model.device)
        return masks

    @cached_property
    def window(self) -> int:
        return min(self.forward.window, self.backward.window)


def load_pair(
    forward: str | Path | None = None,
    backward: str | Path | None = None,
    *,
    device: str | torch.device | None = None,
    precision: str | None = None,
    examples: str | Path | None = None,
) -> Pair:
    """Load a pair of models.

    Without arguments, it is the pair that comes with the package. With one name, a directory that holds `forward/`,
    `backward/` and `tokenizer.json`, or a model that reads both ways. With two names, any forward and backward model
    with the same tokenizer. Each name is a directory or a hub id. `device` is `cpu`, `cuda` or `cuda:1`; by default a
    CUDA GPU if there is one. `precision` is float32, bfloat16 or int8; by default the fastest that the device and the
    models have without a visible loss. `examples` is a file with examples of rewording in place of those of the pair.
    """
    chosen_examples = None if examples is None else read_examples(Path(examples))  # refused before models are loaded
    where = choose_device(device)
    try:
        pair = _load(forward, backward, where, precision)
        return pair if chosen_examples is None else replace(pair, examples=chosen_examples)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Outside of the handler, so that the message stands alone and what was loaded so far is freed.
    raise OutOfMemory(f"The memory of {where} does not hold this pair{free_memory(where)}. {REMEDY}")


class _Source(NamedTuple):
    """Where the weights of a model and its tokenizer are, and which ways it is to read."""

    weights: Path
    tokenizer: Path
    directions: tuple[Direction, ...]


def _load(forward: str | Path | None, backward: str | Path | None, where: torch.device, precision: str | None) -> Pair:
    if backward is None:
        home = EMBEDDED if forward is None else _pair_directory(forward)
        verify_checksums(home)
        if _holds_one_model(home):
            sources = [_Source(home, home, tuple(Direction))]
        else:
            sources = [_Source(home / direction.value, home, (direction,)) for direction in Direction]
        name = f"{home.name}:{weights_digest(home)}"
        beside = home
    else:
        if forward is None:
            raise ModelError("A backward model was given without a forward one. Name both, or neither.")
        homes = (locate(forward), locate(backward))
        sources = [_Source(home, home, (direction,)) for home, direction in zip(homes, Direction, strict=True)]
        name = "+".join(f"{home.name}:{weights_digest(home)}" for home in homes)
        beside = homes[0]
    chosen = choose_precision([source.weights for source in sources], where, precision)
    # Not in two threads: transformers changes global state while it loads, and threads leave it changed.
    loaded = [load_lms(source.weights, source.directions, where, chosen) for source in sources]
    models = [model for models in loaded for model in models]
    tokenizers = [load_tokenizer(home) for home in dict.fromkeys(source.tokenizer for source in sources)]
    pair = replace(make_pair((models[0], models[1]), tokenizers, name), forward_home=sources[0].weights)
    if (beside / EXAMPLES_FILE).is_file():
        pair = replace(pair, examples=read_examples(beside / EXAMPLES_FILE))
    if (beside / PROBE_FILE).is_file():
        pair = replace(pair, probe=load_probe(beside / PROBE_FILE, pair.forward, pair.backward))
    for source in sources:
        for direction in source.directions:
            if not is_declared(source.weights, direction):
                check_direction(pair.reading(direction), pair.tokens)
    return pair


def make_pair(loaded: tuple[LanguageModel, LanguageModel], tokenizers: Sequence[Tokenizer], name: str) -> Pair:
    """Make a pair of two loaded models and their tokenizers, or of one that they share; or refuse them."""
    tokens, *others = (Tokens(tokenizer, loaded[0].start) for tokenizer in tokenizers)
    for other in others:
        if tokens.fingerprint != other.fingerprint:
            raise ModelError(
                f"The forward and backward models do not share a tokenizer (vocabularies of {tokens.vocabulary} and "
                f"{other.vocabulary} entries). Load a matching pair, see docs/models.md."
            )
    models = dict(zip(Direction, loaded, strict=True))
    for direction, model in models.items():
        if model.vocabulary < tokens.vocabulary:
            raise ModelError(
                f"The {direction.value} model has {model.vocabulary} tokens and its tokenizer {tokens.vocabulary}, so "
                "they do not belong together. Put the model's own tokenizer beside it, see docs/models.md."
            )
    return Pair(*loaded, tokens, name)


def is_declared(directory: Path, direction: Direction) -> bool:
    """Whether a model's config.json says that it reads this way; a model that reads the other way is refused."""
    path = directory / "config.json"
    config = read_json(path)
    if reads_both_ways(config):
        return True
    declared = config.get("direction")
    if declared not in (None, direction.value):
        raise ModelError(
            f"The model given as {direction.value} does not read that way: {path} says {declared}. Were the two "
            "models swapped? See docs/models.md."
        )
    return declared is not None


def check_direction(model: LanguageModel, tokens: Tokens) -> None:
    """Refuse a model whose loss is not lower in its own reading order than in the opposite one."""
    probe = tokens.encode(PROBE)[: model.window]
    given, opposite = (loss(model, way.arrange(probe)) for way in (model.direction, model.direction.opposite))
    if not given < opposite:
        raise ModelError(
            f"The model given as {model.direction.value} does not read that way: its loss on an English paragraph is "
            f"{given:.2f} nats per token read {model.direction.value} and {opposite:.2f} read the other way. Were the "
            "two models swapped? If it knows no English, say in its config.json which way it reads, see docs/models.md."
        )


def loss(model: LanguageModel, ids: Sequence[int]) -> float:
    """The loss in nats per token, for ids in the model's reading order."""
    scored = model.score(model.read([[]]), torch.tensor([list(ids)], device=model.device))
    return -float(scored.mean())


def _pair_directory(name: str | Path) -> Path:
    home = locate(name)
    missing = [direction.value for direction in Direction if not (home / direction.value).is_dir()]
    if missing and not _holds_one_model(home):
        raise ModelError(
            f"{home} has no {missing[0]}/ directory, and its config.json does not name a start id for each direction. "
            "Name a directory that has forward/, backward/ and tokenizer.json, or a model that reads both ways, or two "
            "separate models."
        )
    return home


def _holds_one_model(home: Path) -> bool:
    return (home / "config.json").is_file() and reads_both_ways(read_json(home / "config.json"))


def load_tokenizer(directory: Path) -> Tokenizer:
    path = directory / "tokenizer.json"
    try:
        if path.is_file():
            return Tokenizer.from_file(str(path))
        if (directory / "vocab.json").is_file() and (directory / "merges.txt").is_file():
            return _gpt2_tokenizer(directory)
        from transformers import AutoTokenizer

        fast = AutoTokenizer.from_pretrained(str(directory), use_fast=True, trust_remote_code=False)
        tokenizer: Tokenizer = fast.backend_tokenizer
        return tokenizer
    except Exception as error:  # tokenizers raises a bare Exception for a damaged file
        raise ModelError(
            f"There is no usable tokenizer in {directory}. Put its tokenizer.json there, or GPT-2's vocab.json and "
            "merges.txt; the models released with the paper come without them, see docs/models.md."
        ) from error


def _gpt2_tokenizer(directory: Path) -> Tokenizer:
    """GPT-2's byte-level BPE from the two files that came before tokenizer.json."""
    files = (str(directory / "vocab.json"), str(directory / "merges.txt"))
    tokenizer = Tokenizer(BPE.from_file(*files, continuing_subword_prefix="", end_of_word_suffix=""))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", normalized=True)])
    return tokenizer


def weights_digest(directory: Path) -> str:
    """Eight characters that change when the weights do."""
    listing = directory / CHECKSUMS
    if listing.is_file():  # the files were verified against it already
        return hashlib.sha256(listing.read_bytes()).hexdigest()[:8]
    summary = hashlib.sha256()
    for path in sorted(directory.rglob("*.safetensors")) or sorted(directory.rglob(RELEASED)):
        summary.update(path.name.encode())
        with path.open("rb") as file:
            summary.update(hashlib.file_digest(file, "sha256").digest())
    return summary.hexdigest()[:8]
