"""Tables come out of every format as they went in, row by row, and what is wrong with one is told with its place."""

from __future__ import annotations

import bz2
import contextlib
import csv
import datetime
import decimal
import errno
import gc
import gzip
import io
import json
import lzma
import math
import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pandas as pd
import pyarrow as pa
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from refdec.errors import InputError, ModelError
from refdec.files import csv_format, formats, parquet_format
from refdec.files.formats import FORMATS, Look, format_of, read, writer
from refdec.files.row import Column

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": lambda content: bz2.compress(content, 1),
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
ENDING = {"text": ".txt", "jsonl": ".jsonl", "csv": ".csv", "tsv": ".tsv", "parquet": ".parquet"}
TEXT = [Column("text", "text")]
TEXTS = [
    "",
    " ",
    "  spaces on both sides  ",
    'She said "no", twice: ""',
    '"',
    "'",
    ",",
    "one\ntwo",
    "one\rtwo",
    "one\r\ntwo\r\n",
    "\n",
    "\r",
    "\ttabs\t",
    "emoji 👩‍🚀🐝",
    "مرحبا بالعالم",
    "你好，世界",
    "नमस्ते दुनिया",
    "e\u0301 \u2028 \u2029 \x85 \x0b \x0c \x1c \u00a0",
    "NUL \x00 inside",
    "\ufeffa mark in front",
    "back\\slash \\n",
    "long " * 20_000,
    "=1+1",
    "-5",
    "null",
    "NaN",
]
Fields = dict[str, Any]


def write(sink: Path | BinaryIO, format: str, rows: list[Fields], columns: list[Column], **options: Any) -> None:
    with writer(sink, format, columns, **options) as out:
        for row in rows:
            out.write(row)


def content(path: Path, format: str | None = None) -> list[Fields]:
    rows = list(read(path, format_of(path, format)))
    assert not [row for row in rows if row.error]
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    return [row.fields for row in rows]


def saved(path: Path, what: bytes) -> Path:
    path.write_bytes(what)
    return path


def refusal(path: Path, format: str | None = None) -> str:
    """Why a file cannot be read to its end."""
    with pytest.raises(InputError) as refused:
        list(read(path, format_of(path, format)))
    with pytest.raises(InputError) as again:
        formats.columns(path, format_of(path, format))
    if format_of(path, format) != "parquet":
        assert str(again.value) == str(refused.value)
    message = str(refused.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def bad(path: Path, format: str | None = None) -> list[tuple[int, int, str]]:
    """The number, the line and the reason of each bad row."""
    rows = list(read(path, format_of(path, format)))
    look = formats.columns(path, format_of(path, format))
    found = [row for row in rows if row.error]
    assert (look.rows, look.bad, look.first_bad) == (len(rows), len(found), found[0] if found else None)
    return [(row.number, row.line, row.error) for row in found]


@pytest.mark.parametrize("pack", ["", ".gz", ".xz", ".bz2", ".zst", ".GZ"])
@pytest.mark.parametrize(
    ("ending", "format"),
    [
        (".txt", "text"),
        (".text", "text"),
        (".jsonl", "jsonl"),
        (".ndjson", "jsonl"),
        (".csv", "csv"),
        (".CSV", "csv"),
        (".tsv", "tsv"),
        (".tab", "tsv"),
    ],
)
def test_a_name_tells_the_format(ending: str, format: str, pack: str) -> None:
    assert format_of(Path(f"a.b/rows{ending}{pack}"), None) == format
    assert format_of(Path(f"rows{pack}"), format) == format


def test_parquet_is_not_compressed_twice() -> None:
    assert [format_of(Path(name), None) for name in ("a.parquet", "a.PQ")] == ["parquet", "parquet"]
    with pytest.raises(InputError, match=r"a\.parquet\.gz is compressed as a whole, .* Leave out \.gz"):
        format_of(Path("a.parquet.gz"), None)
    with pytest.raises(InputError, match=r"Leave out \.zst"):
        format_of(Path("a.zst"), "parquet")


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("rows.json", None, r"rows\.json is not known: its name ends in '\.json' \(did you mean '\.jsonl'\?\)\. Names"),
        ("rows.json.gz", None, r"ends in '\.json' \(did you mean"),
        ("rows", None, r"its name has no ending\. Names end in \.txt, .*, \.pq, compressed also in \.zst, \.gz, \.xz"),
        ("rows.gz", None, r"its name has no ending"),
        ("rows.docx", None, r"Or say which format it has: text, jsonl, csv, tsv, parquet\."),
        ("rows.csv", "jsnl", r"There is no format 'jsnl' \(did you mean 'jsonl'\?\)\. Formats: text, jsonl, csv, tsv"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(path: str, given: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        format_of(Path(path), given)


@pytest.mark.parametrize("pack", ["", *PACK])
@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "parquet"])
def test_texts_come_back_as_they_were(tmp_path: Path, format: str, pack: str) -> None:
    path = tmp_path / f"rows{ENDING[format]}{'' if format == 'parquet' else pack}"
    rows = [{"text": text, "id": str(number), "tail": text} for number, text in enumerate(TEXTS)]
    write(path, format, rows, [Column(name, "text") for name in ("text", "id", "tail")])
    assert content(path) == rows
    look = formats.columns(path, format)
    assert [(column.name, column.kind) for column in look.columns] == [
        ("text", "text"),
        ("id", "text"),
        ("tail", "text"),
    ]
    assert look.rows == len(rows)


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "parquet"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=6))
def test_any_texts_come_back_as_they_were(tmp_path: Path, format: str, rows: list[list[str]]) -> None:
    path = tmp_path / f"rows{ENDING[format]}"
    fields = [dict(zip(("a", "b"), row, strict=True)) for row in rows]
    write(path, format, fields, [Column("a", "text"), Column("b", "text")])
    assert content(path) == fields


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_a_column_of_its_own_keeps_its_empty_cells(tmp_path: Path, format: str) -> None:
    path = tmp_path / "rows"
    write(path, format, [{"text": ""}, {"text": "x"}, {}], TEXT)
    assert content(path, format) == [{"text": ""}, {"text": "x"}, {"text": ""}]


@pytest.mark.parametrize("pack", ["", *PACK])
def test_lines_of_text_stay_on_their_lines(tmp_path: Path, pack: str) -> None:
    path = tmp_path / f"rows.txt{pack}"
    rows: list[Fields] = [{"best": text, "other": "x"} for text in TEXTS] + [
        {"best": None},
        {},
        {"best": 1.5},
        {"best": ["a\nb"]},
    ]
    write(path, "text", rows, [Column("best", "text"), Column("other", "text")], best="best")
    flat = [text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ") for text in TEXTS]
    assert [row["text"] for row in content(path)] == [*flat, "", "", "1.5", '["a\\nb"]']


def test_other_programs_read_what_is_written(tmp_path: Path) -> None:
    rows = [{"text": text, "n": number, "x": number / 8, "ok": number % 2 == 0} for number, text in enumerate(TEXTS)]
    columns = [Column("text", "text"), Column("n", "integer"), Column("x", "number"), Column("ok", "boolean")]
    for name in ("jsonl", "csv", "tsv", "parquet"):
        write(tmp_path / f"rows.{name}", name, rows, columns)

    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert [json.loads(line) for line in lines] == rows
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == rows
    assert pd.read_parquet(tmp_path / "rows.parquet").to_dict("records") == rows
    for name, delimiter in (("rows.csv", ","), ("rows.tsv", "\t")):
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            cells = list(csv.DictReader(file, delimiter=delimiter))
        assert [row["text"] for row in cells] == TEXTS
        assert cells[3] == {"text": TEXTS[3], "n": "3", "x": "0.375", "ok": "false"}
        frame = pd.read_csv(tmp_path / name, sep=delimiter, keep_default_na=False, engine="python", dtype={"text": str})
        assert frame["n"].tolist() == list(range(len(rows)))
        assert frame["ok"].tolist() == [row["ok"] for row in rows]
        assert frame["text"].tolist() == TEXTS


def test_what_other_programs_write_is_read(tmp_path: Path) -> None:
    texts = [text for text in TEXTS if "\r" not in text]  # which pandas does not put in quotes
    frame = pd.DataFrame({"text": texts, "n": range(len(texts))})
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "a.csv.gz", index=False)
    frame.to_csv(tmp_path / "excel.csv", index=False, encoding="utf-8-sig", quoting=csv.QUOTE_ALL)
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.csv.gz", "excel.csv", "a.parquet"):
        rows = content(tmp_path / name)
        assert [row["text"] for row in rows] == texts
        assert [int(row["n"]) for row in rows] == list(range(len(texts)))


def test_null_and_empty_are_told_apart_where_they_can_be(tmp_path: Path) -> None:
    rows: list[Fields] = [{"text": None, "n": 1}, {"text": "", "n": None}, {}]
    for name in ("jsonl", "parquet"):
        path = tmp_path / f"rows.{name}"
        write(path, name, rows, [*TEXT, Column("n", "integer")])
        assert content(path) == [{"text": None, "n": 1}, {"text": "", "n": None}, {"text": None, "n": None}]
    write(tmp_path / "rows.csv", "csv", rows, [*TEXT, Column("n", "integer")])
    assert (tmp_path / "rows.csv").read_bytes() == b"text,n\r\n,1\r\n,\r\n,\r\n"


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_without_rows_is_one(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"rows{ENDING[format]}"
    write(path, format, [], TEXT, best="text")
    assert content(path) == []
    names = [column.name for column in formats.columns(path, format).columns]
    assert names == ([] if format == "jsonl" else ["text"])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("pack", ["", *PACK])
def test_what_is_written_depends_on_the_rows_alone(tmp_path: Path, format: str, pack: str) -> None:
    if format == "parquet" and pack:
        return
    rows = [{"text": text} for text in TEXTS]
    one, other = (tmp_path / f"{name}{ENDING[format]}{pack}" for name in ("one", "other"))
    write(one, format, rows, TEXT, best="text")
    with writer(other, format, TEXT, best="text") as out:
        for row in rows:
            out.write(row)
            out.flush()
    assert one.read_bytes() == other.read_bytes()


ODD = {
    "date": datetime.date(2024, 2, 29),
    "time": datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC),
    "decimal": decimal.Decimal("1.50"),
    "bytes": b"\x00\xff",
    "nan": math.nan,
    "list": ["é", {"inner": math.inf, "day": datetime.date(2024, 1, 1)}],
    "keys": {(1, 2): None, 3: True},
    "uuid": uuid.UUID(int=5),
    "set": {1},
    "half": "\ud83d!",
    "huge": 10**300,
    "object": datetime.timedelta(seconds=90),
}
PLAIN = {
    "date": "2024-02-29",
    "time": "2024-02-29T12:30:00+00:00",
    "decimal": "1.50",
    "bytes": "AP8=",
    "nan": None,
    "list": ["é", {"inner": None, "day": "2024-01-01"}],
    "keys": {"[1, 2]": None, "3": True},
    "uuid": "00000000-0000-0000-0000-000000000005",
    "set": [1],
    "half": "\ufffd!",
    "huge": 10**300,
    "object": "0:01:30",
}


def test_values_that_are_no_json_are_written_as_the_nearest(tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", "jsonl", [ODD], [Column(name, "json") for name in ODD])
    assert content(tmp_path / "rows.jsonl") == [PLAIN]


def test_cells_of_other_values_are_numbers_or_json(tmp_path: Path) -> None:
    write(tmp_path / "rows.csv", "csv", [ODD], [Column(name, "json") for name in ODD])
    (row,) = content(tmp_path / "rows.csv")
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in PLAIN.items()
    }
    assert row == texts | {"nan": "nan"}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["text", "integer", "number", "boolean", "json"])
def test_no_value_stops_a_writer(tmp_path: Path, format: str, kind: str) -> None:
    path = tmp_path / f"rows{ENDING[format]}"
    values = [*ODD.values(), "text", 1, 2.5, True, None, 2**64, object]
    write(path, format, [{"a": value} for value in values], [Column("a", kind)], best="a")
    assert len(content(path)) == len(values)


def test_kinds_become_types_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    columns = [Column(kind, kind) for kind in ("text", "integer", "number", "boolean", "json")]
    rows: list[Fields] = [
        {"text": "a", "integer": -(2**63), "number": 1, "boolean": True, "json": {"a": [1, "é"]}},
        {"text": 1, "integer": "no", "number": 0.1, "boolean": False, "json": "a"},
        {"text": None, "integer": 2**64, "number": None, "boolean": "yes", "json": None},
    ]
    write(path, "parquet", rows, columns)
    table = parquet.read_table(path)
    assert list(map(str, table.schema.types)) == ["string", "int64", "double", "bool", "string"]
    assert table.to_pylist() == [
        {"text": "a", "integer": -(2**63), "number": 1.0, "boolean": True, "json": '{"a": [1, "é"]}'},
        {"text": "1", "integer": None, "number": 0.1, "boolean": False, "json": '"a"'},
        {"text": None, "integer": None, "number": None, "boolean": None, "json": None},
    ]


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize("text", ["=1+1", "+x", "-", "@SUM(A1)", "\t=1", "\r=1", "-2+3", "--5", "=", "+", "-1e"])
def test_what_a_spreadsheet_would_run_is_made_a_text_where_that_is_asked_for(
    tmp_path: Path, format: str, text: str
) -> None:
    columns = [Column("=name", "text"), *TEXT]
    for guard, header, cell in (
        ({"=name", "text"}, "'=name", f"'{text}"),
        ({"text"}, "=name", f"'{text}"),
        ((), "=name", text),
    ):
        with writer(tmp_path / "rows", format, columns, guard=guard) as out:
            out.write({"=name": "x=1", "text": text})
        assert out.guarded == len(guard)
        assert content(tmp_path / "rows", format) == [{header: "x=1", "text": cell}]


@pytest.mark.parametrize("value", ["-5", "+5.25", "-.5", "-1e-3", "-1E5", -5, -0.5, -math.inf, "a=1", "", " =1", "'=1"])
def test_numbers_and_other_texts_are_left_alone(tmp_path: Path, value: Any) -> None:
    with writer(tmp_path / "rows.csv", "csv", TEXT) as out:
        out.write({"text": value})
        assert out.guarded == 0
    assert content(tmp_path / "rows.csv") == [{"text": str(value)}]


def test_kinds_of_json_columns_come_from_the_whole_file(tmp_path: Path) -> None:
    rows = [
        {"t": "a", "i": 1, "x": 1, "b": True, "j": 1, "n": None, "big": 1, "wide": 2**53 + 1, "mixed": 2**53 + 1},
        {"t": None, "i": -(2**63), "x": 0.5, "b": None, "j": "a", "n": None, "big": 2**63, "wide": 1, "mixed": 0.5},
        {"later": [1], "bools": True, "t": ""},
        {"bools": 1, "only": {"a": 1}},
    ]
    path = saved(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)).encode())
    look = formats.columns(path, "jsonl")
    assert (look.rows, look.bad, look.first_bad) == (4, 0, None)
    assert {column.name: column.kind for column in look.columns} == {
        "t": "text",
        "i": "integer",
        "x": "number",
        "b": "boolean",
        "j": "json",
        "n": "text",
        "big": "json",
        "wide": "integer",
        "mixed": "json",
        "later": "json",
        "bools": "json",
        "only": "json",
    }
    assert [column.name for column in look.columns][-3:] == ["later", "bools", "only"]


def test_a_look_says_how_far_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.txt", b"x\n" * 25_000)
    steps: list[int] = []
    assert formats.columns(path, "text", steps.append) == Look(25_000, 0, None, (Column("text", "text"),))
    assert steps == [10_000, 20_000]


def test_a_look_at_parquet_reads_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.int8()), "t": ["x", "y"]}), path)
    monkeypatch.setattr(parquet_format, "_batches", None)
    look = formats.columns(path, "parquet")
    assert look == Look(2, 0, None, (Column("a", "integer", pa.int8()), Column("t", "text", pa.string())))


def test_bad_lines_of_text_are_named_and_the_others_kept(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\n\xff\xfetwo\n\nf\xc3\n")
    assert [row.fields["text"] for row in read(path, "text")] == ["one", "\ufffd\ufffdtwo", "", "f\ufffd"]
    assert bad(path) == [
        (2, 2, "It is not UTF-8 (byte 1 of the line is 0xff)."),
        (4, 4, "It is not UTF-8 (byte 2 of the line is 0xc3)."),
    ]


@pytest.mark.parametrize(
    ("what", "texts"),
    [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r", ["a", "b\r"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\r\n \r\n", ["", " "]),
    ],
)
def test_every_line_of_text_is_a_row(tmp_path: Path, what: bytes, texts: list[str]) -> None:
    assert [row["text"] for row in content(saved(tmp_path / "a.txt", what))] == texts


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json", "It is not JSON (Expecting value at character 1)."),
        (b'{"a": "cut o', "It is not JSON (Unterminated string starting at character 7)."),
        (b'{"a": 1} x', "It is not JSON (Extra data at character 10)."),
        (b'{"a": "tab\t"}', "It is not JSON (Invalid control character at character 11)."),
        (b'{"a": NaN}', "It is not JSON (NaN is no number)."),
        (b'{"a": [-Infinity]}', "It is not JSON (-Infinity is no number)."),
        (b'{"a": 1e999}', "It is not JSON (1e999 is too large)."),
        (b'{"a": ' + b"1" * 5_000 + b"}", "It is not JSON (Exceeds the limit (4300 digits) for integer string conv"),
        (b"[1, 2]", "It is JSON, but no object."),
        (b'"text"', "It is JSON, but no object."),
        (b"null", "It is JSON, but no object."),
        (b'{"a": "\xff"}', "It is not UTF-8 (byte 8 of the line is 0xff)."),
        (b'{"a": "\xed\xa0\x80"}', "It is not UTF-8 (byte 8 of the line is 0xed)."),
        (b'{"a": "\\ud83d"}', '"a" has half of a surrogate pair, which is not a character.'),
        (b'{"b": 1, "a": [{"c": "\\uDE00"}]}', '"a" has half of a surrogate pair, which is not a character.'),
        (b'{"a\\ud83d": 1}', '"a\ufffd" has half of a surrogate pair, which is not a character.'),
        (b"[" * 100_000, "It is nested too deeply (more than 100 levels)."),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "It is nested too deeply (more than 100 levels)."),
        (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", "It is nested too deeply (more than 100 levels)."),
        (b"\x00\x00", "It is not JSON (Expecting value at character 1)."),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_others_kept(tmp_path: Path, line: bytes, message: str) -> None:
    path = saved(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"id": 1}\n\n  \r\n' + line + b'\n{"id": 2}')
    assert [row.fields for row in read(path, "jsonl") if not row.error] == [{"id": 1}, {"id": 2}]
    ((number, place, error),) = bad(path)
    assert (number, place) == (2, 4)
    assert error.startswith(message)
    assert error.endswith(".")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "\\ud83d\\ude00 \\\\ud83d"}', {"a": "\U0001f600 \\ud83d"}),
        (b'{"a": ' + b"[" * 99 + b"]" * 99 + b"}", None),
        (b'{"a": ' + b"1" * 4_000 + b"}", {"a": int("1" * 4_000)}),
        (b'{"a": [' + b"{}, " * 1_000 + b"{}]}", {"a": [{}] * 1_001}),
        (b'{"a": -0.0, "b": 1E2}', {"a": -0.0, "b": 100.0}),
        (b"{}", {}),
        (b'{"": "\xe2\x80\xa8"}', {"": "\u2028"}),
    ],
)
def test_odd_objects_are_rows(tmp_path: Path, line: bytes, fields: Fields | None) -> None:
    (row,) = content(saved(tmp_path / "a.jsonl", line))
    assert fields is None or row == fields
    columns = [Column(name, "json") for name in row]
    for name in FORMATS:
        write(tmp_path / "out", name, [row], columns, best="a")
    write(tmp_path / "again.jsonl", "jsonl", [row], columns)
    assert content(tmp_path / "again.jsonl") == [row]


def test_what_is_left_of_a_row_with_half_a_character_is_kept(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.jsonl", b'{"id": 7, "text": "\\ud83d", "more": "x"}')
    (row,) = read(path, "jsonl")
    assert row.fields == {"id": 7, "more": "x"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_line_of_ten_megabytes_is_a_row(tmp_path: Path, format: str) -> None:
    rows = [{"text": "0123456789" * 1_000_000}, {"text": "x"}]
    path = tmp_path / f"rows{ENDING[format]}"
    write(path, format, rows, TEXT, best="text")
    assert content(path) == rows


def test_records_with_other_numbers_of_cells_are_named_and_the_others_kept(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "a.csv", b'\xef\xbb\xbf\r\na,b\r\n1,2\r\n\r\n"x\r\ny"\r\n3,4,5\r\nf\xfc,6\r\n7,8,\xff\r\n"9\n9",\r\n'
    )
    assert [row.fields for row in read(path, "csv")] == [
        {"a": "1", "b": "2"},
        {"a": "x\r\ny"},
        {"a": "3", "b": "4"},
        {"a": "f\ufffd", "b": "6"},
        {"a": "7", "b": "8"},
        {"a": "9\n9", "b": ""},
    ]
    assert bad(path) == [
        (2, 5, "It has 1 cell, and the header has 2 names."),
        (3, 7, "It has 3 cells, and the header has 2 names."),
        (4, 8, "It is not UTF-8 (in cell 1)."),
        (5, 9, "It is not UTF-8 (in cell 3)."),
    ]
    assert [row.line for row in read(path, "csv")] == [3, 5, 7, 8, 9, 10]


@pytest.mark.parametrize("format", ["text", "jsonl", "csv"])
@pytest.mark.parametrize("ending", PACK)
def test_a_compressed_file_that_breaks_off_is_refused_with_the_line(tmp_path: Path, ending: str, format: str) -> None:
    lines = [b'{"a": "%s"}\n' % os.urandom(1_500).hex().encode() for _ in range(100)]
    path = tmp_path / f"a{ENDING[format]}{ending}"
    packed = PACK[ending](b"a\n" * (format == "csv") + b"".join(lines))
    for damaged in (packed[: len(packed) * 7 // 10], packed[:-1]):
        path.write_bytes(damaged)
        last = int(format == "csv")
        with contextlib.suppress(InputError):
            for _ in read(path, format):
                last += 1
        assert 10 < last <= 101
        assert refusal(path) == f" cannot be unpacked after line {last}: it is damaged or cut off there."


@pytest.mark.parametrize("ending", PACK)
def test_a_wrong_ending_is_noticed_both_ways(tmp_path: Path, ending: str) -> None:
    plain = saved(tmp_path / f"a.jsonl{ending}", b'{"a": 1}\n' * 100)
    assert refusal(plain) == " cannot be unpacked: it is damaged, cut off, or of another kind."
    packed = saved(tmp_path / "a", PACK[ending](b'{"a": 1}\n' * 100))
    for name in ("text", "jsonl", "csv", "tsv"):
        message = refusal(packed, name)
        assert message.startswith(", line 1: it is compressed with ")
        assert message.endswith(f": give it a name that ends in {ending}, or unpack it.")
    assert "no Parquet" in refusal(packed, "parquet")


@pytest.mark.parametrize("mark", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("format", ["text", "jsonl", "csv", "tsv"])
def test_a_file_of_another_encoding_is_refused(tmp_path: Path, format: str, mark: str) -> None:
    path = saved(tmp_path / "a", "\ufeffa\nb\n".encode(mark))
    assert refusal(path, format) == ", line 1: it is UTF-16. Save it as UTF-8."


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (b"", " is empty. Its first line must have the names of the columns."),
        (b"\n\r\n", " is empty. Its first line must have the names of the columns."),
        (b"a,,c\n", ", line 1: name 2 in the header is empty. Give every column a name."),
        (b"\n,a\n", ", line 2: name 1 in the header is empty. Give every column a name."),
        (b"a, ,c\n", ", line 1: name 2 in the header is empty. Give every column a name."),
        (b"a,b,a\n1,2,3\n", ", line 1: the header has the name 'a' twice. Give every column a name of its own."),
        (b"a,\xff\n", ", line 1: name 2 in the header is not UTF-8. Save the file as UTF-8."),
        (b'a,"b\n1,2\n', ", line 1: a quote is opened here and never closed. A quote in a cell is written twice."),
        (b'a,b\n1,2\n"x\ny","z"" \n1,2\n3,4\n', ", line 4: a quote is opened here and never closed."),
        (b'a,b\n1,2\n"x ""y"", z",5" "\n\n"1\n3,4\n', ", line 5: a quote is opened here and never closed."),
        (b'a,b\n1,"', ", line 2: a quote is opened here and never closed."),
        (b'a,b\n1,2\n"x\ny"z,1\n3,"4\n', ", line 4: text follows the closing quote of a cell. Put the cell in quotes,"),
        (b'a,b\n"x" ,1\n', ", line 2: text follows the closing quote of a cell."),
        (
            b"a,b\r1,2\r3,4\r",
            ", line 1: a carriage return stands alone outside quotes. Put the cell in quotes, or end lines in l",
        ),
    ],
)
def test_a_broken_csv_is_refused_with_the_line(tmp_path: Path, what: bytes, message: str) -> None:
    assert refusal(saved(tmp_path / "a.csv", what)).startswith(message)
    assert refusal(saved(tmp_path / "a.tsv", what.replace(b",", b"\t"))).startswith(message)


def test_rows_before_a_broken_place_are_given(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.csv", b'a\n1\n2\n"3\n')
    rows = read(path, "csv")
    assert [next(rows).fields["a"], next(rows).fields["a"]] == ["1", "2"]
    with pytest.raises(InputError, match="line 4: a quote is opened here"):
        next(rows)


def test_a_quote_that_does_not_close_takes_in_no_more_than_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_format, "LONGEST", 200_000)
    before = csv.field_size_limit(200_000)
    try:
        path = saved(tmp_path / "a.csv", b'a,b\n1,2\n1,"2\n' + b"3,4\n" * 100_000)
        assert refusal(path).startswith(
            ", line 3: a cell of more than 200,000 characters begins here. Is its quote never"
        )
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("format", FORMATS)
def test_files_that_are_not_there_are_refused(tmp_path: Path, format: str) -> None:
    rows = read(tmp_path / "none", format)
    with pytest.raises(InputError, match=r"none cannot be read \(No such file or directory\)"):
        next(rows)
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        next(read(tmp_path, format))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match=r"loop cannot be read \(Too many levels"):
        next(read(loop, format))
    closed = saved(tmp_path / "closed", b"x")
    closed.chmod(0)
    if not os.access(closed, os.R_OK):  # not so for root
        with pytest.raises(InputError, match=r"closed cannot be read \(Permission denied\)"):
            next(read(closed, format))


class FailingDisk(io.RawIOBase):
    """Gives two lines, then an error."""

    def __init__(self) -> None:
        self.left = [b"a\n1\n"]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.left:
            raise OSError(5, "Input/output error")
        piece = self.left.pop()
        buffer[: len(piece)] = piece
        return len(piece)


def test_a_disk_that_fails_is_told() -> None:
    stream = cast("BinaryIO", io.BufferedReader(FailingDisk()))
    with pytest.raises(InputError, match=r"standard input cannot be read \(Input/output error\)"):
        list(read(stream, "csv"))


MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.UTC)
TYPES: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "int8": (pa.int8(), [-128, None], -128),
    "uint64": (pa.uint64(), [2**64 - 1, None], 2**64 - 1),
    "float32": (pa.float32(), [0.5, math.inf], 0.5),
    "half": (pa.float16(), [0.5, None], 0.5),
    "bool": (pa.bool_(), [True, None], True),
    "large": (pa.large_string(), ["é", None], "é"),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["b", "a"], "b"),
    "null": (pa.null(), [None, None], None),
    "binary": (pa.binary(), [b"\xff\x00", None], "/wA="),
    "fixed": (pa.binary(2), [b"ab", None], "YWI="),
    "decimal": (pa.decimal128(20, 4), [decimal.Decimal("-1.5000"), None], "-1.5000"),
    "decimal256": (pa.decimal256(60, 1), [decimal.Decimal("1" * 50 + ".5"), None], "1" * 50 + ".5"),
    "day": (pa.date32(), [datetime.date(2024, 2, 29), None], "2024-02-29"),
    "far": (pa.date32(), [4_000_000, None], "12921-08-18"),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), [MOMENT, None], "2024-02-29T13:30:15.123456+01:00"),
    "nano": (pa.timestamp("ns"), [1_700_000_000_123_456_789, None], "2023-11-14T22:13:20.123456789"),
    "clock": (pa.time64("us"), [datetime.time(1, 2, 3), None], "01:02:03"),
    "span": (pa.duration("us"), [datetime.timedelta(seconds=90), None], "0:01:30"),
    "list": (pa.list_(pa.int16()), [[1, None], []], [1, None]),
    "sized": (pa.list_(pa.int16(), 2), [[1, 2], None], [1, 2]),
    "times": (pa.list_(pa.timestamp("ns")), [[1], None], ["1970-01-01T00:00:00.000000001"]),
    "struct": (
        pa.struct([("a", pa.int8()), ("b", pa.struct([("at", pa.timestamp("us", "UTC"))]))]),
        [{"a": 1, "b": {"at": MOMENT}}, None],
        {"a": 1, "b": {"at": "2024-02-29T12:30:15.123456+00:00"}},
    ),
    "map": (pa.map_(pa.string(), pa.int8()), [[("k", 1)], None], [["k", 1]]),
    "id": (pa.uuid(), [uuid.UUID(int=7).bytes, None], "00000000-0000-0000-0000-000000000007"),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("pandas", [True, False])
def test_types_of_parquet_are_carried_as_they_are(
    tmp_path: Path, name: str, pandas: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    wanted, values, shown = TYPES[name]
    table = pa.table({"a": pa.array(values, wanted), "text": ["x", "y"]})
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    parquet.write_table(table, path)
    look = formats.columns(path, "parquet")
    rows = content(path)
    write(out, "parquet", rows, [*look.columns, Column("new", "text")])
    carried = parquet.read_table(out)
    assert carried.select(["a", "text"]).equals(parquet.read_table(path))
    assert carried.schema.field("a").type == wanted
    write(tmp_path / "a.jsonl", "jsonl", rows, list(look.columns))
    assert content(tmp_path / "a.jsonl")[0] == {"a": shown, "text": "x"}
    write(tmp_path / "a.csv", "csv", rows, list(look.columns))
    cell = content(tmp_path / "a.csv")[0]["a"]
    text = "" if shown is None else shown if isinstance(shown, str) else json.dumps(shown)
    assert cell == text


def test_many_distinct_texts_of_a_dictionary_are_carried(tmp_path: Path) -> None:
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    texts = [f"text {number}" for number in range(1_000)]
    parquet.write_table(pa.table({"a": pa.array(texts).dictionary_encode()}), path, row_group_size=100)
    write(out, "parquet", content(path), list(formats.columns(path, "parquet").columns))
    assert parquet.read_table(out)["a"].to_pylist() == texts
    assert pa.types.is_dictionary(parquet.read_table(out).schema.field("a").type)


def test_parquet_is_read_a_few_rows_at_a_time_over_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"n": list(range(2_000))}), path, row_group_size=700)
    rows = list(read(path, "parquet"))
    assert [(row.number, row.line, row.fields) for row in rows] == [(n + 1, n + 1, {"n": n}) for n in range(2_000)]


def test_row_groups_are_bounded_in_rows_and_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def groups(rows: list[Fields]) -> list[int]:
        write(tmp_path / "a.parquet", "parquet", rows, [*TEXT, Column("n", "integer")])
        metadata = parquet.ParquetFile(tmp_path / "a.parquet").metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    long = [{"text": "x" * 100_000}] * 25
    assert groups(long) == [25]
    monkeypatch.setattr(parquet_format, "GROUP_BYTES", 1_000_000)
    assert groups(long) == [10, 10, 5]
    monkeypatch.setattr(parquet_format, "GROUP_ROWS", 4)
    assert groups([{"n": 1}] * 10) == [4, 4, 2]
    assert groups([{"n": 1}] * 4) == [4]
    assert groups([]) == []


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for what in (b"", b"PAR1", b"text\n" * 100, b"PAR1" + b"x" * 100 + b"PAR1"):
        assert refusal(saved(path, what)).startswith(" is damaged, cut off, or no Parquet (")
    parquet.write_table(pa.table({"a": list(range(100))}), path)
    whole = path.read_bytes()
    for length in (4, 100, len(whole) - 1):
        assert refusal(saved(path, whole[:length])).startswith(" is damaged, cut off, or no Parquet (")


@pytest.mark.parametrize("checked", [True, False])
def test_a_damaged_row_group_is_refused_with_its_number(tmp_path: Path, checked: bool) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"a": [os.urandom(20).hex() for _ in range(900)]})
    parquet.write_table(table, path, row_group_size=300, compression="zstd", write_page_checksum=checked)
    second = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    what = bytearray(path.read_bytes())
    start = second.dictionary_page_offset
    for place in range(start + 30, start + 200):
        what[place] ^= 0xFF
    path.write_bytes(what)
    rows = read(path, "parquet")
    for number in range(1, 301):
        assert next(rows).number == number
    with pytest.raises(InputError, match=r"a\.parquet, row group 2: it is damaged after row 300 \(.+\)\.$"):
        next(rows)


def test_texts_of_parquet_that_are_not_utf8_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = pa.array([b"fine", b"\xff", None, b"also"]).view(pa.string())
    parquet.write_table(pa.table({"n": [1, 2, 3, 4], "text": texts}), path)
    rows = list(read(path, "parquet"))
    assert [row.error for row in rows] == ["", 'It is not UTF-8 (in "text").', "", ""]
    assert [row.fields for row in rows][1:3] == [{"n": 2}, {"n": 3, "text": None}]


def test_parquet_without_columns_or_with_one_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    assert refusal(path) == " has the column 'a' twice. Give every column a name of its own."
    parquet.write_table(pa.table({}), path)
    assert refusal(path) == " has no columns."


def test_pyarrow_is_asked_for_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModelError, match=r"Reading .*a\.parquet needs .*: pip install 'refdec\[batch\]'"):
        next(read(tmp_path / "a.parquet", "parquet"))
    with pytest.raises(ModelError, match=r"Writing Parquet needs .*: pip install 'refdec\[batch\]'"):
        writer(tmp_path / "a.parquet", "parquet", TEXT)
    assert not (tmp_path / "a.parquet").exists()


class Counting(io.BytesIO):
    """Counts the bytes that were taken."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        return self.counted(super().read(size))

    def __next__(self) -> bytes:
        return self.counted(super().__next__())

    def counted(self, piece: bytes) -> bytes:
        self.taken += len(piece)
        return piece


@pytest.mark.parametrize("format", ["text", "jsonl", "csv"])
def test_the_first_row_comes_before_the_rest_is_read(format: str) -> None:
    stream = Counting(b"a\n" * (format == "csv") + b'{"a": 1}\n' * 100_000)
    rows = read(stream, format)
    assert stream.taken == 0
    for number in range(1, 4):
        next(rows)
        assert stream.taken <= 9 * number + 2
    assert sum(1 for _ in rows) == 100_000 - 3
    assert not stream.closed


def test_parquet_is_neither_read_nor_written_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_format, "GROUP_BYTES", 1_000_000)
    rows = [{"text": os.urandom(5_000).hex()} for _ in range(1_000)]
    stream = Counting()
    with writer(stream, "parquet", TEXT) as out:
        for number, row in enumerate(rows, start=1):
            out.write(row)
            assert stream.tell() > 4_500 * (number - 100)
    with Counting(stream.getvalue()) as stream:
        found = read(stream, "parquet")
        assert next(found).fields == rows[0]
        assert stream.taken < len(stream.getvalue()) / 2
        assert [row.fields for row in found] == rows[1:]


@contextlib.contextmanager
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    ends = os.pipe()
    with open(ends[0], "rb") as out, open(ends[1], "wb") as into:
        yield out, into


@pytest.mark.parametrize("format", ["text", "jsonl", "csv", "tsv"])
def test_rows_go_through_a_pipe_as_they_come(format: str) -> None:
    with pipe() as (out, into), writer(into, format, TEXT, best="text") as sink:
        sink.flush()
        rows = read(out, format)
        for text in ("one", "two"):
            sink.write({"text": text})
            sink.flush()
            assert next(rows).fields["text"] == text
        sink.close()
        assert not into.closed
        into.close()
        assert list(rows) == []
        assert not out.closed


def test_standard_input_is_named_in_messages() -> None:
    with pytest.raises(InputError, match=r"^standard input, line 1: the header has the name 'a' twice"):
        list(read(io.BytesIO(b"a,a\n"), "csv"))
    with pytest.raises(InputError, match=r"^standard input, line 1: it is compressed with gzip"):
        list(read(io.BytesIO(gzip.compress(b"a")), "jsonl"))


def test_parquet_goes_into_a_pipe_and_comes_out_of_a_file_alone(tmp_path: Path) -> None:
    with pipe() as (out, into):
        write(into, "parquet", [{"text": "x"}], TEXT)
        into.close()
        path = saved(tmp_path / "a.parquet", out.read())
        assert content(path) == [{"text": "x"}]
    with path.open("rb") as file:
        assert [row.fields for row in read(file, "parquet")] == [{"text": "x"}]
    with pipe() as (out, _), pytest.raises(InputError, match=r"^standard input is a pipe .* Give a plain file\."):
        list(read(out, "parquet"))


def test_a_stream_without_a_buffer_takes_every_byte() -> None:
    with pipe() as (out, into):
        write(cast("BinaryIO", io.FileIO(into.fileno(), "wb", closefd=False)), "text", [{"a": "x"}], TEXT, best="a")
        into.close()
        assert out.read() == b"x\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_is_told_as_it_is(tmp_path: Path, format: str) -> None:
    gc.collect()  # what other tests left open
    open_files, threads = set(os.listdir("/proc/self/fd")), set(threading.enumerate())
    row = {"text": os.urandom(5_000).hex()}
    for pack in ("", ".gz"):
        path = tmp_path / f"full{ENDING[format]}{pack}"
        path.symlink_to("/dev/full")
        for rows in (1, 200):
            with pytest.raises(OSError, match="No space left") as refused:
                write(path, format, [row] * rows, TEXT, best="text")
            assert refused.value.errno == errno.ENOSPC
            refused = None  # type: ignore[assignment]
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) <= open_files
    assert set(threading.enumerate()) <= threads


@pytest.mark.parametrize("format", FORMATS)
def test_an_error_elsewhere_is_told_and_closes_the_file(tmp_path: Path, format: str) -> None:
    out = writer(tmp_path / "a", format, TEXT, best="text")
    with pytest.raises(KeyError, match="elsewhere"), out:
        raise KeyError("elsewhere")
    assert cast("Any", out)._stream.closed


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_reader_that_left_is_told_once(format: str) -> None:
    with pipe() as (out, into):
        out.close()
        with pytest.raises(BrokenPipeError):
            write(into, format, [{"text": os.urandom(500).hex()}] * 2_000, TEXT, best="text")
        with contextlib.suppress(BrokenPipeError):
            into.close()
    gc.collect()
