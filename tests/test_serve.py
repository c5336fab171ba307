"""The HTTP API: the same results as in Python, in one piece and as a stream, and refusals that say what to do."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

import refdec
from refdec import Reflector, compare, load_pair
from refdec.errors import OutOfMemory
from refdec.lm.cost import Work
from refdec.reflect import workers
from refdec.reflect.schedule import WAVES
from refdec.reflect.workers import Observation
from refdec.serve.access import SESSION_SECONDS, Key
from refdec.serve.answers import ANSWERS, Models
from refdec.serve.app import create_app
from refdec.serve.failures import STATUSES
from refdec.serve.limits import Limits
from refdec.tasks.choice import Wanted, choose
from refdec.tasks.paraphrase import paraphrase
from tests.conftest import TINY, lend_calibration, make_presets_tiny
from tests.serving import DESCRIBED, KEY, QUICK, REQUESTS, SOON, client_of, connected, events_in, head, listening
from tests.small_pair import small_texts


@pytest.fixture(scope="module")
def client(small_reflector: Reflector) -> Iterator[TestClient]:
    with client_of(create_app(small_reflector)) as client:
        yield client


def results(client: TestClient, task: str, **request: Any) -> list[dict[str, Any]]:
    answer = client.post(f"/v1/{task}", json=request)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def refusal(client: TestClient, task: str, status: int = 422, **request: Any) -> dict[str, str]:
    answer = client.post(f"/v1/{task}", json=request)
    assert answer.status_code == status, answer.text
    error: dict[str, str] = answer.json()["error"]
    assert set(error) == {"kind", "message", "hint"}
    return error


def test_paraphrases_are_those_of_python(client: TestClient, small_reflector: Reflector) -> None:
    texts = small_texts(3)
    expected = small_reflector.paraphrase(texts, "fast", **TINY)
    found = results(client, "paraphrase", texts=texts, **QUICK, top=3)
    for one, other in zip(found, expected, strict=True):
        chosen, note = choose(other, Wanted(top=3))
        assert one == other.to_dict(chosen) | ({"note": note} if note else {})
    everything = results(client, "paraphrase", text=texts[0], **QUICK, all=True)[0]
    assert everything["results"] == [item.to_dict() for item in expected[0].at_novelty(0)]
    assert everything["copies"] == [item.to_dict() for item in expected[0].copies]


def test_fillings_are_those_of_python(client: TestClient, small_reflector: Reflector) -> None:
    left, right = "Anna walked to the house.", "Why do people like the house?"
    expected = small_reflector.infill(left, right, "fast", **TINY)
    for gap in ({"left": left, "right": right}, {"text": f"{left} ___ {right}"}):
        (found,) = results(client, "infill", **gap, **QUICK, all=True)
        assert {name: found[name] for name in expected.to_dict()} == expected.to_dict()
        assert found["filled"] == expected.filled


def test_rewritings_are_those_of_python(client: TestClient, small_reflector: Reflector) -> None:
    left, span, right = "It was late.", "A friend was late for the market.", "Why?"
    expected = small_reflector.rewrite(span, "fast", left=left, right=right, **TINY)
    (found,) = results(client, "rewrite", span=span, left=left, right=right, **QUICK, all=True)
    assert found["results"] == [item.to_dict() for item in expected.at_novelty(0)]
    marked = small_reflector.rewrite(f"{left} [[{span}]] {right}", "fast", **TINY)
    (found,) = results(client, "rewrite", document=f"{left} [[{span}]] {right}", **QUICK, all=True)
    assert found["results"] == [item.to_dict() for item in marked.at_novelty(0)]


def test_scores_are_those_of_python_and_their_reference_is_described_once(
    client: TestClient, small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference, candidates = "Anna walked to the house.", ["Anna walked.", "A friend was late.", "Why?"]
    expected = small_reflector.score(reference, candidates, "fast", **DESCRIBED)
    seen: list[Observation] = []
    monkeypatch.setattr(workers, "observers", [seen.append])
    found = results(client, "score", reference=reference, candidates=candidates, preset="fast", settings=DESCRIBED)
    assert found == [item.to_dict() for item in expected]
    assert sum(item.questions for item in seen if item.phase == "contexts") == 2  # one for each side


def test_a_difference_is_that_of_python(client: TestClient) -> None:
    pairs = [["It rained.", "It was raining."], ["Ann sued Bo.", "Bo sued Ann."]]
    expected = [{"reference": a, "candidate": b, **compare(a, b).to_dict()} for a, b in pairs]
    assert results(client, "diff", pairs=pairs) == expected
    assert results(client, "diff", a=pairs[0][0], b=pairs[0][1]) == expected[:1]


def test_a_fingerprint_can_be_sent_back_instead_of_its_text(client: TestClient, small_reflector: Reflector) -> None:
    text = "Anna walked to the house."
    (saved,) = results(client, "fingerprint", text=text, preset="fast", settings=DESCRIBED)
    assert saved == small_reflector.fingerprint(text, "fast", **DESCRIBED).to_dict()
    described = {name: value for name, value in saved["settings"].items() if name != "seed"}
    (found,) = results(client, "paraphrase", fingerprint=saved, preset="fast", settings=described | {"samples": 4})
    (afresh,) = results(client, "paraphrase", text=text, preset="fast", settings=described | {"samples": 4})
    assert found == afresh
    (made,) = results(client, "fingerprint", text=text, **{"for": "score"}, preset="fast", settings=DESCRIBED)
    (score,) = results(
        client, "score", fingerprint=made, candidates=["Anna walked."], preset="fast", settings=DESCRIBED
    )
    assert score["reference"] == text


@pytest.mark.parametrize("task", ["paraphrase", "infill", "rewrite", "score"])
def test_reasons_are_there_where_they_are_asked_for(client: TestClient, task: str) -> None:
    (plain,) = results(client, task, **REQUESTS[task])
    assert "reasons" not in plain
    (explained,) = results(client, task, **REQUESTS[task], explain=1)
    assert explained["contexts"]
    assert explained["reasons"][0]["label"] in ("source", "reference", "nothing")
    tokens = [token for reason in explained["reasons"] for token in reason["tokens"]]
    assert all(set(token) == {"text", "surprise"} for token in tokens)
    assert len(explained["reasons"]) >= (2 if explained.get("results", True) else 1)


def test_results_can_be_chosen(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    request = REQUESTS["paraphrase"]
    everything = results(client, "paraphrase", **request, all=True)[0]["results"]
    assert len(everything) > 3
    assert results(client, "paraphrase", **request, top=2)[0]["results"] == everything[:2]
    front = results(client, "paraphrase", **request, front=True)[0]["results"]
    assert [item["novelty"] for item in front] == sorted(item["novelty"] for item in front)
    assert "no confidence" in refusal(client, "paraphrase", **request, confidence=0.5)["message"]
    lend_calibration(monkeypatch)
    assert results(client, "paraphrase", **request, confidence=1.0)[0]["results"] == []


def test_words_to_keep_are_there(client: TestClient) -> None:
    constraints = {"keep": ["the house"], "avoid": ["garden"], "automatic": ["numbers"]}
    request = REQUESTS["paraphrase"] | {"text": "Anna walked to the house in the 5 mornings."}
    (found,) = results(client, "paraphrase", **request, constraints=constraints, all=True)
    assert all("the house" in item["text"] and "5" in item["text"] for item in found["results"])


@pytest.mark.parametrize("task", REQUESTS)
@pytest.mark.parametrize("how", ["field", "header"])
def test_the_same_results_come_as_events(client: TestClient, task: str, how: str) -> None:
    expected = results(client, task, **REQUESTS[task])
    headers = {"Accept": "text/event-stream"} if how == "header" else {}
    request = REQUESTS[task] | ({"stream": True} if how == "field" else {})
    answer = client.post(f"/v1/{task}", json=request, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_in(answer.text)
    assert events[-1] == ("done", {})
    assert [content["result"] for name, content in events if name == "result"] == expected
    if task != "diff":
        assert ("progress", {"index": 0, "stage": "sampling contexts"}) in events


def test_a_text_that_fails_in_a_stream_leaves_the_others_alone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = small_texts(3)

    async def failing(pair: Any, text: str, *rest: Any, **options: Any) -> Any:
        if text == texts[1]:
            raise OutOfMemory("The memory is full.")
        return await paraphrase(pair, text, *rest, **options)

    monkeypatch.setattr("refdec.serve.pieces.paraphrase", failing)
    answer = client.post("/v1/paraphrase", json={"texts": texts, **QUICK, "stream": True})
    events = [event for event in events_in(answer.text) if event[0] != "progress"]
    assert sorted((name, content.get("index")) for name, content in events[:-1]) == [
        ("error", 1),
        ("result", 0),
        ("result", 2),
    ]
    error = next(content["error"] for name, content in events if name == "error")
    assert error["kind"] == "memory"
    whole = client.post("/v1/paraphrase", json={"texts": texts, **QUICK})
    assert whole.status_code == 503
    assert whole.json()["error"]["message"] == "Text 2 of 3: The memory is full."


@pytest.mark.parametrize(
    ("task", "request_", "words"),
    [
        ("paraphrase", {}, "Give a text, or a list of texts."),
        ("paraphrase", {"text": "Why?", "texts": ["Why?"]}, "Give a text, or a list of texts."),
        ("paraphrase", {"text": " "}, "The text is empty."),
        ("paraphrase", {"texts": ["Why?", "\x07"]}, "Text 2 of 2: Character 1 of the text is a control character"),
        ("paraphrase", {"text": "Anna walked. " * 100}, "with contexts of 50 it may have"),
        ("paraphrase", {"text": "Why?", "settings": {"contexts": 0}}, "settings.contexts: Input should be greater"),
        ("paraphrase", {"text": "Why?", "settings": {"context": 5}}, "settings.context: Extra inputs"),
        ("paraphrase", {"text": "Why?", "preset": "fats"}, "preset: Input should be 'fast'"),
        ("paraphrase", {"text": 5}, "text: Input should be a valid string"),
        ("paraphrase", {"txt": "Why?"}, "txt: Extra inputs are not permitted"),
        ("paraphrase", {"text": "Why?", "constraints": {"keep": ["a b"], "avoid": ["b"]}}, "must be avoided"),
        ("paraphrase", {"text": "Why?", "fingerprint": {"format": "mine"}}, "This is not a fingerprint."),
        ("infill", {"left": "Why?", "text": "___ Why?"}, "Give a text with ___, or the texts"),
        ("infill", {"text": "Why?"}, "There is no ___ in the text."),
        ("infill", {"text": "Why ___ not ___ now?"}, "There are 2 gaps in the text."),
        ("rewrite", {"document": "It was late."}, "There is no span in [[ ]]"),
        ("rewrite", {}, "Give a document with [[span]], or a span"),
        ("score", {"candidates": ["Why?"]}, "There is no reference"),
        ("score", {"reference": "Why?", "candidates": []}, "candidates: List should have at least 1 item"),
        ("score", {"reference": "Why?", "candidates": ["Why?", " "]}, "Candidate 2 of 2: The text is empty."),
        ("diff", {"a": "Why?"}, "Give the texts a and b"),
        ("diff", {"pairs": [["Why?"]]}, "pairs.0: List should have at least 2 items"),
        ("diff", {"pairs": [["Why?", "Why?"], ["Why?", "\t"]]}, "Pair 2 of 2: The text is empty."),
        ("fingerprint", {"text": "Why?", "for": "infill"}, "for: Input should be 'paraphrase' or 'score'"),
    ],
)
def test_a_wrong_request_is_refused_in_a_sentence(
    client: TestClient, task: str, request_: dict[str, Any], words: str
) -> None:
    assert words in refusal(client, task, **request_)["message"]


PAGE = Path(__file__).resolve().parent.parent / "docs" / "serving.md"


def test_the_requests_on_the_page_are_answered(small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch) -> None:
    make_presets_tiny(monkeypatch)
    requests = re.findall(r"/v1/(\w+) [^\n]*\n  -d '(.*)'", PAGE.read_text())
    assert {task for task, _ in requests} == set(REQUESTS)
    with client_of(create_app(small_reflector)) as client:
        for task, body in requests:
            answer = client.post(f"/v1/{task}", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 200, answer.text


def test_the_page_names_every_limit() -> None:
    page = PAGE.read_text()
    for name, value in Limits.on("cpu").items():
        assert f"| `--{name.replace('_', '-')}` | {value:g} |".replace("1e+06", "1000000") in page
    for status in STATUSES:
        assert str(status) in page


def test_one_gap_without_a_left_or_a_right_text_can_be_filled(client: TestClient) -> None:
    assert results(client, "infill", right="Why do people like the house?", **QUICK)[0]["left"] == ""


def test_other_addresses_and_methods_are_refused_in_json(client: TestClient) -> None:
    for answer, status in ((client.get("/v1/nothing"), 404), (client.get("/v1/diff"), 405)):
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"kind", "message", "hint"}


def test_answers_are_those_of_the_openapi_document(client: TestClient) -> None:
    for task, request in REQUESTS.items():
        for explain in ({}, {"explain": 2}) if task not in ("diff", "fingerprint") else ({},):
            answer = client.post(f"/v1/{task}", json=request | explain)
            ANSWERS[task].model_validate_json(answer.content, strict=True)
    Models.model_validate_json(client.get("/v1/models").content, strict=True)


def test_health_models_and_metrics_say_how_the_server_is(client: TestClient, small_reflector: Reflector) -> None:
    health = client.get("/health").json()
    assert health == {"status": "ok", "version": refdec.__version__, "waiting": 0, "under_way": 0}
    (model,) = client.get("/v1/models").json()["models"]
    assert model["name"] == small_reflector.pair.name
    assert model["presets"]["paraphrase"]["fast"]["contexts"] == 20
    assert model["defaults"]["paraphrase"] in model["presets"]["paraphrase"]
    results(client, "diff", **REQUESTS["diff"])
    figures = client.get("/metrics")
    assert figures.headers["content-type"].startswith("text/plain")
    assert 'refdec_requests_total{path="/v1/diff",status="200"}' in figures.text
    for name in ("refdec_texts_waiting", "refdec_texts_finished", "refdec_request_seconds", "process_resident_memory"):
        assert name in figures.text


def test_a_request_over_a_limit_is_refused_before_any_work(small_reflector: Reflector) -> None:
    limits = Limits(teraflops=0.001, texts=2, characters=100, explain=1)
    app = create_app(small_reflector, limits)
    with client_of(app) as client:
        assert "at most 2 items" in refusal(client, "paraphrase", texts=["Why?"] * 3)["message"]
        assert "at most 100 characters" in refusal(client, "diff", a="a" * 101, b="b")["message"]
        assert "less than or equal to 1" in refusal(client, "paraphrase", text="Why?", explain=2)["message"]
        results(client, "paraphrase", text="Why?", **QUICK)
        costly = QUICK | {"settings": {"contexts": 2000, "samples": 500}}
        assert "TFLOP, and this server allows" in refusal(client, "paraphrase", text="Why?", **costly)["message"]
        assert app.state.engine.finished == 1


class Held:
    """Holds every answer of the models until it is told to let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.let_go, self.begun = threading.Event(), threading.Event()
        answered = workers.Batch._answered

        def waiting(batch: workers.Batch, questions: Any) -> Any:
            self.begun.set()
            assert self.let_go.wait(SOON)
            return (yield from answered(batch, questions))

        monkeypatch.setattr(workers.Batch, "_answered", waiting)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(monkeypatch)
    yield made
    made.let_go.set()


def test_a_full_queue_refuses_at_once_and_recovers(small_reflector: Reflector, held: Held) -> None:
    app = create_app(small_reflector, Limits(waiting=3))
    request = {"texts": small_texts(6), **QUICK}  # three are under way, three wait
    with client_of(app) as client:
        answers: list[Any] = []
        first = threading.Thread(target=lambda: answers.append(client.post("/v1/paraphrase", json=request)))
        first.start()
        assert held.begun.wait(SOON)
        while app.state.engine.waiting < 3:
            threading.Event().wait(0.01)
        for stream in (False, True):
            refused = client.post("/v1/paraphrase", json=REQUESTS["paraphrase"] | {"stream": stream})
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.json()["error"]["kind"] == "busy"
        held.let_go.set()
        first.join(SOON)
        assert answers[0].status_code == 200
        results(client, "paraphrase", **REQUESTS["paraphrase"])


def test_on_a_gpu_texts_of_several_requests_are_computed_together(
    small_pair: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32 no draw here is near enough an edge for rounding to change a word."""
    reflector = Reflector(load_pair(small_pair, device="cpu", precision="float32"))
    monkeypatch.setattr(reflector, "inputs_at_once", lambda: 48)  # as on a GPU
    seen: list[Observation] = []
    monkeypatch.setattr(workers, "observers", [seen.append])
    texts = small_texts(12)
    app = create_app(reflector)
    found: dict[str, Any] = {}

    with client_of(app) as client:

        def ask(text: str) -> None:
            (found[text],) = results(client, "paraphrase", text=text, **QUICK)

        asking = [threading.Thread(target=ask, args=(text,)) for text in texts]
        for thread in asking:
            thread.start()
        while app.state.engine.waiting + app.state.engine.under_way < len(texts):
            threading.Event().wait(0.01)
        held.let_go.set()
        for thread in asking:
            thread.join(SOON)
    contexts = [item.questions for item in seen if item.phase == "contexts"]
    assert sum(contexts) == 2 * len(texts)
    assert max(contexts) >= len(texts) - WAVES
    for text, expected in zip(texts, reflector.paraphrase(texts, "fast", **TINY), strict=True):
        assert found[text]["source"] == text
        assert [item["text"] for item in found[text]["results"]] == [item.text for item in expected.top(5)]


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_takes_too_long_is_given_up(small_reflector: Reflector, held: Held, stream: bool) -> None:
    app = create_app(small_reflector, Limits(seconds=0.05))
    with client_of(app) as client:
        answer = client.post("/v1/paraphrase", json=REQUESTS["paraphrase"] | {"stream": stream})
        if stream:
            (name, content), done = events_in(answer.text)[-2:]
            assert (name, content["index"], done) == ("error", None, ("done", {}))
            error = content["error"]
        else:
            assert answer.status_code == 504
            error = answer.json()["error"]
        assert (error["kind"], "more than 0.05 s" in error["message"]) == ("time", True)
        assert app.state.engine.given_up == 1
        held.let_go.set()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_is_cancelled(small_reflector: Reflector, held: Held, stream: bool) -> None:
    app = create_app(small_reflector)
    body = json.dumps({"texts": small_texts(20), **QUICK, "stream": stream}).encode()
    with listening(app) as address:
        with connected(address) as connection:
            connection.sendall(head("/v1/paraphrase", len(body)) + body)
            assert held.begun.wait(SOON)
        while app.state.engine.given_up < 20:
            threading.Event().wait(0.01)
        assert (app.state.engine.waiting, app.state.engine.under_way) == (0, 0)
        held.let_go.set()


def test_events_come_while_the_models_still_work(small_reflector: Reflector, held: Held) -> None:
    body = json.dumps(REQUESTS["paraphrase"] | {"stream": True}).encode()
    with listening(create_app(small_reflector)) as address, connected(address) as connection:
        connection.sendall(head("/v1/paraphrase", len(body), more="Connection: close\r\n") + body)
        received = b""
        while b"sampling contexts" not in received:
            received += connection.recv(1)
        assert b"event: result" not in received
        held.let_go.set()
        while chunk := connection.recv(65_536):
            received += chunk
    assert received.index(b"event: progress") < received.index(b"event: result") < received.index(b"event: done")


def test_an_unexpected_error_shows_nothing_of_itself(
    small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "Anna walked to the secret house."

    def breaks(*_: Any, **__: Any) -> Any:
        raise ValueError(secret)

    with client_of(create_app(small_reflector)) as client:
        for place in ("refdec.serve.pieces.compare", "refdec.serve.pieces.clean"):  # in the engine, and before it
            with monkeypatch.context() as patched:
                patched.setattr(place, breaks)
                answer = client.post("/v1/diff", json={"a": secret, "b": "Why?"})
            assert answer.status_code == 500
            assert answer.json()["error"]["kind"] == "internal"
            assert secret not in answer.text
            assert "Content-Security-Policy" in answer.headers
    assert caplog.text.count("unexpected ValueError at test_serve.py") == 2
    assert secret not in caplog.text


def test_the_log_has_no_texts(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="refdec.serve")
    results(client, "diff", a="Anna walked to the house.", b="Anna walked.")
    client.get("/v1/models?text=Anna+walked")
    client.get("/v1/Anna")
    lines = [record.getMessage() for record in caplog.records if record.name == "refdec.serve"]
    assert [line.rpartition(" ")[0].rpartition(" ")[0] for line in lines] == [
        "POST /v1/diff 200",
        "GET /v1/models 200",
        "GET other 404",
    ]


def test_every_answer_tells_the_browser_what_it_must_not_do(client: TestClient) -> None:
    for answer in (client.get("/health"), client.get("/nothing"), client.post("/v1/diff", content=b"{")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "'unsafe-inline'" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


@pytest.fixture
def locked(small_reflector: Reflector) -> Iterator[TestClient]:
    with client_of(create_app(small_reflector, key=KEY)) as client:
        yield client


def test_with_a_key_nothing_opens_without_it(locked: TestClient) -> None:
    paths = locked.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method in operations:
            answer = locked.request(method, path, json={} if method == "post" else None)
            is_open = path in ("/health", "/v1/session")
            assert (answer.status_code != 401 or "key of the server" in answer.text) == is_open, path
            if not is_open:
                assert answer.headers["www-authenticate"] == "Bearer"
    for given in (f"Bearer {KEY}x", f"Basic {KEY}", KEY, "Bearer", f"Bearer {KEY[:-1]}", "Bearer ä"):
        headers = {b"Authorization": given.encode("latin-1")}
        assert locked.get("/v1/models", headers=headers).status_code == 401
    assert locked.get("/v1/models", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200


def test_the_page_gets_a_cookie_for_the_key(locked: TestClient) -> None:
    assert locked.post("/v1/session", json={"key": "wrong"}).status_code == 401
    assert locked.get("/v1/models").status_code == 401
    answer = locked.post("/v1/session", json={"key": KEY})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={SESSION_SECONDS}"):
        assert part in cookie
    assert KEY not in cookie
    assert locked.get("/v1/models").status_code == 200


def test_a_session_ends_and_cannot_be_made_up() -> None:
    key = Key(KEY)
    session = key.session(now=1000.0)
    assert key.is_session(session, now=1000.0 + SESSION_SECONDS - 1)
    assert not key.is_session(session, now=1000.0 + SESSION_SECONDS + 1)
    until, _, signature = session.partition(".")
    for made_up in ("", ".", f"{int(until) + 9}.{signature}", until, f"{until}.", f"x.{signature}", signature):
        assert not key.is_session(made_up, now=1000.0)
    assert not Key(KEY[::-1]).is_session(session, now=1000.0)
    assert KEY not in repr(key)


def test_without_a_key_only_names_of_this_machine_are_answered(client: TestClient) -> None:
    for host in ("localhost", "localhost:8000", "127.0.0.1:80", "127.8.8.8", "[::1]", "[::1]:8000"):
        assert client.get("/health", headers={"Host": host}).status_code == 200, host
    for host in ("example.org", "localhost.example.org:8000", "192.168.0.7", "127.0.0.1.example.org", "[::2]:80", ""):
        answer = client.get("/health", headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["kind"]) == (400, "host"), host


def test_the_page_and_its_files_open_without_the_key(small_reflector: Reflector) -> None:
    with client_of(create_app(small_reflector, key=KEY)) as client:
        page = client.get("/").text
        assert refdec.__version__ in page
        files = re.findall(r'(?:src|href)="(static/[^"]+)"', page)
        assert {Path(file).suffix for file in files} == {".svg", ".css", ".js"}
        for file in files:
            answer = client.get(f"/{file}")
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
            again = client.get(f"/{file}", headers={"If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304


@pytest.mark.parametrize("task", ["paraphrase", "infill", "rewrite", "score", "fingerprint"])
def test_the_estimated_work_is_near_what_the_engine_counts(
    small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    sizes = {"contexts": 20, "context_tokens": 20, "kept_contexts": 3}
    settings = sizes | ({"samples": 20} if task not in ("score", "fingerprint") else {})
    seen: list[Work] = []
    monkeypatch.setattr(workers, "observers", [lambda item: seen.append(item.work)])
    app: FastAPI = create_app(small_reflector)
    with client_of(app) as client:
        results(client, task, **REQUESTS[task] | {"settings": settings, "preset": "fast"})
        figures = client.get("/metrics").text
    line = next(line for line in figures.splitlines() if line.startswith("refdec_estimated_flops_total"))
    estimated, done = float(line.split()[1]), sum(seen, start=Work())
    counted = small_reflector.pair.forward.cost.flops(done.tokens, done.head_tokens, done.attended)
    assert 0.5 * counted < estimated < 10 * counted
