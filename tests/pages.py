"""Pages in headless Chromium: for tests of the picture of a report."""

import base64
import shutil
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from gnomon import SPPCA
from gnomon.export import write_report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")]

PLACES = "() => { const s = document.querySelector('.scatter').scatter; return [...s.xs.keys()].map(i => s.place(i)) }"
CHOSEN = "() => [...document.querySelector('.scatter').scatter.chosen].sort((a, b) => a - b)"
CANVAS = "document.querySelector('.scatter-frame canvas').toDataURL()"


def bottles(*, holes=False):
    """Return rows of wine, of which fifteen have a class and, with `holes`, some miss an entry; and a model of them."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    X[::5, 2] = np.nan if holes else X[::5, 2]
    seen = np.where(np.arange(178) % 12 == 0, np.array(["a", "b", "c"], dtype=object)[y], None)
    return X, seen, SPPCA(3).fit(X, seen)


def report_of(wine, name, folder):
    """Write the report of `bottles`, which are called by a name and a number."""
    X, seen, model = wine
    ids = [f"{name}{i}" for i in range(178)]
    return write_report(folder / "report.html", estimator=model, X=X, y=seen, row_ids=ids, target_names="wine")


def opened(browser, path, **look):
    """Return an open page, and the lists that its messages and requests go to."""
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | look).new_page()
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_timeout(300)
    return page, messages, requests


def until(page, condition):
    """Wait until a condition holds in the page, whose policy lets nothing wait there; five seconds at most."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not in five seconds: {condition}")


def canvas(page):
    """Return the pixels (height, width, 3) of the canvas with rows."""
    return pixels_of(page.evaluate(CANVAS))


def pixels_of(url):
    """Return the colors (height, width, 3) of an image that is written as an address."""
    return pixels(base64.b64decode(url.partition(",")[2]))


def pixels(png):
    """Return the colors (height, width, 3) of an image, 0 to 255."""
    return np.rint(255 * imread(BytesIO(png)))[..., :3].astype(int)


def corner(page):
    """Return the place of the picture in the window."""
    box = page.locator(".scatter-frame canvas").last.bounding_box()
    return np.array([box["x"], box["y"]])


def draw(page, corners):
    """Drag the mouse along a line from corner to corner of the picture."""
    first, *others = np.asarray(corners) + corner(page)
    page.mouse.move(*first)
    page.mouse.down()
    for place in others:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def heard(page, name):
    """Keep the details of an event in the page from now on."""
    listen = "name => { window.heard = []; addEventListener(name, event => heard.push(event.detail)) }"
    page.evaluate(listen, name)
