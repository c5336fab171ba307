"""The whole way from text to ranked text, on the real weights."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from refdec import InputError, Pair, ParaphraseResult, ParaphraseSettings, Reflector, SettingsError
from refdec.metrics.novelty import novelty
from refdec.reflect.contexts import sample_contexts
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import run
from refdec.reflect.side import Side
from refdec.results import Paraphrase
from refdec.tasks.frame import FRAMES
from refdec.tasks.ranking import is_copy
from tests.conftest import TINY

TEXTS = ["How do I learn to cook?", "The train was late again.", "I love it."]


@pytest.fixture(scope="module")
def result(int8_reflector: Reflector) -> ParaphraseResult:
    return int8_reflector.paraphrase(TEXTS[0], "fast", contexts=12, context_tokens=24, samples=8)


def test_candidates_come_best_first_with_score_novelty_and_side(result: ParaphraseResult) -> None:
    assert len(result.candidates) >= 3
    scores = [candidate.score for candidate in result]
    assert scores == sorted(scores, reverse=True)
    for candidate in result:
        assert candidate.novelty == novelty(candidate.text, result.source)
        assert candidate.relative == pytest.approx(candidate.score - result.source_score)
        assert candidate.side in {"left", "right", "both"}
        assert len(candidate.fits) == len(result.contexts)
    assert len({candidate.text for candidate in result}) == len(result.candidates)


def test_the_score_is_the_mean_fit_of_both_sides_with_the_prior(
    result: ParaphraseResult, int8_reflector: Reflector
) -> None:
    loss = int8_reflector.settings(ParaphraseSettings).loss
    for candidate in result:
        total = 0.0
        for side in ("right", "left"):
            own = [fit for fit, context in zip(candidate.fits, result.contexts, strict=True) if context.side == side]
            total += sum(own) / len(own)
        total += candidate.prior - (loss if candidate.lost else 0.0)
        assert candidate.relative == pytest.approx(total, abs=1e-3)


def test_contexts_that_repeat_the_source_are_dropped(int8_reflector: Reflector) -> None:
    """A source that the models like to repeat, and a nucleus that lets them."""
    found = int8_reflector.paraphrase("No!", "paper", **(TINY | {"contexts": 24, "context_tokens": 30}))
    assert not any(found.source in context.text for context in found.contexts)
    side = Side(int8_reflector.pair, "right")
    framed = FRAMES["quoted"].encode(int8_reflector.pair.tokens, "No!")
    draws = uniforms(0, "No!", "contexts right", 24, 30)
    everything = run(int8_reflector.pair, sample_contexts(side, framed.all, draws, 0.7, lambda contexts: contexts))
    assert any(found.source in int8_reflector.pair.tokens.decode(ids) for ids in everything)
    assert run(int8_reflector.pair, sample_contexts(side, framed.all, draws, 0.7, lambda _: [])) == everything


def test_weights_of_each_side_sum_to_one(result: ParaphraseResult) -> None:
    for side in ("right", "left"):
        assert sum(c.weight for c in result.contexts if c.side == side) == pytest.approx(1, abs=1e-4)


def test_the_weights_are_certified(result: ParaphraseResult) -> None:
    assert all(0 <= gap <= 1e-3 for gap in result.gap.values())
    assert result.gap.keys() == result.log_rd.keys() == {"left", "right"}


def test_the_signature_names_everything_that_matters(result: ParaphraseResult, int8_pair: Pair) -> None:
    for part in (
        "refdec:",
        "task:paraphrase",
        f"pair:{int8_pair.name}",
        "contexts:12",
        "seed:0",
        "torch:",
        "device:cpu",
        "precision:int8",
    ):
        assert part in result.signature


def test_same_seed_same_text_in_any_batch(small_reflector: Reflector) -> None:
    together = small_reflector.paraphrase(TEXTS[:2], "paper", **TINY)
    assert small_reflector.paraphrase(TEXTS[1::-1], "paper", **TINY) == together[::-1]
    for item in together:
        assert small_reflector.paraphrase(item.source, "paper", **TINY) == item


def test_a_list_gives_a_list_and_an_iterator_gives_results_as_they_are_made(untrained: Reflector) -> None:
    taken: list[str] = []

    def endless() -> Iterator[str]:
        for text in itertools.cycle(TEXTS):
            taken.append(text)
            yield text

    in_a_list = untrained.paraphrase(tuple(TEXTS), "paper", **TINY)
    assert isinstance(in_a_list, list)
    assert untrained.paraphrase([], "paper", **TINY) == []
    streamed = untrained.paraphrase(endless(), "paper", **TINY)
    assert taken == []
    assert list(itertools.islice(streamed, 4)) == [*in_a_list, in_a_list[0]]
    assert len(taken) < 8


def test_a_bad_text_of_an_iterator_is_refused_in_its_turn(untrained: Reflector) -> None:
    results = untrained.paraphrase(iter([TEXTS[0], " "]), "paper", **TINY)
    assert next(results).source == TEXTS[0]
    with pytest.raises(InputError, match="The text is empty"):
        next(results)


def test_a_fingerprint_is_of_one_text(untrained: Reflector) -> None:
    known = untrained.fingerprint(TEXTS[0], contexts=3, context_tokens=4, kept_contexts=2)
    with pytest.raises(InputError, match="of one text"):
        untrained.paraphrase(TEXTS, fingerprint=known)


def test_another_seed_gives_other_contexts(small_reflector: Reflector) -> None:
    one, other = (small_reflector.paraphrase(TEXTS[0], "paper", seed=seed, **TINY) for seed in (0, 1))
    assert one.contexts != other.contexts


@pytest.mark.parametrize("frame", ["quoted", "paragraph", "none"])
def test_every_frame_gives_candidates_of_its_text(int8_reflector: Reflector, frame: str) -> None:
    found = int8_reflector.paraphrase(TEXTS[0], "paper", frame=frame, **(TINY | {"samples": 12}))
    assert found.candidates
    assert all("\n" not in candidate.text for candidate in found)


def test_the_authors_way_of_learning_weights_is_still_there(small_reflector: Reflector) -> None:
    found = small_reflector.paraphrase(TEXTS[0], "paper", solver="adam", **TINY)
    assert found.candidates
    assert "solver:adam" in found.signature


@pytest.mark.parametrize(
    "text",
    [
        'She said "never again" and left.',
        "Das Wetter ist schön, oder?",
        "今日はとても暑いですね。",
        "I 💚 this song so much 🎵!",
        "First line of it.\nSecond line of it.",
        "“Curly quotes” aren't a problem.",
        "no capital and no mark",
        "Why?",
    ],
)
def test_unusual_text_still_works(untrained: Reflector, text: str) -> None:
    found = untrained.paraphrase(text, "paper", **TINY)
    assert found.source == text
    assert found.contexts


def test_a_text_longer_than_the_window_is_told_how_long_it_may_be(int8_reflector: Reflector) -> None:
    with pytest.raises(InputError, match=r"has \d+ tokens; with contexts of 50 it may have 45\d"):
        int8_reflector.paraphrase("word " * 480, "fast")
    with pytest.raises(InputError, match="sentence by sentence"):
        int8_reflector.paraphrase("word " * 1_000_000, "fast")
    with pytest.raises(InputError, match="Lower context_tokens"):
        int8_reflector.paraphrase("A short text.", "fast", context_tokens=600)
    with pytest.raises(InputError, match=r"GiB of memory. Use at most \d+ contexts"):
        int8_reflector.paraphrase("word " * 300, "fast", contexts=5000)


def test_a_long_text_within_the_window_works(small_reflector: Reflector) -> None:
    text = "The committee met on Tuesday to talk about the budget. " * 4
    assert small_reflector.paraphrase(text, "paper", **(TINY | {"contexts": 2, "samples": 2})).contexts


def test_a_bad_text_in_a_list_is_named_before_any_work(int8_reflector: Reflector) -> None:
    stages: list[str] = []
    with pytest.raises(InputError, match="Text 2 of 3: The text is empty"):
        int8_reflector.paraphrase(["Fine.", " ", "Fine too."], stage=stages.append)
    with pytest.raises(InputError, match="Text 2 of 2: The text has"):
        int8_reflector.paraphrase(["Fine.", "word " * 600], stage=stages.append)
    assert stages == []


def test_a_wrong_setting_is_refused(int8_reflector: Reflector) -> None:
    with pytest.raises(SettingsError, match="did you mean"):
        int8_reflector.paraphrase("Hello there.", sampels=3)


@pytest.mark.parametrize("copy", ["how do i learn to cook", "How do I learn to cook?!", "HOW do I learn to cook?"])
def test_the_sources_own_words_are_a_copy(copy: str) -> None:
    assert is_copy(copy, TEXTS[0])
    assert not is_copy("How do you learn to cook?", TEXTS[0])


def made_up(*rows: tuple[str, float, float, bool]) -> ParaphraseResult:
    candidates = tuple(
        Paraphrase(text, score, score, 0.0, (), new, copy, "right", ()) for text, score, new, copy in rows
    )
    return ParaphraseResult("source", 0.0, candidates, (), {}, {}, "signature")


def test_the_novelty_dial_is_a_guarantee() -> None:
    found = made_up(("copy", -1, 0, True), ("near", -2, 20, False), ("far", -3, 60, False), ("poor", -9, 40, False))
    assert [str(item) for item in found.at_novelty(30)] == ["far", "poor"]
    assert found.at_novelty(70) == ()
    assert made_up(("Copy, but for its marks", -1, 35, True)).at_novelty(30) == ()
    assert str(found.best) == str(found) == "near"


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    found = made_up(("copy", -1, 0, True), ("near", -2, 20, False), ("poor", -3, 10, False), ("far", -9, 60, False))
    assert [str(item) for item in found.front()] == ["near", "far"]


def test_copies_stand_apart_and_are_not_counted() -> None:
    found = made_up(("a", -1, 0, True), ("b", -2, 20, False), ("c", -3, 0, False), ("d", -9, 60, False))
    assert [str(item) for item in found.top(2)] == [str(item) for item in found.at_novelty(0)[:2]] == ["b", "c"]
    assert [str(item) for item in found.copies] == ["a"]
    assert len(found.candidates) == 4
    shown = found.to_dict(found.top(2))
    assert [item["text"] for item in shown["results"]] == ["b", "c"]
    assert [item["text"] for item in shown["copies"]] == ["a"]
    assert found.to_dict()["copies"] == []  # it stands among the results


def test_the_json_form_is_stable(result: ParaphraseResult) -> None:
    line = result.to_dict()
    assert {"source", "results", "signature"} <= line.keys()
    assert {"text", "score", "novelty", "copy", "side"} <= line["results"][0].keys()
    assert len(line["results"]) == len(result.candidates)
    assert dataclasses.is_dataclass(result)
