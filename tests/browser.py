"""Debian's Chromium for tests of pages: started once per file of tests, with an empty profile for each test.

Where it is missing a test is skipped with the way to get it; with CI=true that is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

MISSING = "There is no Chromium to test pages with. Get it with: apt-get install chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SERIOUS = ("serious", "critical")
PATIENCE_MS = 60_000
"""How long a page may take on a busy machine before a test gives up."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while Playwright is started, an event loop runs in this thread, and others cannot."""
    path = chromium_path()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS, headless=True)
        yield chromium
        chromium.close()


def chromium_path() -> str:
    path = shutil.which("chromium")
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    return path


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a fresh profile, on a screen of a desk, in the light."""
    with fresh_page(browser) as fresh:
        yield fresh


@contextmanager
def fresh_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page whose scripts must make no mistake and break no rule of the policy."""
    mistakes: list[str] = []
    context = browser.new_context(
        **{"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", "reduced_motion": "reduce"} | options
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.on("pageerror", lambda error: mistakes.append(str(error)))
    page.on("console", lambda message: mistakes.append(message.text) if _breaks_policy(message.text) else None)
    yield page
    context.close()
    assert mistakes == []


def _breaks_policy(words: str) -> bool:
    return "Content Security Policy" in words or "The page made a mistake" in words


def serious_faults(page: Page) -> list[str]:
    """What axe-core finds serious or critical, as one line each."""
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(axe)
    violations = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{item['id']}: {node['target']} {json.dumps(node['failureSummary'])}"
        for item in violations
        if item["impact"] in SERIOUS
        for node in item["nodes"]
    ]
