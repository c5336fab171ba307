"""Fingerprints: what is saved is what is loaded, and whatever is damaged or does not belong is refused."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refdec import Fingerprint, FingerprintSettings, InputError, ParaphraseSettings, Reflector, ScoreSettings
from refdec.tasks.describe import ensembles_of, make_fingerprint
from tests.conftest import on_both_engines

TEXT = "The café “train” was late 🙂"
SMALL: dict[str, Any] = {"contexts": 5, "context_tokens": 6, "kept_contexts": 2}
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def known(untrained: Reflector) -> Fingerprint:
    return untrained.fingerprint(TEXT, FingerprintSettings(**SMALL))


def saved(content: dict[str, Any], path: Path) -> Path:
    """A file with this content and the checksum that belongs to it."""
    content = {name: value for name, value in content.items() if name != "sha256"}
    line = json.dumps(content, sort_keys=True, ensure_ascii=False)
    path.write_text(json.dumps(content | {"sha256": hashlib.sha256(line.encode()).hexdigest()}))
    return path


def test_what_is_saved_is_what_is_loaded(known: Fingerprint, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    known.save(file)
    assert Fingerprint.load(file) == known
    assert Fingerprint.load(str(file)) == known
    again = tmp_path / "again.json"
    Fingerprint.load(file).save(again)
    assert again.read_bytes() == file.read_bytes()


def test_a_fingerprint_reads_as_what_it_is(known: Fingerprint) -> None:
    content = json.loads(str(known))
    assert (content["text"], content["pair"]) == (TEXT, "untrained")
    assert content["settings"] == dict(known.settings.items())
    for side in content["sides"].values():
        assert len(side["contexts"]) == 5
        assert side["kept"] == 2
        assert sum(row["weight"] for row in side["contexts"]) == pytest.approx(1, abs=1e-4)


def test_a_fingerprint_stands_for_its_contexts_in_paraphrasing(reflector: Reflector, tmp_path: Path) -> None:
    settings = ParaphraseSettings(**SMALL, samples=3)
    text = "The train was late again."
    direct = reflector.paraphrase(text, settings)
    assert direct.candidates
    file = tmp_path / "train.json"
    reflector.fingerprint(text, settings.description()).save(file)
    assert reflector.paraphrase(text, settings, fingerprint=file) == direct


def test_what_a_fingerprint_has_need_not_be_said_again(untrained: Reflector, known: Fingerprint) -> None:
    found = untrained.paraphrase(None, fingerprint=known, samples=1)
    assert found.source == TEXT
    assert [context.text for context in found.contexts] == [
        text for side in ("right", "left") for text in known.sides[side].texts[:2]
    ]


@pytest.mark.parametrize("weighting", ["none", "kept", "learned"])
@pytest.mark.parametrize("sides", ["both", "left"])
def test_a_fingerprint_stands_for_its_contexts_in_scoring(untrained: Reflector, weighting: str, sides: str) -> None:
    settings = ScoreSettings(**SMALL, weighting=weighting, sides=sides, fluency=1.0)
    known = untrained.fingerprint(TEXT, settings.description())
    texts = ["The train was delayed.", TEXT]
    assert untrained.score(TEXT, texts, settings, fingerprint=known) == untrained.score(TEXT, texts, settings)
    assert untrained.score(None, texts, settings, fingerprint=known) == untrained.score(TEXT, texts, settings)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "is not a fingerprint"),
        (lambda _: "", "is not a fingerprint"),
        (lambda _: "[1, 2]", "is not a fingerprint"),
        (lambda _: "{}", "is not a fingerprint"),
        (lambda _: "[" * 100_000, "is not a fingerprint"),
        (lambda text: text.replace("refdec-fingerprint", "other"), "is not a fingerprint"),
        (lambda text: text.replace('"version": 1', '"version": 2'), "of version 2, and this refdec reads version 1"),
        (lambda text: text.replace('"kept": 2', '"kept": 3', 1), "its checksum differs"),
        (lambda text: text.replace("late", "soon", 1), "its checksum differs"),
        (lambda text: text.replace("late", "\\ud800", 1), "its checksum differs"),
        (lambda text: text.replace('"sha256"', '"sha255"'), "its checksum differs"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(
    known: Fingerprint, tmp_path: Path, damage: Callable[[str], str], message: str
) -> None:
    file = tmp_path / "train.json"
    file.write_text(damage(str(known)))
    with pytest.raises(InputError, match=message):
        Fingerprint.load(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("text"), "KeyError: 'text'"),
        (lambda content: content["sides"].pop("left"), "KeyError: 'left'"),
        (lambda content: content["sides"]["left"].pop("top_p"), "KeyError: 'top_p'"),
        (lambda content: content.update(sides=[]), "TypeError"),
        (lambda content: content["sides"].update(left=3), "TypeError"),
        (lambda content: content["settings"].update(contexts=0), "contexts is 0; it must be"),
        (lambda content: content["settings"].update(samples=3), "samples"),
        (lambda content: content["settings"].update(frame=[]), "frame is"),
        (lambda content: content["sides"]["left"].update(kept=0), "0 kept of 5 contexts"),
        (lambda content: content["sides"]["left"].update(kept=9), "9 kept of 5 contexts"),
        (lambda content: content["sides"]["left"].update(contexts=[]), "2 kept of 0 contexts"),
        (lambda content: content["sides"]["left"].update(kept=math.inf), "OverflowError"),
        (lambda content: content["sides"]["left"]["contexts"][0].update(ids="no"), "ValueError"),
        (lambda content: content["sides"]["left"]["contexts"][0].update(ids=[1, 2]), "not of one length"),
        (lambda content: content["sides"]["left"]["contexts"][0].update(weight="heavy"), "ValueError"),
    ],
)
def test_an_incomplete_file_is_refused_even_if_its_checksum_is_right(
    known: Fingerprint, tmp_path: Path, change: Change, message: str
) -> None:
    content = json.loads(str(known))
    change(content)
    with pytest.raises(InputError, match=f"is incomplete .*{message}"):
        Fingerprint.load(saved(content, tmp_path / "train.json"))


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="it is not UTF-8 text"):
        Fingerprint.load(file)
    for missing in (tmp_path, tmp_path / "none", tmp_path / "none" / "such"):
        with pytest.raises(InputError, match="cannot be read"):
            Fingerprint.load(missing)


def test_other_models_texts_and_settings_are_refused(untrained: Reflector, known: Fingerprint) -> None:
    paraphrase = untrained.paraphrase
    with pytest.raises(InputError, match="made with the models other, not with untrained"):
        paraphrase(TEXT, fingerprint=replace(known, pair="other"))
    with pytest.raises(InputError, match=r"untrained\. pair-v0 came with earlier versions of refdec.*\. Make it again"):
        paraphrase(TEXT, fingerprint=replace(known, pair="pair-v0:eefa2b7e"))
    with pytest.raises(InputError, match=r"describes another text: .*, not 'It rained\.'"):
        paraphrase("It rained.", fingerprint=known)
    with pytest.raises(InputError, match=r"made with other settings: contexts 5, not 6\. Use"):
        paraphrase(TEXT, fingerprint=known, contexts=6)
    with pytest.raises(InputError, match=r"context_top_p 0\.7, not 0\.9; seed 0, not 3"):
        untrained.score(TEXT, "It rained.", fingerprint=known, seed=3, context_top_p=0.9)
    with pytest.raises(InputError, match="frame 'quoted', not 'none'"):
        untrained.score(TEXT, "It rained.", ScoreSettings(**SMALL), fingerprint=known)
    with pytest.raises(InputError, match="is of one text"):
        paraphrase([TEXT, TEXT], fingerprint=known)


def test_no_changed_byte_is_loaded_as_something_else(known: Fingerprint, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    whole = str(known).encode()
    chance = random.Random(0)
    for _ in range(400):
        changed = bytearray(whole)
        place = chance.randrange(len(whole))
        changed[place] = chance.choice([chance.randrange(256), ord("0"), ord(" "), changed[place] ^ 1])
        file.write_bytes(changed)
        try:
            found = Fingerprint.load(file)
        except InputError:
            continue
        assert found == known
    file.write_bytes(whole)
    assert Fingerprint.load(file) == known


@on_both_engines
def test_making_one_again_gives_the_same(untrained: Reflector, known: Fingerprint) -> None:
    assert untrained.fingerprint(f" {TEXT}\n", FingerprintSettings(**SMALL)) == known
    assert make_fingerprint(untrained.pair, TEXT, known.settings, ensembles_of(untrained.pair, known)) == known
