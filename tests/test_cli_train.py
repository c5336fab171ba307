"""`refdec train` as its users meet it: text in, a pair that every task takes out, whatever happens in between."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from refdec import Reflector, load_pair
from refdec.cli.train import _TrainingProgress
from refdec.errors import InputError
from refdec.files.lock import locked
from refdec.lm.pair import EMBEDDED
from refdec.train import loop
from refdec.train import pair as making
from refdec.train.processes import Processes
from tests.conftest import Run, refusal
from tests.small_pair import SENTENCES, small_texts

pytestmark = pytest.mark.long

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
    code, out, err = command("train", str(corpus), "-o", "pair", "--tokens", "20000", *SMALL)
    assert code == 0, err
    assert "forward" in out
    assert "the pair is in pair; its card is pair/README.md" in out
    assert Path("pair.loss.svg").read_text().startswith("<?xml")
    assert not Path("pair.training").exists()
    card = Path("pair/README.md").read_text()
    assert "300 documents" in card
    assert "nats per token" in card
    reflector = Reflector(load_pair("pair", device="cpu"))
    text = small_texts(1)[0]
    assert reflector.paraphrase(text, samples=2, **QUICK).contexts
    assert reflector.infill(text, text, samples=2, **QUICK).contexts
    assert reflector.rewrite(f"{text} [[{text}]] {text}", samples=2, **QUICK).contexts
    assert reflector.score(text, text, **QUICK).scaled == 100


def test_advice_for_the_whole_run_is_given_once(command: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refdec.train.hardware.COMPILED_TOKENS", 1)
    monkeypatch.setenv("CXX", "no-such-compiler")
    code, _, err = command("train", str(corpus), "-o", "pair", "--tokens", "8192", *SMALL)
    assert code == 0, err
    assert err.count("Smaller ones would teach more") == 1  # and not again for the other direction
    assert err.count("compiler") == 1


def test_a_run_of_a_single_step_is_advised_too(command: Run, corpus: Path) -> None:
    code, _, err = command("train", str(corpus), "-o", "pair", "--tokens", "1", *SMALL)
    assert code == 0, err
    assert "forward: about 1 step fits into the budget. Smaller ones would teach more" in err


def test_a_model_that_has_learned_its_text_by_heart_is_reported(command: Run, tmp_path: Path) -> None:
    letters, numbers = "abcdefghijklmnopqrstuvwxyz", random.Random(0)
    texts = ["".join(numbers.choice(letters) for _ in range(60)) for _ in range(40)]  # nothing but letters to learn
    (tmp_path / "letters.txt").write_text("\n\n".join(texts))
    out = str(tmp_path / "pair")
    code, _, err = command("train", str(tmp_path / "letters.txt"), "-o", out, "--tokens", "150000", *SMALL)
    assert code == 0, err
    assert "forward: it knows its training text better than other text" in err
    assert "More text would help" in err
    card = Path(out, "README.md").read_text()
    assert re.search(r"forward training \| 151,552 tokens seen, \d+\.\d times the text, in 74 steps of 2,048", card)


def test_a_torch_without_muon_is_reported(command: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.optim, "Muon")
    for name in ("muon", "optimiser", "loop", "pair"):
        monkeypatch.delitem(sys.modules, f"refdec.train.{name}", raising=False)
    assert "Training needs torch 2.9 or newer" in refusal(command, "train", str(corpus), "-o", "pair", *SMALL)


def test_a_pair_in_bfloat16_loads_in_plain_transformers(command: Run, corpus: Path) -> None:
    assert command("train", str(corpus), "-o", "pair", "--tokens", "8192", "--bfloat16", *SMALL)[0] == 0
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
    options = ("--tokens", "16384", *SMALL)
    assert command("train", str(corpus), "-o", "whole", *options)[0] == 0
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)
    real = loop.Trainer._report
    left = 4

    def interrupted(self: loop.Trainer, done: float) -> loop.StepReport:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        return real(self, done)

    monkeypatch.setattr(loop.Trainer, "_report", interrupted)
    assert command("train", str(corpus), "-o", "parted", *options)[0] == 130
    assert Path("parted.training/tokens/index.json").exists()
    message = refusal(command, "train", str(corpus), "-o", "parted", *options, "--vocabulary=500")
    assert "holds a run with another recipe: vocabulary was 400 and is 500" in message
    message = refusal(command, "train", str(corpus), "-o", "parted", *options, "--held-out=0.2")
    assert "parted.training holds a run on other text" in message
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
    code, out, err = command("train", str(corpus), "-o", "more", "--from", "start", "--tokens", "20000", *options)
    assert code == 0, err
    assert "Smaller ones would teach more" not in err
    for part in ("forward", "backward"):
        figures = re.search(rf"{part} +([\d.]+) bits per byte \(before ([\d.]+)\)", out)
        assert figures
        assert float(figures[1]) < float(figures[2])
    card = Path("more/README.md").read_text()
    assert "(before " in card
    assert "| begun from | start; its licence" in card
    settings = r"vocabulary \d+, positions 64, batch_tokens 2048, matrix_rate 0.006, other_rate 0.0012, "
    assert re.search(rf"\| recipe \| {settings}", card)  # its shape is its own, and it goes on gently
    assert load_pair("more", device="cpu").tokens.vocabulary == load_pair("start", device="cpu").tokens.vocabulary


def test_a_pair_that_became_worse_is_reported(command: Run, corpus: Path, small_pair: Path) -> None:
    shutil.copytree(small_pair, "start")
    rates = ("--matrix-rate=2", "--other-rate=2", "--decay=0")
    options = ("--positions=64", "--batch-tokens=2048", "--held-out=0.1", "--device=cpu", "--tokens=8192", *rates)
    code, _, err = command("train", str(corpus), "-o", "more", "--from", "start", *options)
    assert code == 0, err
    assert re.search(r"forward: it knows such text no better than before \([\d.]+ bits per byte\)", err)


def test_the_embedded_pair_has_a_name(command: Run, corpus: Path) -> None:
    refused = ("--positions", "1024")  # more than it reads: nothing is trained
    message = refusal(command, "train", str(corpus), "-o", "pair", "--from", "embedded", *refused)
    assert f"The model in {EMBEDDED} reads 512 tokens at most" in message


def test_what_is_measured_takes_no_longer_than_training(
    command: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = loop.Trainer.evaluate

    def counted(self: loop.Trainer, windows: torch.Tensor) -> float:
        read.append(windows.numel())
        return real(self, windows)

    monkeypatch.setattr(loop.Trainer, "evaluate", counted)
    monkeypatch.setattr("refdec.train.measuring.CPU_MEASURED", 1)
    assert command("train", str(corpus), "-o", "pair", "--tokens", "4096", *SMALL)[0] == 0
    assert read == [65, 65]  # a sequence in each direction


def test_models_of_two_shapes_are_not_gone_on_from(command: Run, corpus: Path, small_pair: Path) -> None:
    shutil.copytree(small_pair, "start")
    config = Path("start/backward/config.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 1}))
    message = refusal(command, "train", str(corpus), "-o", "pair", "--from", "start")
    assert "The models of start have different shapes" in message


def test_two_runs_do_not_share_a_directory(command: Run, corpus: Path) -> None:
    Path("pair.training").mkdir()
    with locked(Path("pair.training")):
        message = refusal(command, "train", str(corpus), "-o", "pair", *SMALL)
    assert "pair.training is in use: another process writes to it." in message


def test_a_text_that_was_refused_can_be_tried_again_with_other_settings(command: Run, corpus: Path) -> None:
    arguments = ("train", str(corpus), "-o", "pair", "--tokens", "1", *SMALL)
    message = refusal(command, *arguments, "--held-out=0.000001", "--quiet")
    assert "No document is held out" in message
    assert "a higher --held-out" in message
    assert command(*arguments)[0] == 0


def test_the_files_of_a_run_are_removed_while_no_other_can_begin(
    command: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_make, real_remove = making.make_pair, shutil.rmtree
    begun: list[tuple[making.Plan, making.Watcher]] = []
    refused: list[Path] = []

    def make(plan: making.Plan, processes: Processes, watcher: making.Watcher) -> making.Made:
        begun.append((plan, watcher))
        return real_make(plan, processes, watcher)

    def remove(path: Path, **options: Any) -> None:
        if path == begun[0][0].work:
            with pytest.raises(InputError, match="is in use"), ExitStack() as held:
                making._prepare(begun[0][0], torch.device("cpu"), begun[0][1], held)
            refused.append(path)
        real_remove(path, **options)

    monkeypatch.setattr(making, "make_pair", make)
    monkeypatch.setattr(shutil, "rmtree", remove)
    assert command("train", str(corpus), "-o", "pair", "--tokens", "1", *SMALL)[0] == 0
    assert refused == [Path("pair.training")]
    assert not Path("pair.training").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing", "-o", "pair"], "missing"),
        (["corpus", "-o", "pair", "--minutes", "1", "--tokens", "5"], "Choose one."),
        (["corpus", "-o", "corpus"], "holds files that no export wrote"),
        (["corpus", "-o", "pair", "--exclude", "nothing.txt"], "nothing.txt"),
        (["corpus", "-o", "pair", "--from", "nothing"], "nothing"),
        (["corpus", "-o", "pair", "--width", "30"], "heads do not share it"),
        (["corpus", "-o", "pair", "--minutes", "-1"], "The budget must be more than zero."),
        (["corpus", "-o", "pair", "--minutes", "0"], "The budget must be more than zero."),
        (["corpus", "-o", "pair", "--from", "start", "--layers", "3"], "--layers was given, and --from decides it."),
        (["corpus", "-o", "pair", "--tokenizer", "t", "--vocabulary", "300"], "and --tokenizer decides it."),
        (["corpus", "-o", "pair", "--tokenizer", "t", "--from", "start", "--size", "5m"], "Leave out --tokenizer."),
    ],
)
def test_what_cannot_be_trained_is_refused_with_a_sentence(
    command: Run, corpus: Path, arguments: list[str], message: str
) -> None:
    assert corpus.is_dir()
    assert message in refusal(command, "train", *arguments)
    assert not Path("pair").exists()


def test_rows_without_text_are_counted_in_a_message_and_in_the_card(command: Run, corpus: Path) -> None:
    (corpus / "c.txt").write_bytes("Die Straße ist naß.\n\nDas Mädchen singt.".encode("latin-1"))
    code, _, err = command("train", str(corpus), "-o", "pair", "--tokens", "2048", *SMALL)
    assert code == 0, err
    assert re.search(r"rows without text, left out: 2. The first is .*c\.txt, line 1: ", err)
    assert "2 rows without text were left out" in Path("pair/README.md").read_text()


def test_several_gpus_have_several_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("refdec.train.hardware.peak", lambda _: 100.0)
    progress = _TrainingProgress(True, Processes(torch.device("cpu"), rank=0, world=2))
    monkeypatch.setattr(progress, "say", lines.append)
    progress.trained("forward", loop.StepReport(1, 8, 1.0, 0.5, 2.0, 0.0, 8.0), 1.5, 50.0)
    assert lines[0].startswith("forward: 50%, 8 tokens, 8 per second")
    assert "25% of the peak" in lines[0]
