"""Rating studies beside the tasks, in one server: what opens what, and that the command shows them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from refdec import Reflector
from refdec.files.lock import locked
from refdec.serve.access import COOKIE
from refdec.serve.app import create_app
from refdec.serve.studies.router import router
from refdec.serve.studies.store import Study
from refdec.serve.studies.tokens import ADMIN, Holder, admin_path, rater_path, token
from tests.conftest import Run, refusal
from tests.serving import KEY, SOON, client_of
from tests.study_files import GOOD, save, small_material


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    save(tmp_path / "study.db", small_material(tmp_path))
    with Study(tmp_path / "study.db") as opened:
        yield opened


@pytest.fixture
def client(small_reflector: Reflector, study: Study) -> Iterator[TestClient]:
    app = create_app(small_reflector, key=KEY, studies=router([study]))
    with client_of(app, follow_redirects=False) as client:
        yield client


def test_a_rater_needs_the_link_and_no_key(client: TestClient, study: Study) -> None:
    here = f"/{rater_path(study, 1)}"
    assert "Welcome, ann." in client.get(here).text
    assert client.post(f"{here}/1", data=GOOD).headers["location"] == f"{here}/2"
    assert [rating.rater for rating in study.ratings()] == ["ann"]
    assert "ann" in client.get(f"/{admin_path(study)}").text


@pytest.mark.parametrize("holder", [1, ADMIN])
def test_a_link_to_a_study_opens_nothing_else(client: TestClient, study: Study, holder: Holder) -> None:
    link = token(study, holder)
    for headers in ({"Authorization": f"Bearer {link}"}, {"Cookie": f"{COOKIE}={link}"}):
        assert client.get("/v1/models", headers=headers).status_code == 401
    for path in ("/studies/../v1/models", "/studies/%2e%2e/v1/models", f"/studies/rate/{link}/../../../v1/models"):
        assert client.get(path).status_code in (401, 404)


def test_the_key_opens_no_study(client: TestClient, study: Study) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    for given in (KEY, f"{study.id}.1", "x"):
        assert client.get(f"/studies/rate/{given}", headers=headers).status_code == 404


def test_pages_of_a_study_keep_their_headers_and_their_form(client: TestClient, study: Study) -> None:
    page = client.get(f"/{rater_path(study, 1)}")
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-robots-tag"] == "noindex"
    assert page.headers["content-security-policy"] == client.get("/health").headers["content-security-policy"]
    assert client.get("/studies/files/study.css").headers["cache-control"] == "max-age=3600"
    for lost in ("/studies/", "/studies/rate", "/studies/files/none.css", f"/{rater_path(study, 1)}x"):
        answer = client.get(lost)
        assert (answer.status_code, "This link does not lead anywhere" in answer.text) == (404, True), lost


def test_the_log_has_no_links(client: TestClient, study: Study, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="refdec.serve")
    client.get(f"/{rater_path(study, 1)}")
    lines = [record.getMessage() for record in caplog.records if record.name == "refdec.serve"]
    assert [line.split()[:3] for line in lines] == [["GET", "/studies/", "200"]]


def test_the_command_shows_studies_beside_the_tasks(small_pair: Path, tmp_path: Path) -> None:
    save(tmp_path / "study.db", small_material(tmp_path))
    command = [
        sys.executable, "-m", "refdec", "serve", "--port", "0", "--forward", str(small_pair),
        "--study", str(tmp_path / "study.db"),
    ]  # fmt: skip
    environment = os.environ | {"REFDEC_API_KEY": KEY}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        links = dict(server.stdout.readline().split() for _ in range(3))
        assert list(links) == ["ann", "ben", "admin"]
        with urllib.request.urlopen(links["ben"], timeout=SOON) as page:
            assert "Welcome, ben." in page.read().decode()
        server.terminate()
        said = server.communicate(timeout=SOON)[1]
    assert "GET /studies/ 200" in said
    assert links["ben"].rpartition("/")[2] not in said


def test_a_study_that_another_server_shows_is_refused(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "study.db", small_material(tmp_path))
    with locked(tmp_path / "study.db"):
        assert "in use" in refusal(run, "serve", "--port", "0", "--study", str(tmp_path / "study.db"))
    assert "There is no study none.db" in refusal(run, "serve", "--port", "0", "--study", "none.db")
