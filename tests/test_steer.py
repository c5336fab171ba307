"""Steering while generating, in both directions, on hand-made log-probabilities over the real tokenizer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from refdec import Constraints, Direction, Pair
from refdec.lm.tokens import Tokens
from refdec.reflect import reference
from refdec.reflect.particles import Steer, Steering, Trivial, steer_all
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling
from refdec.reflect.workers import complete
from refdec.tasks.steer import Avoid, Edge, Keep, NoRepeat, all_of
from tests.table_model import TableModel, random_table

FORWARD, BACKWARD = Direction.FORWARD, Direction.BACKWARD
SOURCE = " Anna lived in Paris for 15 years."
PIECES = [" u", "mb", "re", "lla", " art", "art", " artist", " the", " flower", " Paris", " ", "1", "5", ".", " she"]
ROUNDING = 1e-3  # of float32 sums over a vocabulary


def only_token(tokens: Tokens, piece: str) -> int:
    (token,) = tokens.encode(piece)
    return token


def pieces_of(tokens: Tokens, word: str) -> set[str]:
    """What a word is put together of, within a text and at the beginning of one."""
    return {tokens.text(token) for form in (word, f" {word}") for token in tokens.encode(form)}


def spoken(tokens: Tokens, direction: Direction, text: str) -> list[int]:
    """What was said so far, in reading order."""
    return direction.arrange(tokens.encode(text))


def probable(tokens: Tokens, *pieces: str) -> torch.Tensor:
    """Log-probabilities with nearly all mass on these pieces, and a little on everything else."""
    logits = torch.zeros(tokens.vocabulary)
    logits[[only_token(tokens, piece) for piece in pieces]] = 15.0
    return logits.log_softmax(-1)


def probability(tokens: Tokens, logprobs: torch.Tensor, *pieces: str) -> float:
    assert float(logprobs.logsumexp(-1)) == pytest.approx(0, abs=ROUNDING)
    return sum(math.exp(float(logprobs[only_token(tokens, piece)])) for piece in pieces)


def keep(
    tokens: Tokens,
    direction: Direction,
    *phrases: str,
    stops: Sequence[str] = (),
    source: str = SOURCE,
    held: str = "",
) -> Keep:
    ids = spoken(tokens, direction, source)
    ends = [only_token(tokens, stop) for stop in stops]
    return Keep(Edge(tokens, direction, held), Constraints(keep=phrases), ends, ids, len(ids))


@pytest.mark.parametrize(
    ("direction", "held", "text", "banned"),
    [
        (FORWARD, "", " an umbre", "lla"),
        (BACKWARD, "", "mbrella", " u"),
        (FORWARD, " an umbre", "", "lla"),
        (BACKWARD, "lla.", "re", "umb"),
        (FORWARD, "", " the", " flower"),
        (BACKWARD, "", ".", " flower"),
    ],
)
def test_a_word_to_avoid_cannot_be_completed(
    pair: Pair, direction: Direction, held: str, text: str, banned: str
) -> None:
    tokens = pair.tokens
    rule = Avoid(Edge(tokens, direction, held), Constraints(avoid=("Umbrella", "FLOWER")))
    steered = rule(spoken(tokens, direction, text), probable(tokens, banned, " she"), 9)
    assert probability(tokens, steered, banned) == 0
    assert probability(tokens, steered, " she") > 0.9


def test_a_word_to_avoid_that_is_there_already_may_still_become_another(pair: Pair) -> None:
    tokens = pair.tokens
    rule = Avoid(Edge(tokens, FORWARD, " the art"), Constraints(avoid=("art",)))
    before = probable(tokens, "ist", " flower")
    assert rule([], before, 9) is before


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("word", ["Wolverhampton", "15"])
def test_a_word_to_keep_that_has_begun_is_finished(pair: Pair, word: str, direction: Direction) -> None:
    tokens = pair.tokens
    rule = keep(tokens, direction, word)
    spellings = [
        spoken(tokens, direction, form) for form in (word, f" {word}")
    ]  # as the first word, and as a later one
    for ids in spellings:
        for place in range(1, len(ids)):
            following = {other[place] for other in spellings if other[:place] == ids[:place] and len(other) > place}
            if tokens.text(ids[place]) == " ":
                continue  # all of a number is said, read backward
            steered = rule(ids[:place], probable(tokens, " the"), 9)
            assert probability(tokens, steered, *map(tokens.text, following)) == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize(("direction", "free"), [(FORWARD, " the"), (BACKWARD, " ")])
def test_a_number_that_was_kept_does_not_go_on(pair: Pair, direction: Direction, free: str) -> None:
    rule = keep(pair.tokens, direction, "15")
    steered = rule(spoken(pair.tokens, direction, "15"), probable(pair.tokens, "2", free), 9)
    assert probability(pair.tokens, steered, "2") == 0
    assert probability(pair.tokens, steered, free) > 0.9


@pytest.mark.parametrize(
    ("direction", "text"), [(FORWARD, " Anna lived in"), (BACKWARD, " for 15 years."), (FORWARD, " She was in")]
)
def test_a_phrase_is_pushed_where_it_stands_in_the_source(pair: Pair, direction: Direction, text: str) -> None:
    tokens = pair.tokens
    rule = keep(tokens, direction, "Paris")
    steered = rule(spoken(tokens, direction, text), probable(tokens, " the"), 9)
    assert probability(tokens, steered, *pieces_of(tokens, "Paris")) >= 0.9 - ROUNDING


@pytest.mark.parametrize("direction", Direction)
def test_a_phrase_before_its_place_needs_to_be_plausible(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    unlikely, likely = probable(tokens, " the"), probable(tokens, " the", " Paris")
    rule = keep(tokens, direction, "Paris")
    assert probability(tokens, rule([], unlikely, 9), " Paris") < 0.01
    assert probability(tokens, rule([], likely, 9), " Paris") >= probability(tokens, likely, " Paris")


@pytest.mark.parametrize("direction", Direction)
def test_what_lacks_is_said_when_room_runs_out(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    rule = keep(tokens, direction, "Paris", "Paris")
    said, elsewhere = spoken(tokens, direction, " and"), probable(tokens, " the")
    assert probability(tokens, rule(said, elsewhere, 2), *pieces_of(tokens, "Paris")) == pytest.approx(1, abs=ROUNDING)
    assert probability(tokens, rule(said, elsewhere, 3), *pieces_of(tokens, "Paris")) < 0.9


@pytest.mark.parametrize("direction", Direction)
def test_a_text_does_not_end_before_everything_is_said(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    rule = keep(tokens, direction, "Paris", stops=['"'])
    ending = probable(tokens, '"', " the")
    assert probability(tokens, rule(spoken(tokens, direction, " and"), ending, 9), '"') == 0
    assert rule(spoken(tokens, direction, " Paris and"), ending, 9) is ending


def test_a_phrase_that_has_begun_in_the_held_part_is_finished(pair: Pair) -> None:
    tokens = pair.tokens
    rule = keep(tokens, BACKWARD, "5 years?", held='?"', source=" for 5 years")
    steered = rule([], probable(tokens, " the"), 3)
    assert probability(tokens, steered, *pieces_of(tokens, "years")) == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize("direction", Direction)
def test_a_placeholder_is_not_said_again_and_does_not_stand_in_the_way_of_others(
    pair: Pair, direction: Direction
) -> None:
    tokens = pair.tokens
    begins = tokens.text(spoken(tokens, direction, " {name}")[0])
    said = spoken(tokens, direction, " with {name} and")
    before = probable(tokens, begins, " ", " the")
    done = keep(tokens, direction, "{name}")(said, before, 9)
    assert probability(tokens, done, begins) == 0
    assert probability(tokens, done, " ") > 0.4
    assert probability(tokens, keep(tokens, direction, "{name}", "{town}")(said, before, 9), begins) > 0.3


@pytest.mark.parametrize("direction", Direction)
def test_the_third_word_of_a_known_triple_is_not_said(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    rule = NoRepeat(Edge(tokens, direction, ""), ("She missed the bus.", "It was late."), 3)
    text, third = (" She missed", " the") if direction is FORWARD else (" the bus", " missed")
    steered = rule(spoken(tokens, direction, text), probable(tokens, third, " was"), 9)
    assert probability(tokens, steered, third) == 0
    assert probability(tokens, steered, " was") > 0.9
    before = probable(tokens, third, " was")
    assert rule(spoken(tokens, direction, " it" + text if direction is BACKWARD else text + " it"), before, 9) is before


@pytest.mark.parametrize("direction", Direction)
def test_the_held_part_counts_as_said(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    held, text, third = (" She", " missed", " the") if direction is FORWARD else (" bus", " the", " missed")
    rule = NoRepeat(Edge(tokens, direction, held), ("She missed the bus.",), 3)
    steered = rule(spoken(tokens, direction, text), probable(tokens, third, " was"), 9)
    assert probability(tokens, steered, third) == 0


@pytest.mark.parametrize("direction", Direction)
def test_a_pair_of_its_own_words_is_not_said_twice(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    rule = NoRepeat(Edge(tokens, direction, ""), (), 3)
    text, second = (" the flower and the", " flower") if direction is FORWARD else (" flower and the flower", " the")
    steered = rule(spoken(tokens, direction, text), probable(tokens, second, " was"), 9)
    assert probability(tokens, steered, second) == 0
    assert probability(tokens, steered, " was") > 0.9


@pytest.mark.parametrize("direction", Direction)
def test_nothing_is_changed_where_nothing_is_asked(pair: Pair, direction: Direction) -> None:
    tokens = pair.tokens
    before = probable(tokens, " the", " Paris")
    said = spoken(tokens, direction, " Paris and")
    edge = Edge(tokens, direction, "")
    rules: list[Steer] = [
        Avoid(edge, Constraints(avoid=("umbrella",))),
        NoRepeat(edge, ("She missed the bus.",), 3),
        keep(tokens, direction, "Paris"),
    ]
    together = all_of(rules)
    assert together is not None
    assert together(said, before, 9) is before
    assert all_of([]) is None


@pytest.mark.parametrize("direction", Direction)
def test_a_phrase_that_never_comes_and_an_impossible_token_leave_numbers_finite(
    pair: Pair, direction: Direction
) -> None:
    tokens = pair.tokens
    rule = keep(tokens, direction, "Paris")
    said = [only_token(tokens, " the")] * 400
    hopeless = probable(tokens, " the")
    pieces = [only_token(tokens, piece) for piece in pieces_of(tokens, "Paris")]
    hopeless[pieces] = -100.0
    assert probability(tokens, rule(said, hopeless.log_softmax(-1), 9), *pieces_of(tokens, "Paris")) >= 0.9
    hopeless[pieces] = -torch.inf
    assert probability(tokens, rule(said, hopeless.log_softmax(-1), 9), " Paris") == 0
    assert probability(tokens, rule(said, hopeless.log_softmax(-1), 1), *pieces_of(tokens, "Paris")) == pytest.approx(1)


@given(
    direction=st.sampled_from(Direction),
    said=st.lists(st.sampled_from(PIECES), max_size=6),
    likely=st.lists(st.sampled_from(PIECES), min_size=1, max_size=6),
    left=st.integers(1, 9),
)
def test_log_probabilities_stay_normalised(
    pair: Pair, direction: Direction, said: list[str], likely: list[str], left: int
) -> None:
    tokens = pair.tokens
    edge = Edge(tokens, direction, "")
    rules: list[Steer] = [
        NoRepeat(edge, ("She saw the flower art.",), 3),
        Avoid(edge, Constraints(avoid=("umbrella", "artist"))),
        keep(tokens, direction, "Paris", "15", stops=["."]),
    ]
    logprobs = probable(tokens, *likely)
    for rule in rules:
        logprobs = rule([only_token(tokens, piece) for piece in said], logprobs, left)
        assert not bool(logprobs.isnan().any())
        assert float(logprobs.exp().sum()) == pytest.approx(1, abs=ROUNDING)


class Alternate:
    """A rule for table models: never the last token again, and its neighbour twice as probable at the end."""

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
        changed = logprobs.clone()
        if said:
            changed[said[-1]] = -torch.inf
            changed[(said[-1] + 1) % len(changed)] += math.log(2) * (left == 1)
        return changed.log_softmax(-1)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("experts", [1, 3])
@pytest.mark.parametrize("top_p", [0.0, 0.6, 1.0])
def test_steered_samples_are_those_of_a_plain_loop(direction: Direction, experts: int, top_p: float) -> None:
    model = TableModel(random_table(7, seed=2), direction)
    contexts = [[index, index + 2] for index in range(experts)]
    weights = torch.arange(1, experts + 1, dtype=torch.float32) / sum(range(experts + 1))
    allowed = torch.tensor([True] * 5 + [False, True])
    draws = uniforms(0, "text", "samples", 8, 6)
    prefixes = [direction.arrange(context) for context in contexts]
    sampling = Sampling(prefixes, weights, draws, top_p, allowed, stops={4})
    (drawn,) = complete(steer_all(model, [Steering(sampling, Trivial(), draws[0], steer=Alternate())]))
    for particle, row in zip(drawn, draws.tolist(), strict=True):
        said: list[int] = []
        for step, number in enumerate(row):
            plain = reference.mixed_logprobs(model, contexts, weights.tolist(), said, allowed.tolist())
            said.append(reference.draw(Alternate()(said, torch.tensor(plain), 6 - step).tolist(), top_p, number))
            if said[-1] == 4:
                break
        assert list(particle.tokens) == said
