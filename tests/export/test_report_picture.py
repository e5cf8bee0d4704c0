"""What the picture of a report shows of its rows in headless Chromium: values, regions, scales, colors, on paper."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from gnomon import CPPCA, KDA, SPPCA, GuidedProjection
from gnomon.export import write_report
from gnomon.selection import compare
from pages import PLACES, bottles, canvas, draw, in_browser, opened, pixels, pixels_of, report_of, until

pytestmark = in_browser

SCATTER = "document.querySelector('.scatter').scatter"
CHI2_95 = 5.991465  # two degrees of freedom
DARK = np.array([20, 24, 29])


@pytest.fixture(scope="module")
def wine():
    return bottles(holes=True)


@pytest.fixture(scope="module")
def report(wine, tmp_path_factory):
    return report_of(wine, "bottle_from_the_cellar_", tmp_path_factory.mktemp("report"))


def lines(page, row):
    """What is said of a row, by its name."""
    page.evaluate(f"{SCATTER}.show({row})")
    cells = page.locator(".scatter-tip dl > *").all_inner_texts()
    return dict(zip(cells[::2], cells[1::2], strict=True))


def test_of_each_row_it_is_said_what_is_given_and_what_is_predicted(page, wine):
    X, seen, model = wine
    found = model.predict(X)
    for row in (24, 25):
        said = lines(page, row)
        assert said["wine, given"] == (seen[row] or "none")
        assert said["wine, predicted"] == found[row]
        assert "wine, given or predicted" not in said
    assert page.locator(".scatter-legend b").inner_text() == "wine, given or predicted"
    known = np.array([label is not None for label in seen])
    shown = np.where(known, seen, found)
    counts = [f"{name}: {(shown == name).sum()} ({(seen == name).sum()} given)" for name in "abc"]
    assert f"Rows by wine, given or predicted: {', '.join(counts)}." in page.locator(".scatter-summary").inner_text()


def test_the_region_of_a_row_holds_95_percent_of_its_posterior(page, wine):
    X, _, model = wine
    Z, cov = model.posterior(X)
    for x, y in ((0, 1), (2, 0), (1, 1)):
        page.evaluate(f"{SCATTER}.view({{x: {x}, y: {y}}})")
        for row in (0, 1, 177):
            off = np.array(page.evaluate(f"{SCATTER}.region({row})")) - Z[row, [x, y]]
            part = cov[row][np.ix_([x, y], [x, y])]
            far = (off @ np.linalg.pinv(part) * off).sum(axis=1)
            assert far.max() == pytest.approx(CHI2_95, rel=0.06)
            if x != y:
                assert_allclose(far, CHI2_95, rtol=0.06)  # three digits are kept
    page.evaluate(f"{SCATTER}.view({{x: 0, y: 3}})")  # lanes of classes
    left, right = page.evaluate(f"{SCATTER}.region(5)")
    assert (right[0] - left[0]) / 2 == pytest.approx(1.96 * np.sqrt(cov[5, 0, 0]), rel=0.01)
    assert left[1] == right[1]
    page.evaluate(f"{SCATTER}.view({{x: 3, y: 3}})")
    assert page.evaluate(f"{SCATTER}.region(5)") == []
    assert page.locator(".scatter-key").is_hidden()
    half = 1.96 * np.sqrt(cov[5, 1, 1])
    value = lines(page, 5)["component 2"].replace("\xa0", " ").split(" ± ")[1]
    assert float(value.removesuffix(" (95 %)")) == pytest.approx(half, rel=0.05)


def test_regions_are_drawn_of_the_row_pointed_at_and_on_demand_of_chosen_rows(page):
    inked = f"""() => {{ const c = {SCATTER}.top, {{ data }} = c.getContext('2d').getImageData(0, 0, c.width, c.height);
      return data.filter((value, i) => i % 4 === 3 && value > 0).length }}"""
    page.evaluate(f"{SCATTER}.select([3, 90, 150])")
    assert page.evaluate(inked) == 0
    page.get_by_label("95 % regions of chosen rows").check()
    three = page.evaluate(inked)
    assert three > 300
    page.evaluate(f"{SCATTER}.show(40)")
    assert page.evaluate(inked) > three + 100
    page.get_by_role("application").focus()
    page.keyboard.press("u")
    assert not page.get_by_label("95 % regions of chosen rows").is_checked()
    one = page.evaluate(inked)
    assert 100 < one < three
    page.evaluate(f"{SCATTER}.show(null)")
    assert page.evaluate(inked) == 0


def test_two_components_have_one_scale(page, wine):
    X, _, model = wine
    Z, places = model.transform(X), np.array(page.evaluate(PLACES))
    steps = [abs(np.polyfit(Z[:, j], places[:, j], 1)[0]) for j in range(2)]
    assert steps[0] == pytest.approx(steps[1], rel=1e-3)
    assert (np.ptp(places, axis=0) < page.evaluate(f"[{SCATTER}.width, {SCATTER}.height]")).all()
    page.evaluate(f"{SCATTER}.view({{y: 6}})")  # the probability, on a scale of its own
    places = np.array(page.evaluate(PLACES))
    assert np.ptp(places[:, 1]) > 0.8 * (page.evaluate(f"{SCATTER}.height") - 58)


@pytest.mark.parametrize("view, axis", [("{x: 1, y: 2}", 0), ("{x: 2, y: 1}", 1)])
def test_a_component_that_would_be_a_thin_band_is_stretched_and_that_is_said(page, view, axis):
    page.evaluate(f"{SCATTER}.view({{x: 6, y: 6}})")
    page.evaluate(f"{SCATTER}.data.columns[1].values = {SCATTER}.data.columns[2].values.map(z => 0.07 * z)")
    page.evaluate(f"{SCATTER}.view({view})")
    places = np.array(page.evaluate(PLACES))
    spread = np.ptp(places, axis=0)
    assert spread[axis] / spread[1 - axis] == pytest.approx(0.28, rel=0.01)
    said = page.locator(".scatter-summary").inner_text()
    assert "component 2, stretched 4 times from" in said
    assert "component 3 from" in said


# Drag by so many pixels without a pause: how often rows were drawn, and the canvas before and after.
DRAG = """([dx, dy]) => {
  const s = document.querySelector('.scatter').scatter, rows = s.drawRows, found = [0, s.base.toDataURL()];
  s.drawRows = (pen) => { found[0]++; rows.call(s, pen); };
  Object.assign(s, { tool: "move", start: [400, 250], before: s.window });
  for (let j = 1; j <= 10; j++) { s.drag([400 + (dx * j) / 10, 250 + (dy * j) / 10]); s.slide(); }
  return [...found, s.base.toDataURL(), window.drawn = found];
}"""


def test_dragging_moves_what_is_drawn_and_draws_anew_at_rest(page):
    draws, *pictures, _ = page.evaluate(DRAG, [30, 20])
    before, moved = map(pixels_of, pictures)
    assert draws == 0
    assert_array_equal(moved[120:400, 200:700], before[100:380, 170:670])
    until(page, "window.drawn[0] > 0")  # it rests
    assert (canvas(page)[120:400, 200:700] != moved[120:400, 200:700]).any(axis=2).mean() < 0.01


def test_the_mouse_moves_all_rows(page):
    page.get_by_role("button", name="Move").click()
    places = np.array(page.evaluate(PLACES))
    draw(page, [[400, 250], [430, 270]])
    assert_allclose(np.array(page.evaluate(PLACES)) - places, np.tile([30.0, 20.0], (178, 1)), atol=1e-6)


def contrast(*colors):
    """As WCAG 2 has it, of two colors (..., 3) of 0 to 255."""
    light = []
    for color in colors:
        share = np.asarray(color) / 255
        linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
        light.append(linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    return np.maximum(*light) / np.minimum(*light)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_row_stands_out_from_the_paper(browser, report, scheme):
    page, messages, _ = opened(browser, report, color_scheme=scheme)
    paper = DARK if scheme == "dark" else np.full(3, 255)
    for color in ("wine, given or predicted", "component 3"):
        page.locator(".scatter select").nth(2).select_option(label=color)
        page.wait_for_timeout(100)
        places = np.array(page.evaluate(PLACES)).round().astype(int)
        found = canvas(page)[places[:, 1], places[:, 0]]
        assert contrast(found, paper).min() > 2.9, color  # 3 before pixels are rounded
        marks = page.evaluate(f"[...Array(64).keys()].map(code => {SCATTER}.colorOf(Math.min(code, 2)))")
        assert contrast([[int(c) for c in re.findall(r"\d+", mark)] for mark in marks], paper).min() > 2.95
    assert messages == []
    page.context.close()


def test_targets_of_both_kinds_print_on_three_pages_beside_a_comparison(browser, tmp_path):
    X, y = load_wine(return_X_y=True)
    seen = np.empty((178, 3), dtype=object)
    seen[::10] = [[f"class {y[i]}", 3.0 * X[i, 6] + 0.01 * i, 0.01 * X[i, 12] + 0.1] for i in range(0, 178, 10)]
    model = GuidedProjection(4)
    found = compare(scale(X), seen, n_components=4, estimators={"guided": model}, n_splits=3, random_state=0)
    model.fit(scale(X), seen)
    names = ["kind", "taste", "body"]
    path = write_report(tmp_path / "r.html", estimator=model, X=scale(X), y=seen, target_names=names, comparison=found)
    page, *_ = opened(browser, path)
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True))) <= 3
    teachers = [text for text in page.locator("th").all_inner_texts() if text.startswith("teacher of ")]
    assert teachers == [f"teacher of {name}" for name in names]
    page.context.close()


def test_a_narrow_window_shows_the_picture_at_once_and_whole_names(browser, report):
    page, messages, _ = opened(browser, report, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    frame = page.locator(".scatter-frame").bounding_box()
    assert frame["y"] + frame["height"] < 844
    assert frame["height"] >= 280
    page.evaluate(f"{SCATTER}.show(24)")
    tip = page.locator(".scatter-tip").bounding_box()
    assert tip["y"] >= frame["y"] + frame["height"]
    tall = "() => [...document.querySelectorAll('td .scatter-link')].map(e => e.getClientRects().length)"
    assert set(page.evaluate(tall)) == {1}
    wide = page.locator(".wide:has(.scatter-link)").first
    assert wide.evaluate("e => e.scrollWidth > e.clientWidth")
    left, right = (wide.evaluate(f"e => {{ e.scrollLeft = {at} }}") or shade(page, wide) for at in (0, 9999))
    assert left > right  # there is a shade at the right end until that is reached
    assert messages == []
    page.context.close()


def shade(page, element):
    """How much darker the right end of an element is than its paper."""
    element.evaluate("e => e.scrollIntoView()")
    page.wait_for_timeout(100)
    box = element.bounding_box()
    clip = {"x": box["x"] + box["width"] - 3, "y": box["y"] + 2, "width": 2, "height": 2}
    return 255 - pixels(page.screenshot(clip=clip)).mean()


def test_a_model_of_several_targets_prints_on_three_pages(browser, tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(80, 5))
    X, Y = Z @ rng.normal(size=(5, 300)) + 0.1 * rng.normal(size=(80, 300)), Z[:, :4] + 0.3 * rng.normal(size=(80, 4))
    seen = np.where(np.arange(80)[:, None] < 40, Y, np.nan)
    names = ["Moisture", "Oil", "Protein", "Starch"]
    path = write_report(tmp_path / "r.html", estimator=SPPCA(5).fit(X, seen), X=X, y=seen, y_true=Y, target_names=names)
    page, messages, _ = opened(browser, path)
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True))) <= 3
    assert messages == []
    page.context.close()


def test_paper_is_white_with_a_picture_that_is_drawn_for_it(browser, report):
    page, messages, _ = opened(browser, report, color_scheme="dark")
    assert_array_equal(canvas(page)[5, 5], DARK)
    dark = canvas(page).shape
    page.emulate_media(media="print", color_scheme="dark")
    until(page, f"{SCATTER}.sharp === 3")
    assert_array_equal(canvas(page)[5, 5], [255, 255, 255])
    assert canvas(page).shape[1] > 2 * dark[1]
    page.emulate_media(media="screen", color_scheme="dark")
    until(page, f"{SCATTER}.sharp === 1")
    assert canvas(page).shape == dark
    assert_array_equal(canvas(page)[5, 5], DARK)
    assert messages == []
    page.context.close()


def test_thousands_have_commas_and_headings_are_there_once(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1234, 4))
    Y = np.full((1234, 2), None, dtype=object)
    Y[:50, 0], Y[:50, 1] = np.where(X[:50, 0] > 0, "up", "down"), X[:50, 1]
    path = write_report(tmp_path / "r.html", estimator=CPPCA(2).fit(X, Y), X=X, y=Y, target_names=["way", "size"])
    page, messages, _ = opened(browser, path)
    page.evaluate(f"{SCATTER}.select([...Array(1100).keys()])")
    shown = page.locator("main").inner_text()
    assert "1,234 of 1,234 rows are drawn" in shown
    assert "1,100 of 1,234 rows are chosen" in shown
    assert re.findall(r"(?<![\d,.])1234(?![\d.])", shown) == []
    heads = page.locator("h2").all_inner_texts()
    assert len(heads) == len(set(heads))
    predictions = page.locator("section", has=page.get_by_role("heading", name="Predictions for the unlabeled rows"))
    assert predictions.locator("h3").all_inner_texts() == ["way", "size"]
    assert messages == []
    page.context.close()


WRITTEN = f"""() => {{
  const found = [], pens = CanvasRenderingContext2D.prototype, own = pens.fillText;
  pens.fillText = (...said) => found.push(said);
  {SCATTER}.draw();
  pens.fillText = own;
  return found; }}"""


@pytest.mark.parametrize("name, n_classes", [("oak {}", 12), ("Quercus robur subspecies {}", 12), ("oak {}", 200)])
def test_classes_on_an_axis_have_names_that_differ(browser, tmp_path, name, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(3 * n_classes) % n_classes
    X = y[:, None] + rng.normal(size=(len(y), 3))
    names = np.array([name.format(100 + j) for j in range(n_classes)])
    path = write_report(tmp_path / "r.html", estimator=SPPCA(1).fit(X, names[y]), X=X, y=names[y])
    page, messages, _ = opened(browser, path)
    for x, y, at, apart in ((0, 2, 2, 14), (2, 0, 1, 56)):  # the component, and the lanes of what is given
        page.evaluate(f"{SCATTER}.view({{x: {x}, y: {y}}})")
        said = [one for one in page.evaluate(WRITTEN) if str(one[0]).startswith(name[:3])]
        assert len({one[0] for one in said}) == len(said) > 8
        assert len(said) == 12 or n_classes == 200
        assert (np.abs(np.diff([one[at] for one in said])) >= apart - 0.1).all()
        if at == 2 and len(name) < 20:
            assert said[0][0] == names[0]
            assert page.evaluate(f"{SCATTER}.inner().left") > 12 + 6 * len(names[0])
    assert messages == []
    page.context.close()


def test_a_model_without_a_posterior_says_so(browser, tmp_path):
    X, y = load_wine(return_X_y=True)
    path = write_report(tmp_path / "r.html", estimator=KDA(2).fit(scale(X), y), X=scale(X), y=y)
    page, messages, _ = opened(browser, path)
    assert page.evaluate(f"{SCATTER}.region(0)") == []
    assert page.locator(".scatter-key").is_hidden()
    said = "This model does not say how far a row may lie from where it is drawn."
    assert said in page.locator(".scatter-help").inner_text()
    page.evaluate(f"{SCATTER}.show(0)")
    assert "±" not in page.locator(".scatter-tip").inner_text()
    assert messages == []
    page.context.close()
