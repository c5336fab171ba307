"""The pages of a rating study over HTTP: who may open what, what is shown, and that a kill loses no answer."""

from __future__ import annotations

import asyncio
import csv
import http.client
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from urllib.parse import urlencode, urlsplit

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from fastapi.testclient import TestClient

from refdec.serve.limits import Limits
from refdec.serve.signatures import signed
from refdec.serve.studies.app import studies_app
from refdec.serve.studies.material import Material
from refdec.serve.studies.router import router
from refdec.serve.studies.store import Study
from refdec.serve.studies.tokens import PURPOSE, admin_path, rater_path, token
from tests.study_files import GOOD, make_material, rate, save, small_material


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    save(tmp_path / "s.db", small_material(tmp_path))
    with Study(tmp_path / "s.db") as opened:
        yield opened


@pytest.fixture
def client(study: Study) -> TestClient:
    return TestClient(studies_app([study]), follow_redirects=False)


def test_a_rater_goes_from_the_start_to_the_end(study: Study, client: TestClient) -> None:
    here = f"/{rater_path(study, 1)}"
    start = client.get(here)
    assert start.status_code == 200
    assert "Welcome, ann." in start.text
    assert f'href="{here}/1"' in start.text
    total = study.progress()[0].total
    for place in range(1, total + 1):
        assert f"Text {place} of {total}" in client.get(f"{here}/{place}").text
        answer = client.post(f"{here}/{place}", data=GOOD)
        assert answer.status_code == 303
        assert answer.headers["location"] == (f"{here}/{place + 1}" if place < total else f"{here}/end")
    assert "Thank you, ann!" in client.get(f"{here}/end").text
    assert study.first_open(1) is None
    assert study.first_open(2) == 1
    assert "You have rated all" in client.get(here).text


def test_a_link_leads_back_to_where_the_rater_stopped(study: Study, client: TestClient) -> None:
    here = f"/{rater_path(study, 1)}"
    for place in (1, 2):
        client.post(f"{here}/{place}", data=GOOD)
    start = client.get(here).text
    assert "Welcome back, ann. You have rated 2 of" in start
    assert f'href="{here}/3"' in start
    assert client.get(f"{here}/9").headers["location"] == f"{here}/3"  # none is left out
    assert client.get(f"{here}/end").headers["location"] == f"{here}/3"


def test_going_back_shows_the_answers_and_can_change_them(study: Study, client: TestClient) -> None:
    here = f"/{rater_path(study, 1)}"
    client.post(f"{here}/1", data=GOOD)
    shown = client.get(f"{here}/1").text
    assert re.findall(r'id="(\w+-\d)"[^>]* checked', shown) == ["fluency-4", "consistency-4", "novelty-3"]
    for _ in range(2):  # a form that is sent twice counts once
        assert client.post(f"{here}/1", data=GOOD | {"novelty": "1"}).status_code == 303
    (kept,) = study.ratings()
    assert kept.answers == {"fluency": 4, "consistency": 4, "novelty": 1}


@pytest.mark.parametrize("wrong", [{}, {"fluency": "4"}, GOOD | {"novelty": "5"}, GOOD | {"novelty": "²"}])
def test_a_form_with_a_gap_is_shown_again_with_what_was_answered(
    wrong: dict[str, str], study: Study, client: TestClient
) -> None:
    here = f"/{rater_path(study, 1)}"
    answer = client.post(f"{here}/1", data=wrong)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert answer.text.count("checked>") - answer.text.count('id="keys" checked>') == len(
        [value for value in wrong.values() if value in "1234"]
    )
    assert list(study.ratings()) == []


def test_no_page_of_a_rater_tells_a_system_or_a_check(tmp_path: Path) -> None:
    systems = ["SYSTEM-ONE", "SYSTEM-TWO"]
    made = make_material(8, systems)
    blind = [
        type(item)(item.key, item.context, {name: f"Text {number} {place}." for place, name in enumerate(systems)})
        for number, item in enumerate(made.items)
    ]
    save(tmp_path / "s.db", Material(made.systems, tuple(blind), 0))
    with Study(tmp_path / "s.db") as study:
        client = TestClient(studies_app([study]))
        here = f"/{rater_path(study, 1)}"
        pages = [client.get(here).text]
        for place in range(1, 1 + study.progress()[0].total):
            pages.append(client.get(f"{here}/{place}").text)
            client.post(f"{here}/{place}", data=GOOD)
    forms = pages[1:]
    assert not any("SYSTEM" in page or "expected" in page for page in pages)
    without_texts = {re.sub(r'<p dir="auto">.*?</p>|\d+|.*plain.*', "", page) for page in forms}
    assert len({re.sub(r"\s+", " ", page) for page in without_texts}) == 1  # forms differ in their texts alone


def test_texts_are_never_markup(tmp_path: Path) -> None:
    attack = '<script>alert(1)</script> <b onclick="x">'
    material = make_material(1, ["a"])
    (item,) = material.items
    bad = type(item)(attack, {"source": attack}, {attack: f"{attack}!"})
    save(tmp_path / "s.db", Material((attack,), (bad,), 0), raters=[f"{attack} ann"])
    with Study(tmp_path / "s.db") as study:
        client = TestClient(studies_app([study]))
        here = f"/{rater_path(study, 1)}"
        pages = [client.get(address).text for address in (here, f"{here}/1", f"/{admin_path(study)}")]
        client.post(f"{here}/1", data={"fluency": attack})
        pages.append(client.post(f"{here}/1", data={"fluency": attack}).text)
    assert all("&lt;script&gt;alert(1)" in page for page in pages)
    assert not any("<script>" in page or "<b on" in page for page in pages)


def test_pages_load_nothing_from_elsewhere_and_say_so(study: Study, client: TestClient) -> None:
    here = f"/{rater_path(study, 1)}"
    for address in (here, f"{here}/1", f"/{admin_path(study)}", "/studies/files/study.css", "/nowhere"):
        answer = client.get(address)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "no-referrer"  # addresses carry tokens
        if "html" in answer.headers["content-type"]:
            assert answer.headers["cache-control"] == "no-store"
            assert " style=" not in answer.text
            assert not re.search(r'(src|href)="(https?:)?//', answer.text.replace("http://testserver/studies/rate", ""))


def test_a_forged_or_foreign_token_opens_nothing(study: Study, client: TestClient, tmp_path: Path) -> None:
    ann, admin = token(study, 1), token(study, "admin")
    signature = ann.rpartition(".")[2]
    other_signature = ("B" if signature[0] == "A" else "A") + signature[1:]
    save(tmp_path / "other.db", small_material(tmp_path))
    with Study(tmp_path / "other.db") as other:
        foreign = signed(f"{study.id}.1", other.secret, PURPOSE)
        forged = [
            "", "1", f"{study.id}.1", f"{study.id}.1.", ann[:-1], f"{study.id}.1.{other_signature}",
            ann.replace(".1.", ".2.", 1), ann.replace(".1.", ".admin.", 1), token(other, 1), token(study, 99), foreign,
            f"{ann}%00", "é" * 9, "a" * 3000,
        ]  # fmt: skip
    for address in [
        *(f"/studies/rate/{each}" for each in forged),
        f"/studies/rate/{admin}",
        *(f"/studies/progress/{each}" for each in forged),
    ]:
        for path in (address, f"{address}/1", f"{address}/end", f"{address}/answers.csv"):
            assert client.get(path).status_code == 404, path
        assert client.post(f"{address}/1", data=GOOD).status_code in (404, 405)
    assert client.get(f"/studies/progress/{ann}").status_code == 404
    assert client.get(f"/studies/progress/{ann}/answers.jsonl").status_code == 404
    assert list(study.ratings()) == []


def test_a_token_opens_the_forms_of_its_rater_alone(study: Study, client: TestClient) -> None:
    client.post(f"/{rater_path(study, 1)}/1", data=GOOD)
    assert {rating.rater for rating in study.ratings()} == {"ann"}
    assert "Welcome, ben." in client.get(f"/{rater_path(study, 2)}").text


@pytest.mark.parametrize("place", ["0", "999", "99999999999999999999999", "-1", "1.5", "x", "1/2", "%2e%2e"])
def test_a_place_that_does_not_exist_is_not_found(place: str, study: Study, client: TestClient) -> None:
    address = f"/{rater_path(study, 1)}/{place}"
    assert client.get(address).status_code == 404
    assert client.post(address, data=GOOD).status_code in (404, 405)


def test_a_closed_study_takes_no_answers_and_still_gives_them(tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path), closes=date(2020, 1, 31))
    with Study(tmp_path / "s.db") as study:
        client = TestClient(studies_app([study]), follow_redirects=False)
        here = f"/{rater_path(study, 1)}"
        for answer in (client.get(here), client.get(f"{here}/1"), client.post(f"{here}/1", data=GOOD)):
            assert answer.status_code == 410
            assert "Its last day was 2020-01-31" in answer.text
        assert list(study.ratings()) == []
        assert "The study is closed" in client.get(f"/{admin_path(study)}").text


def test_the_admin_sees_progress_links_and_answers(study: Study, client: TestClient) -> None:
    rate(study, lambda *_: {"fluency": 4, "consistency": 3, "novelty": 1}, ["ann"])
    here = f"/{admin_path(study)}"
    total = study.progress()[0].total
    shown = client.get(here).text
    assert f"{total} of {total}" in re.sub(r"\s+", " ", shown)
    assert f"http://testserver/{rater_path(study, 2)}" in shown
    rows = list(csv.DictReader(io.StringIO(client.get(f"{here}/answers.csv").text)))
    lines = [json.loads(line) for line in client.get(f"{here}/answers.jsonl").text.splitlines()]
    assert len(rows) == len(lines) == total
    assert {row["system"] for row in rows} == {"rd", "mt", "reference", ""}
    assert [row["rater"] for row in rows] == ["ann"] * total
    checks = [line for line in lines if line["check"]]
    assert len(checks) == 2
    assert all(line["passed"] and line["system"] is None for line in checks)
    assert all(line["overall"] is False for line in lines if not line["check"])  # novelty 1 is below its threshold
    assert client.get(f"{here}/answers.parquet").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"fluency=" + b"4" * 5000, 413), (b"a=1&" * 900, 400), (b"\xff\xfe", 400), (b"", 422), (b"fluency=4;x", 422)],
)
def test_a_bad_form_is_refused_with_a_page(body: bytes, status: int, study: Study, client: TestClient) -> None:
    answer = client.post(f"/{rater_path(study, 1)}/1", content=body)
    assert answer.status_code == status
    assert "<h1>" in answer.text
    assert list(study.ratings()) == []


def test_a_full_disk_is_said_and_not_acknowledged(
    study: Study, client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(study, "answer", full)
    answer = client.post(f"/{rater_path(study, 1)}/1", data=GOOD)
    assert answer.status_code == 503
    assert "Your answers could not be kept" in answer.text
    assert [record.getMessage() for record in caplog.records if record.name.startswith("refdec")] == [
        "An answer could not be kept: database or disk is full"
    ]


def test_a_form_that_never_arrives_holds_nobody_up(study: Study) -> None:
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()  # for good
        raise AssertionError

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": f"/{rater_path(study, 1)}/1", "query_string": b"", "headers": [], "server": ("testserver", 80),
    }  # fmt: skip

    async def ask() -> None:
        await studies_app([study], Limits(body_seconds=0.1))(scope, receive, send)  # type: ignore[arg-type]

    with start_blocking_portal() as portal:  # a loop of its own: a browser may have one in this thread
        portal.call(ask)
    assert sent[0]["status"] == 408


def test_static_files_are_three_and_no_path_leads_out(client: TestClient) -> None:
    for name in ("study.css", "study.js", "study.svg"):
        assert client.get(f"/studies/files/{name}").status_code == 200
    for name in ("..%2frouter.py", "%2e%2e/router.py", "form.html", "study.db", "/etc/passwd"):
        assert client.get(f"/studies/files/{name}").status_code == 404


def test_another_app_can_have_the_pages_below_a_prefix(study: Study) -> None:
    other = FastAPI()
    other.include_router(router([study]), prefix="/research")
    client = TestClient(other, follow_redirects=False)
    here = f"/research/{rater_path(study, 1)}"
    page = client.get(here).text
    assert f'href="{here}/1"' in page
    assert 'href="/research/studies/files/study.css"' in page
    assert client.post(f"{here}/1", data=GOOD).headers["location"] == f"{here}/2"
    assert not [path for path in other.openapi()["paths"] if "rate" in path]


def test_two_studies_are_served_side_by_side(tmp_path: Path) -> None:
    save(tmp_path / "one.db", small_material(tmp_path))
    save(tmp_path / "two.db", small_material(tmp_path))
    with Study(tmp_path / "one.db") as one, Study(tmp_path / "two.db") as two:
        client = TestClient(studies_app([one, two]))
        client.post(f"/{rater_path(two, 1)}/1", data=GOOD)
        assert (len(list(one.ratings())), len(list(two.ratings()))) == (0, 1)


def test_serving_loads_no_language_model() -> None:
    script = (
        "import sys; import refdec.cli.main, refdec.serve.run, refdec.serve.studies.app, refdec.serve.studies.report; "
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


RATERS = [f"r{number}" for number in range(1, 11)]
KILL_AFTER = 150
"""Acknowledged answers, some of every rater; the study has four times as many forms."""


@dataclass
class Written:
    """What ten raters sent, and what was acknowledged."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    acknowledged: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    in_flight: dict[int, tuple[int, dict[str, int]]] = field(default_factory=dict)
    count: int = 0


def served(study: Path) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """A server in a process of its own, and its links by rater."""
    command = [sys.executable, "-m", "refdec", "study", "serve", str(study), "--port", "0", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    links = dict(process.stdout.readline().split() for _ in range(len(RATERS) + 1))
    return process, links


def write_until_it_dies(
    link: str, rater: int, total: int, written: Written, process: subprocess.Popen[str], start: threading.Barrier
) -> None:
    """Fill in forms one after the other, some twice with other answers, until enough are kept to kill the server."""
    numbers = Random(rater)
    parts = urlsplit(link)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    start.wait()
    for place in range(1, total + 1):
        for _ in range(1 + (place % 3 == 0)):
            answers = {name: numbers.randint(1, 4) for name in GOOD}
            with written.lock:
                written.in_flight[rater] = (place, answers)
            try:
                headers = {"Content-Type": "application/x-www-form-urlencoded"}
                connection.request("POST", f"{parts.path}/{place}", urlencode(answers), headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return
            assert answer.status == 303
            with written.lock:
                written.acknowledged[rater, place] = answers
                del written.in_flight[rater]
                written.count += 1
                raters = {rater for rater, _ in written.acknowledged}
                if written.count >= KILL_AFTER and len(raters) == len(RATERS):
                    process.kill()


def test_a_kill_while_ten_raters_write_loses_no_acknowledged_answer(tmp_path: Path) -> None:
    save(tmp_path / "s.db", make_material(64, "abc"), RATERS, per_item=3)
    process, links = served(tmp_path / "s.db")
    written = Written()
    start = threading.Barrier(len(RATERS))
    with Study(tmp_path / "s.db") as study:
        totals = {rater.name: rater.total for rater in study.progress()}
    threads = [
        threading.Thread(target=write_until_it_dies, args=(links[name], number, totals[name], written, process, start))
        for number, name in enumerate(RATERS, start=1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert process.wait() == -signal.SIGKILL
    assert written.count >= KILL_AFTER
    assert len(written.acknowledged) < sum(totals.values())

    process, links = served(tmp_path / "s.db")  # the lock of the dead server holds nobody up
    try:
        for number, name in enumerate(RATERS, start=1):
            parts = urlsplit(links[name])
            assert parts.hostname
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
            places = [place for rater, place in written.acknowledged if rater == number]
            for place in places:
                connection.request("GET", f"{parts.path}/{place}")
                page = connection.getresponse().read().decode()
                kept = {name: int(value) for name, value in re.findall(r'id="(\w+)-(\d)"[^>]* checked', page)}
                kept.pop("keys", None)
                unanswered = written.in_flight.get(number)  # it may have been kept, or not
                possible = [written.acknowledged[number, place]]
                if unanswered is not None and unanswered[0] == place:
                    possible.append(unanswered[1])
                assert kept in possible
            connection.close()
    finally:
        process.terminate()
        process.wait()
    with Study(tmp_path / "s.db") as study:
        done = sum(rater.done for rater in study.progress())
        assert len(written.acknowledged) <= done <= len(written.acknowledged) + len(written.in_flight)
        assert study._database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
