"""Why a row is where it is: the columns that add most to its place are those that are missed most."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from gnomon import DPPCA, KDA, PPCA, SPPCA, GuidedProjection
from gnomon.describe import describe
from gnomon.export import _report_columns as columns
from gnomon.export import _report_nearest as nearest
from gnomon.export._report_columns import N_TOP, top_columns
from gnomon.plotting import ContributionDisplay

NAMES = [f"column {j}" for j in range(13)]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def told(model, X, names=None, drawn=None):
    """Of every row that is drawn and every component, the columns by name and what they add."""
    Z = np.asarray(model.transform(X))
    drawn = np.arange(len(Z)) if drawn is None else drawn
    found = top_columns(describe(model), X, names, Z, drawn)
    if found is None:
        return None
    out = []
    for one in found["of"]:
        parts = (np.reshape(one[key], (len(drawn), one["most"])) for key in ("columns", "added"))
        out.append([[(found["names"][j], value) for j, value in zip(*row)] for row in zip(*parts)])
    return out


def missed(model, X, row, dim):
    """By definition: what is lost (p,) with the mean of each column in its place."""
    mean, rows = np.nanmean(X, axis=0), np.repeat(X[[row]], X.shape[1] + 1, axis=0)
    rows = np.where(np.isnan(rows), mean, rows)
    for j in range(X.shape[1]):
        rows[j, j] = mean[j]
    found = model.transform(rows)[:, dim]
    return found[-1] - found[:-1]


@pytest.mark.parametrize("model", [KDA(kernel="rbf"), GuidedProjection(2)], ids=lambda model: type(model).__name__)
def test_of_projections_that_are_not_linear_they_are_those_of_the_picture_of_a_row(wine, model):
    X, y = wine
    model = model.fit(X, np.where(np.arange(178) % 6, -1, y) if not isinstance(model, KDA) else y)
    assert isinstance(model, KDA) or model.projection_ == "all preparations"
    drawn = np.array([3, 60, 177])
    for dim, rows in enumerate(told(model, X, NAMES, drawn)):
        for row, said in zip(drawn, rows, strict=True):
            display = ContributionDisplay.from_estimator(model, X, row, dim=dim, n_top=N_TOP, feature_names=NAMES)
            assert [name for name, _ in said] == [NAMES[j] for j in display.top]
            assert_allclose([value for _, value in said], display.contributions[display.top], rtol=0.06)


@pytest.mark.parametrize("model", [PPCA(2), SPPCA(2), DPPCA(2), KDA()], ids=lambda model: type(model).__name__)
def test_columns_that_are_missed_most_are_told(wine, model):
    X, y = wine
    model = model.fit(X, np.where(np.arange(178) % 6, -1, y) if not isinstance(model, KDA) else y)
    drawn = np.array([3, 60, 177])
    for dim, rows in enumerate(told(model, X, NAMES, drawn)):
        for row, said in zip(drawn, rows, strict=True):
            lost = missed(model, X, row, dim)
            top = np.argsort(-np.abs(lost))[:N_TOP]
            assert [name for name, _ in said] == [NAMES[j] for j in top]
            assert_allclose([value for _, value in said], lost[top], rtol=0.06)  # two digits


def test_columns_of_rows_that_are_not_centered(wine):
    X = wine[0] + np.arange(13.0)
    model = PPCA(1).fit(X)
    lost, said = missed(model, X, 9, 0), told(model, X, NAMES)[0][9]
    top = np.argsort(-np.abs(lost))[:N_TOP]
    assert [name for name, _ in said] == [NAMES[j] for j in top]
    assert_allclose([value for _, value in said], lost[top], rtol=0.06)


def test_they_are_those_of_the_picture_of_a_row(wine):
    X = wine[0]
    model = PPCA(2).fit(X)
    display = ContributionDisplay.from_estimator(model, X, 7, dim=1, n_top=N_TOP)
    assert [name for name, _ in told(model, X)[1][7]] == [f"x{j}" for j in display.top]


def test_entries_that_are_missing_add_nothing(wine, rng):
    X = np.where(rng.random(wine[0].shape) < 0.1, np.nan, wine[0])
    found = told(PPCA(2).fit(wine[0]), X, NAMES)
    for dim in range(2):
        for i, row in enumerate(found[dim]):
            assert not {name for name, value in row if value} & {NAMES[j] for j in np.flatnonzero(np.isnan(X[i]))}


def test_of_words_those_that_occur(rng):
    table = sp.csr_array(sp.random(60, 40, density=0.08, random_state=rng))
    table = sp.csr_array(np.where(np.arange(60)[:, None] == 5, 0.0, table.toarray()))  # a text without words
    model = PPCA(2).fit(table)
    slopes = model.transform(sp.csr_array(np.eye(40))) - model.transform(sp.csr_array((1, 40)))
    found = told(model, table)
    for i, row in enumerate(table.toarray()):
        for dim in range(2):
            said = [(name, value) for name, value in found[dim][i] if value]
            added = row * slopes[:, dim]
            top = [j for j in np.argsort(-np.abs(added), kind="stable")[:N_TOP] if added[j]]
            assert [name for name, _ in said] == [f"x{j}" for j in top]
            assert_allclose([value for _, value in said], added[top], rtol=0.06)
    assert not any(value for _, value in found[0][5])


def test_columns_of_a_frame_are_found_by_name(wine):
    frame = pd.DataFrame(wine[0], columns=NAMES)
    model = PPCA(2).fit(frame)
    turned = frame[NAMES[::-1]].assign(other="text")
    Z = model.transform(frame)
    found = [top_columns(describe(model), table, None, Z, np.arange(9)) for table in (frame, turned)]
    assert found[0] == found[1]


@pytest.mark.parametrize("sparse", [False, True])
def test_of_many_columns_a_projection_that_is_not_linear_is_told_by_the_nearest_linear_map(rng, sparse):
    y = np.arange(240) % 2
    X = rng.poisson(np.where(np.arange(90) < 6, 1.0 + 5.0 * y[:, None], 1.0)) * rng.integers(1, 4, (240, 1))
    X = X.astype(float)
    model = GuidedProjection(1).fit(sp.csr_array(X) if sparse else X, np.where(np.arange(240) < 20, y, -1))
    assert model.projection_ == "all preparations"
    table = sp.csr_array(X) if sparse else X
    found = top_columns(describe(model), table, None, np.asarray(model.transform(table)), np.arange(240))
    assert found["nearly"]
    most, columns = found["of"][0]["most"], np.reshape(found["of"][0]["columns"], (240, -1))
    names = np.array(found["names"])[columns[y == 1]]
    assert most == N_TOP
    assert np.isin(names, [f"x{j}" for j in range(6)]).mean() > 0.9


def test_nothing_is_told_where_it_would_be_too_much_or_is_unknown(wine, monkeypatch):
    X, y = wine
    model, kernel = PPCA(2).fit(X), KDA(kernel="rbf").fit(X, y)
    monkeypatch.setattr(columns, "MOST_ASKED", 178 * 13 * 13 - 1)
    monkeypatch.setattr(nearest, "NEAR", 1.0)
    assert told(kernel, X) is None
    assert told(kernel, X, drawn=np.arange(177)) is not None
    assert told(model, X) is not None
    monkeypatch.setattr(columns, "MOST_TOLD", 178 * 2 * N_TOP - 1)
    assert told(model, X) is None
    grams = X @ X.T
    assert told(KDA(kernel="precomputed").fit(grams, y), grams, drawn=np.arange(5)) is None
