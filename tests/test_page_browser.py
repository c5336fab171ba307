"""The page of the server in a real browser: each task, the slider, the marks, the keyboard, and no harm from any text.

The server is the real one. Where the words of an answer matter, a task answers with what `refdec` once said (the preset
fast and seed 0), so that tests take no time; one test goes all the way with a small pair of models.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Locator, Page, expect

from refdec import Reflector
from refdec.serve import app as serving
from refdec.serve.answers import ANSWERS
from refdec.serve.pieces import Piece
from tests.browser import PATIENCE_MS, browser, chromium_path, fresh_page, page, serious_faults
from tests.conftest import TINY
from tests.serving import KEY, SOON, listening

__all__ = ["browser", "page"]  # fixtures

TASKS = ("paraphrase", "infill", "rewrite", "score")
ANSWERS_FILE = Path(__file__).with_name("recorded_answers.json")
HOSTILE = """<script>window.hurt=1</script><img src=x onerror="window.hurt=1"> {{ 7*7 }} ${7*7}"""
STAGES = ("sampling contexts", "generating candidates", "scoring 17 candidates")

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Server:
    """A server whose tasks answer with what is written here."""

    address: str
    app: FastAPI
    answers: dict[str, list[dict[str, Any]]]
    asked: list[dict[str, Any]] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)  # cleared: every task waits after its first stage

    def pieces(self, task: str, asked: dict[str, Any]) -> list[Piece]:
        self.asked.append({name: value for name, value in asked.items() if value not in (None, False)})
        return [Piece(0.0, partial(self._work, content)) for content in self.answers[task]]

    async def _work(self, content: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
        for name in STAGES:
            stage(name)
            self.go.wait()
        return content


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """The address of an application that is served by a thread."""
    with listening(app) as (host, port):
        yield f"http://{host}:{port}/"


@contextmanager
def recorded(reflector: Reflector, monkeypatch: pytest.MonkeyPatch, key: str | None = None) -> Iterator[Server]:
    server = Server("", FastAPI(), json.loads(ANSWERS_FILE.read_text(encoding="utf-8")))
    server.go.set()
    for task in TASKS:
        words, _ = serving.TASKS[task]
        pieces = lambda _, __, asked, task=task: server.pieces(task, asked)  # noqa: E731
        monkeypatch.setitem(serving.TASKS, task, (words, pieces))
    server.app = serving.create_app(reflector, key=key)
    with running(server.app) as server.address:
        yield server
        server.go.set()


@pytest.fixture
def server(small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with recorded(small_reflector, monkeypatch) as answering:
        yield answering


@pytest.fixture
def locked(small_reflector: Reflector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with recorded(small_reflector, monkeypatch, KEY) as answering:
        yield answering


def opened(page: Page, server: Server, task: str = "paraphrase", more: str = "") -> Locator:
    """The panel of a task."""
    page.goto(f"{server.address}#task={task}{more}")
    panel = page.locator(f"#{task}")
    expect(panel).to_be_visible()
    return panel


def answered(page: Page, server: Server, task: str = "paraphrase") -> Locator:
    """The panel of a task after its example was run."""
    panel = opened(page, server, task)
    panel.locator("[type=submit]").click()
    expect(panel.locator(".answer")).to_be_visible()
    return panel


def shown(panel: Locator) -> list[str]:
    """The results on the page, without signs and words for screen readers."""
    texts = panel.locator(".result .text").all()
    return [re.sub(r"\s+", " ", str(text.evaluate(PLAIN))).strip() for text in texts]


PLAIN = """element => {
  const copy = element.cloneNode(true);
  for (const part of copy.querySelectorAll(".unseen, del")) part.remove();
  return copy.textContent;
}"""

MARKS = """element => [...element.querySelectorAll(".mark")].map((mark) => {
  const said = mark.querySelector(".unseen").textContent;
  const style = getComputedStyle(mark);
  const sign = getComputedStyle(mark, "::before").content.split("/")[0].replaceAll('"', "").trim();
  return [[...mark.classList].at(-1), mark.textContent.replace(said, ""), said.trim(), style.textDecorationLine,
    style.textDecorationStyle, sign];
})"""


def result(text: str, **changes: Any) -> dict[str, Any]:
    """A paraphrase as the API gives it."""
    first = json.loads(ANSWERS_FILE.read_text(encoding="utf-8"))["paraphrase"][0]["results"][0]
    return {**first, "text": text, "changes": [], **changes}


def test_a_missing_browser_is_a_failure_where_it_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for value, outcome in (("true", pytest.fail.Exception), ("", pytest.skip.Exception)):
        monkeypatch.setenv("CI", value)
        with pytest.raises(outcome, match="apt-get install chromium"):
            chromium_path()


def test_recorded_answers_are_answers_of_the_api() -> None:
    for task, answers in json.loads(ANSWERS_FILE.read_text(encoding="utf-8")).items():
        ANSWERS[task].model_validate({"results": answers})


def test_paraphrase_shows_each_result_with_its_confidence_its_words_and_its_fits(page: Page, server: Server) -> None:
    answer = server.answers["paraphrase"][0]
    answer["copies"] = [result("How can I become a better writer ?", copy=True)]
    panel = answered(page, server)
    expect(panel.locator(".heading")).to_contain_text("14 paraphrases in")
    assert shown(panel) == [item["text"] for item in answer["results"][:6]]
    first, fourth = panel.locator(".result").nth(0), panel.locator(".result").nth(3)
    expect(first.locator(".percent")).to_have_text("confidence 29\u00a0%")
    expect(first.locator(".tag")).to_have_text("doubtful")
    expect(fourth.locator(".percent")).to_have_text("confidence 54\u00a0%")
    expect(fourth.locator(".tag")).to_have_count(0)
    expect(fourth.locator(".changes")).to_have_text("better → improve · writer → writing · lost: become")
    expect(panel.locator(".copies")).to_contain_text(answer["copies"][0]["text"])
    panel.locator(".more").click()
    assert shown(panel) == [item["text"] for item in answer["results"]]
    expect(panel.locator(".result").nth(6)).to_be_focused()


def test_contexts_are_a_picture_and_fits_are_numbers(page: Page, server: Server) -> None:
    panel = answered(page, server)
    answer = server.answers["paraphrase"][0]
    for side in ("left", "right"):
        weights = [context["weight"] for context in answer["contexts"] if context["side"] == side]
        bars = panel.locator(f".picture .{side} .weight-bar").all()
        widths = [bar.evaluate("bar => bar.getBoundingClientRect().width") for bar in bars]
        assert len(widths) == len(weights)
        assert widths == sorted(widths, reverse=True)
    assert "writer" in panel.locator(".picture .shared").all_inner_texts()
    strip = panel.locator(".strip").first
    expect(strip.locator(".cell-number").first).to_be_hidden()
    strip.focus()
    expect(strip.locator(".cell-number").first).to_be_visible()
    by_side = sorted(
        zip(answer["contexts"], answer["results"][0]["fits"], strict=True), key=lambda item: item[0]["side"]
    )
    numbers = [f"{fit:+.1f}".replace("-", "−") for _, fit in by_side]
    assert strip.locator(".cell-number").all_inner_texts() == numbers
    panel.locator(".numbers summary").click()
    row = panel.locator(".numbers tbody tr").first
    assert row.locator("td").all_inner_texts() == numbers
    expect(row.locator("th")).to_have_text(answer["results"][0]["text"])


def test_the_slider_moves_along_the_front_without_asking_again(page: Page, server: Server) -> None:
    panel = answered(page, server)
    expect(panel.locator(".mark").first).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    items = server.answers["paraphrase"][0]["results"]
    slider = panel.locator("input[type=range]")
    for least in (0, 45, 62, 80, 100):
        slider.fill(str(least))
        inside = [item["text"] for item in items if item["novelty"] >= least]
        assert shown(panel) == inside[:6]
        expect(panel.locator(".point.inside")).to_have_count(len(inside))
    expect(slider).to_have_attribute("aria-valuetext", "at least 100")
    slider.press("Home")
    assert len(shown(panel)) == 6
    slider.press("ArrowRight")
    expect(slider).to_have_value("1")
    assert [path for path in asked if not path.startswith("/static/")] == []


def test_a_click_on_a_point_leads_to_its_result(page: Page, server: Server) -> None:
    panel = answered(page, server)
    last = server.answers["paraphrase"][0]["results"][-1]["text"]
    point = panel.locator(".point").filter(has=page.locator("title", has_text=last)).locator(".dot")
    point.dispatch_event("click")
    expect(panel.locator(".result").filter(has_text=last)).to_be_focused()


def test_where_nothing_is_novel_enough_the_page_says_so(page: Page, server: Server) -> None:
    server.answers["paraphrase"][0]["results"] = [result("How can I be a better writer?", novelty=20.9)]
    panel = answered(page, server)
    panel.locator("input[type=range]").fill("60")
    expect(panel.locator("output")).to_have_text("None reaches Novelty 60; the highest is 21.")
    assert shown(panel) == []


def test_results_without_confidence_go_by_their_rank(page: Page, server: Server) -> None:
    for item in server.answers["paraphrase"][0]["results"]:
        item["confidence"] = None
    panel = answered(page, server)
    expect(panel.locator(".percent").first).to_have_text("score −3.6")
    expect(panel.locator("svg.chart")).to_have_attribute("aria-label", re.compile(r"Novelty and rank.*at rank 1;"))


REWORDED: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("The show took place in May.", "The show happened in May.", [("swapped", "happened in")]),
    ("We met Ann at the big station.", "We met Ann at the station.", [("lost", "big")]),
    ("We met at the station.", "We met at the old station.", [("new", "old")]),
    ("In 1990 he wrote a book.", "He wrote a book in 1990.", [("moved", "in 1990")]),
    ("We did not go there.", "We didn't go there.", [("swapped", "didn't")]),
    ("It is late.", "It is late.", []),
    ("😀 👩‍👩‍👧 Ann sleeps.", "😀 👩‍👩‍👧 Ann naps.", [("swapped", "naps")]),
]


def test_every_word_is_accounted_for(page: Page, server: Server) -> None:
    panel = opened(page, server)
    for source, text, marks in REWORDED:
        server.answers["paraphrase"][0] |= {"source": source, "results": [result(text)], "copies": []}
        with page.expect_response("**/v1/diff"):
            panel.locator("[type=submit]").click()
        expect(panel.locator(".picture .middle")).to_have_text(source)
        expect(panel.locator(".result .mark")).to_have_count(len(marks))
        found = panel.locator(".result .text").evaluate(MARKS)
        assert [(kind, words) for kind, words, *_ in found] == marks
        assert shown(panel) == [text]


def test_marks_are_told_apart_by_more_than_colour(page: Page, server: Server) -> None:
    """A sign, a line and words for screen readers; the legend shows the same."""
    answer = server.answers["paraphrase"][0]
    source, text = "In May the big show took place at Bath.", "The great show was at Bath with us in May."
    answer |= {"source": source, "results": [result(text)], "copies": []}
    panel = answered(page, server)
    expect(panel.locator(".result .mark").first).to_be_visible()
    marks = panel.locator(".result .text").evaluate(MARKS)
    assert {kind for kind, *_ in marks} == {"moved", "swapped", "new", "lost"}
    forms = {(kind, line, style, sign) for kind, _, _, line, style, sign in marks}
    assert len(forms) == len({(line, style) for _, line, style, _ in forms}) == len({sign for *_, sign in forms}) == 4
    assert {said.partition(" “")[0] for _, _, said, *_ in marks} == {"(moved)", "(new)", "(lost)", "(instead of"}
    legend = panel.locator(".legend .mark").evaluate_all("marks => marks.map((mark) => [...mark.classList].at(-1))")
    assert set(legend) == {kind for kind, *_ in marks}


def test_infill_shows_the_chosen_filling_in_the_gap(page: Page, server: Server) -> None:
    panel = answered(page, server, "infill")
    answer = server.answers["infill"][0]
    texts = [item["text"] for item in answer["results"]]
    expect(panel.locator(".document")).to_have_text(f"{answer['left']} {texts[0]} {answer['right']}")
    panel.get_by_role("radio", name=texts[2]).check()
    expect(panel.locator(".document mark")).to_have_text(texts[2])
    expect(panel.locator(".verdict").first).to_have_text("explains both")
    expect(panel.locator(".filling").first.locator(".gains")).to_contain_text(re.compile(r"before \+\d"))
    expect(panel.locator(".picture .middle .gap")).to_be_visible()
    panel.locator(".more").click()
    expect(panel.locator(".filling:visible")).to_have_count(len(texts))


def test_rewrite_takes_the_selection_and_shows_the_result_in_its_place(page: Page, server: Server) -> None:
    panel = opened(page, server, "rewrite")
    box = panel.locator("textarea")
    box.fill("The shop was closed. I had no money. I went home.")
    box.evaluate("box => box.setSelectionRange(20, 37)")  # with a space on both sides
    panel.locator("[type=submit]").click()
    expect(panel.locator(".answer")).to_be_visible()
    expect(box).to_have_value("The shop was closed. [[I had no money.]] I went home.")
    assert server.asked[-1]["document"] == "The shop was closed. [[I had no money.]] I went home."
    items = server.answers["rewrite"][0]["results"]
    expect(panel.locator(".document")).to_have_text(f"The shop was closed. {items[0]['text']} I went home.")
    panel.locator(".result input[type=radio]").nth(1).check()
    expect(panel.locator(".document mark")).to_have_text(items[1]["text"])


def test_rewrite_without_a_span_says_what_to_do(page: Page, server: Server) -> None:
    panel = opened(page, server, "rewrite")
    panel.locator("textarea").fill("Nothing is marked.")
    panel.locator("[type=submit]").click()
    expect(panel.get_by_role("alert")).to_contain_text("Select the words")
    expect(panel.locator("textarea")).to_be_focused()
    assert server.asked == []


def test_score_shows_intervals_on_one_scale(page: Page, server: Server) -> None:
    panel = answered(page, server, "score")
    entries = panel.locator(".score").all()
    for entry, item in zip(entries, server.answers["score"], strict=True):
        expect(entry.locator(".text")).to_have_text(item["candidate"])
        expect(entry.locator(".value")).to_contain_text(f"{item['scaled']:.0f}")
        expect(entry.locator(".value")).to_contain_text(f"{item['scaled_low']:.0f} to {item['scaled_high']:.0f}")
    places = [entry.locator(".at").evaluate("at => at.getBoundingClientRect().x") for entry in entries]
    scaled = [item["scaled"] for item in server.answers["score"]]
    assert sorted(range(3), key=places.__getitem__) == sorted(range(3), key=scaled.__getitem__)
    assert server.asked[-1]["candidates"] == panel.locator("#score-candidates").input_value().split("\n")


def test_progress_names_the_stages_and_can_be_cancelled(page: Page, server: Server) -> None:
    server.go.clear()
    panel = opened(page, server)
    panel.locator("[type=submit]").click()
    expect(panel.locator(".stages")).to_contain_text(STAGES[0])
    expect(page.locator("#announcement")).to_have_text(STAGES[0])
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.locator(".progress")).to_be_hidden()
    expect(page.locator("#announcement")).to_have_text("Cancelled.")
    expect(panel.locator("[type=submit]")).to_be_focused()
    expect(panel.locator(".answer")).to_be_hidden()
    until = time.monotonic() + SOON
    while not server.app.state.engine.given_up:  # the server sees that the client has left
        assert time.monotonic() < until
        time.sleep(0.01)
    server.go.set()
    panel.locator("[type=submit]").click()
    expect(panel.locator(".answer")).to_be_visible()
    expect(page.locator("#announcement")).to_contain_text("14 paraphrases. The best: How can I be a better writer?")


def test_settings_reach_the_server_and_only_those_that_were_changed(page: Page, server: Server) -> None:
    panel = opened(page, server)
    panel.locator("[type=submit]").click()
    expect(panel.locator(".answer")).to_be_visible()
    assert set(server.asked[-1]) == {"text", "all", "top"}
    panel.get_by_role("button", name="Settings", exact=True).click()
    panel.locator("#paraphrase-preset").select_option("fast")
    expect(panel.locator("#paraphrase-contexts")).to_have_attribute("placeholder", "20")
    panel.locator("#paraphrase-contexts").fill("7")
    panel.locator("#paraphrase-keep").fill("better writer, I")
    panel.get_by_label("numbers").check()
    panel.locator(".others summary").click()
    panel.locator("#paraphrase-exact").select_option("true")
    panel.locator("#paraphrase-context_top_p").fill("0.5")
    with page.expect_response("**/v1/paraphrase"):
        panel.locator("[type=submit]").click()
    expect(page.locator("#announcement")).to_contain_text("The best")
    asked = server.asked[-1]
    assert asked["preset"] == "fast"
    given = {name: value for name, value in asked["settings"].items() if value is not None}
    assert given == {"contexts": 7, "exact": True, "context_top_p": 0.5}
    assert asked["constraints"] == {"keep": ["better writer", "I"], "avoid": [], "automatic": ["numbers"]}
    expect(panel.get_by_role("button", name="Settings: 6 changed")).to_be_visible()
    panel.get_by_role("button", name="Back to the usual settings").click()
    expect(panel.get_by_role("button", name="Settings", exact=True)).to_be_visible()
    assert parse_qs(urlsplit(page.url).fragment) == {"task": ["paraphrase"]}


def test_a_link_has_the_settings_and_a_text_only_if_the_user_wants_it(page: Page, server: Server) -> None:
    panel = answered(page, server)
    panel.get_by_role("button", name="Settings", exact=True).click()
    panel.locator("#paraphrase-seed").fill("7")
    panel.locator("#paraphrase-keep").fill("writer")
    panel.locator("input[type=range]").fill("40")
    panel.get_by_role("button", name="Copy a link").click()
    expect(page.locator("#announcement")).to_have_text("Link copied")
    words = parse_qs(urlsplit(page.url).fragment)
    assert words == {"task": ["paraphrase"], "seed": ["7"], "novelty": ["40"]}
    panel.get_by_label("with my texts in it").check()
    link = page.url
    assert parse_qs(urlsplit(link).fragment)["text"] == [panel.locator("#paraphrase-text").input_value()]
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#paraphrase-seed")).to_have_value("7")
    expect(page.locator("#paraphrase-keep")).to_have_value("writer")
    expect(page.locator("#paraphrase-novelty")).to_have_value("40")
    assert page.url == link


def test_the_answer_can_be_taken_along(page: Page, server: Server) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = answered(page, server)
    button = panel.locator(".result .quiet").first
    words = button.text_content()
    button.click()
    button.click()
    expect(page.locator("#announcement")).to_have_text("Result copied")
    expect(button).to_have_text(words or "")
    expect(button.locator(".unseen")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == server.answers["paraphrase"][0]["results"][0]["text"]
    with page.expect_download() as download:
        panel.get_by_role("button", name="Download JSON").click()
    assert download.value.suggested_filename == "refdec-paraphrase.json"
    assert json.loads(download.value.path().read_text(encoding="utf-8")) == server.answers["paraphrase"][0]
    panel.locator(".signature summary").click()
    expect(panel.locator(".signature code")).to_have_text(server.answers["paraphrase"][0]["signature"])


def test_everything_can_be_done_with_the_keyboard(page: Page, server: Server) -> None:
    opened(page, server)
    tab = page.get_by_role("tab", name="Paraphrase")
    tab.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Infill")).to_be_focused()
    expect(page.locator("#infill")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#score")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(tab).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#paraphrase-text")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("How can I become a better writer?")
    page.keyboard.press("Control+Enter")
    panel = page.locator("#paraphrase")
    expect(panel.locator(".answer")).to_be_visible()
    expect(page.locator("#paraphrase-text")).to_be_focused()
    stops = []
    for _ in range(40):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", stops[-1]
        if stops[-1] == "paraphrase-novelty":
            break
    assert {"strip", "quiet", "more", "paraphrase-novelty"} <= set(stops)
    page.keyboard.press("End")
    expect(panel.locator("output")).to_contain_text("Novelty 100 or more: ")


@pytest.mark.parametrize("task", TASKS)
def test_texts_are_shown_as_they_are_and_never_run(page: Page, server: Server, task: str) -> None:
    for content in server.answers[task]:
        poison(content)
    panel = opened(page, server, task)
    for box in panel.locator("textarea").all():
        box.fill(f"[[{HOSTILE}]]" if task == "rewrite" else HOSTILE)
    panel.locator("[type=submit]").click()
    expect(panel.locator(".answer")).to_be_visible()
    expect(panel.locator(".picture")).to_be_visible()
    assert HOSTILE in panel.locator(".answer").inner_text().replace("\n", " ")
    assert panel.locator("script, img").count() == 0
    assert page.evaluate("window.hurt") is None


def poison(content: Any) -> None:
    """Every text of an answer says something that must not run."""
    for name, value in content.items() if isinstance(content, dict) else ():
        if name in ("source", "left", "right", "text", "reference", "candidate", "note", "signature"):
            content[name] = HOSTILE
        elif name == "changes":
            content[name] = [HOSTILE]
        elif isinstance(value, list):
            for item in value:
                poison(item)


def test_no_request_leaves_the_server(page: Page, server: Server) -> None:
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    for task in TASKS:
        answered(page, server, task)
    expect(page.locator("#rewrite .mark").first).to_be_attached()
    assert {urlsplit(address).path for address in addresses} >= {"/", "/v1/models", "/v1/diff", "/static/app.css"}
    assert [address for address in addresses if not address.startswith((server.address, "blob:"))] == []


def test_the_key_is_asked_for_once(page: Page, locked: Server) -> None:
    page.goto(locked.address)
    dialog = page.get_by_role("dialog", name="This server wants a key")
    expect(dialog).to_be_visible()
    expect(page.locator("#key")).to_be_focused()
    page.keyboard.type("a wrong key, long enough")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("That is not the key of this server.")
    assert serious_faults(page) == []
    page.locator("#key").fill(KEY)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#pair")).not_to_be_empty()
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert KEY not in page.evaluate("document.cookie + JSON.stringify(localStorage)")
    answered(page, locked)
    page.reload()
    expect(page.locator("#pair")).not_to_be_empty()
    expect(dialog).to_be_hidden()


def test_refusals_are_shown_in_their_own_words(page: Page, server: Server) -> None:
    panel = opened(page, server)
    panel.locator("#paraphrase-text").fill("")
    panel.locator("[type=submit]").click()
    expect(panel.get_by_role("alert")).to_contain_text("There is no text yet.")
    panel.locator("#paraphrase-text").fill("word " * 2000)
    panel.locator("[type=submit]").click()
    expect(panel.get_by_role("alert")).to_contain_text("at most 5000 characters")
    server.answers["paraphrase"][0]["note"] = "No good paraphrase was found."
    panel.locator("#paraphrase-text").fill("How can I become a better writer?")
    panel.locator("[type=submit]").click()
    expect(panel.locator(".note")).to_have_text("No good paraphrase was found.")
    expect(panel.get_by_role("alert")).to_be_empty()


def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(page: Page, server: Server) -> None:
    panel = opened(page, server)
    whole = {"index": 0, "result": server.answers["paraphrase"][0]}
    stream = f"event: result\ndata: {json.dumps(whole)}\n\n"  # and no "done"
    page.route("**/v1/paraphrase", lambda route: route.fulfill(body=stream, content_type="text/event-stream"))
    panel.locator("[type=submit]").click()
    expect(panel.get_by_role("alert")).to_have_text("The server did not finish its answer. Try again.")
    expect(panel.locator(".answer")).to_be_hidden()
    page.unroute("**/v1/paraphrase")
    page.route("**/v1/paraphrase", lambda route: route.abort())
    panel.locator("[type=submit]").click()
    expect(panel.get_by_role("alert")).to_have_text("The server does not answer. Is it still running?")
    page.unroute("**/v1/paraphrase")
    panel.locator("[type=submit]").click()
    expect(panel.locator(".answer")).to_be_visible()
    expect(panel.get_by_role("alert")).to_be_empty()


def test_the_theme_follows_the_system_until_the_user_chooses(browser: Browser, server: Server) -> None:
    with fresh_page(browser, color_scheme="dark") as screen:
        screen.goto(server.address)
        ink = "getComputedStyle(document.body).color"
        dark = screen.evaluate(ink)
        button = screen.get_by_role("button", name="Dark theme")
        expect(button).to_have_attribute("aria-pressed", "true")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        light = screen.evaluate(ink)
        assert light != dark
        screen.reload()
        assert screen.evaluate(ink) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, server: Server, scheme: str) -> None:
    with fresh_page(browser, color_scheme=scheme) as screen:
        screen.goto(server.address)
        assert serious_faults(screen) == []
        for task in TASKS:
            panel = answered(screen, server, task)
            panel.get_by_role("button", name="Settings", exact=True).click()
            for summary in panel.locator("summary").all():
                summary.click()
            if task in ("paraphrase", "rewrite"):
                expect(panel.locator(".mark").first).to_be_visible()
            panel.locator(".strip").first.or_(panel.locator(".score").first).first.hover()
            assert serious_faults(screen) == []


def test_nothing_is_cut_off_on_a_phone(browser: Browser, server: Server) -> None:
    with fresh_page(browser, viewport={"width": 360, "height": 740}, has_touch=True) as screen:
        for task in TASKS:
            panel = answered(screen, server, task)
            panel.get_by_role("button", name="Settings", exact=True).click()
            for summary in panel.locator("summary").all():
                summary.click()
            assert screen.evaluate("document.documentElement.scrollWidth") <= 360, task


def test_each_task_works_on_real_models(page: Page, small_reflector: Reflector) -> None:
    """From the form to the answer, with nothing recorded: the small pair's words mean nothing, but they are there."""
    settings = "".join(f"&{name}={value}" for name, value in TINY.items())
    with running(serving.create_app(small_reflector)) as address:
        for task in TASKS:
            page.goto(f"{address}#task={task}{settings}&seed=1")
            panel = page.locator(f"#{task}")
            panel.locator("[type=submit]").click()
            expect(panel.locator(".answer")).to_be_visible()
            expect(panel.locator(".heading")).to_contain_text(re.compile(r"\d+ (paraphrase|filling|rewriting|text)"))
            expect(panel.locator(".picture")).to_be_visible()
            expect(panel.get_by_role("alert")).to_be_empty()
