"""The browser that tests of pages share."""

import pytest

from pages import BROWSER


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()
