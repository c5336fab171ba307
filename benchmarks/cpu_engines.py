"""What the engines of the field give for one pass of a small Llama on a CPU, beside our own: they run in turns.

    pip install --target ENGINES --no-deps onnx onnx_ir onnxscript onnxruntime ml_dtypes flatbuffers
    pip install --target ENGINES --no-deps openvino ctranslate2
    PYTHONPATH=ENGINES python -m benchmarks.cpu_engines --model MODEL --built FOLDER --compile

In every pass each row has a cache of 12 tokens, and the pass ends with the logits of every new token. The best of all
rounds counts, in wall time and in CPU time of the process. The other engines are no dependencies of refdec: what is not
installed, or does not run, is named with the reason. Prints tables for people, and one JSON line last.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from torch import nn
from torch.nn import functional

from refdec.lm.linear import Stored
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.model_files import load_model, read_json, read_llama
from refdec.lm.native.build import VARIANTS
from refdec.lm.native_network import NativeNetwork, _instructions, load_library
from refdec.lm.network import Network, TorchNetwork, rotary_tables
from refdec.lm.prefix_cache import TailBuffer

CPU = torch.device("cpu")
CACHED = 12
"""Tokens of each row that a pass finds in the cache."""

BASE = "torch int8"
EXACT = "torch float32"
GENERATED = 8
"""Steps that CTranslate2 generates where one is timed: it does not offer one alone."""

GROUP = 64
"""Inputs that share a scale in OpenVINO, where 32 is the default; with one scale per row it does not round inputs."""

MOMENT = 0.15
"""Seconds in which an engine repeats a short pass in its turn."""

STABLE = 0.98
"""Rounds end when no engine got below this share of its best CPU time."""


class Shape(NamedTuple):
    """The size of a pass."""

    rows: int
    tokens: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.tokens}"


SHAPES = [Shape(1, 1), Shape(8, 1), Shape(24, 1), Shape(24, 12), Shape(16, 50)]
CHECKED = Shape(24, 12)
"""The pass whose logits are compared with those in float32."""

COMPILED = Shape(24, 1)
"""The only pass that torch.compile is tried on: it takes minutes for each."""


class Seconds(NamedTuple):
    wall: float
    cpu: float


@dataclass(frozen=True)
class Model:
    directory: Path
    shape: LlamaShape
    stored: Mapping[str, Stored]


@dataclass(frozen=True)
class Batch:
    """Tokens of rows, the first of them in the cache."""

    ids: torch.Tensor  # (rows, CACHED + tokens)
    keys: torch.Tensor  # (layers, rows, kv_heads, CACHED, head_size)
    values: torch.Tensor

    @property
    def places(self) -> torch.Tensor:
        return torch.arange(self.ids.shape[1]).expand_as(self.ids).contiguous()

    @property
    def feed(self) -> dict[str, Any]:
        new = {"tokens": self.ids[:, CACHED:], "positions": self.places[:, CACHED:]}
        parts = {**new, "keys": self.keys, "values": self.values}
        return {name: part.contiguous().numpy() for name, part in parts.items()}


class Piece(NamedTuple):
    """A part of a pass that can be timed: the pass takes the sum of its parts, each times its weight."""

    run: Callable[[], torch.Tensor | None]  # logits (rows * tokens, vocabulary), where they can be had
    weight: float = 1.0


class Engine(NamedTuple):
    name: str
    pieces: Callable[[Batch], list[Piece]]  # none where the engine does not take passes of this size


def network_engine(name: str, network: Network) -> Engine:
    def pieces(batch: Batch) -> list[Piece]:
        tail = TailBuffer(batch.keys, batch.values).copy(CACHED, batch.ids.shape[1])
        new, places = batch.ids[:, CACHED:].contiguous(), batch.places[:, CACHED:].contiguous()
        return [Piece(lambda: network.logits(network.run(new, places, None, tail, CACHED).flatten(0, 1)))]

    return Engine(name, pieces)


def compiled_engine(network: Network) -> Engine:
    """torch.compile of the int8 step, called from Python through one C++ function."""
    from torch._inductor import config

    config.cpp_wrapper = True
    torch._dynamo.reset()  # compiled code keeps the number of threads that it was compiled for
    eager = network_engine("", network)

    def pieces(batch: Batch) -> list[Piece]:
        if batch.ids.shape != (COMPILED.rows, CACHED + COMPILED.tokens):
            return []
        return [Piece(torch.compile(piece.run)) for piece in eager.pieces(batch)]

    return Engine("torch.compile int8", pieces)


class PlainMatrix(nn.Module):
    """A product in float32, or with weights that stay int8 in the graph."""

    def __init__(self, parts: list[Stored], int8: bool) -> None:
        super().__init__()
        exact = [part.quantised() for part in parts]
        values = torch.cat([part.values if int8 else part.float() for part in exact])
        scales = torch.cat([part.scale for part in exact if part.scale is not None])
        self.register_buffer("values", values if int8 else values.t().contiguous())
        self.register_buffer("scales", scales.float()[:, None] if int8 else None)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        values, scales = self.values, self.scales
        assert isinstance(values, torch.Tensor)
        if isinstance(scales, torch.Tensor):
            return functional.linear(inputs, values.float() * scales)
        return inputs @ values


class PlainLlama(nn.Module):
    """The network as one graph that other engines can read: the cache goes in and comes out."""

    def __init__(self, model: Model, int8: bool) -> None:
        super().__init__()
        stored, self.shape = model.stored, model.shape

        def matrices(*names: str) -> nn.ModuleList:
            homes = [f"model.layers.{number}." for number in range(model.shape.layers)]
            return nn.ModuleList(
                PlainMatrix([stored[f"{home}{name}_proj.weight"] for name in names], int8) for home in homes
            )

        def norms(name: str) -> list[torch.Tensor]:
            return [stored[f"model.layers.{number}.{name}.weight"].float() for number in range(model.shape.layers)]

        self.qkv = matrices("self_attn.q", "self_attn.k", "self_attn.v")
        self.output, self.gate_up, self.down = (
            matrices("self_attn.o"),
            matrices("mlp.gate", "mlp.up"),
            matrices("mlp.down"),
        )
        self.attention_norms, self.inner_norms = norms("input_layernorm"), norms("post_attention_layernorm")
        self.final_norm = stored["model.norm.weight"].float()
        embedding = stored["model.embed_tokens.weight"]
        self.embedding = embedding.float()
        self.head = PlainMatrix([embedding if model.shape.tied else stored["lm_head.weight"]], int8)
        self.cosine, self.sine = (torch.cat([table, table], -1) for table in rotary_tables(model.shape, CPU))

    def forward(
        self, tokens: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        shape, (rows, n), before = self.shape, tokens.shape, keys.shape[3]
        cosine, sine = self.cosine[positions][:, None], self.sine[positions][:, None]
        visible = torch.arange(before + n) <= torch.arange(n)[:, None] + before
        repeats, sizes = shape.heads // shape.kv_heads, (shape.heads, shape.kv_heads, shape.kv_heads)

        def rotated(x: torch.Tensor) -> torch.Tensor:
            first, second = x.chunk(2, -1)
            return x * cosine + torch.cat([-second, first], -1) * sine

        def for_all_heads(x: torch.Tensor) -> torch.Tensor:
            return x[:, :, None].expand(-1, -1, repeats, -1, -1).flatten(1, 2)

        stream = functional.embedding(tokens, self.embedding)
        caches = []
        for number in range(shape.layers):
            qkv = self.qkv[number](self._norm(stream, self.attention_norms[number]))
            heads = qkv.view(rows, n, -1, shape.head_size).transpose(1, 2)
            query, key, value = heads.split(sizes, 1)
            key = torch.cat([keys[number], rotated(key)], 2)
            value = torch.cat([values[number], value], 2)
            caches.append((key, value))
            mixed = functional.scaled_dot_product_attention(
                rotated(query), for_all_heads(key), for_all_heads(value), attn_mask=visible
            )
            stream = stream + self.output[number](mixed.transpose(1, 2).reshape(rows, n, -1))
            gate, up = self.gate_up[number](self._norm(stream, self.inner_norms[number])).chunk(2, -1)
            stream = stream + self.down[number](functional.silu(gate) * up)
        logits = self.head(self._norm(stream, self.final_norm))
        return logits, torch.stack([key for key, _ in caches]), torch.stack([value for _, value in caches])

    def _norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.shape.epsilon))

    @property
    def example(self) -> tuple[torch.Tensor, ...]:
        cache = torch.zeros(self.shape.layers, 3, self.shape.kv_heads, CACHED, self.shape.head_size)
        return torch.zeros(3, 5, dtype=torch.long), torch.arange(5).repeat(3, 1), cache, cache.clone()


def onnx_engine(model: Model, built: Path, threads: int) -> Engine:
    """onnxruntime: one scale per row of weights, one for all inputs of a product."""
    import onnxruntime

    path = built / "int8.onnx"
    if not path.is_file():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        plain, exact = PlainLlama(model, int8=False).eval(), built / "float32.onnx"
        rows, n, before = (torch.export.Dim(name) for name in ("rows", "n", "before"))
        sizes = ({0: rows, 1: n}, {0: rows, 1: n}, {1: rows, 3: before}, {1: rows, 3: before})
        torch.onnx.export(
            plain, plain.example, exact, dynamo=True, dynamic_shapes=sizes, external_data=False, verbose=False,
            input_names=["tokens", "positions", "keys", "values"], output_names=["logits", "all_keys", "all_values"],
        )  # fmt: skip
        quantize_dynamic(exact, path, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8)
        exact.unlink()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def pieces(batch: Batch) -> list[Piece]:
        feed = batch.feed
        return [Piece(lambda: torch.from_numpy(session.run(None, feed)[0]).flatten(0, 1))]

    return Engine("onnxruntime int8", pieces)


def openvino_engine(model: Model, built: Path, threads: int) -> Engine:
    """OpenVINO: one scale per row of weights, one for each group of inputs in a row."""
    import openvino

    path = built / "openvino.xml"
    if not path.is_file():
        plain = PlainLlama(model, int8=True).eval()
        openvino.save_model(openvino.convert_model(plain, example_input=plain.example), path, compress_to_fp16=False)
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", {**settings, "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP})

    def pieces(batch: Batch) -> list[Piece]:
        feed, request = batch.feed, compiled.create_infer_request()

        def run() -> torch.Tensor:
            request.infer(feed, share_inputs=True)
            return torch.from_numpy(request.get_output_tensor(0).data).flatten(0, 1)

        return [Piece(run)]

    return Engine("OpenVINO int8", pieces)


def ctranslate2_engine(model: Model, built: Path, threads: int) -> Engine:
    """CTranslate2: a step is timed within a generation; reading starts at the first token, as it takes no cache."""
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    path = built / "ctranslate2"
    if not path.is_dir():
        with tempfile.TemporaryDirectory() as plain:
            load_model(model.directory, CPU).save_pretrained(plain)
            shutil.copy(model.directory / "tokenizer.json", plain)
            special = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
            settings = {"tokenizer_class": "PreTrainedTokenizerFast", **special}
            (Path(plain) / "tokenizer_config.json").write_text(json.dumps(settings))
            TransformersConverter(plain).convert(str(path), quantization="int8")
    generator = ctranslate2.Generator(str(path), compute_type="int8", intra_threads=threads)
    words = json.loads((path / "vocabulary.json").read_text())

    def generate(prompts: list[list[str]], steps: int) -> None:
        generator.generate_batch(prompts, max_length=steps, min_length=steps, include_prompt_in_result=False)

    def pieces(batch: Batch) -> list[Piece]:
        rows, length = batch.ids.shape
        if length == CACHED + 1:
            prompts = [[words[number] for number in row] for row in batch.ids[:, :CACHED].tolist()]
            more, fewer = (partial(generate, prompts, steps) for steps in (1 + GENERATED, 1))
            return [Piece(more, 1 / GENERATED), Piece(fewer, -1 / GENERATED)]
        ids = ctranslate2.StorageView.from_array(batch.ids.int().numpy())
        lengths = ctranslate2.StorageView.from_array(torch.full((rows,), length, dtype=torch.int32).numpy())

        def read() -> torch.Tensor:
            logits = numpy.asarray(generator.forward_batch(ids, lengths))
            return torch.from_numpy(logits)[:, CACHED:].flatten(0, 1)

        return [Piece(read)]

    return Engine("CTranslate2 int8", pieces)


def engines(model: Model, built: Path, threads: int, compiles: bool, missing: dict[str, str]) -> Iterator[Engine]:
    """All engines that can be made here, but for float32; the others get into `missing`, with the reason."""
    int8 = TorchNetwork(model.shape, model.stored, CPU, "int8")
    yield network_engine(BASE, int8)
    for variant in VARIANTS:
        code = load_library(variant) if variant in _instructions() else None
        if code is None:
            missing[f"refdec C++ {variant}"] = "not compiled, or not known to this processor"
        else:
            yield network_engine(f"refdec C++ {variant}", NativeNetwork(code, model.shape, model.stored))
    others: dict[str, Callable[[], Engine]] = {
        "onnxruntime int8": lambda: onnx_engine(model, built, threads),
        "OpenVINO int8": lambda: openvino_engine(model, built, threads),
        "CTranslate2 int8": lambda: ctranslate2_engine(model, built, threads),
    }
    if compiles:
        others["torch.compile int8"] = lambda: compiled_engine(int8)
    for name, make in others.items():
        try:
            yield make()
        except Exception as error:  # whatever keeps an engine from running is a result here
            missing[name] = reason(error)


def reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def batch_of(shape: Shape, network: Network) -> Batch:
    """Random tokens, and the cache of the first of them in float32."""
    random = torch.Generator().manual_seed(1)
    ids = torch.randint(network.shape.vocabulary, (shape.rows, CACHED + shape.tokens), generator=random)
    tail = TailBuffer.empty(network.shape, shape.rows, CACHED, torch.float32, CPU)
    first = ids[:, :CACHED].contiguous()
    network.run(first, torch.arange(CACHED).expand_as(first).contiguous(), None, tail, 0)
    return Batch(ids, tail.keys, tail.values)


def timed(run: Callable[[], object]) -> Seconds:
    """The best of as many calls as fit into a moment."""
    best, until = Seconds(float("inf"), float("inf")), time.perf_counter() + MOMENT
    while True:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        best = Seconds(min(best.wall, time.perf_counter() - wall), min(best.cpu, time.process_time() - cpu))
        if time.perf_counter() > until:
            return best


@dataclass(frozen=True)
class Course:
    """One engine in one pass: its pieces, and the best time of each so far."""

    engine: str
    shape: Shape
    pieces: list[Piece]
    best: list[Seconds]
    difference: float | None  # median, of its logits from those in float32

    @property
    def seconds(self) -> Seconds:
        pairs = list(zip(self.pieces, self.best, strict=True))
        wall = sum(piece.weight * best.wall for piece, best in pairs)
        return Seconds(wall, sum(piece.weight * best.cpu for piece, best in pairs))

    def take_turn(self) -> bool:
        """Time all pieces once more; whether one took notably less CPU time than ever before."""
        before = list(self.best)
        for number, piece in enumerate(self.pieces):
            latest = timed(piece.run)
            self.best[number] = Seconds(*map(min, before[number], latest))
        return any(new.cpu < STABLE * old.cpu for new, old in zip(self.best, before, strict=True))


def courses_of(engine: Engine, batches: Mapping[Shape, Batch], exact: Mapping[Shape, torch.Tensor]) -> list[Course]:
    courses = []
    for shape, batch in batches.items():
        pieces = engine.pieces(batch)
        logits = [piece.run() for piece in pieces]  # which warms up
        if logits:
            difference = None if logits[0] is None else float((logits[0] - exact[shape]).abs().median())
            best = [Seconds(float("inf"), float("inf"))] * len(pieces)
            courses.append(Course(engine.name, shape, pieces, best, difference))
    return courses


def compare(
    model: Model, built: Path, threads: int, rounds: int, compiles: bool
) -> tuple[list[Course], dict[str, str]]:
    """All engines in turns, until a round changes nothing; and why others did not run."""
    torch.set_num_threads(threads)
    missing: dict[str, str] = {}
    exact = TorchNetwork(model.shape, model.stored, CPU, "float32")
    plain = network_engine(EXACT, exact)
    present = [plain, *engines(model, built, threads, compiles, missing)]
    with torch.inference_mode():
        batches = {shape: batch_of(shape, exact) for shape in SHAPES}
        logits = {shape: piece.run() for shape, batch in batches.items() for piece in plain.pieces(batch)}
        expected = {shape: values for shape, values in logits.items() if values is not None}
        courses: list[Course] = []
        for engine in present:
            try:
                courses += courses_of(engine, batches, expected)
            except Exception as error:  # as above
                missing[engine.name] = reason(error)
        for number in range(1, rounds + 1):
            improved = sum([course.take_turn() for course in courses])
            print(f"threads {threads}, round {number}: {improved} of {len(courses)} improved", file=sys.stderr)
            if not improved:
                break
    return courses, missing


def table(courses: list[Course], clock: str) -> Iterator[str]:
    """Milliseconds of every engine, and how many times as fast as torch in int8 it is."""
    seconds = {(course.engine, course.shape): getattr(course.seconds, clock) for course in courses}
    differences = {course.engine: course.difference for course in courses if course.shape == CHECKED}
    yield "| engine | " + " | ".join(map(str, SHAPES)) + " | off by |"
    yield "|---" * (len(SHAPES) + 2) + "|"
    for engine in dict.fromkeys(course.engine for course in courses):
        cells = []
        for shape in SHAPES:
            value = seconds.get((engine, shape))
            cells.append("" if value is None else f"{1000 * value:.1f} ({seconds[BASE, shape] / value:.2f})")
        off = differences.get(engine)
        yield " | ".join([f"| {engine}", *cells, "" if off is None else f"{off:.2f}"]) + " |"


def version(name: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="directory of a Llama-shaped model")
    parser.add_argument("--built", type=Path, help="folder for the files of other engines, kept for the next run")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12, help="at most")
    parser.add_argument("--compile", action="store_true", help="try torch.compile too, which takes minutes")
    arguments = parser.parse_args()
    shape, stored = LlamaShape.of(read_json(arguments.model / "config.json")), read_llama(arguments.model)
    if shape is None or stored is None:
        parser.error(f"{arguments.model} does not hold a Llama-shaped model that refdec's own engine runs.")
    instructions = sorted(_instructions() & {"avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni", "amx_int8"})
    print("processor:", ", ".join(instructions), "| VNNI:", "yes" if any("vnni" in i for i in instructions) else "no")
    print(", ".join(version(name) for name in ("torch", "onnxruntime", "openvino", "ctranslate2")))
    results: list[dict[str, Any]] = []
    absent: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        built = arguments.built or Path(scratch)
        built.mkdir(parents=True, exist_ok=True)
        for threads in arguments.threads:
            model = Model(arguments.model, shape, stored)
            courses, missing = compare(model, built, threads, arguments.rounds, arguments.compile)
            for clock in Seconds._fields:
                print(f"\nMilliseconds of {clock} time (times as fast as {BASE}), threads: {threads}")
                print("\n".join(table(courses, clock)))
            absent |= missing
            for name, why in missing.items():
                print(f"{name} did not run: {why}")
            for course in courses:
                figures = {"engine": course.engine, "threads": threads, **course.shape._asdict()}
                results.append({**figures, **course.seconds._asdict(), "difference": course.difference})
    print(json.dumps({"instructions": instructions, "missing": absent, "passes": results}))


if __name__ == "__main__":
    main()
