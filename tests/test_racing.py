"""Who may be left out of a race: only those that can no longer be the best at any novelty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdec import Reflector, load_pair
from refdec.reflect.racing import in_race
from tests.conftest import TINY
from tests.small_pair import small_texts

RUNNERS = st.lists(
    st.tuples(st.floats(-50, 0), st.sampled_from([0.0, 10.0, 30.0, 60.0]), st.booleans()), min_size=1, max_size=30
)


@given(RUNNERS, st.integers(1, 8))
def test_the_best_at_every_novelty_stays(runners: list[tuple[float, float, bool]], ahead: int) -> None:
    scores, novelty, copies = (list(part) for part in zip(*runners, strict=True))
    kept = set(in_race(scores, novelty, copies, ahead))
    for floor in (0.0, 10.0, 30.0, 60.0):
        novel = [index for index, copy in enumerate(copies) if not copy and novelty[index] >= floor]
        if novel:
            best = max(scores[index] for index in novel)
            assert kept & {index for index in novel if scores[index] == best}


@given(RUNNERS)
def test_copies_stay_and_push_nobody_out(runners: list[tuple[float, float, bool]]) -> None:
    scores, novelty, copies = (list(part) for part in zip(*runners, strict=True))
    kept = in_race(scores, novelty, copies)
    assert {index for index, copy in enumerate(copies) if copy} <= set(kept)
    others = [index for index, copy in enumerate(copies) if not copy]
    alone = in_race([scores[i] for i in others], [novelty[i] for i in others], [False] * len(others))
    assert [others[index] for index in alone] == [index for index in kept if not copies[index]]


def test_a_candidate_is_out_when_enough_as_novel_ones_are_ahead() -> None:
    assert in_race([0.0, -1.0, -2.0, -3.0], [5.0, 5.0, 5.0, 5.0], [False] * 4, ahead=2) == [0, 1]
    assert in_race([0.0, -1.0, -2.0, -3.0], [5.0, 5.0, 5.0, 9.0], [False] * 4, ahead=2) == [0, 1, 3]


def test_those_that_stay_have_the_scores_of_exact_reading(small_pair: Path) -> None:
    reflector = Reflector(load_pair(small_pair, device="cpu", precision="float32"))
    settings: dict[str, Any] = TINY | {"samples": 24, "entropy": 12.0, "kept_contexts": 4, "contexts": 8}
    dropped = 0
    for text in small_texts(4):
        raced = reflector.paraphrase(text, "fast", **settings)
        exact = reflector.paraphrase(text, "fast", exact=True, **settings)
        assert exact.dropped == 0
        assert len(raced.candidates) + raced.dropped == len(exact.candidates)
        scores = {item.text: item for item in exact.candidates}
        for item in raced.candidates:
            assert item.score == pytest.approx(scores[item.text].score, abs=1e-3)
            assert item.fits == pytest.approx(scores[item.text].fits, abs=1e-3)
        dropped += raced.dropped
    assert dropped > 0
