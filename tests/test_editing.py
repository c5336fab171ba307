"""CGMH and UPSA: what they edit, the distribution that CGMH samples from, and the optimum that UPSA climbs to."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from refdec import InputError, ModelError, Pair, Reflector
from refdec.baselines.cgmh import CGMH, CGMHSettings, Chain
from refdec.baselines.editing import DRAWS, Edit, Text
from refdec.baselines.meaning import Meaning, WordVectors, keywords
from refdec.baselines.method import paraphrases
from refdec.baselines.named_methods import PARAPHRASERS, choose_method
from refdec.baselines.proposals import Reader
from refdec.baselines.upsa import UPSA, Objective, UPSASettings, accepted, per_piece
from refdec.baselines.vocabulary import Vocabulary
from refdec.baselines.words import Piece, Sentence, sentence_of
from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from refdec.metrics.bleu import sentence_bleu
from refdec.reflect.schedule import run
from tests.table_model import TableModel, random_table

ENTRIES = ["\n", ".", ",", '"', ' "', " ba", " be", " bi", "ba", "be", "bi"]
WORDS = ("ba", "be", "bi")
SHORTER: dict[str, Any] = {"most_words": 3, "candidates": 2}
"""Versions of few words, so that all can be listed, and one word fewer at a place than there are."""


def table_pair(entries: Sequence[str] = ENTRIES) -> Pair:
    """Models of three words whose probabilities can be looked up."""
    tokenizer = Tokenizer(WordLevel({entry: index for index, entry in enumerate(entries)}, unk_token=","))
    tokenizer.pre_tokenizer = Split(Regex(r' ?\w+| "|\W'), "isolated")
    forward, backward = (TableModel(random_table(len(entries), seed), way) for seed, way in enumerate(Direction, 5))
    return Pair(forward, backward, Tokens(tokenizer, 0), "tables")


def text_of(source: str, settings: CGMHSettings | UPSASettings, pair: Pair) -> Text:
    vocabulary = Vocabulary(pair)
    return Text(source, pair, vocabulary, WordVectors(pair, vocabulary), settings)


def table_logprob(pair: Pair, sentence: Sentence) -> float:
    """The forward table's log-probability of a sentence and the closing quote, after the opening one."""
    assert isinstance(pair.forward, TableModel)
    ids = pair.tokens.encode(f' "{sentence}"')
    return float(sum(pair.forward.table[one, other].double().log() for one, other in itertools.pairwise(ids)))


def moves(sentence: Sentence) -> Iterable[tuple[Edit, int, float]]:
    """All moves from a sentence, with the probability that each is tried."""
    for edit in Edit:
        places = edit.places(sentence)
        yield from ((edit, place, 1 / len(Edit) / len(places)) for place in places)


async def transitions(chain: Chain, source: Sentence) -> tuple[list[Sentence], np.ndarray, np.ndarray]:
    """All sentences that a chain can reach, its transition matrix, and its densities."""
    states, rows = [source], []
    for state in states:
        row: defaultdict[Sentence, float] = defaultdict(float)
        for edit, place, tried in moves(state):
            for version, probability in await chain.outcomes(state, edit, place):
                row[version] += tried * probability
        rows.append(row)
        states += [version for version in row if version not in states]
    matrix = np.array([[row[state] for state in states] for row in rows])
    matrix[np.diag_indices(len(states))] += 1 - matrix.sum(1)
    densities = np.exp(await chain.density(states))
    return states, matrix, densities / densities.sum()


@pytest.mark.parametrize("source", ["ba.", "be, ba", "bi ba."])
def test_detailed_balance_holds_exactly(source: str) -> None:
    pair, settings = table_pair(), CGMHSettings(**SHORTER)
    text = text_of(source, settings, pair)
    states, matrix, density = run(pair, transitions(Chain(text, settings), text.source))
    assert len(states) > 10
    assert (matrix >= -1e-12).all()
    flow = density[:, None] * matrix
    assert np.abs(flow - flow.T).max() < 1e-9
    assert np.abs(density @ matrix - density).max() < 1e-9
    assert sum(state.words.count("bi") > 0 for state in states) > 5  # a word that is not proposed everywhere


def test_the_density_is_the_probability_of_sentences_that_keep_the_keywords() -> None:
    pair, settings = table_pair(), CGMHSettings(**SHORTER)
    text = text_of("ba.", settings, pair)
    kept, lost = text.source.put(0, "bi"), text.source.without(0).put(0, "be")
    first, second = run(pair, Chain(text, settings).density([kept, lost]))
    assert first == pytest.approx(table_logprob(pair, kept), abs=1e-5)
    assert second == -np.inf


def test_a_long_chain_visits_sentences_as_often_as_they_are_probable() -> None:
    pair, settings = table_pair(), CGMHSettings(**SHORTER)
    text = text_of("ba.", settings, pair)
    chain, steps = Chain(text, settings), 30_000

    async def walk() -> Counter[Sentence]:
        sentence, visits = text.source, Counter[Sentence]()
        for draws in np.random.default_rng(0).random((steps, DRAWS)).tolist():
            sentence = await chain.step(sentence, draws)
            visits[sentence] += 1
        return visits

    states, _, density = run(pair, transitions(chain, text.source))
    visits = run(pair, walk())
    share = np.array([visits[state] / steps for state in states])
    assert np.abs(share - density).sum() / 2 < 0.03


def test_candidates_are_the_best_by_both_models() -> None:
    pair, settings = table_pair(), CGMHSettings(**SHORTER)
    text = text_of("ba be.", settings, pair)
    assert isinstance(pair.forward, TableModel)
    assert isinstance(pair.backward, TableModel)
    hole = run(pair, text.reader.hole(text.source.without(1), 1))
    before, after = ENTRIES.index("ba"), ENTRIES.index(".")
    joint = {
        word: float(pair.forward.table[before, entry] * pair.backward.table[after, entry])
        for word in WORDS
        for entry in [ENTRIES.index(f" {word}")]
    }
    assert list(hole.words) == sorted(WORDS, key=lambda word: -joint[word])[:2]
    at_start = run(pair, text.reader.hole(text.source, 0))
    quote, behind = ENTRIES.index(' "'), ENTRIES.index(" ba")  # what was first has a space before it now
    joint = {
        word: float(pair.forward.table[quote, entry] * pair.backward.table[behind, entry])
        for word in WORDS
        for entry in [ENTRIES.index(word)]
    }
    assert list(at_start.words) == sorted(WORDS, key=lambda word: -joint[word])[:2]


def test_many_versions_have_the_probabilities_of_each_alone() -> None:
    pair, settings = table_pair(), CGMHSettings(**SHORTER)
    text = text_of("ba, be bi.", settings, pair)

    async def read() -> tuple[list[Sentence], list[float]]:
        base = text.source.without(2)
        hole = await text.reader.hole(base, 2)
        versions = [base, *(base.put(2, word) for word in WORDS)]
        return versions, await text.reader.logprobs(versions, hole)

    versions, logprobs = run(pair, read())
    assert logprobs == pytest.approx([table_logprob(pair, version) for version in versions], abs=1e-5)


@pytest.mark.parametrize("source", ["ba.", "be.", "bi be."])
def test_annealing_reaches_the_known_optimum(source: str) -> None:
    pair = table_pair()
    settings = UPSASettings(steps=400, temperature=0.5, cooling=0.5 / 400, most_words=3, candidates=3)
    text = text_of(source, settings, pair)
    mark = text.source.pieces[-1]
    everything = [
        Sentence((*map(Piece, words), mark), capital=False)
        for count in range(1, 4)
        for words in itertools.product(WORDS, repeat=count)
    ]
    logarithms = run(pair, Objective(text, settings).logarithms(everything))
    values = {str(one): per_piece(logarithm, one) for one, logarithm in zip(everything, logarithms, strict=True)}
    best = max(values, key=lambda one: values[one])
    assert best != source
    for seed in range(6):
        (proposals,) = UPSA(pair, settings.replace(seed=seed)).paraphrase_all([source])
        assert proposals[0].text == best
        assert [item.score for item in proposals] == pytest.approx([values[item.text] for item in proposals], abs=1e-5)
        scores = [item.score for item in proposals[1:]]
        assert scores == sorted(scores, reverse=True)


def test_the_temperature_falls_as_published() -> None:
    settings = UPSASettings()
    assert [settings.warmth(step) for step in (0, 50, 99, 100, 500)] == pytest.approx([0.03, 0.015, 0.0003, 0, 0])
    assert accepted(-0.01, 0.03, 0.71)  # exp(-1/3) is 0.717
    assert not accepted(-0.01, 0.03, 0.72)
    assert accepted(0.0, 0.0, 0.99)
    assert not accepted(-1e-9, 0.0, 0.0)


def test_the_objective_is_the_published_product() -> None:
    pair = table_pair()
    settings = UPSASettings(keyword_power=3, sentence_power=2, diversity_power=0.5, **SHORTER)
    text = text_of("ba ba be ba.", settings, pair)
    version = text.source.put(0, "bi")
    (logarithm,) = run(pair, Objective(text, settings).logarithms([version]))
    bleu = sentence_bleu("bi ba ba be ba", ["ba ba be ba"], 4) / 100
    alike = text.meaning.alike(version)
    expected = table_logprob(pair, version) + 2 * np.log(alike) + 0.5 * np.log(1.01 - bleu)
    assert 0 < alike < 1
    assert logarithm == pytest.approx(expected, abs=1e-5)


TEXTS = [
    "How do I learn to cook?",
    'He said: "We don\'t know (yet), but we will." Then he left...',
    "In 2,000 B.C. nobody paid $3.50 - or 5% - for well-known things!",
    "is this lower-case text , with spaced marks . a text",
    "“Why?” she asked. 😀",
]


@pytest.fixture(scope="module")
def vocabulary(int8_pair: Pair) -> Vocabulary:
    return Vocabulary(int8_pair)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_same_as_words(text: str, vocabulary: Vocabulary, int8_pair: Pair) -> None:
    sentence = sentence_of(text, vocabulary.inside)
    assert str(sentence) == text
    tokens = int8_pair.tokens
    assert [index for shown in sentence.shown for index in tokens.encode(shown)] == tokens.encode(text)


@pytest.mark.parametrize(("source", "frame"), [('ba "be".', "quoted"), ("ba be.", "line")])
def test_a_text_with_quotes_or_by_choice_stands_on_a_line(source: str, frame: str) -> None:
    pair = table_pair()
    text = text_of(source, CGMHSettings(frame=frame, **SHORTER), pair)
    (logprob,) = run(pair, text.reader.logprobs([text.source]))
    assert isinstance(pair.forward, TableModel)
    ids = [-1, *pair.tokens.encode(f"{source}\n")]
    expected = sum(pair.forward.table[one, other].double().log() for one, other in itertools.pairwise(ids))
    assert logprob == pytest.approx(float(expected), abs=1e-5)


def test_capitals_follow_the_beginning_and_names_keep_theirs(vocabulary: Vocabulary) -> None:
    sentence = sentence_of("Who is he? China grows. I'm late.", vocabulary.inside)
    assert sentence.words == ["who", "is", "he", "China", "grows", "I'm", "late"]
    assert str(sentence.put(0, "so")) == "So who is he? China grows. I'm late."
    assert str(sentence.without(0).without(0)) == "He? China grows. I'm late."
    assert str(sentence.put(4, "then")) == "Who is he? Then China grows. I'm late."


def test_marks_and_contractions_are_not_edited(vocabulary: Vocabulary) -> None:
    sentence = sentence_of("(Don't go), please!", vocabulary.inside)
    assert sentence.words == ["don't", "go", "please"]
    assert str(sentence.without(2)) == "(Don't), please!"
    assert all(str(sentence.put(gap, "x")).endswith("!") for gap in sentence.gaps)
    assert str(sentence_of("no mark", str).put(2, "x")) == "no mark x"


def test_proposed_words_are_whole_words_as_they_stand_inside(vocabulary: Vocabulary) -> None:
    words = set(vocabulary.words)
    assert {"how", "Paris", "I", "a", "because"} <= words
    assert not {"How", "HOW", "tion", "x", "2", ""} & words
    places, ids = vocabulary.ways(apart=False, begins=True)
    assert len(places) == len(ids) > 1000


def test_keywords_are_the_content_words_half_of_all_at_most() -> None:
    assert keywords(["how", "do", "I", "learn", "to", "play", "the", "guitar"]) == ["learn", "play", "guitar"]
    assert keywords(["what", "is", "it"]) == ["what"]
    assert len(keywords(["dogs", "cats", "birds", "fish", "cows", "pigs", "hens", "goats"])) == 4


def test_vectors_tell_near_words_from_unrelated_ones(int8_pair: Pair, vocabulary: Vocabulary) -> None:
    vectors = WordVectors(int8_pair, vocabulary)

    def cosine(one: str, other: str) -> float:
        return float(vectors.of(one) @ vectors.of(other))

    assert min(cosine("movie", "film"), cosine("movie", "movies"), cosine("buy", "purchase")) > 0.65
    assert max(cosine("movie", "guitar"), cosine("money", "the"), cosine("India", "cheese")) < 0.3
    meaning = Meaning(sentence_of("Which movie is best?", vocabulary.inside), vectors)
    assert meaning.kept(sentence_of("Which Movie?", str)) == pytest.approx(1)
    assert 0.65 < meaning.kept(sentence_of("Which film?", str)) < 0.8


def test_a_text_without_words_or_too_long_is_refused() -> None:
    pair = table_pair()
    method = CGMH(pair, CGMHSettings(steps=1))
    with pytest.raises(InputError, match="There is no word to edit"):
        list(paraphrases(method, ["😀 ?!"]))
    with pytest.raises(InputError, match=r"The text has 101 tokens.*can read 99 at most.*sentence by sentence"):
        list(paraphrases(method, ["ba " * 99]))
    reader = Reader(pair, Vocabulary(pair), 2)
    longest = reader.source("ba " * (pair.window - 3))
    one_more = longest.put(0, "be")
    hole = run(pair, reader.hole(longest, 0))
    assert run(pair, reader.logprobs([longest, one_more, one_more.put(0, "be")], hole))[2] == -np.inf


def test_a_pair_without_entries_that_are_words_is_refused() -> None:
    method = UPSA(table_pair(["\n", ",", ".", '"', ' "', "ba", "be"]), UPSASettings())
    with pytest.raises(ModelError, match="no entries that are a word with the space before it"):
        list(paraphrases(method, ["ba."]))


@pytest.mark.parametrize("name", ["cgmh", "upsa"])
def test_a_text_gives_the_same_alone_and_in_a_list(name: str, small_reflector: Reflector) -> None:
    texts = ["How do I find the garden?", "Anna walked to the house in the morning."]
    first, second = (choose_method(f"{name},steps=15,seed={seed}", PARAPHRASERS) for seed in (0, 5))
    assert first is not None
    assert second is not None
    method = first.load(lambda: small_reflector.pair)
    both = list(paraphrases(method, texts))
    (alone,) = paraphrases(method, texts[1:])
    assert both[1] == alone
    assert all(item.text[-1] == one.source[-1] for one in both for item in one.proposals)
    assert any(str(one) != one.source for one in both)
    assert f"task:{name}|" in alone.signature
    assert list(paraphrases(second.load(lambda: small_reflector.pair), texts)) != both
