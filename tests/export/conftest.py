"""The browser that tests of pages share."""

import pytest

from pages import BROWSER, opened


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, report):
    """The report that a module makes, open at its picture; nothing is said in the console, and nothing asked for."""
    page, messages, requests = opened(browser, report)
    page.evaluate("document.querySelector('.scatter').scrollIntoView()")
    yield page
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [report.as_uri()]
    page.context.close()
