"""Data sets are read as they are documented, and a file that is not so is refused with the place and the reason."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refdec.errors import InputError, ModelError, RefdecError, SettingsError
from refdec.evaluate.experiments.data import (
    SETS,
    VARIABLE,
    Example,
    Graded,
    Segment,
    StoryGap,
    data_folder,
    example_file,
    find_set,
    isolated,
    read_examples,
    read_gaps,
    read_graded,
    read_isolated,
    read_segments,
    read_votes,
)

Fields = dict[str, Any]

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
QUESTION: Fields = {"id": "q1", "source": "How do bees fly?", "references": ["How is it that bees fly?"]}
STORY: Fields = {"id": "a1", "o1": "Ann fell.", "o2": "She laughed.", "references": ["Snow was there.", "Hay."]}
GRADED: Fields = {"id": "s1", "sentence1": "A cat sits.", "sentence2": "A dog sits.", "score": 2.5}
VOTED: Fields = {"id": "t1", "sentence1": "Rain today", "sentence2": "It rains today", "votes": 5, "label": 1}


def write(path: Path, *rows: object, pack: str = "") -> Path:
    """A file of JSON lines; bytes are written as they are."""
    lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
    path = path.with_name(path.name + pack)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACK[pack](b"".join(line + b"\n" for line in lines)))
    return path


def write_translations(folder: Path, **changes: list[Fields]) -> Path:
    """Two judged segments of three in the layout of WMT18, with some of its files changed."""
    files: dict[str, list[Fields]] = {
        "segments": [{"sid": sid, "source": "…", "reference": f"Reference {sid}."} for sid in (1, 2, 3)],
        "translations": [
            {"sid": sid, "system": system, "translation": f"{system} says {sid}.", "da_raw": 50.0}
            for sid in (1, 2, 3)
            for system in ("ann", "bob", "cid")
        ],
        "darr": [
            {"sid": 3, "better": "bob", "worse": "ann"},
            {"sid": 1, "better": "ann", "worse": "bob"},
            {"sid": 1, "better": "cid", "worse": "bob"},
        ],
    }
    for name, rows in (files | changes).items():
        write(folder / "wmt18" / "cs-en" / f"{name}.jsonl", *rows)
    return folder


def test_each_set_gives_its_rows(tmp_path: Path) -> None:
    write(tmp_path / "quora" / "dev.jsonl", QUESTION | {"source_tok": "ignored"})
    write(tmp_path / "twitter" / "test_paraphrases.jsonl", QUESTION | {"votes": 5})
    write(tmp_path / "anlg" / "test.jsonl", STORY)
    write(tmp_path / "stsb" / "train.jsonl", GRADED, GRADED | {"id": "s2", "score": 5})
    write(tmp_path / "twitter" / "test.jsonl", VOTED)
    question = Example("q1", "How do bees fly?", ("How is it that bees fly?",))
    assert read_examples(tmp_path, "quora", "dev") == [question]
    assert read_examples(tmp_path, "twitter", "test") == [question]
    assert read_gaps(tmp_path, "anlg", "test") == [
        StoryGap("a1", "Ann fell.", "She laughed.", ("Snow was there.", "Hay."))
    ]
    graded = [Graded("s1", "A cat sits.", "A dog sits.", 2.5), Graded("s2", "A cat sits.", "A dog sits.", 5.0)]
    assert read_graded(tmp_path, "stsb", "train") == graded
    (voted,) = read_votes(tmp_path)
    assert voted == Graded("t1", "Rain today", "It rains today", 5.0)
    assert isinstance(voted.grade, float)


def test_judged_segments_have_their_judged_translations_alone(tmp_path: Path) -> None:
    assert read_segments(write_translations(tmp_path), "wmt18", "cs-en") == [
        Segment(
            1,
            "Reference 1.",
            {"ann": "ann says 1.", "bob": "bob says 1.", "cid": "cid says 1."},
            (("ann", "bob"), ("cid", "bob")),
        ),
        Segment(3, "Reference 3.", {"bob": "bob says 3.", "ann": "ann says 3."}, (("bob", "ann"),)),
    ]


def test_control_characters_of_translations_are_spaces(tmp_path: Path) -> None:
    said = [{"sid": 1, "system": system, "translation": "one\x00\x1ftwo\x7f \x9fthree"} for system in ("ann", "bob")]
    judged = [{"sid": 1, "better": "ann", "worse": "bob"}]
    (segment,) = read_segments(write_translations(tmp_path, translations=said, darr=judged), "wmt18", "cs-en")
    assert segment.translations["ann"] == "one two   three"


def test_other_texts_stay_as_they_are(tmp_path: Path) -> None:
    source = "  Tab\t, line\u2028break, \u00a0space, e\u0301, \x07 and 😀  "
    path = write(tmp_path / "rows.jsonl", QUESTION | {"source": source})
    assert example_file(path)[0].source == source


@pytest.mark.parametrize("pack", PACK)
def test_a_file_is_found_however_it_is_compressed(tmp_path: Path, pack: str) -> None:
    write(tmp_path / "quora" / "test.jsonl", QUESTION, QUESTION | {"id": "ñ"}, pack=pack)
    assert [row.id for row in read_examples(tmp_path, "quora", "test")] == ["q1", "ñ"]


@pytest.mark.parametrize("pack", [".gz", ".xz", ".zst"])
def test_joined_compressed_files_are_read_to_the_end(tmp_path: Path, pack: str) -> None:
    path = write(tmp_path / "rows.jsonl", QUESTION, pack=pack)
    more = write(tmp_path / "more.jsonl", QUESTION | {"id": "q2"}, pack=pack)
    path.write_bytes(path.read_bytes() + more.read_bytes())
    assert [row.id for row in example_file(path)] == ["q1", "q2"]


@pytest.mark.parametrize("pack", [".gz", ".xz", ".zst"])
def test_a_damaged_compressed_file_is_refused_wherever_it_is_cut(tmp_path: Path, pack: str) -> None:
    rows = [QUESTION | {"id": f"q{number}"} for number in range(20)]
    path = write(tmp_path / "rows.jsonl", *rows, pack=pack)
    packed = path.read_bytes()
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match=r"rows\.jsonl\.\w+ (cannot be unpacked|is empty)"):
            example_file(path)
    path.write_bytes(b"plain text, not packed at all")
    with pytest.raises(InputError, match="cannot be unpacked"):
        example_file(path)


def test_zstandard_is_asked_for_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "rows.jsonl", QUESTION, pack=".zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ModelError, match=r"pip install 'refdec\[evaluate\]'.*zstd -d"):
        example_file(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json", "it is not JSON"),
        (b'{"id": "x", "source": "cut o', "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"1" * 5_000, "it is not JSON"),
        (b'{"id": "\xff"}', "it is not UTF-8"),
        (["a", "list"], "it is not a JSON object"),
        ({}, 'there is no "id"'),
        (QUESTION | {"id": 7}, '"id" must be a text'),
        (QUESTION | {"id": " "}, '"id" is empty'),
        (QUESTION, "'q1' is on line 1 already"),
        ({"id": "q2", "references": ["x"]}, 'there is no "source"'),
        (QUESTION | {"id": "q2", "source": None}, '"source" must be a text'),
        (QUESTION | {"id": "q2", "source": ""}, '"source" is empty'),
        (QUESTION | {"id": "q2", "source": "\n"}, '"source" is empty'),
        (
            b'{"id": "q2", "source": "\\ud83d", "references": ["x"]}',
            '"source" has half of a surrogate pair in it, which is not a character',
        ),
        ({"id": "q2", "source": "x"}, 'there is no "references"'),
        (QUESTION | {"id": "q2", "references": "one text"}, '"references" must be a list of texts'),
        (QUESTION | {"id": "q2", "references": []}, '"references" is an empty list'),
        (QUESTION | {"id": "q2", "references": ["fine", 1]}, 'item 2 of "references" must be a text'),
        (QUESTION | {"id": "q2", "references": [""]}, 'item 1 of "references" is empty'),
    ],
)
def test_a_broken_line_is_named_with_what_is_wrong(tmp_path: Path, line: object, message: str) -> None:
    write(tmp_path / "quora" / "dev.jsonl", QUESTION, b"", line)
    with pytest.raises(InputError) as refused:
        read_examples(tmp_path, "quora", "dev")
    assert str(refused.value) == f"{tmp_path}/quora/dev.jsonl, line 3: {message}. The format is in docs/data.md."


@pytest.mark.parametrize("score", [-0.1, 5.1, "3", None, True, float("nan"), float("inf"), 10**400])
def test_grades_are_numbers_in_their_range(tmp_path: Path, score: object) -> None:
    write(tmp_path / "stsb" / "dev.jsonl", GRADED | {"score": score})
    with pytest.raises(InputError, match='line 1: "score" must be a number from 0 to 5'):
        read_graded(tmp_path, "stsb", "dev")


@pytest.mark.parametrize("votes", [-1, 7, 2.5, "3", False])
def test_votes_are_whole_numbers_in_their_range(tmp_path: Path, votes: object) -> None:
    write(tmp_path / "twitter" / "test.jsonl", VOTED | {"votes": votes})
    with pytest.raises(InputError, match='line 1: "votes" must be a whole number from 0 to 6'):
        read_votes(tmp_path)


@pytest.mark.parametrize(
    ("part", "row", "message"),
    [
        ("segments", {"sid": 1, "reference": "Again."}, "segments.jsonl, line 4: 1 is on line 1 already"),
        ("segments", {"sid": "4", "reference": "Four."}, 'segments.jsonl, line 4: "sid" must be a whole number'),
        ("translations", {"sid": 1, "system": "bob", "translation": "x"}, "line 10: 1 bob is on line 2 already"),
        ("translations", {"sid": 1, "system": "dan", "translation": "\x00"}, '"translation" is empty'),
        ("darr", {"sid": 9, "better": "ann", "worse": "bob"}, "darr.jsonl, line 4: segments.jsonl has no segment 9"),
        ("darr", {"sid": 1, "better": "ann", "worse": "dan"}, "has no translation of segment 1 by dan"),
        ("darr", {"sid": 1, "better": "ann", "worse": "ann"}, "ann cannot be better than itself"),
        ("darr", {"sid": 1, "better": "ann"}, 'there is no "worse"'),
    ],
)
def test_judgements_must_fit_their_segments(tmp_path: Path, part: str, row: Fields, message: str) -> None:
    folder = write_translations(tmp_path)
    with (folder / "wmt18" / "cs-en" / f"{part}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message):
        read_segments(folder, "wmt18", "cs-en")


def test_a_pair_is_judged_once_and_not_both_ways(tmp_path: Path) -> None:
    judged = [{"sid": 1, "better": "ann", "worse": "bob"}, {"sid": 1, "better": "bob", "worse": "ann"}]
    with pytest.raises(InputError, match="line 2: 1 ann bob is on line 1 already"):
        read_segments(write_translations(tmp_path, darr=judged), "wmt18", "cs-en")


def test_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no file .*anlg/dev\.jsonl\. docs/data\.md"):
        read_gaps(tmp_path, "anlg", "dev")
    with pytest.raises(InputError, match=r"There is no file .*wmt18/zh-en/segments\.jsonl"):
        read_segments(tmp_path, "wmt18", "zh-en")
    write(tmp_path / "anlg" / "dev.jsonl", b"", b"  ")
    with pytest.raises(InputError, match=r"anlg/dev\.jsonl is empty"):
        read_gaps(tmp_path, "anlg", "dev")
    (tmp_path / "anlg" / "test.jsonl").mkdir()
    with pytest.raises(InputError, match=r"anlg/test\.jsonl cannot be read \(Is a directory\)"):
        read_gaps(tmp_path, "anlg", "test")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(QUESTION).encode() + b"\r\n")
    assert [row.id for row in example_file(path)] == ["q1"]


def test_a_wrong_name_is_answered_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no data set 'qoura' \(did you mean 'quora'\?\). Sets: quora, quora-upsa"):
        find_set("qoura")
    with pytest.raises(SettingsError, match=r"quora has no split 'tset' \(did you mean 'test'\?\). Splits: dev, test"):
        read_examples(tmp_path, "quora", "tset")
    with pytest.raises(SettingsError, match=r"'anlg' is for another task. Sets for this one: quora, quora-upsa, twit"):
        read_examples(tmp_path, "anlg", "dev")
    with pytest.raises(SettingsError, match=r"wmt18 has no split 'de-cs'"):
        read_segments(tmp_path, "wmt18", "de-cs")
    with pytest.raises(SettingsError, match=r"no votes on 'twiter' \(did you mean 'twitter'\?\)"):
        read_votes(tmp_path, "twiter")


def test_what_the_docs_convert_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = {Example: read_examples, StoryGap: read_gaps, Graded: read_graded, Segment: read_segments}
    page = (Path(__file__).parent.parent / "docs" / "data.md").read_text(encoding="utf-8")
    found = set()
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        exec(compile(code, "data.md", "exec"), {})
        for name, known in SETS.items():
            for split, place in known.splits.items():
                if list(folder.glob(f"data/{place}*")):
                    assert readers[known.kind](folder / "data", name, split)
                    found.add(name)
    assert found == set(SETS)


def test_the_data_folder_is_given_or_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, set_there = tmp_path / "given", tmp_path / "set"
    given.mkdir()
    set_there.mkdir()
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InputError, match=r"--data DIR or set REFDEC_DATA; docs/data\.md"):
        data_folder(None)
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(InputError, match="No folder of data is named"):
        data_folder(None)
    monkeypatch.setenv(VARIABLE, str(set_there))
    assert data_folder(None) == set_there
    assert data_folder(given) == given
    monkeypatch.chdir(given)
    assert data_folder(Path()) == Path()
    with pytest.raises(InputError, match=r"There is no folder .*elsewhere"):
        data_folder(tmp_path / "elsewhere")


def pair(source: str, *references: str) -> Example:
    return Example(f"{source} {references}", source, references)


def test_isolated_pairs_have_no_other_partner() -> None:
    alone = pair("How are you?", "Are you well?")
    assert isolated([alone]) == [alone]
    turned = pair("are you WELL", "how are you")
    assert isolated([alone, turned]) == [alone, turned]
    assert isolated([alone, pair("How are you", "What's up?")]) == []
    assert isolated([alone, pair("What's up?", "are  you well")]) == []
    assert isolated([alone], [pair("What's up?", "Come in", "How are you")]) == []
    assert isolated([alone], [pair("What's up?", "Come in")]) == [alone]


def test_pairs_in_the_same_words_and_pairs_with_two_references_are_not_isolated() -> None:
    assert isolated([pair("How are you?", "how are you")]) == []
    assert isolated([pair("How are you?", "Well?", "Fine?")]) == []


def test_a_text_is_not_its_own_partner() -> None:
    alone = pair("How are you?", "Are you well?")
    assert isolated([alone], [pair("how are you", "How are you?")]) == [alone]


def test_isolation_counts_all_quora_pairs_that_lie_there(tmp_path: Path) -> None:
    rows = [{"id": f"u{place}", "source": f"ask {place}", "references": [f"say {place}"]} for place in range(5)]
    write(tmp_path / "quora-upsa" / "test.jsonl", *rows)
    assert len(read_isolated(tmp_path)) == 5
    write(tmp_path / "quora" / "dev.jsonl", {"id": "d", "source": "Ask 0?", "references": ["Other"]})
    write(tmp_path / "quora" / "test.jsonl", {"id": "t", "source": "Other", "references": ["Ask 1?"]})
    train = {"id": "r", "source": "other", "references": ["say 2"]}
    write(tmp_path / "quora-train" / "train.jsonl", train, pack=".zst")
    assert [row.id for row in read_isolated(tmp_path)] == ["u3", "u4"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(content=st.binary(max_size=80) | st.text(alphabet='{}[]":,\\ud8 01e9\n', max_size=60).map(str.encode))
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"rows.jsonl{ending}"
    path.write_bytes(content)
    with pytest.raises(RefdecError, match=r"rows\.jsonl"):
        example_file(path)
