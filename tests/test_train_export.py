"""Exported models load, here and in transformers; the cost of int8 is measured; what is not a model is refused."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from refdec import Direction, InputError, ModelError, load_pair
from refdec.lm.linear import Stored
from refdec.lm.model_files import verify_checksums
from refdec.lm.pair import EMBEDDED, PROBE, loss
from refdec.train import export
from refdec.train.export import check_exportable, export_models, int8_loss, load_initial
from refdec.train.model import Llama, Shape
from tests.small_pair import SENTENCES

CPU = torch.device("cpu")
SHAPE = Shape(layers=2, width=32, heads=2, inner=64, vocabulary=400, positions=256)
CARD = "# A small pair\n\nTrained by a test.\n"
Weights = dict[str, Tensor]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    made = Tokenizer(BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(
        vocab_size=SHAPE.vocabulary, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    return made


@pytest.fixture(scope="module")
def streams(tokenizer: Tokenizer) -> dict[Direction, Tensor]:
    """The sentences as one stream of ids, in the reading order of each direction."""
    ids = [token for sentence in SENTENCES for token in (0, *tokenizer.encode(f' "{sentence}"').ids)]
    return {direction: torch.tensor(direction.arrange(ids)) for direction in Direction}


@pytest.fixture(scope="module")
def models(streams: Mapping[Direction, Tensor]) -> dict[Direction, Weights]:
    """A pair that knows its directions."""
    return {direction: train(stream) for direction, stream in streams.items()}


def train(stream: Tensor, steps: int = 100) -> Weights:
    generator = torch.Generator().manual_seed(0)
    model = Llama(SHAPE)
    model.initialise(generator)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(steps):
        rows = windows(stream, torch.randint(len(stream) - 49, (16,), generator=generator))
        model.loss(rows[:, :-1], rows[:, 1:]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad()
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def windows(stream: Tensor, places: Tensor, length: int = 48) -> Tensor:
    return torch.stack([stream[place : place + length + 1] for place in places.tolist()])


@pytest.fixture(scope="module", params=["bfloat16", "int8"])
def exported(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    models: dict[Direction, Weights],
    tokenizer: Tokenizer,
) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "new" / str(request.param)
    export_models(folder, models, SHAPE, tokenizer, CARD, int8=request.param == "int8")
    return folder


def test_an_exported_pair_is_loaded_and_reads_as_the_trained_models_do(
    exported: Path, models: dict[Direction, Weights], tokenizer: Tokenizer
) -> None:
    pair = load_pair(exported, device="cpu", precision="float32")
    assert pair.name.startswith(f"{exported.name}:")
    assert pair.window == SHAPE.positions - 1
    ids = tokenizer.encode(PROBE).ids[:200]
    for direction in Direction:
        row = torch.tensor([[0, *direction.arrange(ids)]])
        model = Llama(SHAPE)
        model.load_state_dict(models[direction])
        expected = float(model.losses(row[:, :-1], row[:, 1:]).mean())
        assert abs(loss(pair.reading(direction), direction.arrange(ids)) - expected) < 0.02


def test_an_exported_directory_holds_a_pair_its_checksums_and_its_card(exported: Path) -> None:
    assert (exported / "README.md").read_text(encoding="utf-8") == CARD
    verify_checksums(exported)
    names = {line.partition("  ")[2] for line in (exported / "SHA256SUMS").read_text().splitlines()}
    each = {"config.json", "model.safetensors"}
    if exported.name == "bfloat16":
        each |= {"tokenizer.json", "tokenizer_config.json"}
    assert names == {"tokenizer.json"} | {f"{direction.value}/{name}" for direction in Direction for name in each}
    assert names | {"README.md", "SHA256SUMS"} == {
        path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()
    }
    assert [path.name for path in exported.parent.iterdir() if path.name.startswith(".")] == []
    assert len({path.stat().st_mode for path in exported.rglob("*") if path.is_file()}) == 1
    for direction in Direction:
        config = json.loads((exported / direction.value / "config.json").read_text())
        assert config == SHAPE.config() | {"direction": direction.value}


def test_files_are_as_large_as_the_shape_says(exported: Path) -> None:
    stored = load_file(exported / "forward" / "model.safetensors")
    assert sum(tensor.nbytes for tensor in stored.values()) == SHAPE.bytes_on_disk(exported.name == "int8")


def test_int8_that_is_loaded_and_exported_again_stays_as_it_is(
    tmp_path: Path, models: dict[Direction, Weights], tokenizer: Tokenizer
) -> None:
    once, again = tmp_path / "once", tmp_path / "again"
    export_models(once, models, SHAPE, tokenizer, CARD, int8=True)
    read = {direction: load_initial(once / direction.value)[1] for direction in Direction}
    export_models(again, read, SHAPE, tokenizer, CARD, int8=True)
    for direction in Direction:
        part = f"{direction.value}/model.safetensors"
        with safe_open(str(again / part), "pt") as new, safe_open(str(once / part), "pt") as old:
            assert new.metadata() == old.metadata() == export.INT8_NOTE
            assert set(new.keys()) == set(old.keys())
            for name in old.keys():  # noqa: SIM118
                found, expected = new.get_tensor(name), old.get_tensor(name)
                assert found.dtype == expected.dtype
                assert torch.equal(found, expected) or (
                    name.endswith(".scale") and torch.allclose(found, expected, rtol=1e-6, atol=0)
                )
    assert (again / "tokenizer.json").read_bytes() == (once / "tokenizer.json").read_bytes()


@pytest.mark.parametrize("direction", Direction)
def test_transformers_loads_each_model_with_its_tokenizer(
    tmp_path: Path, models: dict[Direction, Weights], tokenizer: Tokenizer, direction: Direction
) -> None:
    export_models(tmp_path / "pair", models, SHAPE, tokenizer, CARD, int8=False)
    home = tmp_path / "pair" / direction.value
    theirs = AutoModelForCausalLM.from_pretrained(home, dtype=torch.float32)
    assert isinstance(theirs, LlamaForCausalLM)
    ours = Llama(SHAPE)
    ours.load_state_dict({name: tensor.bfloat16().float() for name, tensor in models[direction].items()})
    text = 'In 1984 Anna said: "Why do people like the garden?" Caf\u0065\u0301, na\u00efve \u2603'
    fast = AutoTokenizer.from_pretrained(home)
    ids = fast(text)["input_ids"]
    assert ids == tokenizer.encode(text).ids
    assert fast.decode(ids) == tokenizer.decode(ids)
    assert (fast.bos_token_id, fast.eos_token_id, fast.model_max_length) == (0, 0, SHAPE.positions)
    row = torch.tensor([direction.arrange(ids)])
    with torch.no_grad():
        assert torch.allclose(theirs(row).logits, ours.logits(row), rtol=1e-5, atol=1e-5)


def test_two_directories_of_an_export_make_a_pair(
    tmp_path: Path, models: dict[Direction, Weights], tokenizer: Tokenizer
) -> None:
    export_models(tmp_path / "pair", models, SHAPE, tokenizer, CARD, int8=False)
    pair = load_pair(tmp_path / "pair" / "forward", tmp_path / "pair" / "backward", device="cpu", precision="float32")
    assert pair.tokens.vocabulary == SHAPE.vocabulary


def test_an_exported_model_is_a_beginning(exported: Path, models: dict[Direction, Weights]) -> None:
    for direction in Direction:
        shape, weights = load_initial(exported / direction.value)
        assert shape == SHAPE
        assert weights.keys() == models[direction].keys()
        for name, tensor in weights.items():
            assert tensor.dtype == torch.float32
            assert torch.allclose(tensor, models[direction][name], rtol=2**-8, atol=0.01), name
        Llama(shape).load_state_dict(weights)


@pytest.mark.parametrize(
    "changes",
    [
        {"tie_word_embeddings": True},
        {"num_key_value_heads": 1, "rms_norm_eps": 1e-5, "rope_parameters": {"rope_theta": 500.0}},
        {"head_dim": 6, "tie_word_embeddings": True},
    ],
)
def test_a_model_of_transformers_is_a_beginning(tmp_path: Path, changes: dict[str, Any]) -> None:
    sizes = {"vocab_size": 31, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    config = LlamaConfig(**sizes, num_attention_heads=2, max_position_embeddings=64, initializer_range=0.5, **changes)
    torch.manual_seed(0)
    theirs = LlamaForCausalLM(config).eval()
    theirs.save_pretrained(tmp_path, max_shard_size="4KB")
    shape, weights = load_initial(tmp_path)
    ours = Llama(shape)
    ours.load_state_dict(weights)
    ids = torch.arange(24).view(2, 12)
    with torch.no_grad():
        assert torch.allclose(ours.logits(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)


def test_the_embedded_pair_is_a_beginning() -> None:
    shape, weights = load_initial(EMBEDDED)
    model = Llama(shape)
    model.load_state_dict(weights)
    ids = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json")).encode(PROBE).ids
    for direction, start in zip(Direction, (shape.start, shape.backward_start), strict=True):
        row = torch.tensor([[start, *direction.arrange(ids)]])
        assert float(model.losses(row[:, :-1], row[:, 1:]).mean()) < 3.5


def test_what_cannot_be_trained_on_is_refused(tmp_path: Path) -> None:
    GPT2LMHeadModel(GPT2Config(vocab_size=31, n_embd=8, n_layer=1, n_head=1)).save_pretrained(tmp_path / "gpt2")
    with pytest.raises(ModelError, match=r"\(a gpt2\) is not of the plain Llama layout"):
        load_initial(tmp_path / "gpt2")
    with pytest.raises(ModelError, match="no directory"):
        load_initial(tmp_path / "nothing")
    sizes = {"vocab_size": 31, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=1, attention_bias=True)).save_pretrained(
        tmp_path / "bias"
    )
    with pytest.raises(ModelError, match=r"\(a llama\) is not of the plain Llama layout"):
        load_initial(tmp_path / "bias")
    config = tmp_path / "bias" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"attention_bias": False}))
    with pytest.raises(ModelError, match=r"this shape does not have, such as model.layers.0.self_attn"):
        load_initial(tmp_path / "bias")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 2}))
    with pytest.raises(ModelError, match=r"9 tensors are missing or of another size, such as model.layers.1.input"):
        load_initial(tmp_path / "bias")


def test_weights_that_are_not_a_model_are_not_exported(
    tmp_path: Path, models: dict[Direction, Weights], tokenizer: Tokenizer
) -> None:
    def refused(match: str, shape: Shape = SHAPE, **changes: Tensor) -> None:
        changed = {name.replace("__", "."): tensor for name, tensor in changes.items()}
        wrong = models | {Direction.BACKWARD: models[Direction.BACKWARD] | changed}
        with pytest.raises(ModelError, match=match):
            export_models(tmp_path / "pair", wrong, shape, tokenizer, CARD, int8=True)
        assert list(tmp_path.iterdir()) == []

    norm = torch.ones(SHAPE.width)
    refused("backward weights are not all finite numbers", model__norm__weight=norm / 0)
    refused(
        "backward weights hold tensors that", lm_head__weight=models[Direction.FORWARD]["model.embed_tokens.weight"]
    )
    refused("1 tensors are missing or of another size, such as model.norm.weight", model__norm__weight=norm[1:])
    smaller = Shape(layers=2, width=32, heads=2, inner=64, vocabulary=399, positions=256)
    refused("forward weights are not those of a model of this shape", smaller)


def test_a_tokenizer_that_the_models_do_not_know_is_not_exported(
    tmp_path: Path, models: dict[Direction, Weights]
) -> None:
    other = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    with pytest.raises(ModelError, match=f"tokenizer has {other.get_vocab_size()} entries and the models have 400"):
        export_models(tmp_path / "pair", models, SHAPE, other, CARD, int8=True)


def test_an_export_replaces_an_earlier_one_and_nothing_else(
    tmp_path: Path, models: dict[Direction, Weights], tokenizer: Tokenizer
) -> None:
    folder = tmp_path / "pair"
    folder.mkdir()
    for number, int8 in enumerate((False, True)):
        check_exportable(folder)
        export_models(folder, models, SHAPE, tokenizer, f"card {number}", int8=int8)
    assert (folder / "README.md").read_text() == "card 1"
    assert not (folder / "forward" / "tokenizer.json").exists()
    verify_checksums(folder)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds files that no export wrote, such as notes.txt"):
        check_exportable(folder)
    with pytest.raises(InputError, match=r"holds files that no export wrote, such as notes.txt"):
        export_models(folder, models, SHAPE, tokenizer, CARD, int8=True)
    assert (folder / "notes.txt").read_text() == "mine"
    with pytest.raises(InputError, match="is a file"):
        check_exportable(folder / "notes.txt")
    with pytest.raises(InputError, match="cannot be written"):
        check_exportable(folder / "notes.txt" / "pair")
    assert [path.name for path in tmp_path.iterdir()] == ["pair"]


def test_an_export_that_fails_leaves_the_earlier_one(
    tmp_path: Path, models: dict[Direction, Weights], tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pair"
    export_models(folder, models, SHAPE, tokenizer, "the first", int8=True)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export, "save_file", full)
    with pytest.raises(InputError, match=r"pair cannot be written \(No space left on device\)"):
        export_models(folder, models, SHAPE, tokenizer, "the second", int8=True)
    assert (folder / "README.md").read_text() == "the first"
    verify_checksums(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["pair"]


@pytest.mark.parametrize("direction", Direction)
def test_what_int8_costs_is_measured(
    tmp_path: Path,
    models: dict[Direction, Weights],
    streams: dict[Direction, Tensor],
    tokenizer: Tokenizer,
    direction: Direction,
) -> None:
    rows = windows(streams[direction], torch.arange(0, 900, 49))
    told = int8_loss(models[direction], SHAPE, rows, device=CPU, rows=4)
    assert 0 < abs(told.cost) < 0.02
    export_models(tmp_path / "pair", models, SHAPE, tokenizer, CARD, int8=True)
    for weights, expected in (
        (models[direction], told.exact),
        (load_initial(tmp_path / "pair" / direction.value)[1], told.int8),
    ):
        model = Llama(SHAPE)
        model.load_state_dict(weights)
        assert float(model.losses(rows[:, :-1], rows[:, 1:]).mean()) == pytest.approx(expected, abs=1e-5)
    assert told.cost == told.int8 - told.exact


def test_a_row_of_zeros_is_exported(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """Models begin with some, and a run may be stopped early."""
    fresh = Llama(SHAPE)
    fresh.initialise(torch.Generator().manual_seed(0))
    state = fresh.state_dict()
    export_models(tmp_path / "pair", dict.fromkeys(Direction, state), SHAPE, tokenizer, CARD, int8=True)
    _, weights = load_initial(tmp_path / "pair" / "backward")
    assert not weights["model.layers.0.self_attn.o_proj.weight"].any()
    stored = Stored(state["model.embed_tokens.weight"]).quantised().float()
    assert torch.equal(weights["model.embed_tokens.weight"], stored)
