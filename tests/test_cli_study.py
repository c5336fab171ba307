"""`refdec study` as its users meet it: links, refusals, tables."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from refdec.files.lock import locked
from refdec.serve.studies.store import Study
from tests.conftest import Run, refusal
from tests.study_files import save, small_material, write_outputs, write_rated_study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_outputs(tmp_path)
    return tmp_path


CREATE = ("study", "create", "rd=rd.jsonl", "mt=mt.csv", "--data", "originals.jsonl", "-o", "study.db")


def test_create_prints_a_link_for_every_rater_and_keeps_them_to_the_user(command: Run, folder: Path) -> None:
    code, out, err = command(*CREATE, "--raters", "ann,ben,cy", "--url", "https://study.example.org/")
    assert code == 0
    links = dict(line.split() for line in out.splitlines())
    assert list(links) == ["ann", "ben", "cy", "admin"]
    assert all(
        link.startswith("https://study.example.org/studies/rate/") for name, link in links.items() if name != "admin"
    )
    rows = list(csv.DictReader((folder / "study-links.csv").open()))
    assert {row["rater"]: row["link"] for row in rows} == links
    assert "8 items with 24 different texts of 3 systems" in err
    assert "each rater has 26 forms to fill in, 2 of them attention checks" in err
    assert "refdec study serve study.db" in err
    if os.name == "posix":
        assert {stat.S_IMODE((folder / name).stat().st_mode) for name in ("study.db", "study-links.csv")} == {0o600}


def test_a_study_is_not_overwritten_by_chance(command: Run, folder: Path) -> None:
    command(*CREATE)
    with Study(folder / "study.db") as study:
        study.answer(1, 1, {"fluency": 4, "consistency": 4, "novelty": 3})
    assert "study.db exists and has 1 rated text in it" in refusal(command, *CREATE)
    with locked(folder / "study.db"):
        assert "in use" in refusal(command, *CREATE, "--force")
    assert command(*CREATE, "--force")[0] == 0
    with Study(folder / "study.db") as study:
        assert list(study.ratings()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--items", "9"], "9 items are asked for, and 8 have an output of every system"),
        (["--per-item", "4"], "Each item is to have 4 raters, and there are 3"),
        (["--raters", "0"], "0 raters are asked for"),
        (["--raters", "ann,ann"], "Two raters have the same name"),
        (["--task", "infill"], 'originals.jsonl has no "left" and "right" for the id \'q0\' and 7 more ids'),
        (["--url", "example.org"], "is not an address"),
        (["--closes", "tomorrow"], "tomorrow"),
        (["other=none.csv"], "There is no file none.csv"),
        (["-o", "."], ". cannot be written (it is a directory)"),
        (["-o", "none/s.db"], "there is no directory none"),
        (["-o", os.devnull, "--force"], "is not a regular file"),
    ],
)
def test_what_makes_no_study_is_refused_with_a_sentence(
    changes: list[str], message: str, command: Run, folder: Path
) -> None:
    assert message in refusal(command, *CREATE, *changes)
    assert not (folder / "study.db").exists()


def test_report_shows_the_tables_of_the_paper(command: Run, tmp_path: Path) -> None:
    path = tmp_path / "rated.db"
    write_rated_study(path)
    code, out, _ = command("study", "report", str(path))
    assert code == 0
    for words in ("fluent", "consistent", "novel", "overall", "Agreement between raters", "rd – mt", "checks passed"):
        assert words in out
    assert "di failed the attention checks and is counted here" in " ".join(out.split())
    code, out, _ = command("study", "report", str(path), "--exclude-failed")
    assert "Left out, for failing the attention checks: di." in " ".join(out.split())
    assert re.search(r"di \(left out\) .* 0† ", out)


def test_report_as_json_is_strict_and_complete(command: Run, tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path))
    with Study(tmp_path / "s.db") as study:
        study.answer(1, 1, {"fluency": 4, "consistency": 4, "novelty": 3})
    code, out, _ = command("study", "report", str(tmp_path / "s.db"), "--json")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    report = json.loads(out, parse_constant=refuse)  # NaN is no JSON
    assert code == 0
    assert set(report["systems"]) == {"rd", "mt", "reference"}
    assert [share["overall"]["ratings"] for share in report["systems"].values()].count(1) == 1
    assert report["agreement"]["threshold"]["overall"]["kappa"] is None


def test_report_writes_pages_and_asks_before_it_overwrites(command: Run, tmp_path: Path) -> None:
    path = tmp_path / "rated.db"
    write_rated_study(path)
    files = [tmp_path / "report.html", tmp_path / "report.md"]
    options = ("--html", str(files[0]), "--markdown", str(files[1]))
    assert command("study", "report", str(path), *options)[0] == 0
    assert all("Agreement between raters" in file.read_text() for file in files)
    assert "report.html exists" in refusal(command, "study", "report", str(path), *options)
    assert command("study", "report", str(path), *options, "--force")[0] == 0


def test_export_never_runs_in_a_spreadsheet(command: Run, folder: Path) -> None:
    (folder / "bad.csv").write_text('id,source,output\n1,It rained.,"=HYPERLINK(""http://x"")"\n2,It snowed.,Snow.\n')
    command("study", "create", "a=bad.csv", "-o", "bad.db", "--raters", "1")
    with Study(folder / "bad.db") as study:
        for place in range(1, 1 + study.progress()[0].total):
            study.answer(1, place, {"fluency": 4, "consistency": 4, "novelty": 3})
    assert command("study", "export", "bad.db", "answers.csv")[0] == 0
    outputs = [row["output"] for row in csv.DictReader((folder / "answers.csv").open())]
    assert '\'=HYPERLINK("http://x")' in outputs
    assert "answers.csv exists" in refusal(command, "study", "export", "bad.db", "answers.csv")
    assert "plain text" in refusal(command, "study", "export", "bad.db", "answers.txt")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["serve", "report"])
def test_what_is_no_study_is_refused(name: str, command: Run) -> None:
    assert "There is no study none.db" in refusal(command, "study", name, "none.db")
    assert "is not a study" in refusal(command, "study", name, "rd.jsonl")


def test_serve_refuses_what_it_cannot_do(command: Run, folder: Path) -> None:
    command(*CREATE)
    (folder / "copy.db").write_bytes((folder / "study.db").read_bytes())
    assert "copies of one study" in refusal(command, "study", "serve", "study.db", "copy.db")
    assert "Leave one of them out" in refusal(
        command, "study", "serve", "study.db", "--closes", "2999-01-01", "--reopen"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"Nothing can listen on 127.0.0.1, port {port}" in refusal(
            command, "study", "serve", "study.db", "--port", port
        )
    with locked(folder / "study.db"):
        assert "in use" in refusal(command, "study", "serve", "study.db")


def test_serve_shows_its_links_and_stops_when_it_is_asked_to(folder: Path, command: Run) -> None:
    command(*CREATE, "--closes", "2020-01-01")
    process = subprocess.Popen(
        [sys.executable, "-m", "refdec", "study", "serve", "study.db", "--port", "0", "--reopen"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    links = dict(process.stdout.readline().split() for _ in range(4))
    with urllib.request.urlopen(links["r1"], timeout=60) as page:
        assert "Welcome, r1." in page.read().decode()
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert "token" not in err
    assert links["r1"].rpartition("/")[2] not in err  # nothing that opens a page is logged
    with locked(folder / "study.db"):
        pass
