"""The picture of a report in headless Chromium: what is on its canvas, and what mouse, keys and menus do with it."""

import re

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.path import Path as Outline
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.cli import main
from gnomon.export import write_report
from gnomon.export._report_page import PRINTED
from gnomon.export._report_scatter import shown_rows
from pages import CHOSEN, PLACES, bottles, canvas, corner, draw, heard, in_browser, opened, report_of

pytestmark = in_browser
CLASS_COLORS = [(0, 114, 178), (213, 94, 0), (0, 158, 115)]


@pytest.fixture(scope="module")
def wine():
    return bottles()


@pytest.fixture(scope="module")
def report(wine, tmp_path_factory):
    return report_of(wine, "w", tmp_path_factory.mktemp("report"))


def test_the_rows_are_on_the_canvas_in_the_colors_of_their_classes(page):
    # those of the labeled rows, nearly opaque on white
    asked = 255 + 0.95 * (np.array(CLASS_COLORS) - 255)

    def counts():
        return [(np.abs(canvas(page) - color).max(axis=2) <= 2).sum() for color in asked]

    assert min(counts()) > 100
    assert (canvas(page) == 255).all(axis=2).mean() > 0.8
    page.locator(".scatter select").nth(2).select_option(label="wine, probability")
    page.wait_for_timeout(100)
    assert counts() == [0, 0, 0]


def test_the_picture_keeps_its_size(page):
    size = "() => [...document.querySelectorAll('.scatter-frame canvas')].map(c => [c.width, c.height])"
    before = page.evaluate(size)
    page.wait_for_timeout(500)
    assert page.evaluate(size) == before
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(200)
    narrow = page.evaluate(size)
    assert narrow[0][0] < 390
    assert narrow[0][1] <= before[0][1]
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_places_are_those_of_the_projection(page, wine):
    X, _, model = wine
    places = np.array(page.evaluate(PLACES))
    Z = model.transform(X)[:, :2] * [1, -1]  # pixels count downwards
    for j in range(2):
        slope, start = np.polyfit(Z[:, j], places[:, j], 1)
        assert slope > 0
        assert_allclose(places[:, j], start + slope * Z[:, j], atol=0.5)


def test_pointing_at_a_row_says_what_it_is(page, wine):
    X, _, model = wine
    heard(page, "scatter-hover")
    places = np.array(page.evaluate(PLACES))
    lonely = int(np.sort(((places[:, None] - places) ** 2).sum(axis=2), axis=1)[:, 1].argmax())
    page.mouse.move(*places[lonely] + corner(page))
    said = page.locator(".scatter-tip").inner_text().split("\n")
    said = [line for line in said if line.strip()]
    assert said[0].startswith(f"row w{lonely}")
    assert said[said.index("wine, predicted") + 1] == model.predict(X)[lonely]
    shown = float(said[said.index("wine, probability") + 1])
    assert shown == pytest.approx(model.predict_proba(X)[lonely].max(), rel=5e-4)
    assert page.evaluate("heard") == [{"row": lonely, "id": f"w{lonely}"}]
    page.mouse.move(*corner(page) - 5)
    assert page.locator(".scatter-tip").is_hidden()


def test_a_lasso_chooses_the_rows_within_it(page):
    heard(page, "scatter-select")
    places = np.array(page.evaluate(PLACES))
    middle = np.median(places, axis=0)
    corners = middle + 150 * np.array([[-1.0, -1], [1, -0.6], [0.4, 0], [1, 1], [-0.5, 0.8]])
    page.get_by_role("button", name="Lasso").click()
    draw(page, corners)
    rows = np.flatnonzero(Outline(corners).contains_points(places))
    assert 5 < len(rows) < 170
    assert_array_equal(page.evaluate(CHOSEN), rows)
    assert page.locator(".scatter textarea").input_value().split("\n") == [f"w{row}" for row in rows]
    assert f"{len(rows)} of 178 rows are chosen" in page.locator(".scatter [role=status]").inner_text()
    assert page.evaluate("heard") == [{"rows": rows.tolist(), "ids": [f"w{row}" for row in rows]}]
    page.get_by_role("button", name="Drop the choice").click()
    assert page.locator(".scatter textarea").is_hidden()


def test_a_box_with_shift_adds_rows(page):
    places = np.array(page.evaluate(PLACES))
    page.get_by_role("button", name="Box").click()
    low, middle, high = np.quantile(places, [0.2, 0.5, 0.8], axis=0) + 0.37
    draw(page, [low, middle])
    first = ((places > low) & (places < middle)).all(axis=1)
    assert_array_equal(page.evaluate(CHOSEN), np.flatnonzero(first))
    page.keyboard.down("Shift")
    draw(page, [middle, high])
    page.keyboard.up("Shift")
    both = first | ((places > middle) & (places < high)).all(axis=1)
    assert both.sum() > first.sum() > 0
    assert_array_equal(page.evaluate(CHOSEN), np.flatnonzero(both))


def test_keys_go_from_row_to_row_and_choose(page):
    places = np.array(page.evaluate(PLACES))
    pointed = "document.querySelector('.scatter').scatter.pointed"
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    first = page.evaluate(pointed)
    assert page.locator(".scatter-spoken").inner_text().startswith(f"row w{first}")
    page.keyboard.press("ArrowRight")
    second = page.evaluate(pointed)
    assert places[second, 0] > places[first, 0]
    page.keyboard.press("Enter")
    assert page.evaluate(CHOSEN) == [second]
    page.keyboard.press("Shift+ArrowUp")
    third = page.evaluate(pointed)
    assert places[third, 1] < places[second, 1]
    assert page.evaluate(CHOSEN) == sorted([second, third])
    page.keyboard.press("+")
    page.wait_for_timeout(100)
    assert np.ptp(np.array(page.evaluate(PLACES))[:, 0]) == pytest.approx(np.ptp(places[:, 0]) / 0.7, rel=1e-3)
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    page.wait_for_timeout(100)
    assert page.evaluate(CHOSEN) == []
    assert_allclose(page.evaluate(PLACES), places)


def test_names_of_rows_in_the_page_lead_to_the_picture(page):
    page.keyboard.press("Home")
    assert page.locator("[data-row]").count() == 0
    link = page.locator(".scatter-link").last
    name = link.inner_text()
    row = int(name[1:])
    page.evaluate("document.querySelector('.scatter').scatter.zoom(0.05)")
    link.click()
    page.wait_for_timeout(100)
    assert page.evaluate(CHOSEN) == [row]
    tip = page.locator(".scatter-tip")
    assert tip.inner_text().startswith(f"row {name}")
    data = page.evaluate("document.querySelector('.scatter').scatter.data")
    for j in (0, 1):
        of = data["top"]["of"][j]
        first = data["top"]["names"][of["columns"][row * of["most"]]]
        assert f"most of component {j + 1}: {first} " in tip.inner_text()
    place = page.evaluate(PLACES)[row] + corner(page)
    assert (place > 0).all()
    assert (place < [1280, 900]).all()  # it is in the window
    page.keyboard.press("Escape")
    assert page.evaluate(CHOSEN) == []
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    assert page.evaluate(CHOSEN) == [row]
    assert tip.inner_text().startswith(f"row {name}")


def test_of_rows_that_are_not_drawn_names_stay_names(wine, browser, tmp_path, monkeypatch):
    X, seen, model = wine
    monkeypatch.setattr("gnomon.export._report_scatter.MAX_ROWS", 40)
    path = write_report(tmp_path / "r.html", estimator=model, X=X, y=seen)
    drawn = shown_rows(np.array([label is not None for label in seen]))
    page, messages, _ = opened(browser, path)
    links, names = (page.locator(one).all_inner_texts() for one in (".scatter-link", "[data-row]"))
    assert set(map(int, links)) <= set(drawn.tolist())
    assert set(map(int, names)).isdisjoint(drawn.tolist())
    assert links
    assert names
    page.locator(".scatter-link").last.click()
    (at,) = page.evaluate(CHOSEN)
    assert drawn[at] == int(links[-1])
    assert messages == []
    page.context.close()


def test_menus_choose_components_and_the_legend_chooses_classes(page, wine):
    X, seen, model = wine
    heard(page, "scatter-view")
    page.locator(".scatter select").nth(1).select_option(label="component 3")
    page.wait_for_timeout(100)
    assert page.evaluate("heard") == [{"x": 0, "y": 2, "color": 3}]
    slope = np.corrcoef(model.transform(X)[:, 2], np.array(page.evaluate(PLACES))[:, 1])[0, 1]
    assert slope == pytest.approx(-1, abs=1e-4)
    assert "component 3 from" in page.locator(".scatter-summary").inner_text()
    page.get_by_role("button", name="Choose the rows of b").click()
    known = np.where([label is None for label in seen], model.predict(X), seen)
    assert_array_equal(page.evaluate(CHOSEN), np.flatnonzero(known == "b"))


def test_three_pages_of_paper_hold_the_picture_and_the_first_lines_of_long_tables(browser, tmp_path):
    CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "demo")], catch_exceptions=False)
    page, messages, _ = opened(browser, tmp_path / "demo" / "report.html")
    lines = page.locator(".long").first.locator("tbody tr")
    assert lines.count() == 50
    assert lines.last.is_visible()
    assert page.locator(".paper").first.is_hidden()
    pages = re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))
    assert 1 <= len(pages) <= 3
    page.emulate_media(media="print")
    assert lines.nth(PRINTED - 1).is_visible()
    assert lines.nth(PRINTED).is_hidden()
    assert page.locator(".paper").first.inner_text().startswith("The first of 50 lines are here;")
    assert page.locator(".scatter-frame").is_visible()
    assert page.locator(".scatter-bar").first.is_hidden()
    assert page.get_by_text("scikit-learn", exact=True).is_visible()  # settings are there to the last
    assert messages == []
    page.context.close()


def test_without_scripts_the_still_picture_is_there(browser, report):
    page, messages, _ = opened(browser, report, java_script_enabled=False)
    assert page.locator("details.still img").is_visible()
    assert page.locator(".scatter").is_hidden()
    assert page.locator("span[data-row]").count() > 10
    assert messages == []
    page.context.close()


def test_a_script_that_was_tampered_with_does_not_run(browser, report, tmp_path):
    path = tmp_path / "other.html"
    path.write_text(report.read_text(encoding="utf-8").replace('"use strict";', '"use strict"; '), encoding="utf-8")
    page, messages, _ = opened(browser, path)
    assert page.locator(".scatter").is_hidden()
    assert page.locator("details.still img").is_visible()
    assert "Content Security Policy" in messages[0]
    page.context.close()


def test_dark_mode_changes_the_page_and_the_picture(browser, report):
    inks = []
    for scheme in ("light", "dark"):
        page, messages, _ = opened(browser, report, color_scheme=scheme)
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        inks.append((paper, page.evaluate("document.querySelector('.scatter').scatter.ink")))
        assert messages == []
        page.context.close()
    assert inks == [("rgb(255, 255, 255)", "#17202a"), ("rgb(20, 24, 29)", "#e8ecf0")]
