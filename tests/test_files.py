"""Files are written whole or not at all, and by one process at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from refdec.errors import InputError
from refdec.files.growing import GrowingFile
from refdec.files.lock import locked
from refdec.files.whole import write_whole


def test_two_threads_write_two_files_of_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_are_written, replace = threading.Barrier(2), os.replace

    def replace_together(*paths: Any) -> None:
        both_are_written.wait(60)
        replace(*paths)

    monkeypatch.setattr(os, "replace", replace_together)
    threads = [threading.Thread(target=write_whole, args=(tmp_path / name, name)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "one", "two": "two"}


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def noted(real: Callable[..., None], *given: Any) -> None:
        calls.append(real.__name__)
        real(*given)

    monkeypatch.setattr(os, "fsync", partial(noted, os.fsync))
    monkeypatch.setattr(os, "replace", partial(noted, os.replace))
    write_whole(tmp_path / "one", "text")
    assert calls[:2] == ["fsync", "replace"]
    assert (tmp_path / "one").read_text() == "text"


HOLD = """if True:
    import sys
    from pathlib import Path
    from refdec.files.lock import locked

    with locked(Path(sys.argv[1])):
        print("locked", flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("kill", [False, True])
def test_a_lock_keeps_other_processes_out_and_ends_with_its_process(
    tmp_path: Path, is_folder: bool, kill: bool
) -> None:
    path = tmp_path / "it"
    if is_folder:
        path.mkdir()
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        for _ in range(2):
            with pytest.raises(InputError, match=r"it is in use: another process writes to it\."), locked(path):
                pass
        if kill:
            process.send_signal(signal.SIGKILL)
        else:
            process.communicate()
        process.wait()
    with locked(path):
        pass
    assert [*tmp_path.rglob("*")] == ([path] if is_folder else [])


def test_a_lock_is_taken_by_one_of_many_threads_at_a_time(tmp_path: Path) -> None:
    """Though every holder removes the file that it locked."""
    path, holders, most, refused = tmp_path / "it", [0], [0], [0]

    def take_often() -> None:
        for _ in range(200):
            try:
                with locked(path):
                    holders[0] += 1
                    most[0] = max(most[0], holders[0])
                    holders[0] -= 1
            except InputError:
                refused[0] += 1

    threads = [threading.Thread(target=take_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert not [*tmp_path.iterdir()]


def test_no_directory_is_made_for_a_lock(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it cannot be written \(there is no directory .*nowhere\)"):
        GrowingFile(tmp_path / "nowhere" / "it")
    assert not [*tmp_path.iterdir()]


def test_a_growing_file_that_cannot_be_opened_is_not_kept_locked(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.symlink_to(tmp_path / "folder" / "it")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "it").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        GrowingFile(path)
    with locked(path):
        pass
