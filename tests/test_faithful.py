"""Rewording with the echo, the ledger and particles: what users get, and the parts by themselves."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refdec import Constraints, Direction, InputError, Pair, Reflector
from refdec.cli.options import given
from refdec.lm.examples import Examples, read_examples
from refdec.settings import ParaphraseSettings, preset
from refdec.tasks.joining import distinct, joined, joints, says_again
from refdec.tasks.steering import OTHER_MARK, Faithful
from refdec.text.inner_quotes import with_double_quotes, with_single_quotes

EXAMPLES = Examples((("He was ill.", "He was sick."), ("Is it far?", "How far is it?")))
TINY: dict[str, Any] = {"contexts": 4, "context_tokens": 6, "kept_contexts": 1, "samples": 6, "rounds": 1}
SOURCE = "The old bridge was closed on Monday because of the rain."


@pytest.fixture(scope="module")
def reflector(pair: Pair) -> Reflector:
    return Reflector(replace(pair, examples=EXAMPLES))


def texts(result: Any) -> list[tuple[str, float]]:
    return [(item.text, round(item.cost, 6)) for item in result.candidates]


def test_same_text_same_results_in_any_batch(reflector: Reflector) -> None:
    sources = [SOURCE, "Is it far from here to the station?"]
    together = reflector.paraphrase(sources, "faithful", **TINY)
    assert [texts(result) for result in together] == [
        texts(reflector.paraphrase(source, "faithful", **TINY)) for source in sources
    ]


def test_candidates_carry_what_changed_and_how_they_read(reflector: Reflector) -> None:
    result = reflector.paraphrase(SOURCE, "faithful", **TINY)
    assert result.candidates
    for item in result.candidates:
        assert item.cost is not None
        assert item.flow is not None
        line = item.to_dict()
        assert set(line["flow"]) == {"whole", "worst", "broken"}
        assert line["changes"] == list(item.changes)
    assert "examples:" in result.signature


def test_contexts_generate_beside_the_echo(reflector: Reflector) -> None:
    result = reflector.paraphrase(SOURCE, "faithful", **TINY, echo=0.5, echo_contexts=1)
    assert texts(result) != texts(reflector.paraphrase(SOURCE, "faithful", **TINY))


def test_constraints_hold_in_what_is_returned(reflector: Reflector) -> None:
    constraints = Constraints(keep=["Monday"], avoid=["rain"])
    result = reflector.paraphrase(SOURCE, "faithful", **TINY, constraints=constraints)
    assert all(not constraints.failures(item.text) for item in result.candidates)


def test_each_sentence_of_a_text_is_said(reflector: Reflector) -> None:
    source = "The bridge is old. Nobody walks there at night."
    result = reflector.paraphrase(source, "faithful", **TINY)
    assert (result.candidates[0].cost or 0.0) <= 1.0
    assert "night" in result.candidates[0].text


def test_a_whole_sentence_is_rewritten_by_its_echo_and_a_part_by_its_contexts(reflector: Reflector) -> None:
    whole = reflector.rewrite(f"It was late. [[{SOURCE}]] So we left.", "faithful", **TINY)
    part = reflector.rewrite("It was [[very late]], so we left.", "faithful", **TINY)
    assert whole.candidates[0].cost is not None
    assert part.candidates


def test_without_echo_and_ledger_a_pair_with_examples_gives_what_it_gave(pair: Pair, reflector: Reflector) -> None:
    plain, lent = (
        one.paraphrase(SOURCE, "paper", contexts=6, context_tokens=8, kept_contexts=2, samples=4)
        for one in (Reflector(pair), reflector)
    )
    assert [item.to_dict() for item in plain.candidates] == [item.to_dict() for item in lent.candidates]
    assert plain.signature == lent.signature


def test_a_pair_without_examples_is_refused_with_the_remedy(pair: Pair) -> None:
    with pytest.raises(InputError, match=r"has no examples of rewording.*--examples"):
        Reflector(replace(pair, examples=None)).paraphrase(SOURCE, "faithful", **TINY)


class Letters:
    """A ledger in which each letter-word of the source must come once: 1 for a new one, 2 for each that is missing."""

    def __init__(self, source: str) -> None:
        self._source = Counter(source.rstrip(".").split())
        self.start: tuple[str, ...] = ()

    def write(self, state: tuple[str, ...], word: str) -> tuple[float, tuple[str, ...]]:
        bare = word.rstrip(".?")
        return float(state.count(bare) >= self._source[bare]), (*state, bare)

    def missing(self, state: tuple[str, ...]) -> float:
        return 2.0 * sum((self._source - Counter(state)).values())


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("The dog sleeps.", 0.0),
        ("The cat sleeps.", 3.0),
        ("The dog dog sleeps.", 1.0),
        ("The sleeps.", 2.0),
    ],
)
def test_a_text_is_worth_what_the_ledger_charges_in_either_direction(
    pair: Pair, direction: Direction, text: str, cost: float
) -> None:
    tokens = pair.tokens
    potential = Faithful(
        account=Letters("The dog sleeps."),  # type: ignore[arg-type]
        tokens=tokens,
        direction=direction,
        source=(),
        stops=tokens.containing('"'),
        ends='"',
        strength=2.0,
        copying=0.0,
    )
    whole = tokens.encode(f'{text}"' if direction is Direction.FORWARD else f'"{text}')
    assert value(potential, direction.arrange(whole)) == pytest.approx(-2.0 * cost)


@pytest.mark.parametrize("direction", Direction)
def test_copying_has_its_price_from_the_third_token_on(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    source = tokens.encode(" The dog sleeps in the old house")
    potential = Faithful(
        account=Letters("The dog sleeps in the old house"),  # type: ignore[arg-type]
        tokens=tokens,
        direction=direction,
        source=source,
        stops=(),
        ends='"',
        strength=0.0,
        copying=0.5,
    )
    order = direction.arrange(source)
    assert value(potential, order) == pytest.approx(-0.5 * (len(order) - 2))
    assert value(potential, order[:2]) == 0.0


def test_another_mark_at_the_end_is_charged(pair: Pair) -> None:
    tokens = pair.tokens
    potential = Faithful(
        account=Letters("The dog sleeps."),  # type: ignore[arg-type]
        tokens=tokens,
        direction=Direction.FORWARD,
        source=(),
        stops=tokens.containing('"'),
        ends='"',
        strength=1.0,
        copying=0.0,
        mark="?",
    )
    assert value(potential, tokens.encode('The dog sleeps."')) == -OTHER_MARK
    assert value(potential, tokens.encode('The dog sleeps?"')) == 0.0


def value(potential: Faithful, ids: list[int]) -> float:
    state, total = potential.start, 0.0
    for token in ids:
        nats = potential.ahead([state], np.array([[token]]))
        more, state = potential.after(state, token)
        total += more + float(nats.sum())
    return total


def test_parts_are_joined_where_two_neighbouring_words_agree() -> None:
    assert joints("on Monday the old bridge fell", "the old bridge was closed") == [
        "on Monday the old bridge was closed"
    ]
    assert joints("the old bridge fell", "the old bridge was closed") == []
    assert joints("one two", "three four") == []


def test_only_faithful_joints_are_kept_and_nothing_is_said_twice() -> None:
    source = "The old bridge was closed on Monday"

    def price(text: str) -> float:
        return 0.0 if "closed" in text and "Monday" in text else 5.0

    found = joined(source, {source: 0.0, "On Monday the old bridge fell": 5.0}, price, 1.0)
    assert found == {}  # the only joint says Monday twice
    found = joined(source, {source: 0.0, "That old bridge was opened": 5.0}, price, 1.0)
    assert found == {"That old bridge was closed on Monday": 0.0}


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("The bridge, the old bridge, was closed", True),
        ("The dog and the cat and the cow", False),
        ("It is as old as it is as big", True),
        ("That house that fell", False),
    ],
)
def test_saying_something_again_is_noticed(text: str, again: bool) -> None:
    assert says_again(text, "The old bridge was closed") == again
    assert not says_again(text, text)


def test_texts_that_differ_in_case_and_spacing_count_once() -> None:
    assert distinct(["One two", "one  Two", "three"]) == ["One two", "three"]


@pytest.mark.parametrize(
    "text",
    ['He said, "We are late," and left.', 'The "best" dog of the workers\' party.', '"Go," she said. "Don\'t wait."'],
)
def test_quotes_inside_a_quoted_text_come_back(text: str) -> None:
    inner = with_single_quotes(text)
    assert '"' not in inner
    assert with_double_quotes(inner) == text


def test_a_lone_quote_is_left_out() -> None:
    assert with_single_quotes('It is 5" long') == "It is 5 long"


def test_examples_are_mirrored_for_the_backward_model() -> None:
    assert EXAMPLES.before("X.").endswith('"Is it far?" In other words, "How far is it?"\n"X." In other words,')
    assert EXAMPLES.after("X.").startswith(' In other words, "X."\n"He was sick." In other words, "He was ill."\n')


def test_examples_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "examples.json"
    content = {"examples": [["A b.", "C d."], ["E.", "F."]], "used": 1, "link": " That is, "}
    file.write_text(json.dumps(content), encoding="utf-8")
    assert read_examples(file) == Examples((("A b.", "C d."),), " That is, ")
    assert read_examples(file).digest != EXAMPLES.digest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nothing", "has no examples that can be read"),
        ('{"examples": []}', "has no examples. Give at least one"),
        ('{"examples": [["A"]]}', "has no examples that can be read"),
        ('{"examples": [["A", "say \\"B\\""]]}', "has a double quote"),
    ],
)
def test_examples_that_cannot_be_used_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "examples.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_examples(file)


def test_examples_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_examples(tmp_path / "none.json")


def test_a_novelty_that_is_asked_for_sets_the_price_of_copying() -> None:
    low, high = (given(ParaphraseSettings, {"novelty": novelty})["copying"] for novelty in (10.0, 40.0))
    assert 0 < low < high
    assert given(ParaphraseSettings, {"novelty": 40.0, "copying": 0.2}) == {"copying": 0.2}
    assert "copying" not in given(ParaphraseSettings, {"novelty": None})


def test_the_papers_settings_have_neither_echo_nor_ledger() -> None:
    for name in ("paper", "fast", "deep"):
        settings = preset(ParaphraseSettings, name)
        assert (settings.echo, settings.ledger, settings.copying, settings.rounds) == (0, 0, 0, 1)
