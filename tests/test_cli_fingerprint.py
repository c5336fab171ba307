"""`refdec fingerprint` as its users meet it, and fingerprints that other commands refuse."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from refdec import Fingerprint, Reflector
from refdec.files.whole import write_whole
from tests.conftest import TINY, Run, refusal

TEXT = "The train was late."


@pytest.fixture(scope="module")
def known(small_reflector: Reflector) -> Fingerprint:
    return small_reflector.fingerprint(
        TEXT, "fast", **{name: value for name, value in TINY.items() if name != "samples"}
    )


def test_a_fingerprint_goes_to_a_file_or_to_standard_output(run: Run, known: Fingerprint, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    assert run("fingerprint", TEXT) == (0, str(known), "")
    assert run("fingerprint", "-o", "-", stdin=TEXT + "\n") == (0, str(known), "")
    assert run("fingerprint", TEXT, "-o", str(file)) == (0, "", f"refdec: the fingerprint is in {file}\n")
    assert Fingerprint.load(file) == known
    assert run("fingerprint", "--quiet", "--force", TEXT, "-o", str(file)) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["train.json"]


def test_those_for_scores_have_the_settings_of_scores(run: Run) -> None:
    content = json.loads(run("fingerprint", "--for", "score", "--contexts", "5", TEXT)[1])
    assert content["settings"]["frame"] == "none"
    assert content["settings"]["contexts"] == 5


def test_a_file_is_replaced_like_a_copy_would_be(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_damaged_fingerprint_is_refused(run: Run, known: Fingerprint, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    for content, message in (
        (str(known)[: len(str(known)) // 2], "is not a fingerprint"),
        ("[1, 2]", "is not a fingerprint"),
        (str(known).replace("late", "soon", 1), "is damaged or was changed by hand"),
        (str(known).replace('"version": 1', '"version": 9'), "is a fingerprint of version 9"),
    ):
        file.write_text(content)
        assert message in refusal(run, "paraphrase", "--fingerprint", str(file))
        assert message in refusal(run, "score", "--fingerprint", str(file), TEXT)
    file.write_bytes(b"\xff\xfe")
    assert "cannot be read (it is not UTF-8 text)" in refusal(run, "paraphrase", "--fingerprint", str(file))
    assert "cannot be read" in refusal(run, "paraphrase", "--fingerprint", str(tmp_path / "none"))
    assert "cannot be read" in refusal(run, "paraphrase", "--fingerprint", str(tmp_path))


def test_a_fingerprint_of_other_models_is_refused(run: Run, known: Fingerprint, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    replace(known, pair="other-pair").save(file)
    assert "was made with the models other-pair" in refusal(run, "paraphrase", "--fingerprint", str(file))
    assert "was made with the models other-pair" in refusal(run, "score", "--fingerprint", str(file), "It rained.")


def test_a_fingerprint_of_another_text_or_with_other_settings_is_refused_before_models_load(
    run: Run, known: Fingerprint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("the models were loaded")

    file = tmp_path / "train.json"
    known.save(file)
    monkeypatch.setattr("refdec.lm.pair.load_pair", unwanted)
    paraphrase = ["paraphrase", "--fingerprint", str(file)]
    assert "describes another text: 'The train was late.', not 'It rained.'" in refusal(run, *paraphrase, "It rained.")
    assert "made with other settings: seed 0, not 7" in refusal(run, *paraphrase, "--seed", "7")
    assert "made with other settings: " in refusal(run, *paraphrase, "--preset", "paper")
    assert "A fingerprint is of one text" in refusal(run, *paraphrase, TEXT, "It rained.")
    assert "A fingerprint is of one text" in refusal(run, *paraphrase, "--file", "texts.txt")
    score = ["score", "--fingerprint", str(file), "--context-tokens", "9", "It rained."]
    assert "made with other settings: context_tokens 8, not 9" in refusal(run, *score)


BAD = {
    "The text is empty": [" "],
    "both as arguments and as a file": ["--file", "text.txt", TEXT],
    "no-such-file cannot be read": ["--file", "no-such-file"],
    "cannot be written (there is no directory no": [TEXT, "-o", "no/such/file"],
    "cannot be written (it is a directory)": [TEXT, "-o", "."],
    "contexts is 0; it must be": ["--contexts", "0", TEXT],
    "The text has": ["word " * 600],
    "'rewrite' is not one of": ["--for", "rewrite", TEXT],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_one_clear_line(run: Run, message: str) -> None:
    assert message in refusal(run, "fingerprint", *BAD[message])
