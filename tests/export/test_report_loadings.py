"""What a report says of loadings and of variances along the components."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from gnomon import DPPCA, KDA, PPCA, GuidedProjection, NeighborFeatures
from gnomon.export import write_report

WINE, WINE_Y = load_wine(return_X_y=True)
WINE = scale(WINE)
DIGITS, DIGITS_Y = (table[:200] for table in load_digits(return_X_y=True))
LEAST_SQUARES = "by least squares over the rows shown"


def section(page, title):
    """The part of a page under a heading."""
    return page.partition(f"<h2>{title}</h2>")[2].partition("<h2>")[0]


def written(tmp_path, model, X, y=None, **options):
    return write_report(tmp_path / "r.html", estimator=model, X=X, y=y, **options).read_text(encoding="utf-8")


def test_spectra_are_drawn_as_curves(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ np.sin(np.outer([1, 2], np.linspace(0, 6, 50))) + rng.normal(0, 0.1, (40, 50))
    for names in (np.arange(1100, 1600, 10), [str(one) for one in range(1100, 1600, 10)]):
        frame = pd.DataFrame(X, columns=names)
        found = section(written(tmp_path, PPCA(2).fit(frame), frame), "Loadings")
        assert 'alt="Loadings of 2 components"' in found
        assert 'class="bar"' not in found
        assert "Columns lie where the numbers in their names say" in found
    counted = section(written(tmp_path, PPCA(2).fit(X), X, feature_names=[str(j) for j in range(50)]), "Loadings")
    assert 'class="bar"' in counted
    assert "The 15 largest of each component are shown." in counted


def test_images_are_drawn_where_their_shape_is_said(tmp_path):
    model = PPCA(3).fit(DIGITS)
    found = section(written(tmp_path, model, DIGITS, shape=(8, 8)), "Loadings")
    assert 'alt="Loadings of 3 components"' in found
    assert "Blue pixels grow with the component" in found
    assert 'class="bar"' in section(written(tmp_path, model, DIGITS), "Loadings")
    with pytest.raises(ValueError, match=r"shape=\(8, 9\) must be the height and width of an image of 64 columns"):
        write_report(tmp_path / "none.html", estimator=model, X=DIGITS, shape=(8, 9))
    assert not (tmp_path / "none.html").exists()


@pytest.mark.parametrize("model", [make_pipeline(NeighborFeatures(n_components=6), DPPCA(2)), KDA(2, kernel="rbf")])
def test_a_model_that_knows_none_has_those_of_the_rows_shown_in_the_columns_of_the_table(tmp_path, model):
    frame = pd.DataFrame(WINE, columns=[f"column {j}" for j in range(13)])
    model.fit(frame, WINE_Y)
    page = written(tmp_path, model, frame, WINE_Y)
    found = section(page, "Loadings")
    assert "neighborfeatures" not in page
    assert LEAST_SQUARES in found
    assert "178 rows of 13 columns" in page
    Z = model.transform(frame) - model.transform(frame).mean(axis=0)
    slopes = np.linalg.lstsq(Z, WINE - WINE.mean(axis=0), rcond=None)[0]
    panel = found[found.index("Component 1</h3>") : found.index("Component 2</h3>")]
    order = np.argsort(-np.abs(slopes[0]), kind="stable")
    assert re.findall(r"<span>(column \d+)</span>", panel) == [f"column {j}" for j in order]
    widths = np.array(re.findall(r"width:([\d.]+)%", panel), dtype=float)
    assert_allclose(widths, 50 * np.abs(slopes[0, order]) / np.abs(slopes).max(), atol=0.01)


def test_a_kernel_that_is_given_has_rows_for_columns_and_no_loadings(tmp_path):
    grams = WINE @ WINE.T
    assert "<h2>Loadings</h2>" not in written(tmp_path, KDA(kernel="precomputed").fit(grams, WINE_Y), grams, WINE_Y)


def test_variances_are_of_what_the_model_is_about(tmp_path):
    some = np.where(np.arange(200) % 3, -1, DIGITS_Y)
    table = np.column_stack([WINE[:, 0], WINE[:, 1] + WINE[:, 2]])
    table[::2] = np.nan
    cases = [
        (PPCA(3).fit(WINE), WINE, None, "Variances of the rows along the components, in squared units"),
        (DPPCA(2).fit(DIGITS, some), DIGITS, some, "How far the classes lie apart along each direction"),
        (GuidedProjection(2).fit(DIGITS, some), DIGITS, some, "How far the classes lie apart along each direction"),
        (GuidedProjection(1).fit(WINE[:, 3:], table), WINE[:, 3:], table, "How much of the predictions lies along"),
    ]
    for model, X, y, caption in cases:
        page = written(tmp_path, model, X, y)
        assert caption in section(page, "Variances")
        assert LEAST_SQUARES not in page  # all of them know their loadings
    two = np.where(WINE_Y == 0, 0, 1)
    assert "<h2>Variances</h2>" not in written(tmp_path, DPPCA(1).fit(WINE, two), WINE, two)  # of one bar


def test_the_share_of_the_variance_is_told_where_the_components_are_of_variances(tmp_path):
    said = "share of the columns&#x27; variance in the components"
    assert said in written(tmp_path, PPCA(2).fit(WINE), WINE)
    assert said not in written(tmp_path, DPPCA(2).fit(WINE, WINE_Y), WINE, WINE_Y)
