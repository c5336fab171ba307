"""Which pairs are loaded, and which are refused with a message that says what to do."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from refdec import Direction, ModelError, Pair, load_pair
from refdec.errors import OutOfMemory
from refdec.lm import pair as pair_module
from refdec.lm.device import choose_device
from refdec.lm.linear import quantise
from refdec.lm.llama import LlamaLM
from refdec.lm.llama_shape import LlamaShape
from refdec.lm.logprobs import next_logprobs
from refdec.lm.model_files import load_model, verify_checksums
from refdec.lm.pair import EMBEDDED, PROBE, loss
from refdec.lm.tokens import Tokens

CPU = torch.device("cpu")
CONFIG: dict[str, Any] = json.loads((EMBEDDED / "config.json").read_text())
VOCABULARY: int = CONFIG["vocab_size"]
MEGABYTE = 1_000_000


@pytest.fixture
def own_directories(tmp_path: Path, small_pair: Path) -> tuple[Path, Path]:
    """The two models of a pair in directories of their own, each with the tokenizer, and with which way it reads."""
    for direction in Direction:
        directory = tmp_path / direction.value
        shutil.copytree(small_pair / direction.value, directory)
        shutil.copy(small_pair / "tokenizer.json", directory)
        declare(directory, direction.value)
    return tmp_path / "forward", tmp_path / "backward"


def declare(directory: Path, direction: str | None) -> None:
    """Write into config.json which way the model reads, or that it does not say."""
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"direction": direction}))


def small_llama(directory: Path, **more: int) -> Path:
    """An untrained model saved the ordinary way, in floating point, with further entries in its config.json."""
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        bos_token_id=0, **more,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(directory)
    shutil.copy(EMBEDDED / "tokenizer.json", directory)
    return directory


def test_the_embedded_pair_reads_both_ways(pair: Pair) -> None:
    ids = pair.tokens.encode(PROBE)
    assert loss(pair.forward, Direction.FORWARD.arrange(ids)) < 3.5
    assert loss(pair.backward, Direction.BACKWARD.arrange(ids)) < 3.5
    assert pair.window == 511


def test_the_package_is_small_enough_to_ship() -> None:
    """A package index takes 100 MB; a wheel is compressed, which helps text and not weights."""
    package = EMBEDDED.parent.parent
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert max(path.stat().st_size for path in files) < 50 * MEGABYTE
    sizes = [path.stat().st_size if path.suffix == ".safetensors" else packed_size(path) for path in files]
    assert sum(sizes) < 97 * MEGABYTE


def packed_size(path: Path) -> int:
    return len(zlib.compress(path.read_bytes()))


def test_two_separate_directories_make_a_pair(own_directories: tuple[Path, Path], small_pair: Path) -> None:
    other, pair = (load_pair(*named, device="cpu") for named in (own_directories, (small_pair,)))
    assert other.tokens.fingerprint == pair.tokens.fingerprint
    reading = [next_logprobs(model, model.read([[5, 6, 7]])) for model in (other.forward, pair.forward)]
    assert torch.equal(*reading)


def test_one_model_that_reads_both_ways_is_loaded_once(tmp_path: Path) -> None:
    directory = small_llama(tmp_path / "model", forward_start_id=0, backward_start_id=3)
    pair = load_pair(directory, device="cpu")
    assert isinstance(pair.forward, LlamaLM)
    assert isinstance(pair.backward, LlamaLM)
    assert pair.forward.network is pair.backward.network
    assert (pair.forward.start, pair.backward.start) == (0, 3)
    assert {0, 3} <= pair.unspoken
    alone = load_pair(directory, directory, device="cpu")
    for model, other in ((pair.forward, alone.forward), (pair.backward, alone.backward)):
        assert torch.equal(*(next_logprobs(lm, lm.read([[5, 6, 7]])) for lm in (model, other)))
    ids = torch.tensor([[3, 7, 6, 5]])  # what stands before a document that is read backward, and then its ids
    with torch.inference_mode():
        expected = load_model(directory, CPU)(ids).logits[0, -1].log_softmax(-1)
    reading = pair.backward.read([[7, 6, 5]])
    assert torch.allclose(next_logprobs(pair.backward, reading)[0], expected, rtol=0, atol=0.02 * expected.abs().max())


def test_a_model_of_another_layout_can_read_both_ways_too(tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=VOCABULARY, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0)
    config.update({"forward_start_id": 0, "backward_start_id": 3})
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    shutil.copy(EMBEDDED / "tokenizer.json", tmp_path)
    pair = load_pair(tmp_path, device="cpu")
    assert (pair.forward.start, pair.backward.start) == (0, 3)


@pytest.mark.parametrize("direction", Direction)
def test_our_engine_reads_the_embedded_pair_as_transformers_does(pair: Pair, direction: Direction) -> None:
    ids = direction.arrange(pair.tokens.encode(PROBE))
    model, lm = load_model(EMBEDDED, CPU), pair.reading(direction)
    with torch.inference_mode():
        logits = model(torch.tensor([[lm.start, *ids]])).logits[0, :-1]
    expected = logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0]
    assert isinstance(lm, LlamaLM)
    assert torch.allclose(lm.score(lm.read([[]]), torch.tensor([ids]))[0], expected, rtol=0, atol=1e-4)


def test_loading_the_embedded_pair_does_without_transformers() -> None:
    """Importing it takes longer than loading the pair."""
    code = (
        "import sys, refdec; pair = refdec.load_pair(device='cpu'); print(pair.precision); "
        "sys.exit(any(name.partition('.')[0] == 'transformers' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("int8", "float32")


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.weights
def test_a_pair_says_in_which_precision_it_computes(precision: str) -> None:
    loaded = load_pair(device="cpu", precision=precision)
    assert loaded.precision == precision
    assert all(
        isinstance(model, LlamaLM) and model.precision == precision for model in (loaded.forward, loaded.backward)
    )
    assert loss(loaded.forward, Direction.FORWARD.arrange(loaded.tokens.encode(PROBE))) < 3.5


def test_a_precision_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no precision 'float16'. Choose one of float32, bfloat16, int8"):
        load_pair(device="cpu", precision="float16")
    config = GPT2Config(vocab_size=VOCABULARY, n_embd=8, n_layer=1, n_head=1, bos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    shutil.copy(EMBEDDED / "tokenizer.json", tmp_path / "gpt2")
    with pytest.raises(ModelError, match="no int8 arithmetic for models that are not Llama-shaped"):
        load_pair(tmp_path / "gpt2", tmp_path / "gpt2", device="cpu", precision="int8")


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "mistral"},
        {"hidden_act": "gelu"},
        {"attention_bias": True},
        {"mlp_bias": True},
        {"rope_parameters": {"rope_type": "llama3", "factor": 8.0}},
        {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2.0}},
    ],
)
def test_what_our_engine_does_not_do_is_left_to_transformers(changes: dict[str, Any]) -> None:
    assert LlamaShape.of(CONFIG) is not None
    assert LlamaShape.of(CONFIG | changes) is None


def test_floating_point_weights_load_as_the_int8_ones_do(tmp_path: Path, small_pair: Path) -> None:
    tensors = load_file(small_pair / "forward" / "model.safetensors")
    for name in [name for name, tensor in tensors.items() if tensor.ndim == 2]:
        tensors[name], tensors[f"{name}.scale"] = quantise(tensors[name])
    (tmp_path / "int8").mkdir()
    shutil.copy(small_pair / "forward" / "config.json", tmp_path / "int8")
    save_file(tensors, tmp_path / "int8" / "model.safetensors")
    model = load_model(tmp_path / "int8", CPU)
    model.save_pretrained(tmp_path / "float")
    again = load_model(tmp_path / "float", CPU)
    ids = torch.tensor([[0, 5, 6, 7]])
    with torch.inference_mode():
        assert torch.equal(model(ids).logits, again(ids).logits)


def test_a_hub_id_loads_from_the_hubs_cache(
    tmp_path: Path, own_directories: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub client's own layout on disk, read offline: the same code that downloads."""
    from huggingface_hub import constants

    for directory in own_directories:
        home = tmp_path / f"models--someone--{directory.name}"
        (home / "refs").mkdir(parents=True)
        (home / "refs" / "main").write_text("0" * 40)
        (home / "snapshots").mkdir()
        directory.rename(home / "snapshots" / ("0" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert load_pair("someone/forward", "someone/backward", device="cpu").window == 255


def test_a_name_that_is_nowhere_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        ModelError, match="no directory nobody/nothing, and fetching nobody/nothing from the model hub failed"
    ):
        load_pair("nobody/nothing", "nobody/nothing", device="cpu")
    with pytest.raises(ModelError, match="There is no directory"):
        load_pair("./not/here", "./nor/here", device="cpu")
    with pytest.raises(ModelError, match="There is no directory"):
        load_pair("not-here", device="cpu")


def test_models_given_the_wrong_way_round_are_refused(own_directories: tuple[Path, Path]) -> None:
    forward, backward = own_directories
    with pytest.raises(ModelError, match="given as forward does not read that way"):
        load_pair(backward, forward, device="cpu")
    with pytest.raises(ModelError, match="given as backward does not read that way"):
        load_pair(forward, forward, device="cpu")


def test_models_that_do_not_say_which_way_they_read_are_put_to_the_test(own_directories: tuple[Path, Path]) -> None:
    forward, backward = own_directories
    for home in (forward, backward):
        declare(home, None)
    assert load_pair(forward, backward, device="cpu").window == 255
    with pytest.raises(ModelError, match="given as forward does not read that way: its loss on an English paragraph"):
        load_pair(backward, forward, device="cpu")


def test_what_a_model_says_of_itself_counts_whatever_it_makes_of_english(own_directories: tuple[Path, Path]) -> None:
    forward, backward = own_directories
    declare(forward, "backward")
    declare(backward, "forward")
    assert load_pair(backward, forward, device="cpu").window == 255


def test_two_tokenizers_are_refused(own_directories: tuple[Path, Path]) -> None:
    forward, backward = own_directories
    Tokenizer(WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>")).save(str(backward / "tokenizer.json"))
    with pytest.raises(ModelError, match=r"do not share a tokenizer \(vocabularies of 400 and 2 entries\)"):
        load_pair(forward, backward, device="cpu")


def test_pickled_weights_are_refused_unread(own_directories: tuple[Path, Path]) -> None:
    forward, _ = own_directories
    (forward / "model.safetensors").unlink()
    (forward / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ModelError, match="pickled"):
        load_pair(forward, forward, device="cpu")


def test_code_that_comes_with_a_model_is_refused(own_directories: tuple[Path, Path]) -> None:
    forward, _ = own_directories
    config = json.loads((forward / "config.json").read_text())
    config["auto_map"] = {"AutoModelForCausalLM": "code.Model"}
    (forward / "config.json").write_text(json.dumps(config))
    (forward / "code.py").write_text("raise SystemExit('this must never run')")
    with pytest.raises(ModelError, match="run its own code"):
        load_pair(forward, forward, device="cpu")


def test_a_changed_file_is_noticed(tmp_path: Path, small_pair: Path) -> None:
    home = tmp_path / "pair"
    shutil.copytree(small_pair, home)
    names = ("tokenizer.json", "forward/model.safetensors", "backward/model.safetensors")
    sums = [f"{hashlib.sha256((home / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (home / "SHA256SUMS").write_text("".join(sums))
    assert load_pair(home, device="cpu").window == 255
    with (home / "backward" / "model.safetensors").open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"\x00\x01\x02\x03")
    with pytest.raises(ModelError, match="SHA-256 differs"):
        load_pair(home, device="cpu")
    (home / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="is missing"):
        verify_checksums(home)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "{", "cannot be read"),
        ("config.json", "[]", "does not hold a JSON object"),
        ("config.json", '{"model_type": "no-such-thing"}', "cannot be used"),
        ("config.json", '{"model_type": "vit"}', "not a causal language model"),
        ("config.json", '{"model_type": "llama"}', "num_attention_heads is None"),
        ("config.json", '{"model_type": "llama", "num_attention_heads": "two"}', "num_attention_heads is 'two'"),
        ("model.safetensors", "not a tensor", "cannot be read"),
        ("tokenizer.json", "{}", "no usable tokenizer"),
    ],
)
def test_a_damaged_directory_is_refused_in_one_sentence(tmp_path: Path, name: str, content: str, message: str) -> None:
    directory = small_llama(tmp_path / "model")
    (directory / name).write_text(content)
    with pytest.raises(ModelError, match=message):
        load_pair(directory, directory, device="cpu")


@pytest.mark.parametrize("name", ["model.norm.weight", "model.embed_tokens.weight", "lm_head.weight"])
@pytest.mark.parametrize("kind", ["missing", "of another shape"])
def test_weights_that_lack_a_tensor_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    directory = small_llama(tmp_path / "model")
    tensors = load_file(directory / "model.safetensors")
    if kind == "missing":
        tensors.pop(name)
    else:
        tensors[name] = torch.zeros(3, 8)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=re.escape(name)):
        load_pair(directory, directory, device="cpu")


def test_an_incomplete_pair_directory_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no forward/ directory"):
        load_pair(tmp_path, device="cpu")
    with pytest.raises(ModelError, match="Name both, or neither"):
        load_pair(backward="x", device="cpu")


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="There is no device 'cuda:99'"):
        load_pair(device="cuda:99")


def _allocate(size: str) -> None:
    """Fail as torch does, in a frame that holds what was loaded so far."""
    raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size}.")


def _finish_a_capture() -> None:
    try:
        _allocate("2.00 GiB")
    finally:
        raise RuntimeError("CUDA error: operation failed due to a previous error during capture")


def _make_a_handle() -> None:
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


@pytest.mark.parametrize("failing", [lambda: _allocate("2.00 GiB"), _finish_a_capture, _make_a_handle])
@pytest.mark.parametrize("place", ["load_lms", "check_direction"])
def test_a_pair_that_does_not_fit_is_refused_in_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, failing: Callable[[], None]
) -> None:
    directory = small_llama(tmp_path / "model")
    monkeypatch.setattr(pair_module, place, lambda *_: failing())
    with pytest.raises(OutOfMemory, match=r"^The memory of cpu does not hold this pair\. Wait until other") as caught:
        load_pair(directory, directory, device="cpu")
    # Nothing is chained to the message, and nothing keeps what had been loaded.
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_other_failures_of_a_device_are_not_taken_for_full_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    directory = small_llama(tmp_path / "model")
    monkeypatch.setattr(pair_module, "load_lms", fail)
    with pytest.raises(RuntimeError, match="illegal memory access"):
        load_pair(directory, directory, device="cpu")


def test_apples_gpu_is_refused_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)  # as on a machine that has one
    with pytest.raises(ModelError, match=r"mps\) is not supported: it has no float64.*Use device cpu"):
        choose_device("mps")


def test_a_full_device_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "empty", lambda *_, **__: _allocate("2.00 MiB"))
    with pytest.raises(OutOfMemory, match=r"The memory of cuda is full\. Wait until other programs"):
        choose_device("cuda")


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="sha256sum is not installed")
def test_the_documented_command_lists_a_pair_directory(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "models.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^.*sha256sum.*$", page, re.MULTILINE)
    home = tmp_path / "pair"
    for part in ("forward", "backward"):
        small_llama(home / part)
        (home / part / "tokenizer.json").rename(home / "tokenizer.json")
        declare(home / part, part)
    for _ in range(2):  # the second time with a list in place
        subprocess.run(command, shell=True, check=True, cwd=home)
        listed = {line.partition("  ")[2] for line in (home / "SHA256SUMS").read_text().splitlines()}
        files = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
        assert listed == files - {"SHA256SUMS"}
        load_pair(home, device="cpu")
    (home / "forward" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="SHA-256 differs"):
        load_pair(home, device="cpu")


def test_line_breaks_and_marks_are_known_to_the_tokenizer(pair: Pair) -> None:
    tokens: Tokens = pair.tokens
    breaking = {index for index in range(tokens.vocabulary) if set("\n\r") & set(tokens.decode([index]))}
    assert tokens.containing("\n\r") == breaking
    assert {"\n", "\r"} <= {tokens.decode([index]) for index in breaking}
    assert {pair.forward.start, pair.backward.start} <= tokens.special
    assert tokens.decode(tokens.encode("Grüße, 世界 🙂!")) == "Grüße, 世界 🙂!"


def test_texts_decoded_roughly_are_right_in_every_ascii_character(pair: Pair) -> None:
    texts = [PROBE, "Grüße, 世界 🙂!", "", "a\nb"]
    rows = [pair.tokens.encode(text) for text in texts]
    assert pair.tokens.decode_all(rows) == texts == [pair.tokens.decode(row) for row in rows]
    for rough, text in zip(pair.tokens.rough_texts(rows), texts, strict=True):
        assert [letter for letter in rough if letter.isascii()] == [letter for letter in text if letter.isascii()]
