"""One model that reads both ways: made from text, or from a forward model, which it can stay near to."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from refdec import Reflector, load_pair
from refdec.errors import InputError, ModelError
from refdec.lm.direction import Direction
from refdec.lm.pair import loss
from refdec.lm.tokens import Tokens
from refdec.train import gguf, loop, rewordings
from refdec.train.corpus import Corpus
from refdec.train.export import backward_start, load_initial
from refdec.train.loop import Keeping, Trainer
from refdec.train.model import Llama, Shape
from refdec.train.processes import Processes
from refdec.train.recipe import Budget, Recipe
from refdec.train.rewordings import ModelJudge, Rewordings, Rewriter, make_rewordings, may_say_the_same
from refdec.train.tokenizer import load_tokenizer, unused_mark
from refdec.train.windows import Mark, MixedWindows, StreamWindows, forward_rows, windows_of
from tests.conftest import TINY, Run, our_engine, refusal
from tests.small_pair import read_config, small_texts, write_training_text
from tests.test_train_partner import save_forward, tokenizer_of

pytestmark = pytest.mark.long

MARKS = ["<|endoftext|>", "<|im_start|>", "<repo_name>"]
QUICKLY = ("--positions=64", "--batch-tokens=1024", "--held-out=0.1", "--device=cpu", "--matrix-rate=0.01")
CPU = Processes(torch.device("cpu"))
SEPARATOR, BACKWARD = 0, 3
STREAM = np.tile(np.array([0, 5, 6, 7, 8, 9], np.uint16), 60)
FORWARD_MARK, BACKWARD_MARK = Mark(SEPARATOR, SEPARATOR), Mark(SEPARATOR, BACKWARD)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small forward model with grouped queries and untied embeddings, and its tokenizer."""
    home = tmp_path_factory.mktemp("models") / "parent"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=400, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=1024, bos_token_id=0, eos_token_id=1,
        )  # fmt: skip
        save_forward(home, LlamaForCausalLM(config), tokenizer_of(MARKS), MARKS[0])
    torch.set_num_threads(threads)
    return home


@pytest.fixture
def corpus(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A text, in a directory with the model."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(models, "parent")
    return write_training_text("text.txt")


def figures(out: str) -> dict[str, tuple[float, float]]:
    """Bits per byte after and before, by direction."""
    found = re.findall(r"^(\w+) +([\d.]+) bits per byte \(before ([\d.]+)\)", out, re.M)
    return {way: (float(after), float(before)) for way, after, before in found}


def test_a_window_begins_with_the_mark_of_its_direction() -> None:
    forward = windows_of(STREAM[:14], Direction.FORWARD, 8, mark=FORWARD_MARK)
    backward = windows_of(STREAM[:14], Direction.BACKWARD, 8, mark=BACKWARD_MARK)
    assert forward.tolist() == [[0, 0, 5, 6, 7, 8, 9, 0, 5]]
    assert backward.tolist() == [[3, 5, 3, 9, 8, 7, 6, 5, 3]]


def test_a_step_has_forward_windows_first_and_rewordings_among_the_others() -> None:
    text: dict[str, Any] = {"stream": STREAM, "length": 8, "seed": 0}
    forward = StreamWindows(**text, direction=Direction.FORWARD, sequences=2, mark=FORWARD_MARK)
    backward = StreamWindows(**text, direction=Direction.BACKWARD, sequences=6, mark=BACKWARD_MARK)
    lines = np.tile(np.array([11, 12], np.uint16), 20)
    reworded = tuple(
        StreamWindows(lines, way, 8, 1, 0, mark=mark)
        for way, mark in zip(Direction, (FORWARD_MARK, BACKWARD_MARK), strict=True)
    )
    plain, mixed = MixedWindows(forward, backward), MixedWindows(forward, backward, reworded, every=4)
    assert torch.equal(plain.at(1), torch.cat([forward.at(1), backward.at(1)]))
    rows = torch.cat([mixed.at(step)[2:] for step in range(4)])
    places = [place for place, row in enumerate(rows.tolist()) if {11, 12} & set(row)]
    assert places == [3, 7, 11, 15, 19, 23]
    assert [int(rows[place, 0]) for place in places] == [0, 3] * 3
    assert torch.equal(mixed.at(1, skip=2), mixed.at(3))
    halves = [
        MixedWindows(
            StreamWindows(**text, direction=Direction.FORWARD, sequences=2, mark=FORWARD_MARK, rank=rank, world=2),
            StreamWindows(**text, direction=Direction.BACKWARD, sequences=6, mark=BACKWARD_MARK, rank=rank, world=2),
            reworded,
            every=4,
        ).at(1)
        for rank in range(2)
    ]
    assert torch.equal(torch.cat([half[:1] for half in halves] + [half[1:] for half in halves]), mixed.at(1))


def test_some_windows_are_forward_and_some_backward_whatever_the_share() -> None:
    assert [forward_rows(8, share) for share in (0.75, 0.5, 0.99, 0.01)] == [2, 4, 1, 7]
    with pytest.raises(InputError, match=r"reading both ways needs two\. Raise --batch-tokens"):
        forward_rows(1, 0.5)


@pytest.mark.parametrize("tied", [True, False])
def test_the_divergence_and_its_gradients_are_those_of_a_plain_computation(
    tied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refdec.train.model.CPU_LOGITS", 50 * 7)  # several pieces, the last one smaller
    shape = Shape(layers=2, width=32, heads=4, kv_heads=2, inner=48, vocabulary=50, positions=16, tied=tied)
    model, parent = Llama(shape), Llama(shape)
    for number, one in enumerate((model, parent)):
        one.initialise(torch.Generator().manual_seed(number))
    ids = torch.randint(50, (3, 9), generator=torch.Generator().manual_seed(2))
    apart = model.divergence(ids, parent(ids).detach(), parent.head.detach())
    apart.backward()  # type: ignore[no-untyped-call]
    fast = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    scores, wanted = (one.logits(ids).log_softmax(-1).flatten(0, 1) for one in (model, parent))
    plain = functional.kl_div(scores, wanted.detach(), reduction="batchmean", log_target=True)
    plain.backward()  # type: ignore[no-untyped-call]
    assert float(apart) == pytest.approx(float(plain), rel=1e-5)
    assert float(apart) > 0.001
    for name, weight in model.named_parameters():
        assert weight.grad is not None
        torch.testing.assert_close(fast[name], weight.grad, rtol=1e-4, atol=1e-6)
    assert float(model.divergence(ids, model(ids).detach(), model.head.detach())) == pytest.approx(0, abs=1e-5)


def test_documents_are_kept_apart_in_either_direction() -> None:
    shape = Shape(layers=1, width=8, heads=1, inner=8, vocabulary=9, positions=8, start=8, backward_start=7)
    model = Llama(shape, documents=True)
    model.initialise(torch.Generator().manual_seed(0))
    torch.nn.init.eye_(model.get_parameter("model.layers.0.self_attn.o_proj.weight"))
    for start in (8, 7):
        one, other = torch.tensor([[start, 0, 2, start, 3, 4]]), torch.tensor([[start, 5, 0, start, 3, 4]])
        assert torch.equal(model(one)[:, 3:], model(other)[:, 3:])
    assert Shape.of(shape.config()) == shape


RECIPE = Recipe(
    vocabulary=300, layers=2, width=32, heads=2, inner=48, positions=16, batch_tokens=128, matrix_rate=0.02, warm_up=0.1
)


def small_trainer(home: Path, keeping: Keeping | None = None, **changes: Any) -> Trainer:
    stream = np.random.default_rng(0).integers(0, 300, 4_000).astype(np.uint16) // 7
    model = Llama(RECIPE.shape)
    model.initialise(torch.Generator().manual_seed(1))
    windows = StreamWindows(stream, Direction.FORWARD, RECIPE.positions, RECIPE.sequences, 0)
    return Trainer(RECIPE, windows, home, CPU, (RECIPE.shape, model.state_dict()), keeping=keeping, **changes)


def test_a_step_of_several_passes_is_that_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curves = []
    for tokens in (16, 64):  # one window per pass, and two, which is all that are kept
        monkeypatch.setattr(loop, "CPU_TOKENS", tokens)
        trainer = small_trainer(tmp_path / str(tokens), Keeping(rows=2, weight=6.0)).run(Budget(tokens=3 * 128))
        assert len(trainer._passes(torch.zeros(8, 17))) == (8 if tokens == 16 else 4)
        curves.append([loss for _, loss in trainer.state.curve])
    assert curves[0] == pytest.approx(curves[1], rel=1e-4)


def test_a_model_is_kept_near_its_parent_on_some_windows_and_learns_the_others(tmp_path: Path) -> None:
    reports: list[loop.StepReport] = []
    kept = small_trainer(tmp_path / "kept", Keeping(rows=6, weight=50.0)).run(Budget(tokens=30 * 128), reports.append)
    free = small_trainer(tmp_path / "free").run(Budget(tokens=30 * 128))
    before = small_trainer(tmp_path / "before").weights()

    def apart(trainer: Trainer) -> float:
        ids = torch.arange(16)[None] % 40
        parent = Llama(RECIPE.shape)
        parent.load_state_dict(before)
        return float(trainer.model.divergence(ids, parent(ids).detach(), parent.head.detach()))

    assert apart(kept) < 0.5 * apart(free)
    assert reports[-1].loss < reports[0].loss
    assert reports[-1].apart > 0
    with pytest.raises(InputError, match="There is no model to stay near to"):
        Trainer(RECIPE, StreamWindows(STREAM, Direction.FORWARD, 16, 8, 0), tmp_path, CPU, keeping=Keeping(2, 6.0))


def test_a_compiled_program_keeps_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = torch.compile
    monkeypatch.setattr(torch, "compile", lambda *given, **details: backend(*given, **details, backend="eager"))
    plain, compiled = (
        small_trainer(tmp_path / str(flag), Keeping(rows=2, weight=6.0), compiled=flag).run(Budget(tokens=256))
        for flag in (False, True)
    )
    torch.testing.assert_close(compiled.state.curve, plain.state.curve, rtol=1e-4, atol=0)


def test_a_forward_model_learns_to_read_backward_and_stays_what_it_was(command: Run, corpus: str) -> None:
    options = ("--both-ways", "--from", "parent", "--tokens=30000", *QUICKLY)
    code, out, err = command("train", corpus, "-o", "pair", "--bfloat16", "--keep-forward=20", *options)
    assert code == 0, err
    kept = figures(out)
    assert kept["backward"][0] < 0.7 * kept["backward"][1]
    assert kept["forward"][0] < kept["forward"][1] + 0.05
    assert "the pair is in pair; its card is pair/README.md" in out
    assert "both ways: " in err
    card = Path("pair/README.md").read_text()
    for told in (
        "# pair: one language model that reads forward and backward\n",
        "id 0 before every document that is read forward, 2 before one that is read backward",
        "| both ways training | 30,720 tokens seen",
        "75% of the windows backward, 25% forward, these by divergence from the model it began from, weight 20",
        "| begun from | parent; its licence",
        "- forward: ",
        "- backward: ",
    ):
        assert told in card
    assert Path("pair.loss.svg").read_text().startswith("<?xml")
    files = {path.name for path in Path("pair").rglob("*")}
    expected = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md"}
    assert files == expected | {"SHA256SUMS"}
    config = read_config("pair")
    starts = ("forward_start_id", "backward_start_id", "bos_token_id", "num_key_value_heads", "tie_word_embeddings")
    assert [config.get(name) for name in starts] == [0, 2, 0, 2, False]
    assert "direction" not in config

    theirs = AutoModelForCausalLM.from_pretrained("pair", dtype=torch.float32)
    shape, weights = load_initial("pair")
    ours = Llama(shape)
    ours.load_state_dict(weights)
    text = AutoTokenizer.from_pretrained("pair")(small_texts(1)[0])["input_ids"]
    ids = torch.tensor([[2, *text[::-1]]])
    torch.testing.assert_close(ours.logits(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    pair = load_pair("pair", device="cpu", precision="float32")
    assert (pair.forward.start, pair.backward.start) == (0, 2)
    assert loss(pair.backward, text[::-1]) == pytest.approx(
        float(ours.loss(ids[:, :-1], ids[:, 1:]).detach()), rel=1e-4
    )
    assert Reflector(pair).paraphrase(small_texts(1)[0], **TINY).contexts

    code, out, err = command("train", corpus, "-o", "free", *options)
    assert code == 0, err
    parent, held_out = (
        load_initial("parent"),
        torch.randint(4, 400, (8, 65), generator=torch.Generator().manual_seed(0)),
    )
    one = Llama(parent[0])
    one.load_state_dict(parent[1])
    apart = {}
    for name in ("pair", "free"):
        other = Llama(load_initial(name)[0])
        other.load_state_dict(load_initial(name)[1])
        apart[name] = float(other.divergence(held_out[:, :64], one(held_out[:, :64]).detach(), one.head.detach()))
    assert apart["pair"] < apart["free"]


def test_a_run_that_was_stopped_goes_on_to_the_same_model(
    command: Run, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--both-ways", "--from", "parent", "--keep-forward=6", "--tokens=16384", *QUICKLY)
    assert command("train", corpus, "-o", "whole", *options)[0] == 0
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)
    real, left = loop.Trainer._report, 4

    def interrupted(self: loop.Trainer, done: float) -> loop.StepReport:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        return real(self, done)

    with monkeypatch.context() as changed:
        changed.setattr(loop.Trainer, "_report", interrupted)
        assert command("train", corpus, "-o", "parted", *options)[0] == 130
    message = refusal(command, "train", corpus, "-o", "parted", *options, "--backward-share=0.5")
    assert "holds a run with another recipe: backward_share was 0.75 and is 0.5" in message
    code, _, err = command("train", corpus, "-o", "parted", *options)
    assert code == 0
    assert "both ways: going on at step" in err
    assert Path("whole/model.safetensors").read_bytes() == Path("parted/model.safetensors").read_bytes()


def test_a_model_of_both_ways_is_made_from_text_alone_and_goes_on(command: Run, corpus: str) -> None:
    small = ("--layers=1", "--width=32", "--heads=2", "--inner=64", "--vocabulary=400", "--tokens=8192", *QUICKLY)
    code, out, err = command("train", corpus, "-o", "pair", "--both-ways", "--documents", *small)
    assert code == 0, err
    tokenizer = load_tokenizer(Path("pair"))
    config = read_config("pair")
    marks = [tokenizer.id_to_token(config[f"{way}_start_id"]) for way in ("forward", "backward")]
    assert marks == ["<|endoftext|>", "<|backward|>"]
    assert "50% of the windows backward, 50% forward |" in Path("pair/README.md").read_text()
    code, out, err = command("train", corpus, "-o", "more", "--from", "pair", "--tokens=8192", *QUICKLY)
    assert code == 0, err  # it is known to read both ways
    assert read_config("more")["backward_start_id"] == config["backward_start_id"]
    assert all(after < before for after, before in figures(out).values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--both-ways", "--partner-of", "parent"], "A partner reads one way"),
        (["--both-ways", "--keep-forward=6"], "--keep-forward needs a model that reads forward already. Name one in"),
        (["--both-ways", "--rewordings=6"], "--rewordings needs a model that reads forward already."),
        (["--keep-forward=6"], "--keep-forward was given, which is for one model. Add --both-ways."),
        (["--both-ways", "--backward-share=1"], "backward_share is 1.0; it must be a number from 0.01 to 0.99."),
        (["--both-ways", "--from=parent", "--backward-start=0", *QUICKLY], "start and backward_start are both 0"),
        (["--both-ways", "--from=parent", "--backward-start=400", *QUICKLY], "backward_start is 400; it must be an id"),
        (["--both-ways", "--from=parent", "--forward-start=400", *QUICKLY], "start is 400; it must be an id"),
        (["--both-ways", "--forward-start=3"], "A tokenizer that is learned has its own marks. Leave out"),
        (["--both-ways", "--from=../nothing"], "There is no directory ../nothing."),
        (["--both-ways", "--from=model.gguf"], "model.gguf needs accelerate and gguf, which is not installed"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(
    command: Run, corpus: str, options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf, "find_spec", lambda _: None)
    assert message in refusal(command, "train", corpus, "-o", "pair", *options)
    assert not list(Path().glob("pair*"))


def test_the_mark_for_backward_documents_is_unused(models: Path) -> None:
    tokens = Tokens(load_tokenizer(models), 0)
    assert backward_start(tokens, None) == 1
    assert backward_start(tokens, models) == 2  # it ends texts with 1
    with pytest.raises(ModelError, match="no unused special entry for documents that are read backward"):
        unused_mark(tokens.tokenizer, {0, 1, 2})


SAME = ("The shop opens at nine on Monday.", "On Monday the shop is open from nine.")


@pytest.mark.parametrize(
    ("source", "reworded", "expected"),
    [
        (*SAME, True),
        ("He does not like tea.", "Tea isn't what he likes.", True),
        ("He does not like tea.", "Tea is what he likes.", False),
        ("We walked 7 miles in the rain.", "In the rain we went 8 miles on foot.", False),
        ("We met Anna in the town.", "In the town we met a friend.", False),
        ("Where is the old station?", "The old station is in town.", False),
        ("We got wet in the rain.", "We got wet in the rain.", False),
        ("We got wet in the rain.", "", False),
    ],
)
def test_numbers_names_and_negations_stay(source: str, reworded: str, expected: bool) -> None:
    assert may_say_the_same(source, reworded) is expected


def test_plain_sentences_are_reworded_judged_and_learned(
    command: Run, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lenient:
        name = "a lenient judge"

        def __call__(self, pairs: Any) -> list[bool]:
            return [True] * len(pairs)

    parent = LlamaForCausalLM.from_pretrained("parent")
    tokens = Tokens(load_tokenizer(Path("parent")), 0)
    monkeypatch.setattr(rewordings, "SHOWN", {"link": " = ", "examples": [SAME]})
    rewriter = Rewriter(our_engine(parent, Direction.FORWARD), tokens)
    text = Corpus.at([Path(corpus)])
    sentences = list(rewordings.plain_sentences(text))
    assert len(sentences) > 200
    assert all(sentence.endswith((".", "?")) for sentence in sentences)
    assert rewriter.reword(sentences[:3]) == [rewriter.reword([sentence])[0] for sentence in sentences[:3]]

    monkeypatch.setattr(rewordings, "may_say_the_same", lambda *_: True)
    monkeypatch.setattr(Rewriter, "reword", lambda _, sentences: [f"{sentence}!" for sentence in sentences])
    file = Path("rewordings.json")
    steps: list[Rewordings] = []
    parted = make_rewordings(text, rewriter, Lenient(), 3, file)
    assert make_rewordings(text, rewriter, Lenient(), 3, file) == parted
    made = make_rewordings(text, rewriter, Lenient(), 9, file, steps.append)
    assert (len(made.pairs), made.tried, made.judge) == (9, 12, "a lenient judge")
    assert made.pairs[0] == (sentences[0], f"{sentences[0]}!")
    assert steps[-1] == made == Rewordings.load(file)
    stream = made.stream(tokens, 10_000)
    assert len(stream) >= 10_000
    assert tokens.decode(stream[:200].tolist()).startswith(f'"{sentences[0]}" = "{sentences[0]}!"\n"{sentences[1]}"')

    monkeypatch.setattr(ModelJudge, "__call__", Lenient.__call__)
    options = ("--both-ways", "--from", "parent", "--rewordings=5", "--tokens=8192", "--keep", *QUICKLY)
    code, _, err = command("train", corpus, "-o", "pair", *options)
    assert code == 0, err
    assert "rewording sentences" in err
    card = Path("pair/README.md").read_text()
    assert "| rewordings | one window in 64 holds pairs of sentences that the model made itself after 8 exam" in card
    assert "5 of 8 plain sentences, judged by the model itself. The first: " in card
    assert len(Rewordings.load(Path("pair.training/rewordings.json")).pairs) == 5


def test_a_model_judges_by_the_words_it_does_not_find_again(models: Path) -> None:
    parent = LlamaForCausalLM.from_pretrained(models)
    tokens = Tokens(load_tokenizer(models), 0)
    rewriter = Rewriter(our_engine(parent, Direction.FORWARD), tokens)
    pairs = [("Anna waited at the river.", "My brother painted the house."), ("It rained.", "Rain fell on us.")]
    surprises = rewriter.surprises(pairs)
    assert [len(words) for words in surprises] == [5, 4]
    for (source, reworded), words in zip(pairs, surprises, strict=True):
        prompt = [0, *rewriter._prompt(source)]
        ids = tokens.encode(reworded)
        logprobs = parent(torch.tensor([prompt + ids])).logits[0].log_softmax(-1)
        plain = [-float(logprobs[len(prompt) + place - 1, token]) for place, token in enumerate(ids)]
        assert sum(words) == pytest.approx(sum(plain), rel=1e-4)
        first = len(tokens.encode(reworded.split()[0]))
        assert words[0] == pytest.approx(sum(plain[:first]), rel=1e-4)

    class Fixed:
        def surprises(self, pairs: Any) -> list[list[float]]:
            costs = {("a", "b"): [1.0, 6.9], ("b", "a"): [2.0], ("c", "d"): [1.0], ("d", "c"): [0.5, 7.1]}
            return [costs[pair] for pair in pairs]

    judge = ModelJudge(Fixed())  # type: ignore[arg-type]
    assert judge([("a", "b"), ("c", "d")]) == [True, False]


def test_a_gguf_file_is_a_beginning(command: Run, corpus: str, tmp_path: Path, models: Path) -> None:
    written = pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    tokenizer = Tokenizer.from_file(str(models / "tokenizer.json"))
    parent = LlamaForCausalLM.from_pretrained(models)
    file = tmp_path / "model.gguf"
    write_gguf(written, file, parent, tokenizer)
    gguf.unpack(file, tmp_path / "unpacked")
    shape, weights = load_initial(tmp_path / "unpacked")
    config = Shape.of(gguf.read_config(file))
    assert config is not None
    assert (config.layers, config.kv_heads, config.start, config.tied) == (2, 2, 0, False)
    ours = Llama(shape)
    ours.load_state_dict(weights)
    ids = torch.tensor([[0, *tokenizer.encode(small_texts(1)[0]).ids]])
    torch.testing.assert_close(ours.logits(ids), parent(ids).logits, rtol=1e-4, atol=1e-4)
    again = load_tokenizer(tmp_path / "unpacked")
    assert again.encode(small_texts(1)[0]).ids == ids[0, 1:].tolist()
    options = ("--both-ways", "--from", file.name, "--keep-forward=6", "--tokens=2048", *QUICKLY)
    code, _, err = command("train", corpus, "-o", "pair", *options)
    assert code == 0, err
    assert "| begun from | model.gguf; its licence" in Path("pair/README.md").read_text()
    assert load_pair("pair", device="cpu").backward.start == 2
    file.write_bytes(b"GGUF" + bytes(50))
    with pytest.raises(ModelError, match=r"model\.gguf cannot be read as GGUF"):
        gguf.unpack(file, tmp_path / "other")


def write_gguf(library: Any, file: Path, model: LlamaForCausalLM, tokenizer: Tokenizer) -> None:
    """The model in float32, with its tokenizer, as converters write it."""
    config, heads = model.config, {"q": model.config.num_attention_heads, "k": model.config.num_key_value_heads}
    writer = library.GGUFWriter(str(file), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    vocabulary = tokenizer.get_vocab()
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    writer.add_token_types([3 if index < len(MARKS) else 1 for index in range(len(vocabulary))])
    writer.add_token_merges([" ".join(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    names = {
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.layers.": "blk.",
        "self_attn.": "attn_", "_proj": "", "attn_o.": "attn_output.", "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm", "mlp.": "ffn_",
    }  # fmt: skip
    for name, tensor in model.state_dict().items():
        rows = tensor.numpy()
        part = re.search(r"self_attn\.([qk])_proj", name)
        if part:  # llama.cpp rotates neighbours
            rows = rows.reshape(heads[part[1]], 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)
        for theirs, short in names.items():
            name = name.replace(theirs, short)
        writer.add_tensor(name, np.ascontiguousarray(rows))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
