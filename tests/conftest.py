"""Fixtures that many test files share: the embedded pair, loaded once per process, and small models made on the spot.

Also decides which tests `make check` leaves out, and keeps the user's environment out of all of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import hypothesis
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

import refdec.lm.pair
from refdec import PRESETS, Pair, Reflector, load_pair
from refdec.cli.main import main
from refdec.lm.direction import Direction
from refdec.lm.linear import Stored
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.network import TorchNetwork
from refdec.lm.pair import EMBEDDED, load_tokenizer
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Tokens
from refdec.lm.transformers_lm import TransformersLM
from refdec.tasks import confidence
from refdec.train import recipe as recipes
from tests.small_pair import make_small_pair

TINY: dict[str, Any] = {"contexts": 6, "context_tokens": 8, "kept_contexts": 2, "samples": 4}
"""Settings with which a text takes a second: for promises that hold whatever the settings."""

TINY_OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
Run = Callable[..., tuple[int, str, str]]

# How long an example takes depends on what else the machine does. `make stress` draws other examples, and more.
STEADY = hypothesis.settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("steady", STEADY)
hypothesis.settings.register_profile("thorough", STEADY, derandomize=False, max_examples=2000)
hypothesis.settings.load_profile("steady")

OUTSIDE = ("CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "REFDEC_DEBUG")
"""Environment variables that change what commands print."""

PROCESS_STARTERS = {"get_context", "ray_engine", "refdec_process", "subprocess", "sync_playwright", "torchrun"}
"""Names that a test uses if it starts processes."""


def pytest_configure() -> None:
    for name in OUTSIDE:
        os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that load the embedded pair or start processes, and run the files with such tests first.

    These files take longest. Started last, one of them would run alone while the other cores are idle.
    """
    for item in items:
        if isinstance(item, pytest.Function):
            if {"pair", "int8_pair"} & set(item.fixturenames):
                item.add_marker("weights")
            fixtures = [fixture.func for defined in item._fixtureinfo.name2fixturedefs.values() for fixture in defined]
            if any(PROCESS_STARTERS & set(_names_used(function, set())) for function in (item.function, *fixtures)):
                item.add_marker("processes")
    long = [{item.path for item in items if item.get_closest_marker(name)} for name in ("processes", "weights")]
    items.sort(key=lambda item: [item.path not in paths for paths in long])


def _names_used(function: Any, seen: set[Any]) -> Iterator[str]:
    """All names in a function of the tests, and in the functions of the tests that it calls."""
    if isinstance(function, FunctionType) and function.__module__.startswith("tests.") and function not in seen:
        seen.add(function)
        for name in _names_in(function.__code__):
            yield name
            yield from _names_used(function.__globals__.get(name), seen)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def make_presets_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every preset of every task tiny settings, and every size of a trained model tiny layers."""
    small = TINY | {"tokens": 8}  # tokens: the length of a generation in infill
    for presets in PRESETS.values():
        for name, settings in list(presets.items()):
            changes = {key: value for key, value in small.items() if key in settings.names()}
            monkeypatch.setitem(presets, name, settings.replace(**changes))
    for name, recipe in list(recipes.SIZES.items()):
        monkeypatch.setitem(recipes.SIZES, name, recipe.replace(layers=1, width=32, heads=2, inner=64))


def let_servers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `refdec serve` end as soon as it would serve, on a port that nothing else has."""
    from refdec.serve import run  # imported where it is used: most tests do not need it

    listen = run.listen
    monkeypatch.setattr(run, "listen", lambda *_: listen("127.0.0.1", 0))
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)


def lend_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pair have the confidence of a calibrated one."""
    lent = next(iter(confidence._calibrations().values()))
    monkeypatch.setattr(confidence, "calibration", lambda _: lent)


@pytest.fixture(scope="session")
def pair() -> Pair:
    """The embedded pair in float32, to compare fast computations with plain ones."""
    return load_pair(device="cpu", precision="float32")


@pytest.fixture(scope="session")
def int8_pair() -> Pair:
    """The embedded pair as a CPU runs it by default, twice as fast: for promises that hold in any precision."""
    return load_pair(device="cpu", precision="int8")


@pytest.fixture(scope="session")
def tokens() -> Tokens:
    """The tokenizer of the embedded pair, without its weights."""
    return Tokens(load_tokenizer(EMBEDDED), start=0)


@pytest.fixture(scope="session")
def reflector(pair: Pair) -> Reflector:
    return Reflector(pair)


@pytest.fixture(scope="session")
def int8_reflector(int8_pair: Pair) -> Reflector:
    return Reflector(int8_pair)


def our_engine(model: LlamaForCausalLM, direction: Direction, start: int = 0, precision: str = "float32") -> LlamaLM:
    """Run the weights of a transformers model in refdec's own engine."""
    shape = LlamaShape.of(model.config.to_dict())
    assert shape is not None
    stored = {name: Stored(tensor) for name, tensor in model.state_dict().items()}
    return LlamaLM(TorchNetwork(shape, stored, torch.device("cpu"), precision), direction, start)


on_both_engines = pytest.mark.parametrize("untrained", ["our engine", "transformers"], indirect=True)
"""For promises that how an engine caches, pads or batches could break."""


@pytest.fixture(scope="session")
def untrained(request: pytest.FixtureRequest, tokens: Tokens) -> Reflector:
    """The real tokenizer with small random models: for identities that hold whatever the models predict.

    In our engine, unless a test is marked `on_both_engines`.
    """
    config = LlamaConfig(
        vocab_size=tokens.vocabulary, hidden_size=16, intermediate_size=24, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=128, initializer_range=0.5, bos_token_id=0,
    )  # fmt: skip
    engine = getattr(request, "param", "our engine")
    make: Callable[..., LanguageModel] = our_engine if engine == "our engine" else TransformersLM
    with torch.random.fork_rng():
        torch.manual_seed(0)
        forward, backward = (make(LlamaForCausalLM(config).eval(), direction, 0) for direction in Direction)
    return Reflector(Pair(forward, backward, tokens, "untrained"))


@pytest.fixture(scope="session", autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C reaches what tests start, also where the suite is a background job, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def small_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a pair that takes milliseconds per row."""
    return make_small_pair(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="session")
def small_reflector(small_pair: Path) -> Reflector:
    return Reflector(load_pair(small_pair, device="cpu"))


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """Call the command in this process."""
    monkeypatch.setattr("refdec.cli.progress.LOG_SECONDS", float("inf"))  # no lines that depend on time

    def call(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        piped = tmp_path_factory.mktemp("stdin") / "piped"
        piped.write_text(stdin)
        monkeypatch.setattr(sys, "argv", ["refdec", *arguments])
        with piped.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            with pytest.raises(SystemExit) as stop:
                main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(stop.value.code or 0), out, err

    return call


@pytest.fixture
def run(command: Run, small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in this process, with a small pair and tiny settings."""
    monkeypatch.setattr(refdec.lm.pair, "load_pair", lambda *_, **__: small_reflector.pair)
    make_presets_tiny(monkeypatch)
    return command


@pytest.fixture
def run_embedded(run: Run, int8_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same with the embedded pair and a confidence, for what only English, or a calibrated pair, shows."""
    lend_calibration(monkeypatch)
    monkeypatch.setattr(refdec.lm.pair, "load_pair", lambda *_, **__: int8_pair)
    return run


def refusal(run: Run, *arguments: str, stdin: str = "") -> str:
    """The single line that a command prints when it refuses its input, with exit code 2."""
    code, out, err = run(*arguments, stdin=stdin)
    assert code == 2
    assert out == ""
    message = [line for line in err.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(message) == 1, err
    assert message[0].startswith(("refdec: ", "Error: "))
    return message[0]


def refdec_process(*arguments: str, stdin: bytes | None = None, timeout: float = 600) -> tuple[int, str, str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "refdec", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@dataclass(frozen=True)
class Tiny:
    """An untrained transformer, and the same behind the protocol `LanguageModel`."""

    model: PreTrainedModel
    lm: LanguageModel


SIZES: dict[str, Any] = {
    "vocab_size": 31, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64, "initializer_range": 0.5, "bos_token_id": 0,
}  # fmt: skip


def _llama(**changes: Any) -> LlamaForCausalLM:
    return LlamaForCausalLM(LlamaConfig(**SIZES | changes)).eval()


def _gpt2() -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=31, n_embd=16, n_layer=2, n_head=2, n_positions=64, initializer_range=0.5, bos_token_id=0
    )
    return GPT2LMHeadModel(config).eval()


TINY_MODELS: dict[str, Callable[[], Tiny]] = {
    "our engine": lambda: _ours(_llama()),
    "our engine, shared keys": lambda: _ours(_llama(num_key_value_heads=2)),
    "our engine, odd sizes": lambda: _ours(
        _llama(num_key_value_heads=1, head_dim=6, tie_word_embeddings=True, rope_parameters={"rope_theta": 100.0})
    ),
    "llama": lambda: _theirs(_llama(num_key_value_heads=2)),
    "gpt2": lambda: _theirs(_gpt2(), Direction.BACKWARD),
    # Granite divides its logits by a constant, so the logits themselves serve as features.
    "granite": lambda: _theirs(GraniteForCausalLM(GraniteConfig(**SIZES, logits_scaling=3.0)).eval()),
}


def _ours(model: LlamaForCausalLM) -> Tiny:
    return Tiny(model, our_engine(model, Direction.FORWARD))


def _theirs(model: PreTrainedModel, direction: Direction = Direction.FORWARD) -> Tiny:
    return Tiny(model, TransformersLM(model, direction, 0))


@pytest.fixture(scope="session", params=TINY_MODELS)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    """A model with random weights: its numbers mean nothing, but caching must not change them."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return TINY_MODELS[request.param]()


@pytest.fixture(scope="session")
def tiny_lm(tiny: Tiny) -> LanguageModel:
    return tiny.lm
