"""Small steps: interchangeable words, turns, what is listed, and how steps are taken together."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdec import Pair
from refdec.ledger.comparison import compare
from refdec.ledger.costs import FAITHFUL
from refdec.ledger.edits import edits
from refdec.ledger.inflection import article, inflected, tags
from refdec.ledger.interchangeable import Step, swaps
from refdec.ledger.small_turns import small_turns
from refdec.ledger.whole_turns import whole_turns
from refdec.reflect.schedule import run
from refdec.tasks.small_steps import Weighed, combinations, near_texts, taken


def swapped(source: str) -> set[str]:
    return {taken(source, [step]) for step in swaps(source)}


def turned(source: str) -> set[str]:
    return {taken(source, [step]) for step in small_turns(source)}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("He purchased a car.", "He bought a car."),  # in its form
        ("He weighed about 160 pounds.", "He weighed approximately 160 pounds."),  # before a number
        ("An attorney called.", "A lawyer called."),  # with the right article
        ("Prior to the vote he left.", "Before the vote he left."),  # with the first letter of the source
        ("Physicians were there.", "Doctors were there."),  # in the plural
        ("They took part in the race.", "They participated in the race."),  # phrases too
        ("He is of African descent.", "He is of African ancestry."),  # with the capitals of the source
    ],
)
def test_an_interchangeable_word_stands_in_the_form_of_the_other(source: str, text: str) -> None:
    assert text in swapped(source)


@pytest.mark.parametrize("source", ["He weighed about his words.", "It was about time."])
def test_words_for_numbers_are_swapped_before_numbers_only(source: str) -> None:
    assert not any("approximately" in text for text in swapped(source))


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("The function of the heart is known.", "work"),  # no verb
        ("He was the attorney general.", "lawyer"),  # a title of two words
        ("She forgot the exam results.", "consequences"),
        ("It was caused by ice.", "led to"),
        ("COMPLEX ANALYSIS: where do I begin?", "Complicated"),
    ],
)
def test_a_word_that_its_neighbours_make_another_one_is_not_swapped(source: str, word: str) -> None:
    assert not any(word in text for text in swapped(source))


def test_names_and_numbers_are_never_swapped() -> None:
    for source in ("We met Judge Attorney in Film City.", "Two hundred films were shown in 1990."):
        for text in swapped(source):
            assert compare(source, text).cost <= FAITHFUL, text


def test_every_line_of_the_list_can_be_read() -> None:
    lines = files("refdec.ledger").joinpath("interchangeable.txt").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if not line.startswith("#")]
    assert len(entries) > 5000
    for line in entries:
        part, _, rest = line.partition(": ")
        members = [item.strip() for group in rest.split(">") for item in group.split("=")]
        assert part in ("v", "n", "a", "r", "r#", "f", "q"), line
        assert len(members) > 1, line
        assert all(members), line
        assert len(set(members)) == len(members), line


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("He said the train was late.", "He said that the train was late."),
        ("He said that the train was late.", "He said the train was late."),
        ("They did not come.", "They didn't come."),
        ("They can't come.", "They cannot come."),
        ("He died Saturday in Rome.", "He died on Saturday in Rome."),
        ("It rose to 5 percent from 3 percent.", "It rose to 5% from 3%."),
        ("It cost $5m.", "It cost $5 million."),
        ("At Tuesday's hearing, he spoke.", "At the hearing on Tuesday, he spoke."),
        ("We saw the city's oldest school.", "We saw the oldest school in the city."),
        ("It was written by Lee and Holm.", "It was written by Holm and Lee."),
        ("We met Ann Lee, who is the head.", "We met Ann Lee, the head."),
    ],
)
def test_small_turns_say_the_same(source: str, text: str) -> None:
    assert text in turned(source)
    assert compare(source, text).cost <= FAITHFUL


def test_what_is_sorted_by_two_things_keeps_their_order() -> None:
    assert turned("It was found by Kubota and Leopoldt.") >= {"It was found by Leopoldt and Kubota."}
    for verb in ("sorted", "ranked", "ordered"):
        assert not any("title and year" in text for text in turned(f"The list was {verb} by year and title."))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("The site has been visited often, Galvin said.", "Galvin said that the site has been visited often."),
        ('"It was a good day," Mr Holm said.', '"It was a good day," said Mr Holm.'),
        ('"It was a good day," said Ann Lee.', 'Ann Lee said: "It was a good day."'),
        ("The shares fell after the deal was announced.", "After the deal was announced, the shares fell."),
        ("Although it rained, they went for a walk.", "They went for a walk, although it rained."),
        ("The video was first shown on July 14, 2006.", "On July 14, 2006, the video was first shown."),
        ("It was discovered in 1949 by Walter Baade.", "Walter Baade discovered it in 1949."),
        ("The book was written by Ann Lee.", "Ann Lee wrote the book."),
        ("Former teacher Ole Holm died in Rome.", "Ole Holm, a former teacher, died in Rome."),
    ],
)
def test_whole_turns_say_the_same(source: str, text: str) -> None:
    assert text in whole_turns(source)
    assert compare(source, text).cost <= FAITHFUL


@pytest.mark.parametrize(
    "source",
    [
        "The indicator rose to 119.1 from 118.2 in April.",  # the time may be that of the number
        "It predicted that sales would pass the level in 2000.",
        "The agency reports that wages rose, according to the bureau.",
        "Why doesn't he come?",
        'He said: "It is late."',
        "Ann",
        "",
    ],
)
def test_what_may_mislead_is_not_turned(source: str) -> None:
    assert not whole_turns(source)
    assert not any("not" in step.text for step in small_turns(source))


def test_forms_are_those_of_the_word_that_is_replaced() -> None:
    assert "VBD" in tags("took", "take", "v")
    assert inflected(("take", "part", "in"), "v", "VBD") == "took part in"
    assert inflected(("point", "of", "view"), "n", "NNS") == "points of view"
    assert inflected(("soft", "drink"), "n", "NNS") == "soft drinks"
    assert inflected(("well", "known"), "a", "JJR") is None
    assert [article(word) for word in ("hour", "unit", "apple", "European", "use", "umbrella")] == [
        *("an", "a", "an", "a", "a", "an")
    ]


def test_listed_changes_count_as_nothing_and_others_by_their_kind() -> None:
    source = "He said the attorney left on Monday because it rained."
    assert edits(source, "He said that the lawyer left on Monday because it rained.").unlisted == 0
    assert edits(source, source) == edits(source, source)
    changed = edits(source, "he said the attorney left Monday, and it rained.")
    assert changed.unlisted > 0
    assert changed.opening
    assert changed.lost["preposition"] == 1
    assert changed.lost["link"] == 1
    assert changed.new["link"] == 1
    assert changed.new["comma"] == 1


def test_steps_are_taken_together_one_per_place_the_best_first() -> None:
    near, far, other = Step(0, 3, "x"), Step(10, 12, "y"), Step(1, 2, "z")
    chosen = combinations([Weighed(near, -0.5), Weighed(far, 1.0), Weighed(other, -1.0)])
    assert chosen[0] == [far]
    assert [far, near] in chosen
    assert [far, other] in chosen
    assert not any(near in steps and other in steps for steps in chosen)


def test_clumsy_steps_are_not_taken_together_without_end() -> None:
    steps = [Weighed(Step(4 * place, 4 * place + 1, "x"), -3.0) for place in range(5)]
    assert max(map(len, combinations(steps))) == 2


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.floats(-4, 4)), max_size=12))
def test_steps_that_are_taken_together_never_overlap(offers: list[tuple[int, int, float]]) -> None:
    weighed = [Weighed(Step(start, start + size, "x"), gain) for start, size, gain in offers]
    for steps in combinations(weighed):
        ordered = sorted(steps, key=lambda step: (step.start, step.end))
        assert all(one.end <= two.start for one, two in pairwise(ordered))


def test_near_texts_say_the_same_in_other_words(pair: Pair) -> None:
    source = "The old bridge was closed on Monday because of the rain."
    near = run(pair, near_texts(pair, source))
    assert near
    assert source not in near
    assert len(set(near)) == len(near)
    assert all(edits(source, text).unlisted == 0 for text in near[:3])


def test_a_text_without_steps_has_no_near_texts(pair: Pair) -> None:
    assert run(pair, near_texts(pair, "Zxqv?")) == []
