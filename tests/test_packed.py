"""Compressed files are read whole or refused, and what is written depends on the content alone."""

from __future__ import annotations

import bz2
import errno
import gc
import gzip
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refdec.errors import InputError, ModelError
from refdec.files.packed import PACKED, DamagedError, is_packed, open_packed, open_packing

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": lambda content: bz2.compress(content, 1),
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed),
}
LINES = b"".join(b"line %d of many\n" % number for number in range(2_000))


def unpacked(path: Path) -> bytes:
    with open_packed(path) as file:
        return file.read()


@pytest.mark.parametrize("ending", UNPACK)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(pieces=st.lists(st.binary(max_size=3_000), max_size=5), times=st.sampled_from([1, 50]))
def test_what_is_written_is_read_here_and_elsewhere(
    tmp_path: Path, ending: str, pieces: list[bytes], times: int
) -> None:
    path = tmp_path / f"file{ending}"
    with open_packing(path) as file:
        for piece in pieces * times:
            file.write(piece)
    content = b"".join(pieces * times)
    assert unpacked(path) == content
    assert UNPACK[ending](path.read_bytes()) == content


@pytest.mark.parametrize("ending", PACKED)
def test_files_of_other_programs_are_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"file{ending.upper()}"
    path.write_bytes(PACK[ending](LINES))
    assert is_packed(path)
    assert unpacked(path) == LINES


@pytest.mark.parametrize("ending", PACKED)
def test_joined_and_padded_files_are_read_to_the_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"file{ending}"
    one, other = PACK[ending](LINES), PACK[ending](b"end")
    path.write_bytes(one + other + bytes(4) + PACK[ending](b"") + other + bytes(4_000))
    assert unpacked(path) == LINES + b"endend"


@pytest.mark.parametrize("ending", PACKED)
def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"file{ending}"
    packed = PACK[ending](LINES[:300])
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(DamagedError, match=rf"file\{ending} cannot be unpacked: it is damaged, cut off, or of an"):
            unpacked(path)


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("first", [b"", LINES])
def test_damage_is_refused_in_every_one_of_joined_files(tmp_path: Path, ending: str, first: bytes) -> None:
    """The standard library's readers end without a word where the second of two streams is damaged."""
    path = tmp_path / f"file{ending}"
    start = PACK[ending](first)
    packed = bytearray(PACK[ending](LINES))
    for place in (0, len(packed) // 2, len(packed) - 1):
        packed[place] ^= 0xFF
        path.write_bytes(start + packed)
        with pytest.raises(DamagedError):
            unpacked(path)
        packed[place] ^= 0xFF
    path.write_bytes(start + b"plain text")
    with pytest.raises(DamagedError):
        unpacked(path)


@pytest.mark.parametrize("ending", PACKED)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"file{ending}"
    for other in (b"plain text", *(pack(LINES) for kind, pack in PACK.items() if kind != ending)):
        path.write_bytes(other)
        with pytest.raises(DamagedError):
            unpacked(path)


@pytest.mark.parametrize("ending", PACKED)
def test_lines_come_before_the_file_is_read_to_its_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"file{ending}"
    content = os.urandom(1 << 18).hex().encode()
    path.write_bytes(PACK[ending](b"first\n" + content))
    with open_packed(path) as file:
        assert file.readline() == b"first\n"
        raw = cast("Any", file).raw
        assert raw._file.tell() < path.stat().st_size
        assert len(raw._ready) < len(content)


@pytest.mark.parametrize("ending", PACKED)
def test_what_is_written_depends_on_the_content_alone(tmp_path: Path, ending: str) -> None:
    one, other = tmp_path / f"one{ending}", tmp_path / f"other{ending}"
    with open_packing(one) as file:
        file.write(LINES)
    with open_packing(other) as file:
        for line in LINES.splitlines(keepends=True):
            file.write(line)
    os.utime(one, (0, 0))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("name", ["none.jsonl", "none.jsonl.gz", ".", "folder.gz", "closed.gz"])
def test_files_that_cannot_be_opened_raise_what_the_system_says(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.gz").mkdir()
    (tmp_path / "closed.gz").symlink_to("closed.gz")
    with pytest.raises(OSError, match="Errno"):
        open_packed(tmp_path / name)
    if not name.startswith("none"):
        with pytest.raises(OSError, match="Errno"):
            open_packing(tmp_path / name)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("ending", UNPACK)
def test_a_full_disk_is_told_once_and_nothing_stays_open(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"full{ending}"
    path.symlink_to("/dev/full")
    gc.collect()  # what other tests left open
    before = set(os.listdir("/proc/self/fd"))
    file = open_packing(path)
    file.write(b"held back")
    with pytest.raises(OSError, match="No space left") as refused:
        file.close()
    assert refused.value.errno == errno.ENOSPC
    file.close()
    assert file.closed
    assert set(os.listdir("/proc/self/fd")) <= before


def test_zstandard_is_asked_for_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "file.zst"
    with pytest.raises(ModelError, match=r"Writing .*file\.zst needs .*pip install 'refdec\[batch\]'.*leave out \.zst"):
        open_packing(path)
    assert not path.exists()
    with pytest.raises(ModelError, match=r"Reading .*file\.zst needs .*pip install 'refdec\[batch\]'.*zstd -d"):
        open_packed(path)


def test_damage_is_an_error_of_the_input() -> None:
    assert issubclass(DamagedError, InputError)
