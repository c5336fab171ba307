"""Sentences broken by small edits: what is edited, that it is the same every time, where the fault is."""

from __future__ import annotations

import random

import pytest

from refdec.train.breaks import EDITS, FUNCTION_WORDS, Lexicon, broken, harmless, is_plain, noun_places, regular_forms

SENTENCES = [
    "The old bridge over the river was closed by the town after a storm in March.",
    "She has walked to the station every morning because it is near her office.",
    "They will paint the kitchen of the house when their daughter comes back from Norway.",
    "Two boys who wanted to help were carrying a box of apples into the garden.",
    "He does not know that we have planned a party for him at the lake.",
    "A friend from Dublin told me that these trains are walking distance from the market.",
    "I did not think the teacher would be waiting for us at the end of the road.",
    "Three horses walked past the window while a man was painting the door in the yard.",
    "We helped the doctor with a letter that had been written in Dutch by his uncle.",
    "The girls have waited for an answer from Berlin, but it isn't there yet.",
    "Is there a shop in the village where people are helping and planning a walk?",
    "My brother waits and paints, closes the window, carries wood and wants a garden with apples.",
]
FORMS = (
    "And plan planned planning, carry carried carrying, close closed closing, wait waited waiting, paint painted "
    "painting, want wanted wanting, help helped helping, walk walked walking."
)
NUMBERS = "There were storms, and the boy had a horse with one of the friends."
LEXICON = Lexicon.of([*SENTENCES, FORMS, NUMBERS] * 2)


def some_breaks(sentence: str, count: int = 60) -> list[str]:
    made = [broken(sentence, random.Random(number), LEXICON) for number in range(count)]
    return [item.text for item in made if item is not None]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_break_changes_the_sentence_and_the_same_numbers_break_it_again(sentence: str) -> None:
    assert is_plain(sentence)
    assert sentence not in some_breaks(sentence)
    assert some_breaks(sentence) == some_breaks(sentence)
    assert len(set(some_breaks(sentence))) > 20


@pytest.mark.parametrize("kind", EDITS)
def test_every_kind_of_edit_finds_something_to_break(kind: str) -> None:
    edit, _ = EDITS[kind]
    edited = [edit(sentence.split(" "), random.Random(0), LEXICON) for sentence in SENTENCES]
    assert sum(found is not None for found in edited) >= 2


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_fault_lies_where_the_texts_begin_to_differ(sentence: str) -> None:
    for number in range(60):
        found = broken(sentence, random.Random(number), LEXICON)
        assert found is not None
        begin, end = found.span
        assert found.text[begin:end].split(" ") == list(found.words[found.first : found.last + 1])
        assert found.text[:begin] == sentence[:begin] or found.kind == "repeat"
        if found.kind in ("double", "bend", "disagree", "miscount", "exchange"):
            assert sentence.endswith(found.text[end:])


@pytest.mark.parametrize(
    ("word", "base"),
    [("planned", "plan"), ("carries", "carry"), ("closing", "close"), ("written", "write"), ("waits", "wait")],
)
def test_forms_of_verbs_are_known_by_what_the_text_has(word: str, base: str) -> None:
    forms = LEXICON.forms(word)
    assert forms is not None
    assert forms["base"] == base


@pytest.mark.parametrize("word", ["garden", "window", "Dublin", "apples"])
def test_a_noun_is_no_verb(word: str) -> None:
    assert LEXICON.forms(word) is None


def test_regular_verbs_are_spelled_right() -> None:
    assert regular_forms("stop") == {"base": "stop", "s": "stops", "ed": "stopped", "en": "stopped", "ing": "stopping"}
    assert regular_forms("try")["ed"] == "tried"
    assert regular_forms("play")["ed"] == "played"
    assert regular_forms("agree")["ing"] == "agreeing"
    assert regular_forms("watch")["s"] == "watches"


def test_harmless_edits_change_nouns_and_names_only() -> None:
    changed = 0
    for sentence in SENTENCES[:-3]:
        edited = harmless(sentence, random.Random(3), LEXICON)
        words, others = sentence.split(" "), edited.split(" ")
        assert len(words) == len(others)
        for place, (one, other) in enumerate(zip(words, others, strict=True)):
            if one != other:
                changed += 1
                assert one.lower() not in FUNCTION_WORDS
                assert place in noun_places(words) or (one.istitle() and other.istitle())
    assert changed >= 5


def test_contractions_are_written_out() -> None:
    assert "is not there yet" in harmless(SENTENCES[9], random.Random(0), LEXICON)


@pytest.mark.parametrize(
    "text",
    [
        "Too short to be of use.",
        "no capital at the beginning of this sentence, so it is not a plain one.",
        "There is no mark at the end of this sentence, which is long enough",
        "See the page http://example.org/a for more about what is in the box.",
        "Red green blue yellow orange purple black white grey brown pink.",
    ],
)
def test_what_is_no_plain_sentence_is_not_learned_from(text: str) -> None:
    assert not is_plain(text)
