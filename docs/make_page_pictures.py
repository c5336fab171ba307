"""Take the pictures of the server's page: python -m docs.make_page_pictures

Runs the server with the embedded pair on a CPU, asks it in Debian's Chromium for what the page proposes, and saves what
the browser shows. Needs `chromium`. The pictures have 256 colours, which keeps them small.
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from refdec import Reflector
from refdec.serve.app import create_app
from refdec.serve.run import address_of, listen, server_for

HERE = Path(__file__).parent
MINUTES_MS = 300_000
PICTURES: dict[str, dict[str, Any]] = {
    "serve-paraphrase": {"task": "paraphrase", "color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "serve-infill": {"task": "infill", "color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "serve-phone": {"task": "paraphrase", "color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}
"""What each picture shows. The one of a phone shows the results, the others the whole page."""


@contextmanager
def served() -> Iterator[str]:
    """The address of a server with the embedded pair."""
    with listen("127.0.0.1", 0) as listening:
        server = server_for(create_app(Reflector(device="cpu")))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield address_of(listening)
        server.should_exit = True
        thread.join()


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


def main() -> None:
    chromium = shutil.which("chromium") or sys.exit("There is no chromium here: apt-get install chromium")
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, picture in PICTURES.items():
            image = Image.open(io.BytesIO(take(browser, address, **picture))).convert("RGB")
            image = image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            image.save(HERE / f"{name}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
