"""Golden values, worked out by hand or known from the papers' own programs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer
from transformers import BertConfig, BertModel, BertTokenizerFast

from refdec.errors import ModelError
from refdec.metrics import similarity
from refdec.metrics.bleu import corpus_bleu, sentence_bleu
from refdec.metrics.novelty import corpus_novelty, novelty
from refdec.metrics.sari import sari
from refdec.text.words import words


def test_words_are_lower_case_and_punctuation_stands_alone() -> None:
    assert words("What's the Cost (in $)?") == ["what", "'s", "the", "cost", "(", "in", "$", ")", "?"]


def test_bleu_is_up_to_bigrams() -> None:
    # a b c d against a b x d: 3 of 4 words, 1 of 3 pairs, no brevity penalty.
    assert sentence_bleu("a b c d", ["a b x d"]) == pytest.approx(100 * math.sqrt(3 / 4 * 1 / 3))
    # Shorter than the reference: times exp(1 - 4/3).
    assert sentence_bleu("a b c", ["a b c d"]) == pytest.approx(100 * math.exp(1 - 4 / 3))


def test_corpus_bleu_pools_counts_before_dividing() -> None:
    # 3 + 1 of 4 + 2 words, 1 + 0 of 3 + 1 pairs.
    pooled = 100 * math.sqrt(4 / 6 * 1 / 4)
    assert corpus_bleu(["a b c d", "a y"], [["a b x d"], ["a z"]]) == pytest.approx(pooled)


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [("How are you?", 0.0), ("how are you ?", 0.0), ("What is it, then", 100.0)],
)
def test_novelty_of_copies_and_of_strangers(candidate: str, expected: float) -> None:
    assert novelty(candidate, "How are you?") == pytest.approx(expected)


def test_novelty_of_one_word() -> None:
    assert novelty("Why", "why") == 0.0
    assert novelty("Why", "how") == pytest.approx(100.0)


def test_corpus_novelty_is_what_bleu_leaves() -> None:
    assert corpus_novelty(["a b c d"], ["a b x d"]) == pytest.approx(50.0)


def test_sari_worked_out_by_hand() -> None:
    # Unigrams: keep a (F1 1), delete b (1), add c (1). Bigrams: nothing kept or to keep (0), ab deleted (1), ac
    # added (1). Longer ones do not exist. Mean of keep 1/4, delete 2/4, add 2/4.
    assert sari("a b", "a c", ["a c"]) == pytest.approx(100 * (0.25 + 0.5 + 0.5) / 3)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("About 95 you now get in .", 26.82782411698074),
        ("About 95 species are now agreed .", 58.89995423074248),
        ("About 95 species are currently agreed .", 50.71608864657479),
    ],
)
def test_sari_is_that_of_its_authors_script(output: str, expected: float) -> None:
    """The examples that SARI.py of Xu et al. (2016) prints at its end, with the values it gives."""
    references = [
        "About 95 species are currently known .",
        "About 95 species are now accepted .",
        "95 species are now accepted .",
    ]
    assert sari("About 95 species are currently accepted .", output, references) == pytest.approx(expected)


def test_similarity_is_the_cosine_of_mean_token_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
        )
        model = BertModel(config)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    monkeypatch.setattr(similarity, "_directory", lambda: tmp_path)
    similarity._encoder.cache_clear()
    same, different = similarity.similarities(["a b c", "a b c"], ["a b c", "d"])
    similarity._encoder.cache_clear()
    assert same == pytest.approx(1.0, abs=1e-5)
    assert different < 0.999


def test_similarity_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "PACKAGE", "a_package_that_nobody_has")
    similarity._encoder.cache_clear()
    with pytest.raises(ModelError, match="pip install"):
        similarity.embed(["a"])


PLAIN_TEXTS = st.lists(
    st.sampled_from(["I", "a", "cannot", "gonna", "How", "Don", "sat", "gimme", "lemme", "whatcha", "etc"]), max_size=8
).map(" ".join)
MARKS = st.sampled_from(["", ".", "?", "!", " ?", "...", ".!", " .", ","])


@given(PLAIN_TEXTS, MARKS)
def test_plain_texts_are_cut_as_nltk_cuts_them(text: str, mark: str) -> None:
    assert words(text + mark) == [word.lower() for word in NLTKWordTokenizer().tokenize(text + mark)]


@given(PLAIN_TEXTS, PLAIN_TEXTS, MARKS)
def test_the_novelty_of_one_text_is_a_hundred_less_its_bleu(text: str, source: str, mark: str) -> None:
    if words(text + mark) != words(source):
        assert novelty(text + mark, source) == pytest.approx(100 - sentence_bleu(text + mark, [source]))
