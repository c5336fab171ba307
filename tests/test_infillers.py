"""Competing systems for infilling, on a language in which the right filling is known."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from refdec import InputError, ModelError, Pair, Reflector, SettingsError, load_pair
from refdec.baselines.continuing import Continue, ContinueSettings
from refdec.baselines.delorean import Delorean, DeloreanSettings
from refdec.baselines.folder import read_card
from refdec.baselines.gap import NOTHING, cut_off, first_sentence
from refdec.baselines.ilm import Ilm, IlmSettings, Marks, add_marks, example
from refdec.baselines.ilm_training import IlmTraining
from refdec.baselines.masking import Part, Rates, masked_parts
from refdec.baselines.method import Infiller, fillings
from refdec.baselines.trainable import forward_weights
from refdec.evaluate.experiments.bench import Bench
from refdec.evaluate.experiments.infilling import anlg
from refdec.evaluate.experiments.runs import Runs
from refdec.evaluate.experiments.scoreboard import SECONDS
from refdec.evaluate.reports.report import ReportTable
from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from refdec.train.export import export_models
from refdec.train.model import Llama, Past, Shape
from refdec.train.optimiser import Optimiser
from refdec.train.recipe import Recipe
from refdec.train.tokenizer import train_tokenizer
from tests.conftest import Run, refusal

NAMES = ("Anna", "Tom", "Mary", "Sam")
PLACES = ("box", "drawer", "bag", "oven", "car", "garden", "sink", "tent")
STORIES = [
    f"{name} had a {thing}. {name} put it in the {place}. The {place} was full."
    for name, thing, place in itertools.product(NAMES, ("ball", "book", "hat", "coin"), PLACES)
]
GAPS = [(f"{name} had a ball.", f"The {place} was full.") for name, place in zip(NAMES * 2, PLACES, strict=True)]
STEPS = 150
RIGHT = [f"{name} put it in the {place}." for name, place in zip(NAMES * 2, PLACES, strict=True)]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A pair whose forward model has learned the stories: whatever comes after the second sentence, it cannot know."""
    tokenizer = train_tokenizer(STORIES, 400)
    shape = Shape(layers=2, width=64, heads=2, inner=96, vocabulary=400, positions=128)
    model = Llama(shape)
    model.initialise(torch.Generator().manual_seed(0))
    recipe = Recipe(positions=16, batch_tokens=16, decay=0.9, warm_up=0.0)
    optimiser = Optimiser(model, recipe, bfloat16=False)
    rows = [[0, *tokenizer.encode(f" {story}").ids, 0] for story in STORIES]
    length = min(map(len, rows))
    table = torch.tensor([row[:length] for row in rows])
    numbers = np.random.default_rng(0)
    for step in range(STEPS):
        part = table[numbers.choice(len(table), 32, replace=False)]
        model.loss(part[:, :-1], part[:, 1:]).backward()  # type: ignore[no-untyped-call]
        optimiser.step(step / STEPS)
    home = tmp_path_factory.mktemp("toy") / "pair"
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    export_models(home, dict.fromkeys(Direction, weights), shape, tokenizer, "", int8=False)
    return load_pair(home, device="cpu", precision="float32")


def first_texts(method: Infiller, gaps: list[tuple[str, str]] = GAPS) -> list[str]:
    return [proposals[0].text for proposals in method.infill_all(gaps)]


def ending_logprob(pair: Pair, gap: tuple[str, str], filling: str) -> float:
    """The log-probability of the text after the gap, given all before it."""
    before = pair.tokens.encode(f" {gap[0]} {filling}")
    after = torch.tensor([pair.tokens.encode(f" {gap[1]}")])
    return float(pair.forward.score(pair.forward.read([before]), after).sum())


def test_a_model_goes_on_from_what_it_read() -> None:
    shape = Shape(layers=2, width=16, heads=2, inner=24, vocabulary=31, positions=16)
    model = Llama(shape)
    model.initialise(torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
        ids = torch.randint(31, (2, 9), generator=torch.Generator().manual_seed(2))
        vectors = model.model.embed_tokens.weight[ids]
        whole, past = model(ids), Past()
        parts = [model.read(vectors[:, :4], past=past)]
        fork = past.copy()
        parts += [model.read(vectors[:, place : place + 1], past=past) for place in range(4, 9)]
        assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-5)
        mask = torch.ones(5, 9, dtype=torch.bool).tril(4)
        assert torch.allclose(model.read(vectors[:, 4:], mask, fork), whole[:, 4:], atol=1e-5)
        counted = torch.rand(2, 9, generator=torch.Generator().manual_seed(3)) < 0.5
        targets = ids.roll(-1, dims=1)
        expected = model.losses(ids, targets)[counted].mean()
    assert torch.allclose(model.loss(ids, targets, counted), expected)


def test_the_forward_model_alone_reads_what_it_is_given(toy: Pair) -> None:
    alone = first_texts(Continue(toy, ContinueSettings(given="left")))
    assert all(text.startswith(f"{gap[0].split()[0]} put it in the") for text, gap in zip(alone, GAPS, strict=True))
    known = sum(text == right for text, right in zip(alone, RIGHT, strict=True))
    assert known < 4  # the place is in the text after the gap, which it has not read
    other_ends = [(left, "It was full.") for left, _ in GAPS]
    assert len(first_texts(Continue(toy, ContinueSettings(given="turned")), other_ends)) == len(GAPS)


def test_backward_passes_raise_the_likelihood_of_the_ending(toy: Pair) -> None:
    def mean(passes: int) -> float:
        texts = first_texts(Delorean(toy, DeloreanSettings(passes=passes, step=0.03)))
        return sum(ending_logprob(toy, gap, text) for gap, text in zip(GAPS, texts, strict=True)) / len(GAPS)

    assert mean(passes=5) > mean(passes=0) + 2


def test_a_gap_is_filled_alike_alone_and_in_any_list(toy: Pair) -> None:
    for method in (Continue(toy, ContinueSettings()), Delorean(toy, DeloreanSettings(passes=2))):
        together = list(method.infill_all(GAPS[:3]))
        assert list(method.infill_all(GAPS[1:2])) == together[1:2]
        assert all(proposals for proposals in together)
        for proposals in together:
            assert [item.score for item in proposals] == sorted((item.score for item in proposals), reverse=True)


def test_gaps_that_are_decoded_together_are_decoded_alike(toy: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = [*GAPS[:2], ("Tom was at home, and Mary had a hat.", "The box was full. It was the oven.")]
    method = Delorean(toy, DeloreanSettings(passes=2))
    alone = [proposals[0] for proposals in method.infill_all(gaps)]
    monkeypatch.setattr("refdec.baselines.delorean.at_once", lambda _: 3)
    together = [proposals[0] for proposals in method.infill_all(gaps)]
    assert [item.text for item in together] == [item.text for item in alone]


@pytest.mark.parametrize("method", ["continue", "delorean"])
def test_texts_beyond_the_window_are_refused(toy: Pair, method: str) -> None:
    made: Infiller = Continue(toy, ContinueSettings()) if method == "continue" else Delorean(toy, DeloreanSettings())
    with pytest.raises(InputError, match="Leave out what is far from the gap"):
        list(fillings(made, [("Tom had a ball. " * 40, "It was full.")]))


@pytest.mark.parametrize("gap", [("😀", "“Why?” he asked."), ("Hm", "x"), ('He said: "No', "(maybe)!")])
def test_odd_texts_are_filled_with_something(toy: Pair, gap: tuple[str, str]) -> None:
    for method in (Continue(toy, ContinueSettings()), Delorean(toy, DeloreanSettings(passes=1))):
        (result,) = fillings(method, [gap])
        assert str(result).strip()
        assert "\n" not in str(result)


def test_a_filling_is_one_whole_sentence_if_there_is_one() -> None:
    assert first_sentence(" He ran. She fell. And") == "He ran."
    assert first_sentence(" He ran and") == ""
    assert cut_off([" , ", " He ran and\tfell"]) == "He ran and fell"
    assert cut_off([" "]) == NOTHING


def test_gradients_are_refused_where_there_are_none(
    toy: Pair, small_reflector: Reflector, untrained: Reflector
) -> None:
    assert forward_weights(toy)[0].vocabulary == 400
    assert forward_weights(small_reflector.pair)[0].width == 32
    with pytest.raises(ModelError, match="needs the files of the forward model"):
        forward_weights(untrained.pair)
    with pytest.raises(SettingsError, match="tokens is 40; it cannot be above most_tokens, 30"):
        DeloreanSettings(tokens=40)


def parts_of(text: str, rates: Rates, draws: int = 400) -> Iterator[Part]:
    numbers = np.random.default_rng(0)
    for _ in range(draws):
        parts = masked_parts(text, rates, numbers)
        assert all(one.end <= two.begin for one, two in itertools.pairwise(parts))
        yield from parts


def test_parts_that_are_left_out_are_those_of_the_hierarchy() -> None:
    text = "Tom ran. He fell!\nMary saw it, too."
    alone = {
        "document": (Rates(1, 0, 0, 0), {text}),
        "paragraph": (Rates(0, 1, 0, 0), {"Tom ran. He fell!", "Mary saw it, too."}),
        "sentence": (Rates(0, 0, 1, 0), {"Tom ran.", "He fell!", "Mary saw it, too."}),
    }
    for level, (rates, expected) in alone.items():
        parts = list(parts_of(text, rates, 1))
        assert {part.level for part in parts} == {level}
        assert {text[part.begin : part.end] for part in parts} == expected
    words = list(parts_of(text, Rates(0, 0, 0, 0.2)))
    assert {part.level for part in words} == {"word", "ngram"}
    assert {text[part.begin : part.end] for part in words if part.level == "word"} >= {"Tom", "ran", ".", "fell", "too"}
    assert all("\n" not in text[part.begin : part.end] for part in words)
    count = len(list(parts_of(text, Rates(0, 0, 0.03, 0))))
    assert 15 < count < 65  # 36 of 1,200


def test_an_example_is_the_text_with_marks_and_its_parts_behind_it(tokens: Tokens) -> None:
    larger = Tokens(add_marks(tokens.tokenizer), tokens.start)
    marks = Marks.of(larger.tokenizer)
    text = "Tom ran home. It rained. He got wet."
    ids, begin = example(larger, marks, text, [Part(14, 24, "sentence"), Part(28, 31, "word")])
    place = {number: name for name, number in marks.blanks.items()} | {marks.answers: "answers", marks.end: "end"}
    shown = "".join(place.get(number, larger.text(number)) for number in ids[1:])
    assert shown == " Tom ran home.sentence Heword wet.answers It rained.end gotend"
    assert (ids[0], ids[begin]) == (tokens.start, marks.answers)
    assert larger.encode(text) == tokens.encode(text)
    with pytest.raises(ModelError, match=r"has no entry <\|startofinfill\|>"):
        Marks.of(tokens.tokenizer)


@pytest.mark.long
def test_ilm_learns_what_only_the_text_after_the_gap_tells(toy: Pair, command: Run, tmp_path: Path) -> None:
    text, home = tmp_path / "stories.txt", tmp_path / "ilm"
    text.write_text("\n\n".join(STORIES))
    settings = "ilm,sentence_rate=0.5,word_rate=0,sentences=3,matrix_rate=0.02,other_rate=0.004"
    assert toy.forward_home is not None
    options = ["--from", str(toy.forward_home.parent), "--steps", "60", "-o", str(home), "--device", "cpu"]
    code, out, err = command("method", "train", settings, str(text), *options)
    assert code == 0, err
    assert "use it with --method ilm:" in out
    card = read_card(home)
    assert card is not None
    assert card.trained["lessons"]["stories"]["held_out_loss"] < 0.5
    ilm = Ilm.load(toy, IlmSettings(), home)
    taught = first_texts(ilm)
    assert sum(text == right for text, right in zip(taught, RIGHT, strict=True)) >= 7
    assert first_texts(ilm, GAPS[3:5]) == taught[3:5]
    (inside,) = first_texts(ilm, [("Tom had a ball. Tom put", "in the box. The box was full.")])
    assert inside
    with pytest.raises(InputError, match="Leave out what is far from the gap"):
        list(ilm.infill_all([("Tom had a ball. " * 40, "It was full.")]))


def test_training_refuses_what_means_nothing_to_it(command: Run, tmp_path: Path) -> None:
    text = tmp_path / "one.txt"
    text.write_text("Tom ran. He fell.")
    words = refusal(command, "method", "train", "ilm,sentences=2", str(text), "-o", str(tmp_path / "x"))
    assert "sentences is 2; it must be a whole number from 3" in words
    words = refusal(command, "method", "train", "ilm", "--size", "small", str(text), "-o", str(tmp_path / "x"))
    assert "--size means nothing to the training of ilm" in words
    words = refusal(command, "method", "train", "copynet,sentences=3", str(text), "-o", str(tmp_path / "x"))
    assert "copynet,sentences=3 means nothing to the training of copynet" in words
    with pytest.raises(SettingsError, match="nothing is ever left out"):
        IlmTraining(document_rate=0, paragraph_rate=0, sentence_rate=0, word_rate=0)


def test_all_infilling_systems_stand_in_one_table(toy: Pair, tmp_path: Path) -> None:
    rows = [{"id": str(n), "o1": o1, "o2": o2, "references": [RIGHT[n], "It fell."]} for n, (o1, o2) in enumerate(GAPS)]
    place = tmp_path / "data" / "anlg" / "dev.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    runs = Runs(tmp_path / "out", lambda: Reflector(toy), lambda *_: None)
    tiny = "rd:fast,contexts=3,context_tokens=6,kept_contexts=2,samples=2,tokens=8"
    systems = (tiny, "continue", "delorean,passes=1", "reference")
    bench = Bench(tmp_path / "data", runs, "cpu", lambda: toy, systems, metrics=("bleu4", "words"), resamples=50)
    table, differences, quoted, _ = anlg(bench)
    assert isinstance(table, ReportTable)
    assert isinstance(differences, ReportTable)
    names = [row.name for row in table.rows]
    assert names[1:] == ["continue", "delorean-passes-1", "reference"]
    assert all(row.cells[SECONDS.key].value is not None for row in table.rows[:3])
    assert [row.name for row in differences.rows] == [f"{names[0]} less continue", f"{names[0]} less delorean-passes-1"]
    assert isinstance(quoted, ReportTable)
    assert {"GPT2-Fixed", "DeLorean", "ILM"} <= {row.name for row in quoted.rows}


def test_the_command_loads_the_pair_for_an_experiment(
    toy: Pair, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "data" / "anlg" / "dev.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"id": "0", "o1": GAPS[0][0], "o2": GAPS[0][1], "references": [RIGHT[0]]}) + "\n")

    def load(forward: str | None, backward: str | None, *, examples: Path | None, **_: object) -> Pair:
        assert (forward, backward, examples) == (None, None, None)
        return toy

    monkeypatch.setattr("refdec.lm.pair.load_pair", load)
    options = ["--data", str(tmp_path / "data"), "--system", "continue", "--metric", "words", "-o", str(tmp_path / "o")]
    code, out, err = run("evaluate", "anlg", "--quiet", *options)
    assert code == 0, err
    assert "continue" in out
