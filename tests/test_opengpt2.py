"""The paper's own models: the numbers of their description, from any form in which their weights are stored."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from refdec import Direction, ModelError, load_pair
from refdec.lm.logprobs import next_logprobs
from refdec.lm.model_files import load_model, locate
from refdec.lm.opengpt2 import ENTRIES, OpenGPT2, build
from refdec.lm.pair import PROBE, check_direction
from refdec.lm.tokens import Tokens
from refdec.lm.transformers_lm import TransformersLM

CPU = torch.device("cpu")
HEADS, WIDTH, INNER, LAYERS, PLACES, TEXT = 2, 16, 40, 3, 128, 31
CONFIG = {
    "architectures": ["OpenGPT2LMHeadModel"],
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INNER,
    "max_position_embeddings": PLACES,
    "vocab_size": TEXT + 1,
}
State = dict[str, torch.Tensor]
Save = Callable[[State, Path], None]


def random_weights(seed: int = 0, entries: int = TEXT) -> State:
    """Weights under the names of the description; row 0 of the embeddings is padding."""
    generator = torch.Generator().manual_seed(seed)

    def tensor(*shape: int, around: float = 0.0) -> torch.Tensor:
        return around + 0.4 * torch.randn(*shape, generator=generator)

    state = {"wte.weight": tensor(entries + 1, WIDTH), "wpe.weight": tensor(PLACES, WIDTH)}
    norms = ["ln_embed"] + [f"h.{layer}.mlp.ln_{which}" for layer in range(LAYERS) for which in (0, 1)]
    for name in norms:
        state |= {f"{name}.weight": tensor(WIDTH, around=1.0), f"{name}.bias": tensor(WIDTH)}
    for layer in range(LAYERS):
        for name, inputs, outputs in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH)):
            state |= {f"h.{layer}.{name}.weight": tensor(inputs, outputs), f"h.{layer}.{name}.bias": tensor(outputs)}
        for name, inputs, outputs in (("linear_intermediate", WIDTH, INNER), ("linear_output", INNER, WIDTH)):
            home = f"h.{layer}.mlp.{name}"
            state |= {f"{home}.weight": tensor(outputs, inputs), f"{home}.bias": tensor(outputs)}
    return state


def described(state: State, ids: list[int]) -> torch.Tensor:
    """Logits of one text straight from the description, place by place, ids shifted the literal way."""

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        x = (x - x.mean()) / torch.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)
        return x * state[f"{name}.weight"] + state[f"{name}.bias"]

    size = WIDTH // HEADS
    hidden = [
        norm(state["wte.weight"][index + 1] + state["wpe.weight"][place], "ln_embed") for place, index in enumerate(ids)
    ]
    for layer in range(LAYERS):
        home = f"h.{layer}"
        fused = [x @ state[f"{home}.attn.c_attn.weight"] + state[f"{home}.attn.c_attn.bias"] for x in hidden]
        after = []
        for place, x in enumerate(hidden):
            heads = []
            for head in range(HEADS):
                begin = head * size
                query = fused[place][begin : begin + size]
                keys = [past[WIDTH + begin : WIDTH + begin + size] for past in fused[: place + 1]]
                values = [past[2 * WIDTH + begin : 2 * WIDTH + begin + size] for past in fused[: place + 1]]
                scores = torch.stack([query @ key / size**0.5 for key in keys])
                shares = scores.exp() / scores.exp().sum()
                heads.append(sum(share * value for share, value in zip(shares, values, strict=True)))
            attended = torch.cat([torch.as_tensor(part) for part in heads])
            x = x + attended @ state[f"{home}.attn.c_proj.weight"] + state[f"{home}.attn.c_proj.bias"]
            inner = state[f"{home}.mlp.linear_intermediate.weight"] @ norm(x, f"{home}.mlp.ln_0")
            inner = inner + state[f"{home}.mlp.linear_intermediate.bias"]
            inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
            output = state[f"{home}.mlp.linear_output.weight"] @ inner + state[f"{home}.mlp.linear_output.bias"]
            after.append(norm(x + output, f"{home}.mlp.ln_1"))
        hidden = after
    return torch.stack([state["wte.weight"] @ x for x in hidden])[:, 1:]


def as_released(state: State, prefix: str = "transformer.") -> State:
    """As the authors' own class saves it: three attention matrices per layer, buffers, an output matrix."""
    saved: State = {"lm_head.weight": state["wte.weight"].clone()}
    for name, tensor in state.items():
        if ".c_attn." in name:
            for part, piece in zip("qkv", tensor.chunk(3, dim=-1), strict=True):
                saved[prefix + name.replace("c_attn", f"c_attn_{part}")] = piece.contiguous()
        else:
            saved[prefix + name] = tensor
    for layer in range(LAYERS):
        triangle = torch.ones(1, 1, PLACES, PLACES, dtype=torch.uint8).tril()
        saved |= {f"{prefix}h.{layer}.attn.bias": triangle, f"{prefix}h.{layer}.attn.masked_bias": torch.tensor(-1e4)}
    return saved


def in_safetensors(state: State, directory: Path) -> None:
    save_file(state, directory / "model.safetensors", metadata={"format": "pt"})


def in_two_safetensors(state: State, directory: Path) -> None:
    names = sorted(state)
    for part, some in enumerate((names[::2], names[1::2])):
        save_file({name: state[name] for name in some}, directory / f"model-{part}.safetensors")


def in_a_pickle(state: Any, directory: Path, archive: bool = True) -> None:
    torch.save(state, directory / "pytorch_model.bin", _use_new_zipfile_serialization=archive)


in_an_old_pickle: Save = partial(in_a_pickle, archive=False)


def write(directory: Path, state: State, save: Save = in_a_pickle, **config: Any) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(CONFIG | config))
    save(state, directory)
    return directory


def write_tokenizer(directory: Path) -> int:
    """A small tokenizer made as GPT-2's is, its end-of-text mark last; returns the number of entries."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([PROBE], BpeTrainer(vocab_size=320, initial_alphabet=alphabet, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = model["vocab"] | {"<|endoftext|>": len(model["vocab"])}
    directory.mkdir(exist_ok=True)
    (directory / "vocab.json").write_text(json.dumps(vocabulary))
    (directory / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in model["merges"]))
    return len(vocabulary)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TransformersLM:
    directory = write(tmp_path_factory.mktemp("tiny"), random_weights())
    return TransformersLM(load_model(directory, CPU), Direction.FORWARD, TEXT - 1)


@pytest.mark.parametrize("save", [in_safetensors, in_two_safetensors, in_a_pickle, in_an_old_pickle])
@pytest.mark.parametrize(
    "form", [dict, as_released, partial(as_released, prefix=""), partial(as_released, prefix="model.transformer.")]
)
def test_the_logits_are_those_of_the_description(tmp_path: Path, save: Save, form: Callable[[State], State]) -> None:
    state = random_weights()
    model = load_model(write(tmp_path / "model", form(state), save), CPU)
    ids = torch.tensor([[30, 0, 7, 29, 7, 11, 3], [1, 2, 3, 4, 5, 6, 7]])
    with torch.inference_mode():
        logits = model(input_ids=ids).logits
        kept = model(input_ids=ids, logits_to_keep=2).logits
    expected = torch.stack([described(state, row.tolist()) for row in ids])
    assert logits.shape == (2, 7, TEXT)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(kept, expected[:, -2:], atol=1e-5, rtol=1e-5)


def test_reading_step_by_step_gives_the_logits_of_reading_at_once(tiny: TransformersLM) -> None:
    state, ids = random_weights(), [5, 9, 0, 30, 12, 5]
    expected = described(state, [TEXT - 1, *ids]).log_softmax(-1)
    reading = tiny.read([ids[:2]])
    torch.testing.assert_close(next_logprobs(tiny, reading)[0], expected[2], atol=1e-5, rtol=1e-5)
    many = tiny.logits(tiny.features(reading, torch.tensor([ids[2:]]))).log_softmax(-1)
    torch.testing.assert_close(many[0], expected[2:-1], atol=1e-5, rtol=1e-5)
    for place, token in enumerate(ids[2:], start=3):
        reading = tiny.extend(reading, torch.tensor([token]))
        torch.testing.assert_close(next_logprobs(tiny, reading)[0], expected[place], atol=1e-5, rtol=1e-5)


def test_a_cache_of_its_own_continues_as_well() -> None:
    model = build(CONFIG, random_weights())
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    with torch.inference_mode():
        first = model(input_ids=ids[:, :3], use_cache=True)
        second = model(input_ids=ids[:, 3:], past_key_values=first.past_key_values)
        whole = model(input_ids=ids)
    assert whole.past_key_values is None
    torch.testing.assert_close(torch.cat([first.logits, second.logits], dim=1), whole.logits, atol=1e-5, rtol=1e-5)


def test_padding_before_a_prefix_changes_nothing(tiny: TransformersLM) -> None:
    prefixes = [[4, 8, 15, 16, 23], [], [7, 7]]
    rest = torch.tensor([[1, 2, 3], [30, 29, 28], [9, 9, 9]])
    together = tiny.read(prefixes)
    scores, longer = tiny.score(together, rest), tiny.extend(together, rest[:, 0])
    for row, prefix in enumerate(prefixes):
        alone = tiny.read([prefix])
        torch.testing.assert_close(together.features[row], alone.features[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(scores[row], tiny.score(alone, rest[row : row + 1])[0], atol=1e-5, rtol=1e-5)
        step = tiny.extend(alone, rest[row, :1])
        torch.testing.assert_close(longer.features[row], step.features[0], atol=1e-5, rtol=1e-5)


def test_rows_beyond_gpt2s_vocabulary_are_dropped() -> None:
    model = build(CONFIG, random_weights(entries=ENTRIES + 12))
    assert (model.config.vocab_size, model.config.bos_token_id) == (50257, 50256)
    assert model(input_ids=torch.tensor([[50256]])).logits.shape == (1, 1, 50257)


def test_half_precision_weights_are_used_in_float32(tmp_path: Path) -> None:
    state = {name: tensor.half() for name, tensor in random_weights().items()}
    model = load_model(write(tmp_path / "model", state), CPU)
    assert model.dtype == torch.float32
    expected = described({name: tensor.float() for name, tensor in state.items()}, [1, 2, 3])
    with torch.inference_mode():
        torch.testing.assert_close(model(input_ids=torch.tensor([[1, 2, 3]])).logits[0], expected, atol=1e-5, rtol=1e-5)


def that_reads(direction: Direction, directory: Path) -> State:
    """Random weights that happen to prefer one order of the probe text, written into a directory."""
    entries = write_tokenizer(directory)
    tokens = Tokens(expected_tokenizer(directory), entries - 1)
    for seed in range(40):
        state = random_weights(seed, entries)
        write(directory, as_released(state))
        try:
            check_direction(TransformersLM(load_model(directory, CPU), direction, entries - 1), tokens)
        except ModelError:
            continue
        return state
    raise AssertionError("No seed of forty reads the right way.")


def expected_tokenizer(directory: Path) -> Tokenizer:
    tokenizer = Tokenizer(BPE.from_file(str(directory / "vocab.json"), str(directory / "merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_two_released_directories_make_a_pair(tmp_path: Path) -> None:
    states = {direction: that_reads(direction, tmp_path / direction.value) for direction in Direction}
    pair = load_pair(tmp_path / "forward", tmp_path / "backward", device="cpu")
    start = pair.tokens.start
    assert pair.window == PLACES - 1
    assert pair.tokens.decode([start]) == ""
    assert start == pair.forward.vocabulary - 1 == pair.tokens.vocabulary - 1
    text = "The library opens at nine — Grüße!"
    assert pair.tokens.decode(pair.tokens.encode(text)) == text
    assert pair.tokens.encode(text) == expected_tokenizer(tmp_path / "forward").encode(text).ids
    ids = pair.tokens.encode(text)
    for direction, state in states.items():
        read, model = direction.arrange(ids), pair.reading(direction)
        expected = described(state, [start, *read]).log_softmax(-1)[:-1].gather(1, torch.tensor(read)[:, None])[:, 0]
        scored = model.score(model.read([[]]), torch.tensor([read]))[0]
        torch.testing.assert_close(scored, expected, atol=1e-5, rtol=1e-5)


def test_the_signature_of_a_pair_follows_released_weights(tmp_path: Path) -> None:
    for direction in Direction:
        that_reads(direction, tmp_path / direction.value)
    forward, backward = load_pair(tmp_path / "forward", tmp_path / "backward", device="cpu").name.split("+")
    assert forward.removeprefix("forward:") != backward.removeprefix("backward:")


def test_the_two_older_tokenizer_files_and_a_tokenizer_json_count_as_one_tokenizer(tmp_path: Path) -> None:
    for direction in Direction:
        that_reads(direction, tmp_path / direction.value)
    pair = load_pair(tmp_path / "forward", tmp_path / "backward", device="cpu")
    pair.tokens.tokenizer.save(str(tmp_path / "backward" / "tokenizer.json"))
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / "backward" / name).unlink()
    again = load_pair(tmp_path / "forward", tmp_path / "backward", device="cpu")
    assert again.tokens.fingerprint == pair.tokens.fingerprint


def test_a_directory_without_a_tokenizer_is_told_which_to_put_there(tmp_path: Path) -> None:
    directory = write(tmp_path / "model", random_weights())
    with pytest.raises(ModelError, match=r"or GPT-2's vocab\.json and merges\.txt"):
        load_pair(directory, directory, device="cpu")


def without(name: str) -> State:
    state = random_weights()
    state.pop(name)
    return state


@pytest.mark.parametrize(
    ("state", "config", "message"),
    [
        (without("wte.weight"), {}, r"wte\.weight is missing"),
        (without("h.1.attn.c_proj.bias"), {}, r"h\.1\.attn\.c_proj\.bias is missing"),
        (without("h.2.mlp.ln_0.weight"), {}, "says 3 layers and the weights have 2"),
        (as_released(random_weights()) | {"lm_head.weight": torch.zeros(TEXT + 1, WIDTH)}, {}, "lm_head"),
        (random_weights() | {"wpe.weight": torch.zeros(3, WIDTH)}, {}, r"wpe\.weight is \(3, 16\) of float32"),
        (random_weights() | {"wpe.weight": torch.zeros(PLACES, WIDTH).char()}, {}, r"\(128, 16\) of int8"),
        (random_weights(), {"num_hidden_layers": 2}, "says 2 layers and the weights have 3"),
        (random_weights(), {"num_attention_heads": 3}, "3 attention heads, which do not divide"),
        (random_weights(), {"intermediate_size": "wide"}, "intermediate_size is 'wide'"),
    ],
)
@pytest.mark.parametrize("save", [in_safetensors, in_a_pickle])
def test_weights_that_do_not_fit_are_refused_in_one_sentence(
    tmp_path: Path, state: State, config: dict[str, Any], message: str, save: Save
) -> None:
    directory = write(tmp_path / "model", state, save, **config)
    with pytest.raises(ModelError, match=rf"The OpenGPT2 model in .* cannot be used \(.*{message}"):
        load_model(directory, CPU)


def test_a_split_attention_that_lacks_a_part_is_named(tmp_path: Path) -> None:
    state = as_released(random_weights())
    state.pop("transformer.h.0.attn.c_attn_k.weight")
    with pytest.raises(ModelError, match=r"h\.0\.attn\.c_attn_k\.weight is missing"):
        load_model(write(tmp_path / "model", state), CPU)


def test_a_config_that_lacks_a_size_is_named(tmp_path: Path) -> None:
    directory = write(tmp_path / "model", random_weights())
    config = {key: value for key, value in CONFIG.items() if key != "num_attention_heads"}
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"config\.json has no num_attention_heads"):
        load_model(directory, CPU)


class Trap:
    """What a hostile pickle would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("archive", [True, False])
def test_a_hostile_pickle_is_refused_and_does_not_run(tmp_path: Path, archive: bool) -> None:
    save = partial(in_a_pickle, archive=archive)
    directory = write(tmp_path / "model", {**random_weights(), "trap": Trap(tmp_path / "sprung")}, save)  # type: ignore[dict-item]
    with pytest.raises(ModelError, match="holds more than tensors"):
        load_model(directory, CPU)
    (directory / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(tmp_path / "sprung"), protocol=2))
    with pytest.raises(ModelError, match="holds more than tensors"):
        load_model(directory, CPU)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("length", [0, 3, 500, 5000])
@pytest.mark.parametrize("archive", [True, False])
def test_a_pickle_that_was_cut_off_is_refused(tmp_path: Path, length: int, archive: bool) -> None:
    directory = write(tmp_path / "model", random_weights(), partial(in_a_pickle, archive=archive))
    path = directory / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelError, match="is damaged"):
        load_model(directory, CPU)


def test_a_pickle_of_something_else_is_refused(tmp_path: Path) -> None:
    directory = write(tmp_path / "model", random_weights())
    in_a_pickle([1, 2], directory)
    with pytest.raises(ModelError, match="does not hold tensors by name"):
        load_model(directory, CPU)
    in_a_pickle({"model": torch.zeros(1)}, directory)
    with pytest.raises(ModelError, match="are pickled"):
        load_model(directory, CPU)


def test_the_pickle_of_another_architecture_is_refused_unread(tmp_path: Path) -> None:
    directory = write(tmp_path / "model", random_weights())
    for config in ({"model_type": "llama", "hidden_size": 16}, {"model_type": "gpt2", "n_embd": 16}, {}):
        (directory / "config.json").write_text(json.dumps(config))
        (directory / "pytorch_model.bin").write_bytes(b"not even a pickle")
        with pytest.raises(ModelError, match=r"are pickled \(pytorch_model\.bin\)"):
            load_model(directory, CPU)


@pytest.mark.parametrize("kind", [{}, {"model_type": ""}, {"model_type": "gpt2"}, {"model_type": "opengpt2"}])
def test_the_layout_is_recognised_by_its_names_whatever_its_config_is_called(
    tmp_path: Path, kind: dict[str, str]
) -> None:
    for save in (in_safetensors, in_a_pickle):
        directory = write(tmp_path / save.__name__, random_weights(), save, architectures=None, **kind)
        assert isinstance(load_model(directory, CPU), OpenGPT2)


def test_the_hub_is_asked_for_a_pickle_only_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub of directories here, which hands out what it is asked for."""
    cache, asked = tmp_path / "cache", []

    def hand_out(name: str, allow_patterns: list[str]) -> str:
        home = cache / name
        home.mkdir(parents=True, exist_ok=True)
        for path in (tmp_path / name.removeprefix("someone/")).iterdir():
            if any(fnmatch(path.name, pattern) for pattern in allow_patterns):
                asked.append(f"{name}: {path.name}")
                (home / path.name).write_bytes(path.read_bytes())
        return str(home)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", hand_out)
    write(tmp_path / "released", random_weights(), in_a_pickle)
    write(tmp_path / "both", random_weights(), in_a_pickle)
    in_safetensors(random_weights(), tmp_path / "both")
    write(tmp_path / "other", random_weights(), in_a_pickle, model_type="llama", architectures=["LlamaForCausalLM"])
    assert isinstance(load_model(locate("someone/released"), CPU), OpenGPT2)
    assert isinstance(load_model(locate("someone/both"), CPU), OpenGPT2)
    with pytest.raises(ModelError, match=r"no \*\.safetensors weights"):
        load_model(locate("someone/other"), CPU)
    assert [what for what in asked if what.endswith(".bin")] == ["someone/released: pytorch_model.bin"]
