"""What loads, and what is refused with a sentence that says what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM

from refdec import Direction, ModelError, Pair, load_pair
from refdec.lm.files import load_model, verify_checksums
from refdec.lm.pair import EMBEDDED, PROBE, loss
from refdec.lm.tokens import Tokens

CPU = torch.device("cpu")


def own_directory(tmp_path: Path, part: str) -> Path:
    """One model of the embedded pair as a directory of its own, tokenizer beside it."""
    directory = tmp_path / part
    directory.mkdir()
    for path in (EMBEDDED / part / "config.json", EMBEDDED / part / "model.safetensors", EMBEDDED / "tokenizer.json"):
        (directory / path.name).symlink_to(path)
    return directory


def small_llama(directory: Path) -> Path:
    """An untrained model saved the ordinary way, in floating point."""
    config = LlamaConfig(
        vocab_size=16384, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, bos_token_id=0
    )
    LlamaForCausalLM(config).save_pretrained(directory)
    shutil.copy(EMBEDDED / "tokenizer.json", directory)
    return directory


def replace(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


def test_the_embedded_pair_reads_both_ways(pair: Pair) -> None:
    ids = pair.tokens.encode(PROBE)
    assert loss(pair.forward, Direction.FORWARD.arrange(ids)) < 3.5
    assert loss(pair.backward, Direction.BACKWARD.arrange(ids)) < 3.5
    assert pair.window == 511


def test_the_embedded_pair_is_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.rglob("*") if path.is_file()) <= 100_000_000


def test_two_separate_directories_make_a_pair(tmp_path: Path, pair: Pair) -> None:
    other = load_pair(own_directory(tmp_path, "forward"), own_directory(tmp_path, "backward"), device="cpu")
    assert other.tokens.fingerprint == pair.tokens.fingerprint
    reading = [model.read([[5, 6, 7]]).next_logprobs for model in (other.forward, pair.forward)]
    assert torch.equal(*reading)


def test_floating_point_weights_load_as_the_int8_ones_do(tmp_path: Path) -> None:
    model = load_model(EMBEDDED / "forward", CPU)
    model.save_pretrained(tmp_path / "float")
    again = load_model(tmp_path / "float", CPU)
    ids = torch.tensor([[0, 5, 6, 7]])
    with torch.inference_mode():
        assert torch.equal(model(ids).logits, again(ids).logits)


def test_a_hub_id_loads_from_the_hubs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub client's own layout on disk, read offline: the same code that downloads."""
    from huggingface_hub import constants

    for part in ("forward", "backward"):
        home = tmp_path / f"models--someone--{part}"
        (home / "refs").mkdir(parents=True)
        (home / "refs" / "main").write_text("0" * 40)
        (home / "snapshots").mkdir()
        own_directory(home / "snapshots", part).rename(home / "snapshots" / ("0" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert load_pair("someone/forward", "someone/backward", device="cpu").window == 511


def test_a_name_that_is_nowhere_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="no directory here, and fetching it from the model hub failed"):
        load_pair("nobody/nothing", "nobody/nothing", device="cpu")
    with pytest.raises(ModelError, match="There is no directory"):
        load_pair("./not/here", "./nor/here", device="cpu")
    with pytest.raises(ModelError, match="There is no directory"):
        load_pair("not-here", device="cpu")


def test_models_given_the_wrong_way_round_are_refused(tmp_path: Path) -> None:
    forward, backward = own_directory(tmp_path, "forward"), own_directory(tmp_path, "backward")
    with pytest.raises(ModelError, match="given as forward does not read that way"):
        load_pair(backward, forward, device="cpu")
    with pytest.raises(ModelError, match="given as backward does not read that way"):
        load_pair(forward, forward, device="cpu")


def test_two_tokenizers_are_refused(tmp_path: Path) -> None:
    forward, backward = own_directory(tmp_path, "forward"), own_directory(tmp_path, "backward")
    (backward / "tokenizer.json").unlink()
    Tokenizer(WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>")).save(str(backward / "tokenizer.json"))
    with pytest.raises(ModelError, match=r"do not share a tokenizer \(vocabularies of 16384 and 2 entries\)"):
        load_pair(forward, backward, device="cpu")


def test_pickled_weights_are_refused_unread(tmp_path: Path) -> None:
    forward = own_directory(tmp_path, "forward")
    (forward / "model.safetensors").unlink()
    (forward / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ModelError, match="pickled"):
        load_pair(forward, forward, device="cpu")


def test_code_that_comes_with_a_model_is_refused(tmp_path: Path) -> None:
    forward = own_directory(tmp_path, "forward")
    config = json.loads((forward / "config.json").read_text())
    replace(forward / "config.json", json.dumps(config | {"auto_map": {"AutoModelForCausalLM": "code.Model"}}))
    (forward / "code.py").write_text("raise SystemExit('this must never run')")
    with pytest.raises(ModelError, match="run code of its own"):
        load_pair(forward, forward, device="cpu")


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    home = tmp_path / "pair"
    shutil.copytree(EMBEDDED, home)
    with (home / "backward" / "model.safetensors").open("r+b") as file:
        file.seek(1_000_000)
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
        ("config.json", '{"model_type": "vit"}', "no causal language model"),
        ("model.safetensors", "not a tensor", "cannot be read"),
        ("tokenizer.json", "{}", "no usable tokenizer"),
    ],
)
def test_a_damaged_directory_is_refused_in_one_sentence(tmp_path: Path, name: str, content: str, message: str) -> None:
    directory = small_llama(tmp_path / "model")
    replace(directory / name, content)
    with pytest.raises(ModelError, match=message):
        load_pair(directory, directory, device="cpu")


def test_weights_that_lack_a_tensor_are_refused(tmp_path: Path) -> None:
    directory = small_llama(tmp_path / "model")
    tensors = load_file(directory / "model.safetensors")
    tensors.pop("model.norm.weight")
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"model\.norm\.weight"):
        load_pair(directory, directory, device="cpu")


def test_an_incomplete_pair_directory_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no forward/ directory"):
        load_pair(tmp_path, device="cpu")
    with pytest.raises(ModelError, match="Name both, or neither"):
        load_pair(backward="x", device="cpu")


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="There is no device 'cuda:99'"):
        load_pair(device="cuda:99")


def test_line_breaks_and_marks_are_known_to_the_tokenizer(pair: Pair) -> None:
    tokens: Tokens = pair.tokens
    assert {tokens.decode([index]) for index in tokens.containing("\n\r")} == {"\n", "\r"}
    assert tokens.special == {0}
    assert tokens.decode(tokens.encode("Grüße, 世界 🙂!")) == "Grüße, 世界 🙂!"
