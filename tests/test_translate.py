"""Round-trip translation: by neural models made on the spot, and by Apertium or a program that stands in for it."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    M2M100Config,
    M2M100ForConditionalGeneration,
    NllbTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from refdec import InputError, ModelError, SettingsError
from refdec.baselines.method import Paraphraser, paraphrases
from refdec.baselines.named_methods import PARAPHRASERS, choose_method

ENGLISH = [
    f"the {kind} {thing} {deed} ."
    for kind in ("big", "large", "small")
    for thing in ("dog", "cat", "house", "home")
    for deed in ("waits", "falls")
]
FRENCH = {
    "the": "le", "big": "grand", "large": "grand", "small": "petit", "dog": "chien", "cat": "chat",
    "house": "maison", "home": "maison", "waits": "attend", "falls": "tombe", ".": ".",
}  # fmt: skip
THERE = [(text, " ".join(FRENCH[word] for word in text.split())) for text in ENGLISH]
BACK = [(french, english) for english, french in THERE for _ in range(1 if "big" in english else 2)]
"""What has two English words is brought back as "large" more often than as "big"."""

SIZES: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "dropout": 0.0,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 24,
    "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None,
    "init_std": 0.1,
}  # fmt: skip
WORDS = dict.fromkeys(word for pair in THERE for text in pair for word in text.split())


def one_way(home: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    """A tiny Bart that translates word by word."""
    vocabulary = {word: number for number, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    sources, targets = (tokenizer(list(texts)).input_ids for texts in zip(*pairs, strict=True))
    tokenizer.save_pretrained(home)
    return trained(
        home, lambda: BartForConditionalGeneration(BartConfig(vocab_size=len(tokenizer), **SIZES)), sources, targets
    )


def both_ways(home: Path) -> Path:
    """A tiny NLLB, which is told the languages: the code of its own begins every text."""
    pieces = {"\u2581", *(letter for word in WORDS for letter in word)}
    grown = [["\u2581" + word[:size] for size in range(len(word) + 1)] for word in WORDS]
    merges = dict.fromkeys((row[size], row[size + 1][-1]) for row in grown for size in range(len(row) - 1))
    wholes = dict.fromkeys([*sorted(pieces), *(text for row in grown for text in row)])
    vocabulary = {text: number for number, text in enumerate(["<s>", "<pad>", "</s>", "<unk>", *wholes])}
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=list(merges), extra_special_tokens=["eng_Latn", "fra_Latn"])
    sources: list[list[int]] = []
    targets: list[list[int]] = []
    for pairs, *codes in ((THERE, "eng_Latn", "fra_Latn"), (BACK, "fra_Latn", "eng_Latn")):
        some = [pair for pair in pairs if "waits" in " ".join(pair)]
        for rows, texts, code in zip((sources, targets), zip(*some, strict=True), codes, strict=True):
            tokenizer.src_lang = code
            rows += tokenizer(list(texts)).input_ids
    tokenizer.save_pretrained(home)
    config = M2M100Config(vocab_size=len(tokenizer), **SIZES)
    return trained(home, lambda: M2M100ForConditionalGeneration(config), sources, targets)


def trained(
    home: Path, make: Callable[[], PreTrainedModel], sources: Sequence[list[int]], targets: Sequence[list[int]]
) -> Path:
    """A model that has learned these translations by heart."""
    given, wanted = (
        pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=1)
        for rows in (sources, targets)
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = make()
        optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
        for _ in range(200):
            loss = model(given, given != 1, labels=wanted.masked_fill(wanted == 1, -100)).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    model.eval().save_pretrained(home)
    return home


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("translators")
    return f"{one_way(home / 'there', THERE)}+{one_way(home / 'back', BACK)}"


def load(text: str) -> Paraphraser:
    chosen = choose_method(text, PARAPHRASERS)
    assert chosen is not None

    def no_pair() -> None:
        raise AssertionError("these methods need no pair")

    return chosen.load(no_pair)  # type: ignore[arg-type]


def said(method: Paraphraser, *sources: str) -> list[list[str]]:
    return [[item.text for item in result.proposals] for result in paraphrases(method, sources)]


def test_the_best_round_trip_comes_first_and_others_follow(two: str) -> None:
    first, second = said(load(f"translate:{two}"), "the big dog waits .", "the large house falls .")
    assert first[:2] == ["the large dog waits .", "the big dog waits ."]
    assert set(second[:2]) == {"the large house falls .", "the large home falls ."}


def test_scores_fall_and_every_way_back_is_kept_once(two: str) -> None:
    (result,) = paraphrases(load(f"translate:{two},beams=3,there=1,back=3"), ["the big dog waits ."])
    scores = [item.score for item in result.proposals]
    assert len({item.text for item in result.proposals}) == len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert 0 > scores[0] > -1


def test_a_text_is_translated_alike_alone_and_among_others(two: str) -> None:
    method = load(f"translate:{two}")
    alone = said(method, "the small cat waits .")
    assert said(method, "the big house falls .", "the small cat waits .", "the large home waits .")[1:2] == alone


def test_each_sentence_is_translated_by_itself(two: str) -> None:
    method = load(f"translate:{two},there=1,back=2")
    (texts,) = said(method, "the big dog waits . The small cat falls .")
    (parts,) = said(method, "The small cat falls .")
    assert texts == [f"the large dog waits . {parts[0]}", f"the big dog waits . {parts[1]}"]


def test_one_model_that_knows_both_ways_is_told_the_languages(tmp_path: Path) -> None:
    home = both_ways(tmp_path / "both")
    method = load(f"translate:{home},language=eng_Latn,through=fra_Latn")
    assert said(method, "the big dog waits .")[0][0] == "the large dog waits ."
    assert said(method, "the small cat waits .")[0][0] == "the small cat waits ."
    with pytest.raises(ModelError, match=r"knows many languages. Name both as it does"):
        load(f"translate:{home}")
    with pytest.raises(ModelError, match="knows no language 'fr'"):
        load(f"translate:{home},language=eng_Latn,through=fr")


def test_one_model_for_one_way_is_refused(two: str) -> None:
    with pytest.raises(ModelError, match="is one model, so it translates one way only"):
        load(f"translate:{two.partition('+')[0]}")


def test_the_signature_and_the_label_name_the_models(two: str) -> None:
    chosen = choose_method(f"translate:{two},beams=6", PARAPHRASERS)
    assert chosen is not None
    assert chosen.label == "translate-there-back-beams-6"
    mark = load(f"translate:{two}").signature
    assert "|task:translate|models:there:" in mark
    assert "+back:" in mark
    assert str(Path(two.partition("+")[0]).parent) not in mark


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("translate", "translate runs on models of yours. Name them behind it: translate:THERE.BACK"),
        ("translate:a+b+c", "does not name a model there and one back"),
        ("translate:a+", "does not name a model there and one back"),
        ("translate:./nowhere+b", "There is no directory nowhere"),
        ("translate:a+b,there=6", "there is 6; it cannot be above beams, 5"),
        ("translate:a+b,through=3", "through is 3; it must be text"),
        ("apertium:there", "apertium has no weights of its own"),
        ("apertium,through=deu", "through is 'deu'; choose one of spa, cat, epo"),
    ],
)
def test_what_cannot_be_translated_is_refused(text: str, message: str) -> None:
    with pytest.raises((ModelError, SettingsError), match=message):
        load(text)


def test_pickled_weights_and_other_models_are_refused(two: str, tmp_path: Path) -> None:
    there = Path(two.partition("+")[0])
    shutil.copytree(there, tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pickled \(pytorch_model.bin\)"):
        load(f"translate:{tmp_path / 'pickled'}+{there}")
    shutil.copytree(there, tmp_path / "damaged")
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be used for translation"):
        load(f"translate:{tmp_path / 'damaged'}+{there}")


def test_a_sentence_that_the_model_cannot_read_is_refused(two: str) -> None:
    with pytest.raises(InputError, match=r"A sentence has 31 tokens, and the model in .*there reads 24 at once"):
        said(load(f"translate:{two}"), " ".join(["dog"] * 30))


STAND_IN = f"""#!{sys.executable} -SE
import re, sys
words = {{"cook": "cocinar", "big": "grande"}}
back = {{"cocinar": "make food", "grande": "large"}}
if sys.argv[1:] == ["-l"]:
    print("  eng-spa\\n  spa-eng\\n  en-eo")
elif sys.argv[1:] == ["-V"]:
    print("Apertium 9.9")
else:
    assert sys.argv[1:5] == ["-z", "-u", "-f", "none"], sys.argv
    table = words if sys.argv[5] == "eng-spa" else back
    texts = sys.stdin.buffer.read().decode().split("\\0")
    assert texts.pop() == ""
    for text in texts:
        assert text.endswith(".[]") and "\\n" not in text, text
        assert not re.search(r"(?<!\\\\)[<>{{}}^$@/]", text), text
        sys.stdout.write(re.sub(r"\\w+", lambda one: table.get(one[0], one[0]), text) + "\\0")
    sys.stdout.write("\\0\\0")  # as the real one does
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of Apertium that keeps to its protocol and knows two words."""
    program = tmp_path / "bin" / "apertium"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent))
    return program


def test_apertium_gets_texts_in_its_own_format_and_gives_them_back(stand_in: Path) -> None:
    assert stand_in.exists()
    odd = "a <b>big</b> $2 [x] ^y$ {z} @ \\ 5"
    texts = said(load("apertium"), "How do I learn to cook?", odd, "Two\nlines.", "🙂")
    assert texts == [["How do I learn to make food?"], [odd.replace("big", "large")], ["Two lines."], ["🙂"]]


def test_apertium_is_named_with_its_version(stand_in: Path) -> None:
    assert stand_in.exists()
    assert "|task:apertium|models:apertium-9.9:eng-spa+spa-eng|through:spa|" in load("apertium").signature


def test_what_apertium_lacks_is_named_with_the_package(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"Apertium has no eng-cat and no cat-eng here.*install apertium-eng-cat"):
        load("apertium,through=cat")
    with pytest.raises(ModelError, match=r"Apertium has no eo-en here.*apt-get install apertium-eo-en"):
        load("apertium,through=epo")
    monkeypatch.setenv("PATH", str(stand_in.parent.parent))
    with pytest.raises(ModelError, match=r"apertium is not installed. On Debian.*apertium apertium-eng-spa"):
        load("apertium")


def test_apertium_that_fails_is_not_taken_for_an_answer(stand_in: Path) -> None:
    method = load("apertium")
    stand_in.write_text("#!/bin/sh\necho 'no such mode' >&2\nexit 1\n")
    with pytest.raises(ModelError, match=r"Apertium failed: no such mode. Try it by hand: apertium -z"):
        said(method, "It rained.")
    stand_in.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(ModelError, match=r"Apertium gave 0 texts for 1 \(eng-spa\)"):
        said(method, "It rained.")


@pytest.mark.skipif(
    shutil.which("apertium") is None, reason="apertium is not installed: apt-get install apertium apertium-eng-spa"
)
def test_the_real_apertium_keeps_texts_apart() -> None:
    method = load("apertium")
    texts = ["The council did not approve the plan", "$2 <b>and</b> [3]"]
    together = said(method, *texts)
    assert together == [said(method, text)[0] for text in texts]
    assert "council" in together[0][0]
