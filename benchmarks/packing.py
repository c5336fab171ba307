"""Packs the weights of a model into so many megabytes, and measures what each way of rounding costs.

    python -m benchmarks.packing MODEL OUT --text CORPUS --megabytes 91
    python -m benchmarks.packing MODEL OUT --text CORPUS --megabytes 91 --choices rows compensated groups-5

MODEL is a directory of the Llama layout, its weights stored in any form. If its config.json names `forward_start_id`
and `backward_start_id`, it is read both ways. Sensitivity is measured on some documents of the text, the loss on
others, beside the loss of the model as it is in int8. Before anything is rounded, inputs are smoothed (see
train/smoothing.py); `--smooth 0` leaves them as they are. Choices other than int8 and groups have steps that make files
of the same size. OUT gets the packed choice with the lowest loss: config.json, tokenizer.json, weights and SHA256SUMS.
One JSON line comes last.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from refdec.lm.device import choose_device
from refdec.lm.direction import Direction
from refdec.lm.engine import choose_precision, make_network, reads_both_ways, start_token
from refdec.lm.linear import Stored
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.model_files import CHECKSUMS, checksum, load_model, read_json
from refdec.lm.packed_weights import pack, save_packed
from refdec.lm.pair import load_tokenizer
from refdec.lm.tokens import Tokens
from refdec.train.corpus import Corpus
from refdec.train.export import check_exportable, load_initial
from refdec.train.packing import (
    Compensation,
    Sensitivity,
    measure_sensitivity,
    relative_steps,
    round_compensated,
    round_plainly,
)
from refdec.train.smoothing import SHARE, largest_inputs, output_matrix, smooth

EMBEDDING = "model.embed_tokens.weight"
DOCUMENTS = 600  # half of them to measure sensitivity on, half to measure the loss on
ROWS = 4  # windows that are read at a time
GROUP = 32  # weights that share a scale, in formats with groups
GAUSSIAN = 0.5 * math.log2(2 * math.pi * math.e)  # bits per value of a Gaussian with a spread of one step
CLOSE = 0.006  # bits per weight by which a size may miss its goal

Weights = Mapping[str, Tensor]
Steps = Mapping[str, Tensor]
Rounding = Callable[[str, Tensor, Tensor], Stored]


@dataclass(frozen=True, slots=True)
class Texts:
    """Windows of ids that begin with a start id, in reading order, and how long a token is."""

    calibration: Tensor
    held_out: dict[Direction, Tensor]
    bytes_per_token: float

    def bits(self, nats: float) -> float:
        """Bits per byte from nats per token."""
        return nats / self.bytes_per_token / math.log(2)


def starts_of(config: Mapping[str, Any]) -> dict[Direction, int]:
    """The start id for each way that a model reads."""
    ways = tuple(Direction) if reads_both_ways(config) else (Direction(config.get("direction", "forward")),)
    return {direction: start_token(config, direction) for direction in ways}


def read_texts(
    paths: Sequence[Path], tokens: Tokens, starts: Mapping[Direction, int], length: int, calibrate: int, measure: int
) -> Texts:
    """Documents from all over the text, chosen by their digests."""
    documents = (text for chunk in Corpus.at(paths).chunks() for text in chunk.texts)
    chosen = heapq.nsmallest(DOCUMENTS, documents, key=lambda text: hashlib.sha256(text.encode()).digest())
    ids = [tokens.encode(text) for text in chosen]
    calibration = [_windows(ids[::2], *way, length, calibrate) for way in starts.items()]
    held_out = {
        direction: _windows(ids[1::2], direction, start, length, measure) for direction, start in starts.items()
    }
    size = sum(len(text.encode()) for text in chosen[1::2])
    return Texts(torch.cat(calibration), held_out, size / sum(len(item) + 1 for item in ids[1::2]))


def _windows(documents: Sequence[Sequence[int]], direction: Direction, start: int, length: int, most: int) -> Tensor:
    stream = direction.arrange([token for ids in documents for token in (start, *ids)])
    pieces = [stream[place : place + length - 1] for place in range(0, len(stream) - length + 1, length - 1)]
    return torch.tensor([[start, *piece] for piece in pieces[:most]])


def losses(shape: LlamaShape, stored: Mapping[str, Stored], texts: Texts, precision: str) -> dict[Direction, Tensor]:
    """The mean nats per token of every held-out window."""
    network, measured = make_network(shape, stored, torch.device("cpu"), precision), {}
    for direction, windows in texts.held_out.items():
        model = LlamaLM(network, direction, int(windows[0, 0]))
        parts = [-model.score(model.read([[]] * len(part)), part[:, 1:]) for part in torch.split(windows, ROWS)]
        measured[direction] = torch.cat(parts).double().mean(-1)
    return measured


def fit_size(weights: Weights, steps: Steps, round_matrix: Rounding, goal: int) -> dict[str, Stored]:
    """Matrices rounded with all steps scaled by one factor, which makes packed files of so many bytes."""
    count = sum(weight.numel() for weight in weights.values())
    bits = sum(
        weight.shape[1] * float((weight.std(-1).clamp(min=1e-12) / steps[name]).log2().sum())
        for name, weight in weights.items()
    )
    factor = 2 ** (bits / count + GAUSSIAN - 8 * goal / count)
    while True:
        rounded = {name: round_matrix(name, weight, steps[name] * factor) for name, weight in weights.items()}
        excess = 8 * (packed_bytes(rounded) - goal) / count
        print(f"  a factor of {factor:.4g} misses the size by {excess:+.4f} bits per weight", file=sys.stderr)
        if -CLOSE <= excess <= 0:
            return rounded
        factor *= 2 ** (excess + CLOSE / 2)


def packed_bytes(stored: Mapping[str, Stored]) -> int:
    return sum(tensor.nbytes for name, matrix in stored.items() for tensor in pack(name, matrix).values())


def in_groups(weight: Tensor, bits: int) -> Tensor:
    """The nearest values with one scale per group of weights, the usual format of a few bits."""
    groups = weight.view(-1, GROUP)
    scale = groups.abs().amax(-1, keepdim=True).clamp(min=1e-20) / (2 ** (bits - 1) - 1)
    nearest: Tensor = (groups / scale).round() * scale
    return nearest.view_as(weight)


@dataclass(frozen=True)
class Packer:
    """The choices, each a way to the matrices of a model."""

    weights: Weights
    sensitivities: Mapping[str, Sensitivity]
    goal: int  # bytes of all packed matrices

    def spread(self) -> dict[str, Stored]:
        """One step per matrix, in proportion to its spread: as many bits for each."""
        steps = {name: weight.std().expand(len(weight)) for name, weight in self.weights.items()}
        return fit_size(self.weights, steps, self._plainly, self.goal)

    def matrices(self) -> dict[str, Stored]:
        """One step per matrix, by sensitivity."""
        steps = {
            name: step.square().reciprocal().mean().rsqrt().expand(len(step)) for name, step in self._steps().items()
        }
        return fit_size(self.weights, steps, self._plainly, self.goal)

    def rows(self) -> dict[str, Stored]:
        """One step per row, by sensitivity."""
        return fit_size(self.weights, self._steps(), self._plainly, self.goal)

    def compensated(self) -> dict[str, Stored]:
        """One step per row, by sensitivity, and later columns make up for the errors of earlier ones."""
        return fit_size(self.weights, self._steps(), self._compensated, self.goal)

    def _steps(self) -> dict[str, Tensor]:
        return {name: relative_steps(self.sensitivities[name], self._compensation(name)) for name in self.weights}

    def _plainly(self, _: str, weight: Tensor, steps: Tensor) -> Stored:
        return round_plainly(weight, steps)

    def _compensated(self, name: str, weight: Tensor, steps: Tensor) -> Stored:
        return round_compensated(weight, steps, self._compensation(name))

    def _compensation(self, name: str) -> Compensation:
        return Compensation.of(self.sensitivities[name].inputs)


PACKED = ("spread", "matrices", "rows", "compensated")
GROUPS = {f"groups-{bits}": bits for bits in (4, 5, 6)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="files or folders, as for refdec train")
    parser.add_argument("--megabytes", type=float, required=True, help="of the weights, in millions of bytes")
    parser.add_argument("--choices", nargs="+", choices=[*PACKED, *GROUPS], default=list(PACKED))
    parser.add_argument("--calibrate", type=int, default=20, help="windows per direction for the sensitivity")
    parser.add_argument("--measure", type=int, default=64, help="windows per direction for the loss")
    parser.add_argument("--smooth", type=float, default=SHARE, help="share of the inputs' spread that weights take")
    parser.add_argument("--measured", type=Path, help="a file that keeps what is measured, or has it from a run before")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    check_exportable(given.out)
    config = read_json(given.model / "config.json")
    shape = LlamaShape.of(config)
    initial, source = load_initial(given.model)
    assert shape is not None
    tokens = Tokens(load_tokenizer(given.model), initial.start)
    texts = read_texts(given.text, tokens, starts_of(config), shape.window, given.calibrate, given.measure)
    precision = choose_precision([given.model], choose_device("cpu"), None)
    smoothed, factors, sensitivities = _measured(given, shape, source, texts.calibration)
    matrices = {name: tensor for name, tensor in smoothed.items() if tensor.ndim == 2}
    others = {name: Stored(tensor) for name, tensor in smoothed.items() if tensor.ndim != 2}
    packer = Packer(
        matrices, sensitivities, int(given.megabytes * 1e6) - sum(item.values.nbytes for item in others.values())
    )
    report: dict[str, Any] = {"benchmark": "packing", "model": given.model.name, "precision": precision, "choices": {}}
    report |= {"smooth": given.smooth}
    report["tokens"] = {direction.value: windows[:, 1:].numel() for direction, windows in texts.held_out.items()}
    as_it_is = {
        name: Stored(tensor).quantised() if tensor.ndim == 2 else Stored(tensor) for name, tensor in source.items()
    }
    baseline = losses(shape, as_it_is, texts, precision)
    best, least, head = "", math.inf, output_matrix(shape)
    for name, rounded in _choices(given.choices, packer):
        print(f"{name}: reading the held-out text", file=sys.stderr)
        stored = {
            key: replace(item, columns=factors.reciprocal()) if key == head else item for key, item in rounded.items()
        }
        measured = losses(shape, stored | others, texts, precision)
        figures = _figures(name, stored, measured, baseline, texts)
        report["choices"][name] = figures
        print(f"{name:12} {_line(figures)}", flush=True)
        total = sum(float(item.mean()) for item in measured.values())
        if name in PACKED and total < least:
            best, least = name, total
            _write(given.model, given.out, stored | others)
    print(f"{given.out} has the choice {best}", file=sys.stderr)
    print(json.dumps(report))


def _measured(
    given: argparse.Namespace, shape: LlamaShape, source: Weights, windows: Tensor
) -> tuple[dict[str, Tensor], Tensor, dict[str, Sensitivity]]:
    """The smoothed weights with the columns of the output matrix multiplied, their factors, and sensitivities."""
    if given.measured and given.measured.exists():
        inputs, kept = torch.load(given.measured, weights_only=True)
        smoothed, factors = smooth(source, shape, inputs, given.smooth)
        sensitivities = {name: Sensitivity(*parts) for name, parts in kept.items()}
    else:
        began = time.perf_counter()

        def step(number: int) -> None:
            seconds = time.perf_counter() - began
            print(f"sensitivity: {number} of {len(windows)} windows, {seconds:.0f} s", file=sys.stderr)

        model = load_model(given.model, torch.device("cpu"))
        inputs = largest_inputs(model, windows[::2])
        smoothed, factors = smooth(source, shape, inputs, given.smooth)
        model.load_state_dict(smoothed, strict=False)
        sensitivities = measure_sensitivity(model, windows, torch.Generator().manual_seed(given.seed), step)
        if given.measured:
            torch.save(
                (inputs, {name: (item.inputs, item.rows) for name, item in sensitivities.items()}), given.measured
            )
    head = output_matrix(shape)
    smoothed[head] = smoothed[head] * factors
    exact = sensitivities[head]
    return smoothed, factors, sensitivities | {head: Sensitivity(exact.inputs / factors.outer(factors), exact.rows)}


def _choices(names: Sequence[str], packer: Packer) -> Iterator[tuple[str, dict[str, Stored]]]:
    yield "int8", {name: Stored(weight).quantised() for name, weight in packer.weights.items()}
    for name in names:
        if name in GROUPS:
            rounded = {key: in_groups(weight, GROUPS[name]) for key, weight in packer.weights.items()}
            yield name, {key: Stored(weight).quantised() for key, weight in rounded.items()}
        else:
            yield name, getattr(packer, name)()


def bits_per_weight(choice: str, name: str, matrix: Stored) -> float:
    """The size of a matrix in a file, with its scales."""
    if choice in GROUPS:
        return GROUPS[choice] + 16 / GROUP
    if choice in PACKED:
        return 8 * packed_bytes({name: matrix}) / matrix.values.numel()
    return 8 + 32 / matrix.values.shape[1]  # int8


def _figures(
    choice: str,
    stored: Mapping[str, Stored],
    measured: Mapping[Direction, Tensor],
    baseline: Mapping[Direction, Tensor],
    texts: Texts,
) -> dict[str, Any]:
    bits = {name: bits_per_weight(choice, name, matrix) for name, matrix in stored.items()}
    sizes = {name: matrix.values.numel() for name, matrix in stored.items()}
    body = sizes.keys() - {EMBEDDING}
    figures: dict[str, Any] = {
        "megabytes": sum(bits[name] * sizes[name] for name in sizes) / 8e6,
        "bits_body": sum(bits[name] * sizes[name] for name in body) / sum(sizes[name] for name in body),
        "bits_embedding": bits[EMBEDDING],
    }
    for direction, nats in measured.items():
        rise = nats - baseline[direction]
        figures[direction.value] = {
            "nats": float(nats.mean()),
            "bits_per_byte": texts.bits(float(nats.mean())),
            "rise": texts.bits(float(rise.mean())),
            "error": texts.bits(float(rise.std() / len(rise) ** 0.5)),
        }
    return figures


def _line(figures: Mapping[str, Any]) -> str:
    ways = "; ".join(
        f"{way.value} {item['nats']:.4f} nats per token, {item['bits_per_byte']:.4f} bits per byte, "
        f"{item['rise']:+.4f} +- {item['error']:.4f}"
        for way in Direction
        if (item := figures.get(way.value))
    )
    return (
        f"{figures['megabytes']:6.1f} MB, {figures['bits_body']:.2f} bits per body weight, "
        f"{figures['bits_embedding']:.2f} per embedding weight; {ways}"
    )


def _write(model: Path, out: Path, stored: Mapping[str, Stored]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json", "examples.json"):
        if (model / name).is_file():
            shutil.copyfile(model / name, out / name)
    for old in out.glob("*.safetensors"):
        old.unlink()
    for path in save_packed(out, stored):
        path.chmod((out / "config.json").stat().st_mode)  # readable for all
    listed = [path for path in sorted(out.iterdir()) if path.name not in (CHECKSUMS, "README.md")]
    sums = [f"{checksum(path)}  {path.name}\n" for path in listed]
    (out / CHECKSUMS).write_text("".join(sums))


if __name__ == "__main__":
    main()
