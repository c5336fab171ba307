"""Reflector and the public names: what they take, what they refuse, and what `help()` says of them."""

from __future__ import annotations

import dataclasses
import functools
import gc
import inspect
import pydoc
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

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
    grown = {name: size for name, size in sizes.items() if name.startswith("refdec.") and size > 1 << 14}
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
    assert default_preset(kind, "cpu") == ("faithful" if issubclass(kind, ParaphraseSettings) else "fast")
    assert default_preset(kind, "cpu", examples=False) == "fast"
    assert default_preset(kind, "cuda") == on_gpu


def test_infill_all_takes_what_infill_takes(small: Reflector) -> None:
    left, right = small_texts(2)
    stages: list[str] = []
    options: dict[str, Any] = {"constraints": Constraints(avoid=("zebra",)), "explain": 1, "stage": stages.append}
    alone = small.infill(left, right, tokens=6, **options, **SAMPLED)
    assert alone.explanation is not None
    assert "avoid='zebra'" in alone.signature
    assert small.infill(f"{left} ___ {right}", tokens=6, **options, **SAMPLED) == alone
    stages.clear()
    gaps: list[Any] = [(left, right), f"{left} ___ {right}"]
    assert list(small.infill_all(gaps, tokens=6, **options, **SAMPLED)) == [alone, alone]
    assert stages


def test_several_gaps_are_filled_by_fill_and_refused_elsewhere(small: Reflector) -> None:
    text = "Anna walked ___ the house ___"
    results = small.fill(text, tokens=6, **SAMPLED)
    assert len(results) == 2
    assert all(isinstance(result, InfillResult) for result in results)
    for call in (small.infill, lambda gap: next(small.infill_all([gap]))):
        with pytest.raises(InputError, match=r"2 gaps.*fill"):
            call(text)


def test_a_gap_that_stays_open_is_not_the_next_one(small: Reflector, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    async def nothing(_: Any, left: str, right: str, *__: Any, **___: Any) -> InfillResult:
        asked.append((left, right))
        return InfillResult(left, right, (), (), "")

    monkeypatch.setattr("refdec.tasks.reflector.infill", nothing)
    small.fill("one ___ two ___")
    assert asked == [("one", "two"), ("one ___ two", "")]


def test_rewrite_all_takes_what_rewrite_takes(small: Reflector) -> None:
    left, span, right = small_texts(3)
    stages: list[str] = []
    options: dict[str, Any] = {"constraints": Constraints(avoid=("zebra",)), "explain": 1, "stage": stages.append}
    alone = small.rewrite(span, left=left + " ", right=" " + right, **options, **SAMPLED)
    assert alone.explanation is not None
    assert "avoid='zebra'" in alone.signature
    stages.clear()
    document = f"{left} {span} {right}"
    spans: list[Any] = [
        f"{left} [[{span}]] {right}",
        {"span": span, "left": left + " ", "right": " " + right},
        {"span": span, "document": document},
    ]
    assert list(small.rewrite_all(spans, **options, **SAMPLED)) == [alone] * 3
    assert stages


def test_score_all_takes_what_score_takes(small: Reflector, tmp_path: Path) -> None:
    reference, *candidates = small_texts(3)
    stages: list[str] = []
    options: dict[str, Any] = {"explain": True, "stage": stages.append}
    alone = small.score(reference, candidates, **options, **QUICK)
    assert alone[0].explanation is not None
    stages.clear()
    groups = [(reference, candidates), (reference, candidates[:1])]
    assert list(small.score_all(groups, **options, **QUICK)) == [alone, alone[:1]]
    assert list(small.score_all([(reference, candidates[1])], **options, **QUICK)) == [alone[1:]]
    assert stages
    file = tmp_path / "fingerprint.json"
    small.fingerprint(reference, frame="none", **QUICK).save(file)
    described = small.score(None, candidates, fingerprint=file)
    assert list(small.score_all([(None, candidates), (reference, candidates)], fingerprint=file)) == [described] * 2
    with pytest.raises(InputError, match="another text"):
        next(small.score_all([(candidates[0], reference)], fingerprint=file))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda small, items: small.infill_all(items, tokens=6, **SAMPLED), "A gap is .* not 5"),
        (lambda small, items: small.rewrite_all(items, **SAMPLED), "A span is .* not 5"),
        (lambda small, items: small.score_all(items, **QUICK), "A reference is needed .* not 5"),
        (lambda small, items: small.paraphrase(items, **SAMPLED), "A text is needed, not int"),
    ],
)
def test_what_is_wrong_in_a_stream_is_refused_in_its_turn(
    small: Reflector, call: Callable[[Reflector, Iterator[Any]], Iterator[Any]], message: str
) -> None:
    one, other = small_texts(2)
    good = {"A gap": (one, other), "A span": f"[[{one}]] {other}", "A reference": (one, [other])}
    first = next((item for start, item in good.items() if message.startswith(start)), one)
    results = call(small, iter([first, 5]))
    assert next(results)
    with pytest.raises(InputError, match=message):
        next(results)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda small: small.paraphrase(5), InputError, "a text, or several in a list or an iterator, not int"),
        (lambda small: small.paraphrase(b"Hello."), InputError, "not bytes"),
        (lambda small: small.paraphrase({"text": "Hello."}), InputError, "not dict"),
        (lambda small: small.paraphrase(["Hello.", 5]), InputError, "Text 2 of 2: A text is needed, not int"),
        (lambda small: small.paraphrase("Hi.", constraints={"keep": ["a"]}), InputError, r"Constraints\(keep=.*not d"),
        (lambda small: small.paraphrase("Hi.", constraints=["a"]), InputError, "Constraints.*not list"),
        (lambda small: small.paraphrase("Hi.", fingerprint=5), InputError, "Fingerprint or the name of its.*not int"),
        (lambda small: small.paraphrase("Hi.", explain="all"), SettingsError, "explain is 'all'"),
        (lambda small: small.paraphrase("Hi.", explain=-1), SettingsError, "explain is -1"),
        (lambda small: small.paraphrase("Hi.", stage="loud"), InputError, "stage .* function .*not str"),
        (lambda small: small.paraphrase("Hi.", top=3), SettingsError, r"'top' .* result\.top\(3\)"),
        (lambda small: small.paraphrase("Hi.", novelty=30), SettingsError, r"'novelty' .* result\.at_novelty\(30\)"),
        (lambda small: small.paraphrase("Hi.", preset="fast"), SettingsError, r"'preset' .* settings='fast'"),
        (lambda small: small.paraphrase("Hi.", keep=["a"]), SettingsError, r"'keep' .* constraints=Constraints\("),
        (lambda small: small.paraphrase("Hi.", device="cpu"), SettingsError, r"'device' .* Reflector\(device="),
        (lambda small: small.paraphrase("Hi.", tokens=3), SettingsError, "tokens is a setting of infill, not of para"),
        (lambda small: small.paraphrase("Hi.", constraint=3), SettingsError, "'constraint' .*mean 'constraints'"),
        (lambda small: small.rewrite("Hi.", lft="a"), SettingsError, "'lft' of rewrite .did you mean 'left'"),
        (lambda small: small.score("Hi.", "Ho.", top=3), SettingsError, "There is no setting 'top'. Settings: con"),
        (lambda small: list(small.batch(["Hi."], constraints={})), InputError, "Constraints.*not dict"),
        (lambda small: small.paraphrase("Hi.", context=3), SettingsError, "'context' .did you mean 'contexts'"),
        (lambda small: small.paraphrase("Hi.", wombat=3), SettingsError, "There is no setting 'wombat'. Settings: con"),
        (lambda small: small.paraphrase("Hi.", "dep"), SettingsError, "preset 'dep' .did you mean 'deep'"),
        (
            lambda small: small.paraphrase("Hi.", "released"),
            SettingsError,
            "'released'.*Presets: fast, paper, faithful, deep",
        ),
        (lambda small: small.paraphrase("Hi.", 5), SettingsError, "ParaphraseSettings or the name of a preset.*not i"),
        (lambda small: small.paraphrase("Hi.", InfillSettings()), SettingsError, "not InfillSettings"),
        (lambda small: small.paraphrase("Hi.", RewriteSettings()), SettingsError, "not RewriteSettings"),
        (lambda small: small.score("Hi.", "Ho.", ParaphraseSettings()), SettingsError, "ScoreSettings.*not Paraph"),
        (lambda small: small.fingerprint("Hi.", 5), SettingsError, "FingerprintSettings or .*not int"),
        (lambda small: small.fingerprint(5), InputError, "A text is needed, not int"),
        (lambda small: small.infill(5), InputError, r"A gap is .*not \(5, ''\)"),
        (lambda small: small.infill("Hi.", 5), InputError, r"A gap is .*not \('Hi.', 5\)"),
        (lambda small: small.infill_all("Hi ___."), InputError, "infill_all takes several gaps .*not str"),
        (lambda small: small.infill_all(5), InputError, "infill_all takes several gaps .*not int"),
        (lambda small: small.fill(5), InputError, "A text is needed, not int"),
        (lambda small: small.rewrite(5), InputError, "A span is .*not .*: 5"),
        (lambda small: small.rewrite("Hi", left=5), InputError, "A span is .*not .*: 5"),
        (lambda small: small.rewrite("Hi", document=5), InputError, "A span is .*not .*: 5"),
        (lambda small: small.rewrite_all("[[Hi]] you."), InputError, "rewrite_all takes several spans .*not str"),
        (lambda small: next(small.rewrite_all([{"left": "Hi"}])), InputError, "A span is .*not .'left': 'Hi'"),
        (lambda small: next(small.rewrite_all([{"span": "a", "lft": "b"}])), InputError, "`left`.*not .*'lft': 'b'"),
        (lambda small: small.score("Hi.", 5), InputError, "A reference is needed .*not .'Hi.', 5"),
        (lambda small: small.score("Hi.", ["Ho.", 5]), InputError, "Candidate 2 of 2: A text is needed, not int"),
        (lambda small: small.score(5, "Hi."), InputError, "A text is needed, not int"),
        (lambda small: next(small.score_all([("a", "b", "c")])), InputError, "A reference is needed"),
        (lambda small: small.score_all("Hi."), InputError, "score_all takes several references .*not str"),
        (lambda _: Reflector(cast("Any", "some-pair")), InputError, r"load_pair\('some-pair'\)"),
        (lambda _: cast("Any", ParaphraseSettings)(context=3), SettingsError, "did you mean 'contexts'"),
        (lambda _: cast("Any", InfillSettings)(most_quotes=1), SettingsError, "did you mean 'most_quoted'"),
        (lambda _: Constraints(keep=cast("Any", 5)), InputError, "keep takes a list of texts, not int"),
        (lambda _: Constraints(automatic=("name",)), InputError, "'name'; choose from numbers, names"),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(
    small: Reflector, call: Callable[[Reflector], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        call(small)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", "?"))


@pytest.mark.parametrize("name", [name for name in refdec.__all__ if name != "__version__"])
def test_help_shows_no_addresses(name: str) -> None:
    assert " at 0x" not in pydoc.render_doc(getattr(refdec, name))


PLAIN_DATA = [
    kind
    for kind in (getattr(refdec, name) for name in refdec.__all__)
    if dataclasses.is_dataclass(kind) and kind.__module__.startswith(("refdec.results", "refdec.settings", "refdec.ta"))
]


@pytest.mark.parametrize("kind", PLAIN_DATA, ids=lambda kind: kind.__name__)
def test_help_explains_every_field(kind: type[Any]) -> None:
    documentation = "\n".join(inspect.getdoc(base) or "" for base in kind.__mro__ if base is not object)
    for item in dataclasses.fields(kind):
        assert re.search(rf"^    (?:\w+, )*{item.name}(?:, \w+)*: \S", documentation, re.MULTILINE), item.name
