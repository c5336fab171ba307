"""The suite does not depend on how fast a machine is or on who runs it, and knows which of its tests take long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from refdec import Pair
from refdec.lm.pair import EMBEDDED
from tests.conftest import OUTSIDE


def test_no_example_has_a_deadline() -> None:
    assert hypothesis.settings().deadline is None
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings().suppress_health_check


def test_the_environment_of_the_user_changes_no_output() -> None:
    assert not set(OUTSIDE) & set(os.environ)


def marks(request: pytest.FixtureRequest) -> set[str]:
    return {mark.name for mark in request.node.iter_markers()}


def say_nothing() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.fixture
def process() -> None:
    say_nothing()


def test_starting_a_process_is_marked(request: pytest.FixtureRequest) -> None:
    say_nothing()
    assert marks(request) == {"processes"}


def test_starting_a_process_in_a_fixture_is_marked(process: None, request: pytest.FixtureRequest) -> None:  # noqa: ARG001
    assert "processes" in marks(request)


def test_loading_the_embedded_pair_is_marked(int8_pair: Pair, request: pytest.FixtureRequest) -> None:
    assert int8_pair.name.startswith(f"{EMBEDDED.name}:")
    assert marks(request) == {"weights"}


def test_a_small_pair_is_neither(small_pair: Path, request: pytest.FixtureRequest) -> None:
    assert (small_pair / "tokenizer.json").is_file()
    assert marks(request) == set()
