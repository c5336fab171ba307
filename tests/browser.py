"""A real browser for tests: Debian's Chromium, driven by Playwright, with a profile of its own and no way outside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SERIOUS = ("serious", "critical")


def chromium() -> str:
    """The path of Chromium. Without it a test is skipped, and fails where CI=true."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        words = "There is no Chromium, so no page was tried in a browser. On Debian: apt install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    return path


@contextmanager
def browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=[*FLAGS])
        try:
            yield opened
        finally:
            opened.close()


def faults(page: Page) -> list[str]:
    """The serious accessibility faults that axe-core finds on a page, with the element."""
    response: dict[str, Any] = Axe().run(page).response
    return [
        f"{violation['id']}: {node['html']}"
        for violation in response["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]
