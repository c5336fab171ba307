"""The metrics by name: each is what its library gives for the whole corpus, and resamples are as one by one."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import corpus_bleu as nltk_corpus_bleu
from sacrebleu.metrics import BLEU, TER
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizerFast,
    RemBertConfig,
    RemBertForSequenceClassification,
)

from refdec.errors import InputError, ModelError, SettingsError
from refdec.evaluate.judging.metric import Metric, Outputs, WholeMetric
from refdec.evaluate.judging.named_metrics import metric
from refdec.evaluate.judging.statistics import resampled, summary
from refdec.metrics import bertscore, bleurt, meteor, similarity
from refdec.metrics.bleu import corpus_bleu
from refdec.metrics.bootstrap import draws
from refdec.metrics.diversity import distinct, self_bleu
from refdec.metrics.novelty import corpus_novelty
from refdec.metrics.rouge import rouge_rows
from refdec.metrics.sari import sari
from refdec.text.words import words

PLAIN = [
    "sari",
    "bleu",
    "bleu4",
    "sacrebleu",
    "novelty",
    "ibleu",
    "ter",
    "rouge1",
    "rouge2",
    "rougeL",
    "copied",
    "words",
]
"""Metrics that need no model and no Java."""

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "It", "it", "dog,", "dogs."]), max_size=7).map(" ".join)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=6)
Rows = Sequence[tuple[str, str, Sequence[str]]]

SOURCES = ("How do I cook rice?", "Why is the sky blue?", "Is it late?")
OUTPUTS = Outputs(
    SOURCES,
    ("How can I cook rice well?", "why is the sky BLUE", "What time is it now?"),
    (("How is rice cooked?", "How can rice be cooked well?"), ("What makes the sky blue?",), ("Is it late already?",)),
)


def _outputs(rows: Rows) -> Outputs:
    sources, texts, references = zip(*rows, strict=True)
    return Outputs(sources, texts, tuple(tuple(group) for group in references))


def _metric(name: str) -> Metric:
    found = metric(name)
    assert not isinstance(found, WholeMetric)
    return found


def _value(name: str, outputs: Outputs) -> float:
    return summary(metric(name), outputs).value


def _columns(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """References as sacrebleu takes them: the first of each row, the second of each row, none where there is none."""
    most = max(len(group) for group in references)
    return [[group[place] if place < len(group) else None for group in references] for place in range(most)]


@given(ROWS, st.sampled_from([("bleu", 2), ("bleu4", 4)]))
def test_bleu_is_that_of_nltk(rows: Rows, kind: tuple[str, int]) -> None:
    outputs = _outputs(rows)
    name, order = kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = nltk_corpus_bleu(
            [[words(reference) for reference in group] for group in outputs.references],
            [words(text) for text in outputs.texts],
            weights=(1 / order,) * order,
        )
    assert _value(name, outputs) == pytest.approx(100 * float(expected), rel=1e-9, abs=0)
    assert corpus_bleu(outputs.texts, outputs.references, order) == _value(name, outputs)


def test_bleu_of_what_shares_no_pair_of_words_is_as_small_as_nltk_has_it() -> None:
    # One word of two, no pair of one: sqrt(0.5 * the smallest float).
    outputs = _outputs([("", "a b", ["a c"])])
    assert _value("bleu", outputs) == pytest.approx(100 * (0.5 * sys.float_info.min) ** 0.5)
    assert _value("bleu", _outputs([("", "a b", ["c d"])])) == 0


@settings(max_examples=50)
@given(ROWS)
def test_sacrebleu_and_ter_are_what_the_package_gives_for_the_corpus(rows: Rows) -> None:
    outputs = _outputs(rows)
    columns = _columns(outputs.references)
    assert _value("sacrebleu", outputs) == pytest.approx(BLEU().corpus_score(outputs.texts, columns).score)
    assert _value("ter", outputs) == pytest.approx(TER().corpus_score(outputs.texts, columns).score)


def test_ter_worked_out_by_hand() -> None:
    # One word to change of four; then nothing of two: 1 of 6.
    assert _value("ter", _outputs([("", "a b c d", ["a b x d"]), ("", "A b", ["a b"])])) == pytest.approx(100 / 6)


@given(ROWS)
def test_novelty_ibleu_and_sari_are_those_of_the_corpus(rows: Rows) -> None:
    outputs = _outputs(rows)
    sources, texts, references = outputs.sources, outputs.texts, outputs.references
    assert _value("novelty", outputs) == pytest.approx(corpus_novelty(texts, sources))
    assert _value("ibleu", outputs) == pytest.approx(
        0.9 * corpus_bleu(texts, references) - 0.1 * corpus_bleu(texts, [[source] for source in sources])
    )
    assert _value("sari", outputs) == pytest.approx(np.mean(list(map(sari, sources, texts, references))))


def test_ibleu_of_copies_is_nine_tenths_of_bleu_less_ten() -> None:
    # a b c d against a b x d: BLEU 50.
    assert _value("ibleu", _outputs([("a b c d", "a b c d", ["a b x d"])])) == pytest.approx(0.9 * 50 - 10)


def test_rouge_worked_out_by_hand() -> None:
    # a b c d against a c d e f g: 3 of 4 words and 3 of 6, F1 0.6; the pair c d, 1 of 3 and 1 of 5, F1 0.25.
    outputs = _outputs([("", "a b c d", ["z", "a c d e f g"])])
    assert _value("rouge1", outputs) == pytest.approx(60)
    assert _value("rouge2", outputs) == pytest.approx(25)
    assert _value("rougeL", outputs) == pytest.approx(60)
    stems = _outputs([("", "jumping", ["jumped"])])
    assert [_value(name, stems) for name in ("rouge1", "rougeL")] == [100, 0]
    assert _value("rougeL", OUTPUTS) == pytest.approx(np.mean(rouge_rows(OUTPUTS.texts, OUTPUTS.references)))


def test_copied_and_words_worked_out_by_hand() -> None:
    assert _value("copied", OUTPUTS) == pytest.approx(100 / 3)  # the second, whatever its case and punctuation
    assert _value("words", OUTPUTS) == pytest.approx((6 + 5 + 5) / 3)


def test_figures_of_whole_texts_have_no_interval() -> None:
    drawn = draws(3)
    for name, expected in [
        ("distinct1", distinct(OUTPUTS.texts, 1)),
        ("distinct2", distinct(OUTPUTS.texts, 2)),
        ("self-bleu", self_bleu(OUTPUTS.texts)),
    ]:
        found = summary(metric(name), OUTPUTS, drawn)
        assert (found.value, found.low, found.high) == (expected, None, None)


@settings(max_examples=20)
@given(ROWS, st.sampled_from(PLAIN))
def test_resamples_together_are_as_one_by_one(rows: Rows, name: str) -> None:
    outputs = _outputs(rows)
    found = _metric(name)
    statistics = found.statistics(outputs)
    drawn = draws(len(outputs), 4)
    for row, value in zip(drawn, resampled(found, statistics, drawn), strict=True):
        again = _outputs([rows[place] for place, times in enumerate(row) for _ in range(times)])
        assert value == pytest.approx(summary(found, again).value)
    grid = np.stack([statistics.sum(0), 2 * statistics.sum(0)])[:, None]  # any leading dimensions
    assert found.value(grid).shape == (2, 1)


@pytest.mark.parametrize("name", PLAIN)
def test_a_metric_says_what_it_is(name: str) -> None:
    found = _metric(name)
    assert found.title
    assert found.better in ("higher", "lower", "")
    assert found.digits >= 0
    assert "|" in found.signature


def test_signatures_name_what_changes_the_figure() -> None:
    nltk = importlib.metadata.version("nltk")
    assert f"order:2|smooth:none|corpus:pooled|nltk:{nltk}" in metric("bleu").signature
    assert "tok:13a|smooth:exp|version:" in metric("sacrebleu").signature
    assert metric("ter").signature.startswith("TER|")
    assert "not TERp" in metric("ter").title


def test_an_unknown_metric_is_refused_with_what_was_meant() -> None:
    with pytest.raises(SettingsError, match=r"no metric 'roguel' \(did you mean 'rougeL'\?\). Metrics: sari, bleu"):
        metric("roguel")


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "at least one text"), ([("a", "b", ["c"]), ("a", "b", [])], "text 2 has none")],
)
def test_a_metric_refuses_what_it_cannot_compare(rows: Rows, message: str) -> None:
    outputs = _outputs(rows) if rows else Outputs((), (), ())
    with pytest.raises(InputError, match=message):
        _metric("bleu").statistics(outputs)
    with pytest.raises(InputError, match="got 1 sources, 2 texts and the references of 1"):
        summary(metric("novelty"), Outputs(("a",), ("a", "b"), ((),)))


def test_a_metric_of_texts_and_sources_needs_no_references() -> None:
    outputs = Outputs(("a b",), ("a b",), ((),))
    assert _value("novelty", outputs) == 0
    assert _value("copied", outputs) == 100


@pytest.mark.parametrize("name", ["sacrebleu", "ter", "rouge1"])
def test_a_metric_whose_package_is_missing_is_refused_when_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install 'refdec\[evaluate\]'"):
        metric(name)


COUNTS = """
2 3 0 0  2 2 0 0  0 0 0 0  0 0 0 0  0 0 0 0  1  2 2
7 7 4 4  3 3 4 4  0 0 0 0  0 0 0 0  0 0 0 0  1  7 7
0 1 0 0  0 0 0 0  0 0 0 0  0 0 0 0  0 0 0 0  0  0 0
1 1 0 0  0 0 0 0  0 0 0 0  0 0 0 0  0 0 0 0  0  0 0
5 4 2 1  1 1 0 0  0 0 0 0  0 0 0 0  2 2 1 0  1  4 3
"""
"""What METEOR's program counts for "red house" beside "red house garden", "the cat sat on the mat ." beside itself,
nothing beside "something", "zzz" beside "yyy", and "the dog was running quickly" beside "a dog ran fast"."""

COUNTED = [0.33520678036654417, 1.0, 0.0, 0.0, 0.3513261079108478]
"""What it gives for each of them, and 0.4026561023652985 for all."""


def test_meteor_of_counts_is_what_its_program_makes_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "_run", lambda *_: COUNTS.strip())
    monkeypatch.setattr("refdec.evaluate.judging.named_metrics.check_meteor", lambda: None)
    found = _metric("meteor")
    statistics = found.statistics(Outputs(("",) * 5, ("",) * 5, (("",),) * 5))
    assert found.value(statistics) == pytest.approx([100 * value for value in COUNTED])
    assert float(found.value(statistics.sum(0))) == pytest.approx(40.26561023652985)


def test_meteor_that_gives_no_counts_says_what_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "_run", lambda *_: "no memory left")
    with pytest.raises(ModelError, match="no counts: no memory left"):
        meteor.meteor_statistics(["a"], [["a"]])


def test_meteor_without_java_is_refused_when_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="Install a Java runtime"):
        metric("meteor")


def _save_bert(folder: Path, model: Any) -> None:
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    model.save_pretrained(folder)


SMALL: dict[str, Any] = {
    "vocab_size": 9,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "initializer_range": 0.5,
}


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        _save_bert(tmp_path, BertModel(BertConfig(**SMALL)))
    return tmp_path


def test_similarity_to_the_source_and_to_the_best_reference(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_directory", lambda: bert)
    outputs = _outputs([("d d", "a b", ["c", "a b"]), ("d", "d", ["b"])])
    of_source, of_reference = (_metric(name).statistics(outputs) for name in ("similarity", "reference-similarity"))
    assert of_source[:, 0].tolist() == pytest.approx(similarity.similarities(["a b", "d"], ["d d", "d"]))
    assert of_reference[:, 0].tolist() == pytest.approx([1.0, similarity.similarities(["d"], ["b"])[0]])


def test_bertscore_matches_each_token_with_its_nearest(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bertscore.MODEL, str(bert))
    tokenizer = BertTokenizerFast.from_pretrained(bert)
    model = BertModel.from_pretrained(bert).eval()
    with torch.inference_mode():
        said, given = (
            torch.nn.functional.normalize(model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0], dim=-1)
            for text in ("a b b", "c a")
        )
    cosines = said @ given.T
    precision, recall = cosines.amax(1)[1:-1].mean(), cosines.amax(0)[1:-1].mean()  # CLS and SEP are partners alone
    expected = 100 * float(2 * precision * recall / (precision + recall))
    assert bertscore.bert_scores(["a b b"], [["c a"]]) == pytest.approx([expected], rel=1e-5)
    found = bertscore.bert_scores(["a b", "", "a b b"], [["d", "a b"], ["a"], ["c a"]])
    assert found == pytest.approx([100, 0, expected], rel=1e-5)  # the best reference, nothing, as by itself
    assert "layer:last|idf:no" in metric("bertscore").signature


def test_bertscore_is_read_at_the_layer_that_is_asked_for(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bertscore.MODEL, str(bert))
    last = bertscore.bert_scores(["a b"], [["c a"]])
    monkeypatch.setenv(bertscore.LAYER, "1")
    assert bertscore.bert_scores(["a b"], [["c a"]]) != last
    monkeypatch.setenv(bertscore.LAYER, "2")
    assert bertscore.bert_scores(["a b"], [["c a"]]) == last
    monkeypatch.setenv(bertscore.LAYER, "3")
    with pytest.raises(SettingsError, match="layer 3"):
        bertscore.bert_scores(["a b"], [["c a"]])
    monkeypatch.setenv(bertscore.LAYER, "last")
    with pytest.raises(SettingsError, match="number of a layer"):
        metric("bertscore")
    monkeypatch.delenv(bertscore.LAYER)
    monkeypatch.setenv(bertscore.MODEL, "some/folder/roberta-large/")
    assert bertscore.bert_score_model() == ("some/folder/roberta-large/", 17)


def _judged(model: Any, folder: Path, given: str, said: str) -> float:
    with torch.inference_mode():
        batch = BertTokenizerFast.from_pretrained(folder)(given, said, return_tensors="pt")
        return float(model(**batch).logits[0, 0])


def _bleurt(folder: Path, form: str) -> Any:
    """A small model, saved as the copies on the hub are: BERT by its name or as "bleurt", or RemBERT as "bleurt"."""
    config: dict[str, Any] = SMALL | {"num_labels": 1, "bos_token_id": None, "eos_token_id": None}
    model: Any
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if form == "bleurt-20":
            sizes = {"input_embedding_size": 4, "output_embedding_size": 4}
            model = RemBertForSequenceClassification(RemBertConfig(**config, **sizes)).eval()
            config |= {"embedding_size": 4}
        else:
            model = BertForSequenceClassification(BertConfig(**config)).eval()
            config |= {"embedding_size": None}
    _save_bert(folder, model)
    if form != "bert":
        state = {
            re.sub(r"^(rem)?bert\.", "bleurt.", key).replace("hidden_mapping_in", "projection"): value
            for key, value in model.state_dict().items()
        }
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "bleurt"}))
    return model


@pytest.mark.parametrize("form", ["bert", "bleurt", "bleurt-20"])
def test_bleurt_is_read_in_each_of_its_forms(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _bleurt(tmp_path, form)
    monkeypatch.setenv(bleurt.MODEL, str(tmp_path))
    monkeypatch.setattr(bleurt, "_sentence_piece", BertTokenizerFast.from_pretrained)
    expected = max(_judged(model, tmp_path, other, "a b") for other in ("c d d", "a"))
    found = bleurt.bleurt_scores(["a b", "c"], [["c d d", "a"], ["c"]])
    assert found == pytest.approx([expected, _judged(model, tmp_path, "c", "c")], rel=1e-4)
    assert _value("bleurt", _outputs([("", "a b", ["c d d", "a"])])) == pytest.approx(100 * expected, rel=1e-4)
    assert f"model:{tmp_path}|times:100" in metric("bleurt").signature


def test_bleurt_whose_tokens_need_sentencepiece_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bleurt(tmp_path, "bleurt-20")
    monkeypatch.setenv(bleurt.MODEL, str(tmp_path))
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ModelError, match="pip install sentencepiece"):
        bleurt.bleurt_scores(["a"], [["b"]])


def test_a_model_that_is_no_bleurt_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bleurt.MODEL, str(bert))
    with pytest.raises(ModelError, match="lacks weights that BLEURT has, such as classifier"):
        bleurt.bleurt_scores(["a"], [["b"]])


@pytest.mark.parametrize(("name", "variable"), [("bertscore", bertscore.MODEL), ("bleurt", bleurt.MODEL)])
def test_a_metric_without_its_model_says_what_to_set(
    name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError, match=f"Set {variable}"):
        metric(name)
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(ModelError, match=f"which {variable} names"):
        summary(metric(name), OUTPUTS)


@pytest.mark.parametrize("name", ["bertscore", "bleurt", "similarity"])
def test_pickled_weights_are_refused_until_they_are_converted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bleurt(tmp_path, "bert")
    for variable in (bertscore.MODEL, bleurt.MODEL):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(similarity, "_directory", lambda: tmp_path)
    safe, pickled = tmp_path / "model.safetensors", tmp_path / "pytorch_model.bin"
    torch.save(load_file(safe), pickled)
    safe.unlink()
    with pytest.raises(ModelError, match=r"pytorch_model\.bin.*reads no pickles.*save_file"):
        summary(metric(name), OUTPUTS)
    save_file(torch.load(pickled, weights_only=True), safe, metadata={"format": "pt"})
    assert np.isfinite(summary(metric(name), OUTPUTS).value)
