"""Rewording after examples: what the models read, and that every pair gets the same random numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.examples import Examples, reword

from refdec import Direction, Reflector

PAIRS = [["Is it far?", "Is it a long way?"], ["It rained.", "There was rain."], ["Not used.", "Never read."]]


@pytest.fixture
def examples(tmp_path: Path) -> Examples:
    content = {"link": " In other words, ", "used": 2, "examples": PAIRS}
    (tmp_path / "examples.json").write_text(json.dumps(content))
    return Examples.read(tmp_path / "examples.json")


def test_each_model_reads_the_examples_first_and_writes_on_its_own_side(examples: Examples) -> None:
    lines = (
        '"Is it far?" In other words, "Is it a long way?"\n'
        '"It rained." In other words, "There was rain."\n'
    )  # fmt: skip
    assert examples.prompt("Why?", Direction.FORWARD) == lines + '"Why?" In other words, "'
    assert examples.prompt("Why?", Direction.BACKWARD) == '?" In other words, "Why?"\n' + lines
    assert examples.prompt("Go on", Direction.BACKWARD).startswith('" In other words, "Go on"\n')


@pytest.mark.parametrize("direction", Direction)
def test_a_sample_depends_on_its_source_and_seed_alone(
    small_reflector: Reflector, examples: Examples, direction: Direction
) -> None:
    def sample(samples: int, seed: int) -> list[str]:
        return reword(small_reflector.pair, direction, examples, "Anna painted the house.", samples, seed)

    texts = sample(4, 0)
    assert len(texts) == 4
    assert not any('"' in text or "\n" in text for text in texts)
    assert sample(2, 0) == texts[:2]
    assert sample(4, 1) != texts
