"""The report's picture in a headless browser without a graphics card: bytes, time to open, frames while it moves.

Needs playwright and Chromium; without them it says so.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import record

from gnomon import SPPCA
from gnomon.export import write_report

SIZES = {10_000: (6.0, 40.0), 100_000: (None, 30.0)}  # rows: megabytes at most, frames a second at least
FRAMES = 60
MOVE = """async (frames) => {
  const picture = document.querySelector('div.scatter').scatter, ends = [...picture.window], spent = [];
  let before = performance.now();
  for (let i = 0; i < frames; i++) {
    picture.window = ends.map((end) => end * (1 + 0.3 * Math.sin(i / 5)));
    picture.redraw();
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    spent.push(now - before);
    before = now;
  }
  return spent.sort((a, b) => a - b)[Math.floor(frames / 2)];
}"""
POINT = """async (times) => {
  const picture = document.querySelector('div.scatter').scatter, before = performance.now();
  for (let i = 0; i < times; i++) picture.show(picture.nearest(200 + 7 * i, 200 + 3 * i));
  return (performance.now() - before) / times;
}"""


def written(folder, n):
    """A report of n rows in five classes, one in a hundred labeled, and the seconds that writing it took."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, n)
    X = rng.normal(size=(n, 8))
    X[:, :5] += 4.0 * np.eye(5)[kind]
    y = np.where(rng.random(n) < 0.01, kind, -1)
    model = SPPCA(2).fit(X, y)
    start = time.perf_counter()
    path = write_report(folder / f"{n}.html", estimator=model, X=X, y=y)
    return Path(path), time.perf_counter() - start


def measured(browser, folder, n):
    """Rows of the table of results for n rows."""
    path, seconds = written(folder, n)
    most, least = SIZES[n]
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    page.goto(path.resolve().as_uri())
    opened = time.perf_counter() - start
    page.wait_for_timeout(300)
    page.evaluate(MOVE, 5)
    rate = 1000.0 / page.evaluate(MOVE, FRAMES)
    rows = [
        ("seconds to write the report", seconds, None),
        ("MB", path.stat().st_size / 1e6, most),
        ("seconds to open", opened, None),
        ("frames a second while the picture moves, negated", -rate, -least),
        ("milliseconds to find the row below the mouse", page.evaluate(POINT, 50), None),
    ]
    page.close()
    return [(f"report of {n:,} rows: {what}", value, limit) for what, value, limit in rows]


def main():
    """Run and record."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        sys.stdout.write("bench_report: playwright or Chromium is not installed. Nothing was measured.\n")
        return
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        rows = [row for n in SIZES for row in measured(browser, Path(folder), n)]
        browser.close()
    record("report", [{"what": what, "value": value, "limit": limit} for what, value, limit in rows])


if __name__ == "__main__":
    main()
