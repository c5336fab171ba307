from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from refdec import PRESETS, ParaphraseSettings, SettingsError
from refdec.reflect.weights import SOLVERS
from refdec.settings import preset
from refdec.tasks.frame import FRAMES


def test_the_paper_preset_is_the_papers_table() -> None:
    paper = preset(ParaphraseSettings, "paper")
    table = {"contexts": 80, "context_tokens": 50, "context_top_p": 0.7, "kept_contexts": 6, "samples": 30}
    assert {name: getattr(paper, name) for name in table} == table
    assert (paper.entropy, paper.extra_tokens) == (4.0, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"contexts": 0},
        {"contexts": 10**12},
        {"contexts": 3.5},
        {"contexts": True},
        {"contexts": "many"},
        {"context_top_p": 1.5},
        {"context_top_p": math.nan},
        {"entropy": math.inf},
        {"entropy": -1.0},
        {"seed": -1},
        {"seed": 2**80},
        {"frame": "round"},
        {"solver": "guess"},
    ],
)
def test_a_wrong_setting_is_refused_with_its_name_value_and_range(wrong: dict[str, Any]) -> None:
    name, value = next(iter(wrong.items()))
    with pytest.raises(SettingsError) as caught:
        ParaphraseSettings(**wrong)
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


def test_a_typo_is_answered_with_what_was_meant() -> None:
    with pytest.raises(SettingsError, match="did you mean 'contexts'"):
        ParaphraseSettings().replace(context=3)
    with pytest.raises(SettingsError, match="did you mean 'paper'"):
        preset(ParaphraseSettings, "papr")


def test_every_choice_exists() -> None:
    choices = {item.name: item.metadata["choices"] for item in dataclasses.fields(ParaphraseSettings)}
    assert set(choices["frame"]) == set(FRAMES)
    assert set(choices["solver"]) == set(SOLVERS)


def test_settings_cannot_change_once_made() -> None:
    with pytest.raises(AttributeError):
        PRESETS["paraphrase"]["fast"].contexts = 3  # type: ignore[misc]
