"""Every task with a pair of a small German, tried with sentences that it has never read.

By default the pair is a little one, trained here on four topics. Another one, such as that of `python -m
benchmarks.own_language OUT`, is tested the same way with REFDEC_OWN_LANGUAGE_PAIR=OUT/pair.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from benchmarks.german.grammar import Scene, Tree, Way, clauses, finish, words_of, write
from benchmarks.german.reader import readings
from benchmarks.german.words import Noun, Person, Verb
from benchmarks.german.writer import corpus
from benchmarks.own_language import NO_LOSS, is_on_topic, passages, says_the_same, tells_the_event, topics_of, trios

from refdec import Fingerprint, ParaphraseResult, Reflector, load_pair
from refdec.text.sentences import split_sentences
from tests.conftest import Run, refdec_process

TOPICS = ("Kochen", "Bahnreise", "Hund", "Arzt")
MEGABYTES = 1.5
LITTLE = (
    "--vocabulary=1200", "--layers=2", "--width=128", "--heads=4", "--inner=352", "--positions=128",
    "--batch-tokens=1024", "--tokens=280000", "--held-out=0.01", "--device=cpu",
)  # fmt: skip
SMALL: dict[str, Any] = {"contexts": 12, "context_tokens": 24}
SMALL_OPTIONS = ("--contexts=12", "--context-tokens=24")
COUNT = 12


@pytest.fixture(scope="session")
def own_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the pair."""
    given = os.environ.get("REFDEC_OWN_LANGUAGE_PAIR")
    if given:
        return Path(given)
    home = tmp_path_factory.mktemp("own_language")
    stories = home / "stories.txt"
    texts = corpus(int(MEGABYTES * 1e6), only=TOPICS)
    stories.write_text("".join(f"{text}\n\n" for text in texts), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # more would wait for each other, and long where others compute, too
        code, _, err = refdec_process("train", str(stories), "-o", str(home / "pair"), *LITTLE, timeout=1800)
    assert code == 0, err
    return home / "pair"


@pytest.fixture(scope="session")
def own(own_pair: Path) -> Reflector:
    return Reflector(load_pair(own_pair, device="cpu"))


@pytest.fixture(scope="session")
def known_words() -> frozenset[str]:
    return frozenset(word for text in corpus(2_000_000) for word in re.findall(r"\w+", text))


@pytest.fixture(scope="session")
def paraphrased(own: Reflector) -> list[ParaphraseResult]:
    sources = [trio.source for trio in trios(COUNT, only=TOPICS)]
    return own.paraphrase(sources, samples=10, **SMALL, **NO_LOSS)


def test_german_is_inflected_as_it_should_be() -> None:
    dog, cat, whelp, peas = Noun("Hund", "m"), Noun("Katze", "f"), Noun("Welpe", "w"), Noun("Blätter", "p")
    assert [dog.phrase(article, "", "m") for article in ("der", "den", "dem")] == ["der Hund", "den Hund", "dem Hund"]
    assert cat.phrase("einem", "klein", "m") == "einer kleinen Katze"
    assert whelp.phrase("seinen", "", "f") == "ihren Welpen"
    assert peas.phrase("dem", "", "m") == "den Blättern"
    assert Person("mein Kollege", "m").named("dative") == "meinem Kollegen"
    assert Person("die Kinder", "p").named("dative") == "den Kindern"
    assert Verb.of("sammeln").finite("present", "ich") == "sammle"
    assert Verb.of("zu-bereiten").perfect == "zubereitet"
    assert Verb.of("auf-stehen").auxiliary == "sein"
    assert Verb.of("öffnen").finite("past", "wir") == "öffneten"


def test_one_thing_is_said_in_every_order() -> None:
    way = Way.parse("WER | +{einen Fahrkarte} nach {Stadt} | ^am Schalter | kaufen")
    scene = Scene((Person("Anna", "f"),), {"Stadt": ((Noun("Köln", ""),),)})
    turned = way.turned()
    assert turned is not None
    (active,), passives = clauses(way, scene), clauses(turned, scene)

    def said(*trees: Tree) -> set[str]:
        return {finish(write(tree, random)) for tree in trees for random in map(Random, range(20))}

    assert "Anna hat ein Ticket nach Köln am Schalter gekauft" in said(active.main("perfect"))
    assert "Heute kauft Anna eine Fahrkarte nach Köln am Schalter" in said(active.verb_first("present", "heute"))
    assert "Am Schalter kaufte Anna ein Ticket nach Köln" in said(*active.fronted("past"))
    assert "Anna ein Ticket nach Köln am Schalter gekauft hat" in said(active.subordinate("perfect"))
    assert "Ein Ticket nach Köln wurde von Anna am Schalter gekauft" in said(*(one.main("past") for one in passives))


def test_a_corpus_belongs_to_its_seed_and_has_no_story_twice() -> None:
    texts = list(corpus(60_000, seed=5))
    assert texts == list(corpus(60_000, seed=5))
    assert texts != list(corpus(60_000, seed=6))
    assert len(set(texts)) == len(texts)
    assert all(3 <= len(split_sentences(text)) <= 8 for text in texts)


def test_what_is_written_can_be_read_and_has_one_meaning() -> None:
    for text in corpus(8_000, seed=7):
        for sentence in re.findall(r'[^".?]+: "[^"]+"|[^".?]+[.?]', text):
            assert len({found.events for found in readings(sentence.strip())}) == 1, sentence
    assert not readings("Anna hat den Suppe gekocht.")
    assert not readings("Anna die Suppe kocht.")
    assert not readings("Anna kochen die Suppe.")


def test_what_a_pair_is_tried_with_is_in_no_corpus() -> None:
    texts = "\n".join(corpus(int(MEGABYTES * 1e6), only=TOPICS))
    for trio in trios(COUNT, only=TOPICS):
        assert trio.source not in texts
        assert says_the_same(trio.same, trio.source)
        assert not topics_of(trio.source) & topics_of(trio.unrelated)


def test_paraphrases_are_other_sentences_of_known_words(
    paraphrased: list[ParaphraseResult], known_words: frozenset[str]
) -> None:
    best = [(result.source, str(result)) for result in paraphrased if result.best]
    assert len(best) >= 0.8 * COUNT
    for source, text in best:
        assert words_of(text) != words_of(source)
    known = [set(re.findall(r"\w+", text)) <= known_words for _, text in best]
    assert sum(known) >= 0.8 * len(best)


def test_one_of_the_first_paraphrases_tells_the_same(paraphrased: list[ParaphraseResult]) -> None:
    first = [(result.source, [item.text for item in result if not item.copy][:3]) for result in paraphrased]
    on_topic = sum(any(is_on_topic(text, source) for text in texts) for source, texts in first)
    same_event = sum(any(tells_the_event(text, source) for text in texts) for source, texts in first)
    assert on_topic >= 0.6 * COUNT
    assert same_event >= 0.5 * COUNT


def test_the_same_seed_gives_the_same_paraphrases(own: Reflector, paraphrased: list[ParaphraseResult]) -> None:
    again = own.paraphrase(paraphrased[0].source, samples=10, **SMALL, **NO_LOSS)
    assert again == paraphrased[0]


def test_another_way_to_say_it_scores_above_something_else(own: Reflector) -> None:
    above = 0
    for trio in trios(COUNT, seed=1, only=TOPICS):
        same, unrelated = own.score(trio.source, [trio.same, trio.unrelated], **SMALL)
        above += same.relative > unrelated.relative
    assert above >= 0.8 * COUNT
    assert own.score(trio.source, trio.source, **SMALL).scaled == 100


def test_a_filling_stands_between_its_neighbours_and_shares_their_topic(own: Reflector) -> None:
    given = passages(COUNT, seed=2, only=TOPICS)
    found = [own.infill(passage.left, passage.right, samples=10, tokens=16, **SMALL) for passage in given]
    for passage, result in zip(given, found, strict=True):
        assert result.filled == f"{passage.left} {result} {passage.right}"
        assert str(result) not in (passage.left, passage.right)
    on_topic = sum(passage.topic in topics_of(str(result)) for passage, result in zip(given, found, strict=True))
    assert on_topic >= 0.5 * COUNT  # by chance a quarter


def test_a_rewriting_leaves_what_is_around_it_untouched_and_fits_in(own: Reflector) -> None:
    given = passages(COUNT, seed=3, only=TOPICS)
    found = [own.rewrite(passage.document, samples=10, **SMALL) for passage in given]
    for passage, result in zip(given, found, strict=True):
        assert result.source == passage.middle
        for item in result:
            assert result.in_place(item) == f"{passage.left} {item.text} {passage.right}"
    texts = [str(result) for result in found]
    on_topic = sum(passage.topic in topics_of(text) for passage, text in zip(given, texts, strict=True))
    assert on_topic >= 0.6 * COUNT


def test_a_fingerprint_is_saved_and_gives_the_same_results(own: Reflector, tmp_path: Path) -> None:
    source = trios(1, only=TOPICS)[0].source
    known = own.fingerprint(source, **SMALL)
    known.save(tmp_path / "known.json")
    loaded = Fingerprint.load(tmp_path / "known.json")
    assert loaded == known
    assert own.paraphrase(None, fingerprint=loaded, samples=6) == own.paraphrase(source, samples=6, **SMALL)


def test_every_command_takes_the_pair_and_says_what_python_says(command: Run, own: Reflector, own_pair: Path) -> None:
    trio, passage = trios(1, only=TOPICS)[0], passages(1, only=TOPICS)[0]
    options = ("--forward", str(own_pair), "--device=cpu", "--json", *SMALL_OPTIONS)

    def lines(task: str, *arguments: str) -> dict[str, Any]:
        code, out, err = command(task, *options, *arguments)
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    few: dict[str, Any] = {"samples": 6, **SMALL}
    paraphrases = lines("paraphrase", "--samples=6", trio.source)
    assert paraphrases["contexts"] == own.paraphrase(trio.source, **few).to_dict()["contexts"]
    assert lines("infill", "--samples=6", passage.left, passage.right)["filled"] == (
        own.infill(passage.left, passage.right, **few).filled
    )
    assert lines("rewrite", "--samples=6", passage.document)["source"] == passage.middle
    score = own.score(trio.source, trio.same, **SMALL)
    assert lines("score", trio.source, trio.same)["scaled"] == round(score.scaled, 2)
