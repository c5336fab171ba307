"""Text in: what is refused, how it is framed, and how generations are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdec import InputError, Pair, ParaphraseSettings
from refdec.tasks.describe import prepare
from refdec.tasks.extract import extract, is_well_formed
from refdec.tasks.frame import FRAMES
from refdec.text.cleaning import clean
from refdec.text.sentences import split_sentences

QUOTED, NONE, PARAGRAPH = FRAMES["quoted"], FRAMES["none"], FRAMES["paragraph"]


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u00a0"])
def test_blank_text_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        clean(text)


@pytest.mark.parametrize(
    ("text", "message"), [("a\x00b", "control character"), ("a\x1b[31m", "control"), ("a\ud800", "surrogate")]
)
def test_what_is_no_text_is_refused_by_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"Character 2 of the text .*{message}"):
        clean(text)


def test_text_keeps_what_people_write() -> None:
    assert clean("  Привет 👋🏽,\n\t“世界”  ") == "Привет 👋🏽,\n\t“世界”"


def test_the_final_mark_and_the_closing_quote_are_held_together(pair: Pair) -> None:
    framed = QUOTED.encode(pair.tokens, "Where are you?")
    assert pair.tokens.decode(framed.left) == ' "'
    assert pair.tokens.decode(framed.middle) == "Where are you"
    assert pair.tokens.decode(framed.right) == '?"'


@pytest.mark.parametrize("text", ["Where are you?", "No mark", "Ends in a dot.", "世界 🙂", "a\nb c"])
@pytest.mark.parametrize("name", FRAMES)
def test_a_framed_text_is_the_text_in_its_frame(pair: Pair, name: str, text: str) -> None:
    frame = FRAMES[name]
    framed = frame.encode(pair.tokens, text)
    assert pair.tokens.decode(framed.all) == frame.wrap(text)
    assert framed.middle


def test_nothing_but_a_mark_leaves_nothing_to_rewrite(pair: Pair) -> None:
    with pytest.raises(InputError, match="nothing to rewrite"):
        prepare(pair, "?", ParaphraseSettings())


@given(st.text(alphabet='ab.?!" ,\n1A…', max_size=60))
def test_sentences_joined_are_the_text(text: str) -> None:
    joined = "".join(split_sentences(text))
    assert joined.rstrip() == text.rstrip()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It rained. We left. Then", 3),
        ("Mr. Smith left the U.S. in 1999. He is back.", 2),
        ('"Why?" he asked. She did not know.', 2),
        ("what is it? how does it work?", 2),
        ("It costs $5.50 at J. B. Hill. Is that much?", 2),
        ("No... I think so! Yes", 3),
        ("no end at all", 1),
    ],
)
def test_sentences_of_what_models_generate(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


def test_a_quote_ends_a_candidate_on_either_side() -> None:
    raw = ' he asked. "How do I find good people?"'
    assert extract(raw, "right", QUOTED, "How do I hire people?") == ["How do I find good people?"]
    raw = ' "How do I find good people?" he asked.'
    assert extract(raw, "left", QUOTED, "How do I hire people?") == ["How do I find good people?"]


def test_every_run_of_whole_sentences_at_the_static_part_is_a_candidate() -> None:
    raw = ' and so on. It is late. Where do we go?"'
    assert extract(raw, "right", QUOTED, "Where to?") == ["It is late. Where do we go?", "Where do we go?"]
    raw = " Where do we go? It is late. And so"
    assert extract(raw, "left", NONE, "Where to?") == ["Where do we go? It is late.", "Where do we go?"]


def test_a_comma_before_the_closing_quote_stands_for_the_full_stop() -> None:
    assert extract(' "I agree with you," she said', "left", QUOTED, "I think so too.") == ["I agree with you."]
    assert extract(' "I agree with you," she said', "left", QUOTED, "Do you think so?") == []


@pytest.mark.parametrize(
    "text", ["", "?", "word", ", and so", "(left open", 'a "quote', "bad \ufffd byte", "and then,"]
)
def test_malformed_candidates_are_dropped(text: str) -> None:
    assert not is_well_formed(text, "A source of several words.")


def test_one_word_may_answer_one_word() -> None:
    assert is_well_formed("Really?", "Why?")
