"""kill -9 at any moment costs only the rows under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills import Undisturbed, kill_and_resume, run_undisturbed


@pytest.fixture(scope="module")
def undisturbed(small_pair: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return run_undisturbed(tmp_path_factory.mktemp("undisturbed"), small_pair, rows=40)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_killed_batch_resumes_without_loss_or_repeat(engine: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    options = ("--engine", "ray", "--workers", "2", "--cpus", "1") if engine == "ray" else ()
    kills = 1 if engine == "ray" else 2  # a cluster takes its time to start
    killed = kill_and_resume(undisturbed, tmp_path / "out.jsonl", kills, options)
    assert killed.same
    assert len(killed.rows_at_kills) == kills
    assert sorted(killed.rows_at_kills) == list(killed.rows_at_kills)
