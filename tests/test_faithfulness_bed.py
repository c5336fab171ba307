"""The test bed for faithfulness: edits do what they say and nothing else, and the table counts what was found."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.faithfulness.breaks import HALVES, KINDS, BrokenPair, GoodPair, broken_pairs, edited, good_pairs
from benchmarks.faithfulness.candidates import judged, texts_by_source
from benchmarks.faithfulness.measure import AnyPair, figures, groups, unfaithful

from refdec import InputError, ParaphraseSettings, Reflector
from refdec.ledger.comparison import Comparison


def test_an_edit_applies_exactly_once() -> None:
    assert edited("It was late.", {"from": "was", "to": "was not"}) == "It was not late."
    for text in ("It is late.", "It was what it was."):
        with pytest.raises(InputError, match="an edit needs a piece that stands once"):
            edited(text, {"from": "was", "to": "was not"})


def test_a_piece_is_made_of_whole_words() -> None:
    assert edited("Ann met Anna.", {"from": "Ann", "to": "Eve"}) == "Eve met Anna."


def test_names_change_places() -> None:
    assert edited("Ann Lee met Bo.", {"swap": ["Ann Lee", "Bo"]}) == "Bo met Ann Lee."
    with pytest.raises(InputError, match="overlap"):
        edited("Ann Lee met Bo.", {"swap": ["Ann Lee", "Lee"]})


def test_every_edit_of_the_bed_applies_and_changes_its_text() -> None:
    good, broken = {pair.id: pair for pair in good_pairs()}, broken_pairs()
    assert all(pair.text not in (good[pair.pair].text, pair.source) for pair in broken)
    assert all(pair.source == good[pair.pair].source for pair in broken)
    assert len({(pair.pair, pair.text) for pair in broken}) == len(broken)


def test_the_bed_is_large_and_mixed_evenly() -> None:
    good, broken = good_pairs(), broken_pairs()
    assert len({pair.id for pair in good}) == len(good) >= 340
    assert {pair.half for pair in good} == set(HALVES)
    assert all(pair.text != pair.source for pair in good)
    kinds = Counter(pair.kind for pair in broken)
    assert set(kinds) == set(KINDS)
    assert kinds.total() >= 2000
    assert min(kinds.values()) >= 0.07 * kinds.total()
    words = [pair.outside for pair in broken if pair.kind == "word"]
    assert sum(words) >= len(words) / 4


def test_the_table_counts_found_breaks_and_false_alarms() -> None:
    good = [GoodPair("a", "order", "s", "right"), GoodPair("b", "order", "s", "odd")]
    broken = [
        BrokenPair("a", "word", "s", "wrong", outside=True),
        BrokenPair("a", "word", "s", "sly"),
        BrokenPair("b", "grammar", "s", "sly too"),
    ]
    found = unfaithful([*good, *broken], lambda _, text: Comparison(2.0 if text in ("wrong", "odd") else 0.0, ()))
    sure: dict[AnyPair, float] = {good[0]: 0.9, good[1]: 0.8, broken[0]: 0.1, broken[1]: 0.95, broken[2]: 0.1}
    table = figures(groups(good, broken), found, sure)
    assert table["word"] == {"pairs": 2, "unfaithful": 50.0, "sure": 50.0}
    assert table["word outside"] == {"pairs": 1, "unfaithful": 100.0, "sure": 0.0}
    assert table["all but grammar"]["unfaithful"] == 50.0
    assert table["all broken"]["pairs"] == 3
    assert table["all good"] == {"pairs": 2, "unfaithful": 50.0, "sure": 50.0}


def test_each_text_has_the_figures_it_would_have_alone(small_reflector: Reflector) -> None:
    settings = ParaphraseSettings()
    source, texts = "Anna walked to the house in the morning.", ["In the morning Anna walked to it.", "Anna was late."]
    together = {item["text"]: item for item in judged(small_reflector.pair, source, texts, settings)}
    assert together.keys() == set(texts)
    for text in texts:
        (alone,) = judged(small_reflector.pair, source, [text], settings)
        assert alone["flow"]["whole"] == pytest.approx(together[text]["flow"]["whole"], abs=0.02)
        assert alone["flow"]["worst"] == pytest.approx(together[text]["flow"]["worst"], abs=2e-3)


def test_every_pair_of_the_bed_is_a_candidate_with_its_verdict() -> None:
    texts = texts_by_source()
    assert all(texts[pair.source][pair.text] for pair in good_pairs())
    good = {pair.text for pair in good_pairs()}
    assert not any(texts[pair.source][pair.text] for pair in broken_pairs() if pair.text not in good)
