from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from refdec.lm.direction import Direction


@given(st.lists(st.integers()), st.sampled_from(Direction))
def test_arranging_twice_gives_the_text_back(ids: list[int], direction: Direction) -> None:
    assert direction.arrange(direction.arrange(ids)) == ids


def test_only_the_backward_direction_reverses() -> None:
    assert Direction.FORWARD.arrange([1, 2, 3]) == [1, 2, 3]
    assert Direction.BACKWARD.arrange([1, 2, 3]) == [3, 2, 1]


def test_each_direction_is_the_opposite_of_its_opposite() -> None:
    assert {direction.opposite for direction in Direction} == set(Direction)
    assert all(direction.opposite.opposite is direction for direction in Direction)
