"""Files of outputs lose nothing when a run is killed, mix nothing, and are matched with the right rows."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refdec.errors import InputError
from refdec.evaluate.experiments.outputs import OutputFile, matched, read_outputs
from refdec.files import growing

IDS = [f"row-{number}" for number in range(6)]
SIGNATURE = "refdec:0.1|task:paraphrase|contexts:80|seed:0|device:cpu"
RESULT = {"text": "Bees fly, but how?", "score": -3.25, "relative": 0.5, "novelty": 40, "copy": False, "side": "left"}

Row = dict[str, Any]


def row(key: str, text: str = "Zoë's “bees” fly 🐝") -> Row:
    return {"id": key, "source": "How?", "results": [RESULT | {"text": text}], "seconds": 1.5}


def write(path: Path, *keys: str, signature: str = SIGNATURE) -> Path:
    with OutputFile(path, signature, IDS) as file:
        for key in keys:
            file.append(row(key))
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "row-2", "row-0")
    assert read_outputs(path) == {key: row(key) | {"signature": SIGNATURE} for key in ("row-2", "row-0")}
    assert list(read_outputs(path)) == ["row-2", "row-0"]
    assert path.read_text(encoding="utf-8").startswith('{"id": "row-2", ')
    assert "Zoë" in path.read_text(encoding="utf-8")


def test_a_line_is_in_the_file_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with OutputFile(path, SIGNATURE, IDS) as file:
        for number, key in enumerate(IDS, start=1):
            file.append(row(key))
            assert path.read_bytes().count(b"\n") == number
            assert file.done == set(IDS[:number])


@pytest.mark.parametrize("before", [0, 2])
def test_a_run_killed_at_any_byte_goes_on_without_loss_or_repeat(
    tmp_path: Path, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a killed process is not a power cut
    content = write(tmp_path / "whole.jsonl", *IDS[: before + 1]).read_bytes()
    start = content[:-1].rfind(b"\n") + 1
    path = tmp_path / "rows.jsonl"
    for length in range(start, len(content) + 1):
        path.write_bytes(content[:length])
        whole = length >= len(content) - 1  # only the line's end may be missing
        with OutputFile(path, SIGNATURE, IDS) as file:
            assert file.done == set(IDS[: before + whole])
            assert path.read_bytes() == (content if whole else content[:start])
            for key in IDS:
                if key not in file.done:
                    file.append(row(key))
        assert list(read_outputs(path)) == IDS


def test_opening_a_whole_file_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", *IDS[:3])
    content = path.read_bytes()
    write(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("torn", [b"", b'{"id": "row-5", "resul'])
@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (SIGNATURE.replace("80", "24"), "holds outputs of other settings: contexts is 80 there and 24 here. Name anot"),
        (SIGNATURE + "|constraints:keep", "constraints is not there and keep here"),
        ("refdec:9|task:infill|contexts:1|seed:1|device:cpu", "and 1 here, and 1 more. Name another file, or give the"),
        ("device:cpu|seed:0|contexts:80|task:paraphrase|refdec:0.1", "the signatures have other parts"),
    ],
)
def test_outputs_of_other_settings_are_refused_and_left_alone(
    tmp_path: Path, signature: str, message: str, torn: bytes
) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0", "row-1")
    path.write_bytes(path.read_bytes() + torn)
    content = path.read_bytes()
    with pytest.raises(InputError, match=message):
        OutputFile(path, signature, IDS)
    assert path.read_bytes() == content


def test_a_single_line_of_other_settings_is_found_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", *IDS[:3])
    path.write_bytes(path.read_bytes() + json.dumps(row("row-3") | {"signature": "refdec:0.2"}).encode())
    with pytest.raises(InputError, match=r"holds outputs of other settings: refdec is 0\.2 there and 0\.1 here"):
        OutputFile(path, SIGNATURE, IDS)
    with pytest.raises(InputError, match=r"line 4: the file mixes outputs.*refdec is 0.1 in line 1 and 0.2 here"):
        read_outputs(path)


def test_a_mixture_with_outputs_of_others_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0")
    path.write_bytes(path.read_bytes() + b'{"id": "row-1", "output": "No signature."}\n')
    with pytest.raises(InputError, match=r"line 2: the file mixes outputs.*refdec is 0.1 in line 1 and not here"):
        read_outputs(path)
    with pytest.raises(InputError, match=r"outputs without a signature \(line 2\), so refdec did not write it"):
        OutputFile(path, SIGNATURE, IDS)


def test_outputs_for_other_data_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0", "row-5")
    with pytest.raises(InputError, match=r"'row-5' \(line 2\) is not among the 3 ids of the data"):
        OutputFile(path, SIGNATURE, IDS[:3])


@pytest.mark.parametrize(
    "content",
    [
        b"My notes.",
        b"My notes.\nMore of them.\n",
        b"{\n",
        b'{"name": "settings", "value": 1',
        b'{"id": "row-0"}',
        b"[1, 2]",
        b"\x00\x00\x00\x00",
        b"\xff\xfe",
        b'{"id": "row-0", "output": "x", "signature": "s"}\ngarbage\n{"id": "',
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"notes\.txt, line \d"):
        OutputFile(path, "s", IDS)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"output": "x"}, 'there is no "id"'),
        ({"id": 3, "output": "x"}, '"id" must be a text'),
        ({"id": "a"}, 'a line of outputs has either "output" or "results"'),
        ({"id": "a", "output": "x", "results": []}, 'a line of outputs has either "output" or "results"'),
        ({"id": "a", "output": None}, '"output" must be a text'),
        ({"id": "a", "output": "\ud800"}, '"output" has half of a surrogate pair in it'),
        ({"id": "a", "output": "x", "signature": 1}, '"signature" must be a text'),
        ({"id": "a", "results": {}}, '"results" must be a list of objects'),
        ({"id": "a", "results": ["x"]}, '"results" must be a list of objects'),
        ({"id": "a", "results": [{"score": 1}]}, 'there is no "text"'),
        ({"id": "a", "results": [RESULT | {"novelty": "40"}]}, '"novelty" of a result must be a number'),
        ({"id": "a", "results": [RESULT | {"copy": 0}]}, '"copy" of a result must be true or false'),
        ({"id": "first", "output": "x"}, "'first' is on line 1 already"),
    ],
)
def test_a_line_that_is_no_output_is_named(tmp_path: Path, line: Row, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "first", "output": ""}\n' + json.dumps(line))
    with pytest.raises(InputError, match=rf"rows\.jsonl, line 2: {message}"):
        read_outputs(path)


def test_outputs_of_other_systems_are_read(tmp_path: Path) -> None:
    lines = b'{"id": "row-0", "output": "So?"}\n{"id":"row-1","output":""}'  # no line end at the end
    path = tmp_path / "theirs.jsonl"
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(lines))
    assert read_outputs(path) == {
        "row-0": {"id": "row-0", "output": "So?"},
        "row-1": {"id": "row-1", "output": ""},
    }


def test_missing_empty_and_torn_files_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no file .*none\.jsonl"):
        read_outputs(tmp_path / "none.jsonl")
    path = write(tmp_path / "rows.jsonl")
    with pytest.raises(InputError, match="has no outputs in it"):
        read_outputs(path)
    write(path, "row-0", "row-1")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="ends in half a line, because its writer was stopped"):
        read_outputs(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row("row-0"), "there is an output for 'row-0' already"),
        (row("other"), "'other' .* is not among the 6 ids"),
        (row("row-1") | {"signature": "refdec:2"}, "holds outputs of other settings"),
        ({"id": "row-1"}, 'line 2: a line of outputs has either "output" or "results"'),
    ],
)
def test_a_row_that_does_not_belong_is_not_written(tmp_path: Path, line: Row, message: str) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0")
    content = path.read_bytes()
    with OutputFile(path, SIGNATURE, IDS) as file, pytest.raises(InputError, match=message):
        file.append(line)
    assert path.read_bytes() == content


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with OutputFile(path, SIGNATURE, IDS) as file:
        file.append(row("row-0"))
        with pytest.raises(InputError, match=r"rows\.jsonl is in use: another process writes to it"):
            OutputFile(path, SIGNATURE, IDS)
        file.append(row("row-1"))
    assert write(path, "row-2")
    assert list(read_outputs(path)) == IDS[:3]


def test_another_process_is_seen_and_its_death_too(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0")
    code = (
        "import sys; from refdec.files.growing import *; f = GrowingFile(Path(sys.argv[1])); print('held', flush=True)"
    )
    command = [sys.executable, "-c", f"{code}; input()", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="is in use"):
            OutputFile(path, SIGNATURE, IDS)
        holder.kill()
    write(path, "row-1")
    assert list(read_outputs(path)) == IDS[:2]


def test_a_refused_file_is_not_kept_locked(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0")
    with pytest.raises(InputError):
        OutputFile(path, "refdec:2", IDS)
    write(path, "row-1")


class FullDisk(io.FileIO):
    """Takes half of what is written, once, and then nothing."""

    room = True

    def write(self, content: Any, /) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        self.room = False
        return super().write(content[: len(content) // 2])


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", "row-0")
    content = path.read_bytes()
    with OutputFile(path, SIGNATURE, IDS) as file:
        file._file.close()
        file._file._file = FullDisk(path, "a+b")
        with pytest.raises(InputError, match=r"rows\.jsonl cannot be written \(No space left on device\)"):
            file.append(row("row-1"))
        assert file.done == {"row-0"}
    assert path.read_bytes() == content


def test_the_disk_is_told_to_keep_lines_now_and_then_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(os, "fsync", told.append)
    file = OutputFile(tmp_path / "rows.jsonl", SIGNATURE, IDS)
    file.append(row("row-0"))
    assert not told
    monkeypatch.setattr(growing, "SECONDS", 0.0)
    file.append(row("row-1"))
    assert len(told) == 1
    file.close()
    file.close()
    assert len(told) == 2


def test_places_that_cannot_hold_outputs_are_refused(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path, "it is a directory"),
        (tmp_path / "none" / "rows.jsonl", "there is no directory"),
        (Path("/dev/null"), "is not a regular file"),
        (tmp_path / "rows.jsonl.zst", r"outputs are written plain. Leave out \.zst"),
    ]:
        with pytest.raises(InputError, match=message):
            OutputFile(path, SIGNATURE, IDS)


def rows_of(*keys: str) -> dict[str, Row]:
    return {key: {"id": key, "output": key} for key in keys}


PATH = Path("rows.jsonl")


def test_rows_come_in_the_order_of_the_data() -> None:
    found = matched(rows_of(*reversed(IDS)), IDS, PATH)
    assert [item["id"] for item in found] == IDS
    assert [item["id"] for item in matched(rows_of(*reversed(IDS)), IDS[:2], PATH, known=IDS)] == IDS[:2]
    assert [item["id"] for item in matched(rows_of(*IDS[:4]), IDS[:4], PATH, known=IDS)] == IDS[:4]
    assert [item["id"] for item in matched(rows_of(*IDS), tuple(IDS), PATH)] == IDS


def test_an_unfinished_file_says_how_far_it_is() -> None:
    with pytest.raises(InputError, match=r"rows\.jsonl has outputs for the first 4 of 6 rows. Go on with the gener"):
        matched(rows_of(*IDS[:4]), tuple(IDS), PATH)
    with pytest.raises(InputError, match=r"for the first 4 of 5 rows.* or evaluate 4 rows only"):
        matched(rows_of(*IDS[:4]), IDS[:5], PATH, known=IDS)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (IDS[1:], r"1 of the 6 ids of the data are not in it \(row-0\)\. Give the data"),
        ([*IDS, "x"], r"1 of its 7 ids are not in the data \(x\)\."),
        (
            ["a", "b", "c", "d", "row-0"],
            r"5 of the 6 ids .* \(row-1, row-2, row-3, \.\.\.\); 4 of its 5 ids are .* \(a, b, c, \.\.\.\)",
        ),
        ([*IDS[:3], "x"], r"3 of the 6 ids .*; 1 of its 4 ids"),
    ],
)
def test_mismatched_ids_are_counted_and_the_first_named(keys: list[str], message: str) -> None:
    with pytest.raises(InputError, match=r"rows\.jsonl does not match the data: " + message):
        matched(rows_of(*keys), IDS, PATH)


def test_a_part_of_the_data_is_matched_with_outputs_for_all_of_it() -> None:
    part = [IDS[4], IDS[1]]
    assert [item["id"] for item in matched(rows_of(*IDS), part, PATH, known=IDS)] == part
    with pytest.raises(InputError, match=r"1 of its 7 ids are not in the data \(x\)"):
        matched(rows_of(*IDS, "x"), part, PATH, known=IDS)
