"""Reflector and the public names: what they take, what they refuse, and what `help()` says of them."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import refdec
from refdec import (
    Constraints,
    FingerprintSettings,
    InfillResult,
    InfillSettings,
    InputError,
    ParaphraseSettings,
    Reflector,
    RewriteSettings,
    ScoreSettings,
    SettingsError,
    load_pair,
)
from refdec.metrics.novelty import novelty
from refdec.settings import default_preset
from refdec.tasks.confidence import calibration
from refdec.text.stems import stem
from tests.small_pair import small_texts

QUICK: dict[str, Any] = {"contexts": 3, "context_tokens": 6, "kept_contexts": 2}
SAMPLED: dict[str, Any] = QUICK | {"samples": 2}


@pytest.fixture(scope="module")
def small(small_pair: Path) -> Reflector:
    return Reflector(load_pair(small_pair, device="cpu"))


def test_no_cache_grows_with_the_texts_it_is_given() -> None:
    for number in range(5_000):
        assert novelty(f"Word{number} is new.", f"It's word {number}.") > 0
        assert stem(f"{number}s")
        assert calibration(f"pair:{number}") is None
    caches = [item for item in gc.get_objects() if type(item) is functools._lru_cache_wrapper]
    sizes = {f"{item.__module__}.{item.__qualname__}": item.cache_info().currsize for item in caches}
    grown = {name: size for name, size in sizes.items() if name.startswith("refdec.") and size > 4096}
    assert "refdec.text.words._words" in sizes
    assert grown == {}


@pytest.mark.parametrize(
    ("kind", "on_gpu"),
    [
        (ParaphraseSettings, "deep"),
        (RewriteSettings, "deep"),
        (FingerprintSettings, "deep"),
        (InfillSettings, "released"),
        (ScoreSettings, "wide"),
    ],
)
def test_a_new_preset_does_not_become_the_default(
    kind: type[FingerprintSettings], on_gpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    presets = {"first": kind(), **refdec.PRESETS[kind.task], "last": kind()}
    monkeypatch.setitem(refdec.PRESETS, kind.task, presets)
    assert default_preset(kind, "cpu") == "fast"
    assert default_preset(kind, "cuda") == on_gpu
