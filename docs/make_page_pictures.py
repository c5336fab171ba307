"""Take the pictures of the server's page and of a study: python -m docs.make_page_pictures

Runs the server with the embedded pair on a CPU, asks it in Debian's Chromium for what the page proposes, and saves what
the browser shows; the study is made up. Needs `chromium`. The pictures have 256 colours, which keeps them small.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from tests.browser import FLAGS
from tests.serving import listening
from tests.study_files import REWORDED, save, served_in_a_thread, small_material

from refdec import Reflector
from refdec.serve.app import create_app
from refdec.serve.studies.store import Study
from refdec.serve.studies.tokens import rater_path

HERE = Path(__file__).parent
MINUTES_MS = 300_000
PICTURES: dict[str, dict[str, Any]] = {
    "serve-paraphrase": {"task": "paraphrase", "color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "serve-infill": {"task": "infill", "color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "serve-phone": {"task": "paraphrase", "color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}
"""What each picture shows. The one of a phone shows the results, the others the whole page."""


def take(browser: Browser, address: str, task: str, **screen: Any) -> bytes:
    context = browser.new_context(reduced_motion="reduce", **screen)
    context.set_default_timeout(MINUTES_MS)
    page = context.new_page()
    page.goto(f"{address}#task={task}")
    with page.expect_response("**/v1/diff" if task == "paraphrase" else f"**/v1/{task}"):
        page.locator(f"#{task} [type=submit]").click()
    page.locator(f"#{task} .answer").wait_for()
    is_phone = screen["viewport"]["width"] < 600
    if task == "paraphrase":
        page.locator(f"#{task} .mark").first.wait_for()
        page.locator("#paraphrase-novelty").fill("15")
    if is_phone:
        page.locator(f"#{task} .novelty").evaluate("place => place.scrollIntoView()")
    page.evaluate("document.activeElement.blur()")
    picture = page.screenshot(full_page=not is_phone)
    context.close()
    return picture


def take_study(browser: Browser) -> bytes:
    """A form as a rater sees it, with two answers given by number keys."""
    with tempfile.TemporaryDirectory() as name:
        save(Path(name) / "study.db", small_material(Path(name)))
        with Study(Path(name) / "study.db") as study, served_in_a_thread(study) as address:
            total = study.progress()[0].total
            forms = {form.words: place for place in range(1, total + 1) if (form := study.form(1, place))}
            place = next(forms[words] for words in REWORDED if forms.get(words, 0) > total // 3)
            for earlier in range(1, place):
                study.answer(1, earlier, {question.name: 3 for question in study.task.questions})
            page = browser.new_page(viewport={"width": 1000, "height": 620})
            page.goto(f"{address}/{rater_path(study, 1)}/{place}")
            for key in "43":
                page.keyboard.press(key)
            return page.screenshot()


def write(name: str, picture: bytes) -> None:
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image = image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(HERE / f"{name}.png", optimize=True)


def main() -> None:
    chromium = shutil.which("chromium") or sys.exit("There is no chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        write("study", take_study(browser))
        with listening(create_app(Reflector(device="cpu"))) as (host, port):
            for name, picture in PICTURES.items():
                write(name, take(browser, f"http://{host}:{port}/", **picture))
        browser.close()


if __name__ == "__main__":
    main()
