"""A forward model gets a backward partner with its tokenizer and start id, in a directory that fits it."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from refdec import Direction, InputError, ModelError, Reflector, load_pair
from refdec.errors import SettingsError
from refdec.lm.model_files import verify_checksums
from refdec.lm.tokens import Tokens
from refdec.train import pair as making
from refdec.train.export import export_models, tokens_of
from refdec.train.model import Llama, Shape, document_mask
from refdec.train.token_files import TokenFiles
from refdec.train.tokenizer import start_of
from tests.conftest import Run, refusal
from tests.small_pair import SENTENCES, SMALL_SETTINGS, read_config, small_texts, write_training_text

pytestmark = pytest.mark.long

ENTRIES = 400
QUICKLY = ("--positions=64", "--batch-tokens=2048", "--held-out=0.1", "--device=cpu")
SMALL = ("--layers=2", "--width=32", "--heads=2", "--inner=64", *QUICKLY)
QUICK: dict[str, Any] = {"contexts": 3, "context_tokens": 6, "kept_contexts": 2, "samples": 2}


def tokenizer_of(specials: list[str]) -> Tokenizer:
    """A tokenizer of so many entries; special ones come first."""
    made = Tokenizer(BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        SENTENCES,
        BpeTrainer(vocab_size=ENTRIES, special_tokens=specials, initial_alphabet=alphabet, show_progress=False),
    )
    return made


def tokenizer_of_gpt2() -> Tokenizer:
    """The mark is the last entry."""
    made = tokenizer_of([])
    made.add_special_tokens(["<|endoftext|>"])
    assert made.token_to_id("<|endoftext|>") == ENTRIES
    return made


def tokenizer_of_llama() -> Tokenizer:
    """The mark is the second entry, and put before every text unless that is declined."""
    made = tokenizer_of(["<unk>", "<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 1)])
    return made


def save_forward(home: Path, model: PreTrainedModel, tokenizer: Tokenizer, mark: str) -> None:
    """A model that has learned to read from left to right, and its tokenizer, as transformers saves them."""
    start = tokenizer.token_to_id(mark)
    texts = (tokenizer.encode(f' "{sentence}"', add_special_tokens=False).ids for sentence in SENTENCES)
    stream = torch.tensor([token for ids in texts for token in (start, *ids)])
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(80):
        places = torch.randint(len(stream) - 48, (16,), generator=generator).tolist()
        batch = torch.stack([stream[place : place + 48] for place in places])
        model(input_ids=batch, labels=batch).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    model.eval().save_pretrained(home)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=mark, eos_token=mark).save_pretrained(home)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two forward models: `gpt2`, with rows that its tokenizer has no entries for, and `llama`."""
    home = tmp_path_factory.mktemp("models")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more would only wait for each other
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gpt2 = GPT2Config(
            vocab_size=ENTRIES + 15, n_embd=32, n_layer=2, n_head=2, n_positions=256, bos_token_id=ENTRIES,
            eos_token_id=ENTRIES, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        )  # fmt: skip
        save_forward(home / "gpt2", GPT2LMHeadModel(gpt2), tokenizer_of_gpt2(), "<|endoftext|>")
        llama = LlamaConfig(
            vocab_size=ENTRIES, hidden_size=48, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2,
        )  # fmt: skip
        save_forward(home / "llama", LlamaForCausalLM(llama), tokenizer_of_llama(), "<s>")
    torch.set_num_threads(threads)
    return home


@pytest.fixture
def corpus(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A text, in a directory with the two models."""
    monkeypatch.chdir(tmp_path)
    for model in models.iterdir():
        shutil.copytree(model, model.name)
    return write_training_text("text.txt")


@pytest.mark.parametrize(("forward", "start", "stored"), [("gpt2", ENTRIES, "--bfloat16"), ("llama", 1, "--int8")])
def test_a_model_gets_a_partner_and_every_task_takes_the_two(
    command: Run, corpus: str, forward: str, start: int, stored: str
) -> None:
    options = (*SMALL, "--tokens=30000", "--keep", stored)
    code, out, err = command("train", corpus, "-o", "partner", "--partner-of", forward, *options)
    assert code == 0, err
    assert f"the partner of {forward} is in partner; its card is partner/README.md" in out
    assert "forward" not in out
    assert "loss is drawn in partner.loss.svg" in out
    token_files = TokenFiles.open(Path("partner.training/tokens"))
    assert token_files.separator == token_files.train[0] == start
    config = read_config("partner")
    assert (config["direction"], config["bos_token_id"], config["eos_token_id"]) == ("backward", start, start)
    assert config["vocab_size"] == Tokens(Tokenizer.from_file(f"{forward}/tokenizer.json"), start).vocabulary
    card = Path("partner/README.md").read_text()
    assert card.startswith(f"# partner: a backward language model, the partner of {forward}\n")
    assert (
        f"| tokenizer | that of {forward}, {config['vocab_size']} entries, id {start} before every document |" in card
    )
    for told in ("300 documents", "backward training", "held-out loss | backward", "made with", "- backward: "):
        assert told in card
    assert "forward " not in card

    text = small_texts(1)[0]
    arguments = ("--forward", forward, "--backward", "partner", "--device=cpu", *SMALL_SETTINGS, "--samples=4")
    code, out, err = command("paraphrase", *arguments, text)
    assert code == 0, err
    assert out.strip()
    pair = load_pair(forward, "partner", device="cpu", precision="float32")
    assert pair.forward.start == pair.backward.start == pair.tokens.start == start
    reflector = Reflector(pair)
    assert reflector.infill(text, text, **QUICK).contexts
    assert reflector.rewrite(f"{text} [[{text}]] {text}", **QUICK).contexts
    assert reflector.score(text, text, contexts=3, context_tokens=6, kept_contexts=2).scaled == 100

    other = "llama" if forward == "gpt2" else "gpt2"
    message = refusal(command, "train", corpus, "-o", "partner", "--partner-of", other, *options)
    assert f"holds a run with another recipe: partner_of was {forward} and is {other}" in message

    if stored == "--bfloat16":
        fast = AutoTokenizer.from_pretrained("partner")
        theirs = AutoModelForCausalLM.from_pretrained("partner", dtype=torch.float32)
        assert (fast.bos_token_id, fast.eos_token_id, theirs.config.bos_token_id) == (start, start, start)
        assert fast(text)["input_ids"] == AutoTokenizer.from_pretrained(forward)(text)["input_ids"]
        assert isinstance(theirs, LlamaForCausalLM)


def test_a_partner_goes_on_from_the_model_itself(command: Run, corpus: str) -> None:
    arguments = (corpus, "-o", "partner", "--partner-of", "llama", "--tokens=60000", *QUICKLY)
    code, _, err = command("train", *arguments, "--from", "llama")
    assert code == 0, err
    config, theirs = read_config("partner"), read_config("llama")
    same = ("hidden_size", "num_hidden_layers", "num_key_value_heads", "vocab_size", "tie_word_embeddings")
    assert [config[name] for name in same] == [theirs[name] for name in same]
    assert config["bos_token_id"] == 1
    card = Path("partner/README.md").read_text()
    assert "| begun from | llama; its licence" in card
    assert "matrix_rate 0.02" in card  # all of it: it has to turn round
    load_pair("llama", "partner", device="cpu")
    assert "(a gpt2) is not of the plain Llama layout" in refusal(
        command, "train", corpus, "-o", "other", "--partner-of", "gpt2", "--from", "gpt2"
    )
    shutil.copyfile("gpt2/tokenizer.json", "llama/tokenizer.json")
    assert "llama and partner do not share a tokenizer" in refusal(
        command, "train", corpus, "-o", "other", "--partner-of", "partner", "--from", "llama", *QUICKLY
    )


def test_a_partner_that_has_not_turned_round_yet_is_reported(command: Run, corpus: str) -> None:
    code, _, err = command(
        "train", corpus, "-o", "partner", "--partner-of", "llama", "--from", "llama", "--tokens=2048", *QUICKLY
    )
    assert code == 0, err
    assert "backward: it still reads text better in the other direction" in err


def test_the_whole_budget_is_for_the_one_direction(command: Run, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[making.Plan] = []

    def note(plan: making.Plan, *_: Any) -> None:
        plans.append(plan)
        raise InputError("That will do.")

    monkeypatch.setattr(making, "make_pair", note)
    for options in ((), ("--partner-of", "gpt2"), ("--partner-of", "owner/model")):
        refusal(command, "train", corpus, "-o", "out", "--minutes=3", *options)
    assert [(plan.budget.minutes, plan.runs, plan.partner_name) for plan in plans] == [
        (1.5, ((Direction.FORWARD,), (Direction.BACKWARD,)), ""),
        (3.0, ((Direction.BACKWARD,),), "gpt2"),
        (3.0, ((Direction.BACKWARD,),), "owner/model"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--partner-of", "./nothing"], "There is no directory nothing."),
        (["--partner-of", "gpt2", "--tokenizer", "gpt2/tokenizer.json"], "Leave out --tokenizer."),
        (["--partner-of", "gpt2", "--from", "./nothing"], "nothing"),
        (["--partner-of", "llama", "--from", "llama", "--positions", "512"], "Give --positions 256 or fewer."),
    ],
)
def test_a_partner_that_cannot_be_is_refused_with_a_sentence(
    command: Run, corpus: str, options: list[str], message: str
) -> None:
    assert message in refusal(command, "train", corpus, "-o", "partner", *options)
    assert not list(Path().glob("partner*"))


@pytest.mark.parametrize("forward", ["gpt2", "llama"])
def test_a_model_without_a_start_for_documents_is_refused(command: Run, corpus: str, forward: str) -> None:
    def refused(**changes: Any) -> str:
        Path(forward, "config.json").write_text(json.dumps(read_config(forward) | changes))
        return refusal(command, "train", corpus, "-o", "partner", "--partner-of", forward)

    assert "has neither bos_token_id nor eos_token_id" in refused(bos_token_id=None, eos_token_id=None)
    assert "reads the id 50256 before a document, and its tokenizer has 40" in refused(bos_token_id=50256)


def test_the_tokenizer_that_is_written_is_the_one_that_was_there(tmp_path: Path, models: Path) -> None:
    old = tmp_path / "old"  # GPT-2's files from before tokenizer.json
    shutil.copytree(models / "gpt2", old)
    definition = json.loads((old / "tokenizer.json").read_text())["model"]
    (old / "vocab.json").write_text(json.dumps(definition["vocab"]))
    (old / "merges.txt").write_text("\n".join(" ".join(merge) for merge in definition["merges"]))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (old / name).unlink()
    for home in (old, models / "gpt2", models / "llama"):
        tokens = tokens_of(home)
        shape = Shape(layers=1, width=8, heads=1, inner=8, vocabulary=ENTRIES + 1, positions=16, start=tokens.start)
        weights = {Direction.BACKWARD: Llama(shape).state_dict()}
        export_models(tmp_path / "partner", weights, shape, tokens.tokenizer, "A card.", int8=True)
        again = tokens_of(tmp_path / "partner")
        assert (again.fingerprint, again.start) == (tokens.fingerprint, tokens.start)


@pytest.mark.parametrize("int8", [True, False])
def test_one_model_alone_is_a_directory(tmp_path: Path, int8: bool) -> None:
    tokenizer = tokenizer_of_gpt2()
    shape = Shape(layers=1, width=8, heads=1, inner=8, vocabulary=ENTRIES + 1, positions=16, start=ENTRIES)
    weights = {Direction.BACKWARD: Llama(shape).state_dict()}
    for _ in range(2):  # the second takes the place of the first
        export_models(tmp_path / "partner", weights, shape, tokenizer, "A card.", int8=int8)
    verify_checksums(tmp_path / "partner")
    files = {"config.json", "model.safetensors", "tokenizer.json", "README.md", "SHA256SUMS"}
    assert {path.name for path in (tmp_path / "partner").rglob("*")} == files | (
        set() if int8 else {"tokenizer_config.json"}
    )
    smaller = tokenizer_of(["<|endoftext|>"])
    with pytest.raises(ModelError, match=f"has no entry {ENTRIES}, which the models read before a document"):
        export_models(tmp_path / "other", weights, shape, smaller, "A card.", int8=int8)


def test_a_pair_reads_the_mark_of_its_tokenizer_whatever_its_id(command: Run, corpus: str) -> None:
    options = ("--documents", "--keep", "--tokens=4096")
    code, _, err = command("train", corpus, "-o", "pair", "--tokenizer", "gpt2/tokenizer.json", *SMALL, *options)
    assert code == 0, err
    code, _, err = command("train", corpus, "-o", "more", "--from", "pair", *QUICKLY, *options)
    assert code == 0, err
    for home in ("pair", "more"):
        assert TokenFiles.open(Path(f"{home}.training/tokens")).train[0] == ENTRIES
        for direction in Direction:
            config = read_config(f"{home}/{direction.value}")
            assert (config["bos_token_id"], config["eos_token_id"]) == (ENTRIES, ENTRIES)
    assert load_pair("more", device="cpu").tokens.start == ENTRIES
    Path("pair/SHA256SUMS").unlink()
    Path("pair/backward/config.json").write_text(json.dumps(read_config("pair/backward") | {"bos_token_id": 3}))
    message = refusal(command, "train", corpus, "-o", "third", "--from", "pair", *QUICKLY, *options)
    assert f"read different ids before a document ({ENTRIES} and 3)" in message


def test_the_start_of_documents_is_found_or_asked_for() -> None:
    assert start_of(tokenizer_of_gpt2()) == ENTRIES
    assert start_of(tokenizer_of_llama()) == 1
    assert start_of(tokenizer_of(["[SEP]"])) == 0
    with pytest.raises(ModelError, match=r"it has no special entries\. Add <\|endoftext\|>"):
        start_of(tokenizer_of([]))
    with pytest.raises(ModelError, match=r"its special entries are \[PAD\], \[SEP\]."):
        start_of(tokenizer_of(["[PAD]", "[SEP]"]))


def test_documents_begin_with_the_start_of_the_model() -> None:
    shape = Shape(layers=1, width=8, heads=1, inner=8, vocabulary=9, positions=8, start=8)
    model = Llama(shape, documents=True)
    model.initialise(torch.Generator().manual_seed(0))
    torch.nn.init.eye_(model.get_parameter("model.layers.0.self_attn.o_proj.weight"))
    one, other = torch.tensor([[8, 0, 2, 8, 3, 4]]), torch.tensor([[8, 5, 0, 8, 3, 4]])
    assert torch.equal(model(one)[:, 3:], model(other)[:, 3:])
    assert not torch.equal(model(one[:, :3]), model(other[:, :3]))
    assert document_mask(one, 8)[0, 0, 2].tolist() == [True, True, True, False, False, False]
    assert Shape.of(shape.config()) == shape
    with pytest.raises(SettingsError, match="start is 9; it must be an id below the vocabulary, 9"):
        dataclasses.replace(shape, start=9)
