"""People rate a study in a real browser: with the mouse, with the keyboard alone, on a phone, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from refdec.serve.studies.material import read_material
from refdec.serve.studies.store import Study
from refdec.serve.studies.tokens import admin_path, rater_path
from tests.browser import browser, chromium, faults
from tests.study_files import STORIES, make_material, save, served_in_a_thread, small_material, write_outputs

PHONE: ViewportSize = {"width": 390, "height": 844}
WIDE: ViewportSize = {"width": 1100, "height": 800}


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    save(tmp_path / "s.db", small_material(tmp_path), items=3)
    with Study(tmp_path / "s.db") as opened:
        yield opened


@pytest.fixture
def address(study: Study) -> Iterator[str]:
    """Where the study is served, by a thread of this process."""
    with served_in_a_thread(study) as base:
        yield base


def rate_by_mouse(page: Page, start: str, answers: list[str]) -> int:
    """From the start page to the end, and one step back on the way; how many forms there were."""
    page.goto(start)
    page.get_by_role("link", name="Start").click()
    place = 1
    while "/end" not in page.url:
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(rf"Text {place} of \d+"))
        for question, answer in zip(page.get_by_role("group").all(), answers, strict=True):
            question.get_by_role("radio", name=answer).check()
        page.get_by_role("button", name="Next").click()
        if place == 2:
            page.get_by_role("link", name="Back").click()
            expect(page.get_by_role("radio", checked=True)).to_have_count(3)
            page.get_by_role("button", name="Next").click()
        place += 1
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, ann!")
    return place - 1


def rate_by_keyboard(page: Page, start: str, answers: str) -> int:
    """The same without a mouse: the number keys, and Enter."""
    page.goto(start)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    place = 1
    while "/end" not in page.url:
        page.wait_for_url(re.compile(rf"/{place}$"))
        for answer in answers:
            page.keyboard.press(answer)
        expect(page.get_by_role("button", name="Next")).to_be_focused()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        place += 1
    return place - 1


def test_two_people_rate_a_whole_study(chrome: Browser, study: Study, address: str) -> None:
    first, second = (chrome.new_context(viewport=WIDE) for _ in range(2))
    ann, ben = first.new_page(), second.new_page()
    asked_elsewhere: list[str] = []
    faults_told: list[str] = []
    for page in (ann, ben):
        page.on("request", lambda request: asked_elsewhere.append(request.url))
        page.on("console", lambda message: faults_told.append(message.text))
        page.on("pageerror", lambda error: faults_told.append(str(error)))
    names = ["Yes, and it reads well", "Minor differences", "Clearly different"]
    count = rate_by_mouse(ann, f"{address}/{rater_path(study, 1)}", names)
    assert rate_by_keyboard(ben, f"{address}/{rater_path(study, 2)}", "321") == count
    progress = study.progress()
    assert [(rater.done, rater.total) for rater in progress] == [(count, count)] * 2
    expected = {
        "ann": {"fluency": 4, "consistency": 3, "novelty": 3},
        "ben": {"fluency": 3, "consistency": 2, "novelty": 1},
    }
    assert all(dict(rating.answers) == expected[rating.rater] for rating in study.ratings())
    assert [url for url in asked_elsewhere if not url.startswith(address)] == []
    assert faults_told == []


@pytest.mark.parametrize(
    ("task", "scheme", "size"),
    [
        ("paraphrase", "light", WIDE),
        ("paraphrase", "dark", PHONE),
        ("infill", "light", PHONE),
        ("infill", "dark", WIDE),
    ],
)
def test_axe_finds_no_serious_fault(
    chrome: Browser, tmp_path: Path, scheme: Literal["light", "dark"], size: ViewportSize, task: str
) -> None:
    if task == "infill":
        write_outputs(tmp_path)
        material = read_material(["left", "right"], [f"rd={tmp_path / 'fillings.jsonl'}"], None)
        assert len(material.items) == len(STORIES)
    else:
        material = small_material(tmp_path)
    save(tmp_path / "s.db", material, task=task)
    with Study(tmp_path / "s.db") as study, served_in_a_thread(study) as base:
        here = f"{base}/{rater_path(study, 1)}"
        context = chrome.new_context(viewport=size, color_scheme=scheme)
        page = context.new_page()
        for url in (here, f"{here}/1", f"{base}/{admin_path(study)}", f"{here}x"):
            page.goto(url)
            assert faults(page) == [], url
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], "the page is too wide"
        page.goto(f"{here}/1")
        page.evaluate("document.querySelectorAll('[required]').forEach((input) => input.required = false)")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("alert")).to_be_visible()
        assert faults(page) == []
        for place in range(1, 1 + study.progress()[0].total):
            study.answer(1, place, {question.name: 2 for question in study.task.questions})
        page.goto(f"{here}/end")
        assert faults(page) == []
        context.close()


def test_the_pages_work_without_scripts(chrome: Browser, study: Study, address: str) -> None:
    context = chrome.new_context(java_script_enabled=False, viewport=PHONE)
    names = ["Only in part", "Yes, the same", "The same words"]
    count = rate_by_mouse(context.new_page(), f"{address}/{rater_path(study, 1)}", names)
    assert study.progress()[0].done == count


def test_number_keys_can_be_switched_off_and_stay_off(chrome: Browser, study: Study, address: str) -> None:
    page = chrome.new_context(viewport=WIDE).new_page()
    page.goto(f"{address}/{rater_path(study, 1)}/1")
    switch = page.get_by_role("checkbox")
    switch.uncheck()
    page.reload()
    expect(switch).not_to_be_checked()
    page.keyboard.press("4")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    switch.check()
    page.keyboard.press("4")
    expect(page.get_by_role("radio", checked=True)).to_have_count(1)
    page.keyboard.press("Control+3")  # a shortcut of the browser
    expect(page.get_by_role("radio", checked=True)).to_have_count(1)


def test_keys_do_not_change_what_is_answered(chrome: Browser, study: Study, address: str) -> None:
    page = chrome.new_context(viewport=WIDE).new_page()
    page.goto(f"{address}/{rater_path(study, 1)}/1")
    for key in "4321":  # one more than there are questions
        page.keyboard.press(key)
    checked = [page.get_by_role("group").nth(number).get_by_role("radio").nth(3 - number) for number in range(3)]
    for radio in checked:
        expect(radio).to_be_checked()


def test_a_script_in_a_text_does_not_run(chrome: Browser, tmp_path: Path) -> None:
    material = make_material(1, ["a"])
    (item,) = material.items
    attack = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    bad = type(item)("i", {"source": attack}, {"a": f"{attack}!"})
    save(tmp_path / "s.db", type(material)(("a",), (bad,), 0))
    with Study(tmp_path / "s.db") as study, served_in_a_thread(study) as base:
        page = chrome.new_page()
        page.goto(f"{base}/{rater_path(study, 1)}/1")
        assert page.title().startswith("Text 1 of")
        assert attack in page.inner_text("main")


def test_a_missing_browser_fails_where_it_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="apt install chromium"):
        chromium()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt install chromium"):
        chromium()
