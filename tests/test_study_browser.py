"""People rate a study in a real browser: with the mouse, with the keyboard alone, on a phone, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from refdec.serve.studies.material import read_material
from refdec.serve.studies.store import Study
from refdec.serve.studies.tokens import admin_path, rater_path
from tests.browser import PATIENCE_MS, browser, fresh_page, page, serious_faults
from tests.study_files import STORIES, make_material, save, served_in_a_thread, small_material, write_outputs

__all__ = ["browser", "page"]  # fixtures

PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1100, "height": 800}

expect.set_options(timeout=PATIENCE_MS)


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


def press(page: Page, role: str, name: str) -> None:
    """A click that leads to another page."""
    with page.expect_navigation():
        page.get_by_role(role, name=name).click()  # type: ignore[arg-type]


def rate_by_mouse(page: Page, start: str, answers: list[str]) -> int:
    """From the start page to the end, with one step back on the way; how many forms there were."""
    page.goto(start)
    press(page, "link", "Start")
    place = 1
    while not page.url.endswith("/end"):
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(rf"Text {place} of \d+"))
        for question, answer in zip(page.get_by_role("group").all(), answers, strict=True):
            question.get_by_role("radio", name=answer).check()
        press(page, "button", "Next")
        if place == 2:
            press(page, "link", "Back")
            expect(page.get_by_role("radio", checked=True)).to_have_count(3)
            press(page, "button", "Next")
        place += 1
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, ann!")
    return place - 1


def rate_by_keyboard(page: Page, start: str, answers: str) -> int:
    """The same without a mouse: the number keys, and Enter."""
    page.goto(start)
    page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    place = 1
    while not page.url.endswith("/end"):
        assert page.url.endswith(f"/{place}")
        for answer in answers:
            page.keyboard.press(answer)
        expect(page.get_by_role("button", name="Next")).to_be_focused()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        place += 1
    return place - 1


def test_two_people_rate_a_whole_study(browser: Browser, study: Study, address: str) -> None:
    asked: list[str] = []
    told: list[str] = []
    with fresh_page(browser, viewport=WIDE) as first, fresh_page(browser, viewport=WIDE) as second:
        for page in (first, second):
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: told.append(message.text))
        names = ["Yes, and it reads well", "Minor differences", "Clearly different"]
        count = rate_by_mouse(first, f"{address}/{rater_path(study, 1)}", names)
        assert rate_by_keyboard(second, f"{address}/{rater_path(study, 2)}", "321") == count
    assert [(rater.done, rater.total) for rater in study.progress()] == [(count, count)] * 2
    given = {
        "ann": {"fluency": 4, "consistency": 3, "novelty": 3},
        "ben": {"fluency": 3, "consistency": 2, "novelty": 1},
    }
    assert [(rating.rater, rating.answers) for rating in study.ratings()] == [
        (name, answers) for name, answers in given.items() for _ in range(count)
    ]
    assert [url for url in asked if not url.startswith(address)] == []
    assert told == []


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
    browser: Browser, tmp_path: Path, task: str, scheme: str, size: dict[str, int]
) -> None:
    if task == "infill":
        write_outputs(tmp_path)
        material = read_material(["left", "right"], [f"rd={tmp_path / 'fillings.jsonl'}"], None)
        assert len(material.items) == len(STORIES)
    else:
        material = small_material(tmp_path)
    save(tmp_path / "s.db", material, task=task)
    with (
        Study(tmp_path / "s.db") as study,
        served_in_a_thread(study) as base,
        fresh_page(browser, viewport=size, color_scheme=scheme) as page,
    ):
        here = f"{base}/{rater_path(study, 1)}"
        for url in (here, f"{here}/1", f"{base}/{admin_path(study)}", f"{here}x"):
            page.goto(url)
            assert serious_faults(page) == [], url
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], "the page is too wide"
        page.goto(f"{here}/1")
        page.evaluate("document.querySelectorAll('[required]').forEach((input) => input.required = false)")
        press(page, "button", "Next")
        expect(page.get_by_role("alert")).to_be_visible()
        assert serious_faults(page) == []
        for place in range(1, 1 + study.progress()[0].total):
            study.answer(1, place, {question.name: 2 for question in study.task.questions})
        page.goto(f"{here}/end")
        assert serious_faults(page) == []


def test_the_pages_work_without_scripts(browser: Browser, study: Study, address: str) -> None:
    names = ["Only in part", "Yes, the same", "The same words"]
    with fresh_page(browser, java_script_enabled=False, viewport=PHONE) as page:
        count = rate_by_mouse(page, f"{address}/{rater_path(study, 1)}", names)
    assert study.progress()[0].done == count


def test_number_keys_can_be_switched_off_and_stay_off(page: Page, study: Study, address: str) -> None:
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


def test_one_key_too_many_changes_no_answer(page: Page, study: Study, address: str) -> None:
    page.goto(f"{address}/{rater_path(study, 1)}/1")
    for key in "4321":
        page.keyboard.press(key)
    for number in range(3):
        expect(page.get_by_role("group").nth(number).get_by_role("radio").nth(3 - number)).to_be_checked()


def test_a_script_in_a_text_does_not_run(page: Page, tmp_path: Path) -> None:
    material = make_material(1, ["a"])
    (item,) = material.items
    attack = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    bad = type(item)("i", {"source": attack}, {"a": f"{attack}!"})
    save(tmp_path / "s.db", type(material)(("a",), (bad,), 0))
    with Study(tmp_path / "s.db") as study, served_in_a_thread(study) as base:
        page.goto(f"{base}/{rater_path(study, 1)}/1")
        assert page.title().startswith("Text 1 of")
        assert attack in page.inner_text("main")
