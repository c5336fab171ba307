from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from refdec import (
    PRESETS,
    FingerprintSettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
    SettingsError,
)
from refdec.reflect.weights import SOLVERS
from refdec.settings import default_preset, preset
from refdec.tasks.frame import FRAMES

KINDS = [FingerprintSettings, ParaphraseSettings, RewriteSettings, InfillSettings, ScoreSettings]


def test_the_paper_preset_is_the_papers_table() -> None:
    paper = preset(ParaphraseSettings, "paper")
    table = {"contexts": 80, "context_tokens": 50, "context_top_p": 0.7, "kept_contexts": 6, "samples": 30}
    assert {name: getattr(paper, name) for name in table} == table
    assert (paper.entropy, paper.extra_tokens) == (4.0, 5)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("paper", {"contexts": 50, "context_tokens": 50, "kept_contexts": 6, "samples": 20}),
        ("released", {"contexts": 100, "context_tokens": 30, "kept_contexts": 8, "samples": 30}),
    ],
)
def test_the_infill_presets_are_the_papers_and_the_released_codes(name: str, table: dict[str, int]) -> None:
    found = preset(InfillSettings, name)
    assert {key: getattr(found, key) for key in table} == table
    assert (found.tokens, found.entropy, found.context_top_p) == (20, 6.0, 0.9)


@pytest.mark.parametrize("kind", KINDS)
def test_every_task_has_its_presets(kind: type[FingerprintSettings]) -> None:
    assert list(PRESETS[kind.task])[:2] == ["fast", "paper"]
    assert all(type(found) is kind for found in PRESETS[kind.task].values())
    assert preset(kind, "paper") == kind()
    assert default_preset(kind, "cpu", examples=False) == "fast"
    assert default_preset(kind, "cuda", examples=False) == list(PRESETS[kind.task])[-1] != "fast"
    with pytest.raises(SettingsError, match=f"no {kind.task} preset 'fats' .did you mean 'fast'"):
        preset(kind, "fats")


@pytest.mark.parametrize("kind", KINDS)
def test_a_description_is_what_tasks_share(kind: type[FingerprintSettings]) -> None:
    own = kind(contexts=7, seed=3, frame="none").description()
    assert type(own) is FingerprintSettings
    assert own == FingerprintSettings(**{name: getattr(kind(), name) for name in FingerprintSettings.names()}).replace(
        contexts=7, seed=3, frame="none"
    )


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (RewriteSettings, {"in_place": 1.1}),
        (RewriteSettings, {"neighbour_weight": -0.1}),
        (RewriteSettings, {"place": math.inf}),
        (RewriteSettings, {"frame": "quoted"}),
        (InfillSettings, {"tokens": 0}),
        (InfillSettings, {"sentences": 1.5}),
        (InfillSettings, {"least_words": 21}),
        (InfillSettings, {"no_repeat": 1}),
        (InfillSettings, {"credit": "some"}),
        (InfillSettings, {"frame": "quoted"}),
        (ScoreSettings, {"sides": "up"}),
        (ScoreSettings, {"weighting": ["kept"]}),
        (ScoreSettings, {"symmetric": 1}),
        (ScoreSettings, {"fluency": math.nan}),
        (ScoreSettings, {"resamples": -1}),
        (FingerprintSettings, {"minimum_weight": "0"}),
    ],
)
def test_a_wrong_setting_of_any_task_is_refused_with_its_name_and_value(
    kind: type[FingerprintSettings], wrong: dict[str, Any]
) -> None:
    ((name, value),) = wrong.items()
    for make in (kind, kind().replace):
        with pytest.raises(SettingsError) as caught:
            make(**wrong)
        assert name in str(caught.value)
        assert repr(value) in str(caught.value)


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


@pytest.mark.parametrize("kind", KINDS)
def test_every_choice_exists(kind: type[FingerprintSettings]) -> None:
    choices = {item.name: item.metadata["choices"] for item in dataclasses.fields(kind)}
    assert set(choices["frame"]) <= set(FRAMES)
    assert set(choices["solver"]) == set(SOLVERS)
    assert all(item.metadata["help"] for item in dataclasses.fields(kind))


def test_settings_cannot_change_once_made() -> None:
    with pytest.raises(AttributeError):
        PRESETS["paraphrase"]["fast"].contexts = 3  # type: ignore[misc]
