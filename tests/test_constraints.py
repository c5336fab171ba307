"""What must be kept and avoided: when a text satisfies it, what is found by itself, what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refdec import Constraints, InputError
from refdec.tasks.constraints import FINDERS, NONE, names, numbers, placeholders


@pytest.mark.parametrize(
    ("phrase", "text", "there"),
    [
        ("art", "Modern art, please.", True),
        ("art", "We went to a party.", False),
        ("art", "Art is long.", False),
        ("5", "Give me 5.", True),
        ("5", "Give me 15.", False),
        ("5", "Give me 2.5 of 5,000 at 5:30.", False),
        ("3.5", "It is 3.5%.", True),
        ("New York", "He left New\n  York.", True),
        ("New York", "He left NewYork.", False),
        ("Anna", "That is Anna's.", True),
        ("C++", "C++ and C.", True),
        ("(now)", "Come (now)!", True),
        ("café", "A cafe\u0301 is open.", True),
        ("cafe\u0301", "A café is open.", True),
    ],
)
def test_a_phrase_is_kept_where_it_stands_by_itself_as_it_is_written(phrase: str, text: str, there: bool) -> None:
    constraints = Constraints(keep=(phrase,))
    assert (constraints.lacking(text) == []) == there
    assert (constraints.failures(text) == []) == there


@pytest.mark.parametrize(
    ("word", "text", "there"),
    [
        ("art", "ART!", True),
        ("Art", "modern art", True),
        ("art", "the party started", False),
        ("5", "15 and 5.5", False),
        ("new york", "in New  York.", True),
        ("CAFÉ", "a cafe\u0301", True),
    ],
)
def test_a_word_is_avoided_in_any_case_but_not_inside_another(word: str, text: str, there: bool) -> None:
    constraints = Constraints(avoid=(word,))
    assert constraints.unwanted(text) == ([word] if there else [])
    assert constraints.failures(text) == ([f"says {word!r}"] if there else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It costs $5.50 or 12% of 1,000.", ["$5.50", "12%", "1,000"]),
        ("At 10:30 on 3/4/2021, and 3.14.", ["10:30", "3/4/2021", "3.14"]),
        ("€20, £3, ¥500.", ["€20", "£3", "¥500"]),
        ("From -5 to 3-4 degrees.", ["-5", "3", "4"]),
        ("Add .5 of it.", [".5"]),
        ("B12 and the 2nd, 5km or 5.5km away.", []),
        ("{0} of 7 <td width=3>", ["7"]),
        ("2 and 2", ["2", "2"]),
    ],
)
def test_numbers_are_found_with_all_that_belongs_to_them(text: str, found: list[str]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Paris is big.", []),  # the first word of a sentence may be any word
        ("It is big. Paris is not.", []),
        ('"Paris is big."', []),
        ("Barack Obama spoke.", ["Barack Obama"]),
        ("NASA launched an iPhone.", ["NASA", "iPhone"]),
        ("iPhone sales fell.", ["iPhone"]),
        ("When Anna came, I left.", ["Anna"]),
        ("I met Anna's brother and Émile’s.", ["Anna", "Émile"]),
        ("We drove James' car to ‘Paris’.", ["James", "Paris"]),
        ("In Paris we saw The Beatles.", ["Paris", "Beatles"]),
        ("He reads the New York Times at AT&T or Coca-Cola.", ["New York Times", "AT&T", "Coca-Cola"]),
        ("I'm what I am, said O'Neill.", ["O'Neill"]),
        ("Hello {Name}, %(City)s and </B>.", []),
        ("On Monday, Mr. Smith left.", ["Monday", "Smith"]),
    ],
)
def test_names_are_capitalised_words_whose_capital_is_no_accident(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hi {name}, {{x}} and ${x}!", ["{name}", "{{x}}", "${x}"]),
        ("%s has %d, %(left)d left.", ["%s", "%d", "%(left)d"]),
        ("<b>Bold</b><br/>", ["<b>", "</b>", "<br/>"]),
        ('<a href="a b">', ['<a href="a b">']),
        ("100% sure, a < b and c > d, {a b}", []),
        ("{} {0}", ["{}", "{0}"]),
    ],
)
def test_placeholders_are_what_programs_fill_in(text: str, found: list[str]) -> None:
    assert placeholders(text) == found


def test_a_phrase_is_kept_as_often_as_it_is_named() -> None:
    constraints = Constraints(keep=("to be", "to be", "not"))
    assert constraints.lacking("To be or to be?") == ["to be", "not"]
    assert constraints.lacking("not to be, to be, to be") == []
    assert constraints.failures("nothing") == ["lacks 'to be'", "lacks 'not'"]


def test_what_the_source_has_is_kept_once_even_if_it_is_named_too() -> None:
    constraints = Constraints(keep=("Anna",), automatic=("names", "numbers")).on("We gave Anna 5 and Anna 5.")
    assert Counter(constraints.keep) == {"Anna": 2, "5": 2}
    assert constraints.automatic == ()


def test_placeholders_are_there_exactly_as_often_as_in_the_source() -> None:
    constraints = Constraints(automatic=("placeholders",)).on("<b>{name}</b> and {{name}}")
    assert constraints.failures("{{name}} or <b>{name}</b>") == []
    assert constraints.failures("{{name}} <b>{name}</b> {name}") == ["repeats '{name}'"]
    assert constraints.failures("<b>{name}</b> ${name}") == ["lacks '{{name}}'"]
    assert constraints.complete("<b>{name}") == ["<b>", "{name}"]


def test_a_word_that_is_no_placeholder_may_be_said_again() -> None:
    assert Constraints(keep=("5",)).failures("5 and 5") == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"keep": "Anna"}, r"keep takes a list of texts, not a single one: \['Anna'\]"),
        ({"avoid": "Anna"}, "avoid takes a list"),
        ({"automatic": "names"}, "automatic takes a list"),
        ({"automatic": ["dates"]}, "automatic has 'dates'; choose from numbers, names, placeholders"),
        ({"keep": [" "]}, "A text to keep cannot be used: The text is empty"),
        ({"avoid": ["a\x07"]}, "A text to avoid cannot be used: Character 2 .* control character"),
        ({"keep": ["a\ud800"]}, "surrogate"),
        ({"keep": ["one\ntwo"]}, "it contains a line break"),
        ({"keep": [5]}, "A text is needed, not int"),
        ({"keep": ["black art"], "avoid": ["Art"]}, "'black art' must be kept, and 'Art' in it must be avoided"),
    ],
)
def test_what_cannot_be_kept_or_avoided_is_refused_with_the_reason(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Constraints(**wrong)


def test_a_contradiction_with_the_source_is_refused() -> None:
    constraints = Constraints(avoid=("anna",), automatic=("names",))
    with pytest.raises(InputError, match="'Anna Smith' must be kept, and 'anna'"):
        constraints.on("It was Anna Smith.")
    assert constraints.on("Nobody was there.").keep == ()


def test_a_part_of_a_word_is_no_contradiction() -> None:
    assert Constraints(keep=("party",), avoid=("art",))


def test_nothing_asked_is_nothing_refused() -> None:
    assert not NONE
    assert NONE.failures("anything") == []
    assert NONE.describe() == "none"


PHRASE = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).filter(str.strip)
WORD = st.sampled_from(["art", "party", "5", "15", "{x}", "{{x}}", "<b>", "%s", "New York", "Art", "can't"])
TEXT = st.lists(st.one_of(WORD, st.sampled_from([".", ", ", " ", "-", "\n"]))).map("".join)


@given(st.lists(PHRASE, max_size=5), st.data())
def test_a_text_with_its_phrases_as_separate_words_keeps_them(phrases: list[str], data: st.DataObject) -> None:
    order = data.draw(st.permutations(phrases))
    assert Constraints(keep=tuple(phrases)).lacking(" ".join(order)) == []


@given(st.lists(WORD, max_size=4), st.lists(WORD, max_size=2), TEXT)
def test_a_text_fails_if_and_only_if_something_lacks_or_is_unwanted_or_repeated(
    keep: list[str], avoid: list[str], text: str
) -> None:
    try:
        constraints = Constraints(tuple(keep), tuple(avoid))
    except InputError:
        assume(False)
    repeated = [phrase for phrase in keep if placeholders(text).count(phrase) > keep.count(phrase)]
    assert bool(constraints.failures(text)) == bool(constraints.lacking(text) or constraints.unwanted(text) or repeated)


@given(st.text(alphabet="aAbB15.,:$%{}<>/s'’ -éÉ\u0301\n", max_size=40))
def test_a_source_satisfies_what_is_found_in_itself(source: str) -> None:
    assert Constraints(automatic=tuple(FINDERS)).on(source).failures(source) == []
