"""`refdec train` as its users meet it: text in, a pair that every task takes out, whatever happens in between."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from refdec import Reflector, load_pair
from refdec.train import loop
from tests.conftest import Run, refusal
from tests.small_pair import SENTENCES, small_texts

SMALL = (
    "--vocabulary=400", "--layers=2", "--width=32", "--heads=2", "--inner=64", "--positions=64", "--batch-tokens=2048",
    "--held-out=0.1", "--device=cpu",
)  # fmt: skip
QUICK: dict[str, Any] = {"contexts": 3, "context_tokens": 6, "kept_contexts": 2}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of text in two formats."""
    monkeypatch.chdir(tmp_path)
    numbers = random.Random(0)
    texts = [" ".join(numbers.choice(SENTENCES) for _ in range(3)) + f" {number}" for number in range(300)]
    home = tmp_path / "corpus"
    home.mkdir()
    (home / "a.txt").write_text("\n\n".join(texts[:150]))
    (home / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[150:]))
    return home


def test_text_becomes_a_pair_that_every_task_takes(command: Run, corpus: Path) -> None:
    code, out, err = command("train", str(corpus), "-o", "pair", "--tokens", "150000", *SMALL)
    assert code == 0, err
    assert "forward" in out
    assert "the pair is in pair; its card is pair/README.md" in out
    assert Path("pair.loss.svg").read_text().startswith("<?xml")
    assert not Path("pair.training").exists()
    card = Path("pair/README.md").read_text()
    assert "300 documents" in card
    assert "nats a token" in card
    reflector = Reflector(load_pair("pair", device="cpu"))
    text = small_texts(1)[0]
    assert reflector.paraphrase(text, samples=2, **QUICK).contexts
    assert reflector.infill(text, text, samples=2, **QUICK).contexts
    assert reflector.rewrite(f"{text} [[{text}]] {text}", samples=2, **QUICK).contexts
    assert reflector.score(text, text, **QUICK).scaled == 100


def test_a_model_that_has_learned_its_text_by_heart_is_told(command: Run, tmp_path: Path) -> None:
    letters, numbers = "abcdefghijklmnopqrstuvwxyz", random.Random(0)
    texts = ["".join(numbers.choice(letters) for _ in range(60)) for _ in range(40)]  # nothing but letters to learn
    (tmp_path / "letters.txt").write_text("\n\n".join(texts))
    out = str(tmp_path / "pair")
    code, _, err = command("train", str(tmp_path / "letters.txt"), "-o", out, "--tokens", "150000", *SMALL)
    assert code == 0, err
    assert "forward: it knows its text better than other text" in err
    assert "More text would help" in err
    card = Path(out, "README.md").read_text()
    assert re.search(r"forward training \| 151,552 tokens seen, \d+\.\d times the text, in 74 steps of 2,048", card)


def test_a_torch_without_muon_is_told(command: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.optim, "Muon")
    for name in ("muon", "optimiser", "loop", "pair"):
        monkeypatch.delitem(sys.modules, f"refdec.train.{name}", raising=False)
    assert "Training needs torch 2.9 or newer" in refusal(command, "train", str(corpus), "-o", "pair", *SMALL)


def test_a_pair_in_bfloat16_loads_in_plain_transformers(command: Run, corpus: Path) -> None:
    assert command("train", str(corpus), "-o", "pair", "--tokens", "60000", "--bfloat16", *SMALL)[0] == 0
    pair = load_pair("pair", device="cpu", precision="float32")
    for part in ("forward", "backward"):
        model = AutoModelForCausalLM.from_pretrained(f"pair/{part}", dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(f"pair/{part}")
        ids = tokenizer(small_texts(1)[0])["input_ids"]
        assert ids == pair.tokens.encode(small_texts(1)[0])
        assert math.isfinite(float(model(torch.tensor([[0, *ids]])).logits.detach().sum()))


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_pair(
    command: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--tokens", "40000", *SMALL)
    assert command("train", str(corpus), "-o", "whole", *options)[0] == 0
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)
    real = loop.Trainer._report
    left = 8

    def interrupted(self: loop.Trainer, done: float) -> loop.Report:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        return real(self, done)

    monkeypatch.setattr(loop.Trainer, "_report", interrupted)
    assert command("train", str(corpus), "-o", "parted", *options)[0] == 1
    assert Path("parted.training/shards/index.json").exists()
    message = refusal(command, "train", str(corpus), "-o", "parted", *options, "--vocabulary=500")
    assert "holds a run of another recipe: vocabulary was 400 and is 500" in message
    monkeypatch.setattr(loop.Trainer, "_report", real)
    code, _, err = command("train", str(corpus), "-o", "parted", *options)
    assert code == 0
    assert "going on at step" in err
    for part in ("forward", "backward"):
        name = f"{part}/model.safetensors"
        assert (Path("whole") / name).read_bytes() == (Path("parted") / name).read_bytes()


def test_a_pair_goes_on_with_other_text(command: Run, corpus: Path, small_pair: Path) -> None:
    pair = Path("start")
    shutil.copytree(small_pair, pair)
    options = ("--positions=64", "--batch-tokens=2048", "--held-out=0.1", "--device=cpu")
    code, _, err = command("train", str(corpus), "-o", "more", "--from", "start", "--tokens", "20000", *options)
    assert code == 0, err
    assert "| begun from | start |" in Path("more/README.md").read_text()
    assert load_pair("more", device="cpu").tokens.vocabulary == load_pair("start", device="cpu").tokens.vocabulary


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing", "-o", "pair"], "missing"),
        (["corpus", "-o", "pair", "--minutes", "1", "--tokens", "5"], "Choose one."),
        (["corpus", "-o", "corpus"], "holds other files than an earlier export"),
        (["corpus", "-o", "pair", "--exclude", "nothing.txt"], "nothing.txt"),
        (["corpus", "-o", "pair", "--from", "nothing"], "nothing"),
        (["corpus", "-o", "pair", "--width", "30"], "heads do not share it"),
        (["corpus", "-o", "pair", "--minutes", "-1"], "The budget is nothing."),
    ],
)
def test_what_cannot_be_trained_is_told_in_a_sentence(
    command: Run, corpus: Path, arguments: list[str], message: str
) -> None:
    assert corpus.is_dir()
    assert message in refusal(command, "train", *arguments)
    assert not Path("pair").exists()
