"""Settings that turn off one part of the method: each changes that part, and by default all is as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from refdec import Pair, Reflector, SettingsError
from refdec.lm.examples import Examples
from refdec.reflect.mixture import generate
from refdec.reflect.schedule import run
from refdec.settings import ParaphraseSettings, RewriteSettings
from refdec.tasks import echoing, faithful
from refdec.tasks.constraints import NONE
from refdec.tasks.steering import Faithful
from tests.conftest import TINY

SOURCE = "The train was late again."


def test_by_default_both_sides_are_calibrated_and_steered() -> None:
    for settings in (ParaphraseSettings(), RewriteSettings()):
        assert (settings.steered, settings.sides, settings.top_p) == (True, "both", 0.0)
        assert settings.side_names == ("right", "left")
    with pytest.raises(SettingsError, match="sides is 'up'; choose one of both, right, left"):
        ParaphraseSettings(sides="up")


@pytest.mark.parametrize("side", ["right", "left"])
def test_one_side_describes_writes_and_judges(small_reflector: Reflector, side: str) -> None:
    result = small_reflector.paraphrase(SOURCE, "paper", **TINY, sides=side)
    assert {context.side for context in result.contexts} == {side}
    assert {item.side for item in result.candidates} <= {side}
    both = small_reflector.paraphrase(SOURCE, "paper", **TINY)
    assert [item for item in both.contexts if item.side == side] == list(result.contexts)
    there = {item.text: item.side for item in both.candidates}
    assert all(there[item.text] in (side, "both") for item in result.candidates)


def test_a_rewriting_can_have_one_side_too(small_reflector: Reflector) -> None:
    result = small_reflector.rewrite("It was late. [[We were tired.]] We left.", "paper", **TINY, sides="left")
    assert {context.side for context in result.contexts} == {"left"}


def test_a_fingerprint_of_both_sides_serves_one(small_reflector: Reflector) -> None:
    description = {name: value for name, value in TINY.items() if name != "samples"}
    saved = small_reflector.fingerprint(SOURCE, "paper", **description)
    result = small_reflector.paraphrase(SOURCE, "paper", **TINY, sides="right", fingerprint=saved)
    assert {context.side for context in result.contexts} == {"right"}


def test_a_fixed_nucleus_replaces_the_calibrated_one(
    small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    nuclei: list[float] = []

    async def watched(mixture: Any, *given: Any) -> Any:
        nuclei.append(mixture.top_p)
        return await generate(mixture, *given)

    monkeypatch.setattr("refdec.tasks.candidates.generate", watched)
    small_reflector.paraphrase(SOURCE, "paper", **TINY)
    calibrated = nuclei[:]
    small_reflector.paraphrase(SOURCE, "paper", **TINY, top_p=0.9)
    assert nuclei[2:] == [0.9, 0.9]
    assert 0.9 not in calibrated


def saying(pair: Pair, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[tuple[float, Faithful]]:
    """The nucleus and the potential of every population."""
    seen: list[tuple[float, Faithful]] = []

    async def watched(_saying: Any, mixture: Any, potential: Faithful, *_: Any) -> list[Any]:
        seen.append((mixture.top_p, potential))
        return []

    monkeypatch.setattr(echoing, "_particles", watched)
    settings = ParaphraseSettings(**TINY, echo=1.0, ledger=1.5, copying=0.9, populations=2).replace(**changes)
    one = echoing.Saying(pair, SOURCE, settings, NONE, 0, settings.entropy)
    run(pair, echoing.reworded(one))
    return seen


def test_unsteered_samples_pay_nothing_and_the_ledger_still_ranks(
    untrained: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = replace(untrained.pair, examples=Examples((("It was late.", "The hour was late."),)))
    steered = saying(pair, monkeypatch)
    assert [potential.strength for _, potential in steered] == [1.5] * 4
    assert sorted(potential.copying for _, potential in steered) == pytest.approx([0.45, 0.45, 1.35, 1.35])
    free = saying(pair, monkeypatch, steered=False, top_p=0.95, sides="left")
    assert [(top_p, one.strength, one.copying) for top_p, one in free] == [(0.95, 0.0, 0.0)] * 2


def test_without_a_ledger_nothing_is_priced_or_joined(untrained: Reflector, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise AssertionError("the ledger was asked")

    async def written(_: Any) -> list[tuple[str, str]]:
        return [("A lorry fell into the sea.", "left"), ("The train came late again.", "right")]

    async def near(*_: Any) -> list[str]:
        return []

    monkeypatch.setattr(faithful, "reworded", written)
    monkeypatch.setattr(faithful, "near_texts", near)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faithful, "compare", refused)
        patch.setattr(faithful, "joined", refused)
        settings = ParaphraseSettings(**TINY, echo=1.0)
        free = run(untrained.pair, faithful._priced(untrained.pair, SOURCE, settings, NONE))
    assert set(free.costs.values()) == {0.0}
    ruled = run(untrained.pair, faithful._priced(untrained.pair, SOURCE, settings.replace(ledger=1.5), NONE))
    assert ruled.costs["A lorry fell into the sea."] > 1
