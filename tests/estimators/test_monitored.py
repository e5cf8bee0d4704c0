"""Rows against their limits, by every model that has them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import CPPCA, PPCA, SPPCA, GuidedProjection
from gnomon.describe import describe
from oracles import monitor as oracle

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
labels = np.where(np.arange(len(y)) % 10 == 0, y, -1)
MODELS = [PPCA(3), SPPCA(3), CPPCA(2), GuidedProjection(2)]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return request.param.fit(X, labels)


def test_plain_rows_are_as_defined():
    model = PPCA(3).fit(X)
    t2, spe = oracle.monitor(X, 3, X)
    assert_allclose(model.hotelling_t2(X), t2, rtol=1e-4)
    assert_allclose(model.spe(X), spe, rtol=1e-4)
    assert_allclose(model.control_limits(0.01), oracle.limits(X, 3, 0.01), rtol=0.05)


def test_rows_of_the_fit_are_within_and_odd_ones_beyond(model):
    limits = model.control_limits(0.01)
    assert (model.hotelling_t2(X) > limits.t2).mean() < 0.05
    assert (model.spe(X) > limits.spe).mean() < 0.1
    far = X.mean(axis=0) + 10.0 * np.asarray(getattr(model, "components_", X[:1]))[:1] / np.abs(X).max()
    assert model.spe(X[:1] + 40.0 * np.eye(X.shape[1])[:1])[0] > limits.spe
    assert model.hotelling_t2(30.0 * X[:1])[0] > limits.t2
    assert np.isfinite(model.hotelling_t2(far)).all()
    assert model.control_limits(0.001).t2 > limits.t2 > model.control_limits(0.2).t2


def test_rows_are_rows_in_any_form(model):
    t2, spe = model.hotelling_t2(X), model.spe(X)
    assert_allclose(model.hotelling_t2(X[::-1])[::-1], t2, rtol=1e-8)
    assert_allclose(model.spe(X.astype(np.float32)), spe, rtol=1e-3)
    assert_allclose(model.spe(sp.csr_array(X)), spe, rtol=1e-6)
    da = pytest.importorskip("dask.array")
    assert_allclose(model.spe(da.from_array(X, chunks=(50, 13))).compute(), spe, rtol=1e-8)


@pytest.mark.parametrize("model", [PPCA(3), SPPCA(3)], ids=["PPCA", "SPPCA"])
def test_missing_entries_take_their_expectation(model):
    model.fit(X, labels)
    holes = X.copy()
    holes[::3, 2] = np.nan
    holes[5] = np.nan
    t2, spe = model.hotelling_t2(holes), model.spe(holes)
    full = ~np.isnan(holes).any(axis=1)
    assert_allclose(t2[full], model.hotelling_t2(X[full]), rtol=1e-8)
    assert_allclose(spe[full], model.spe(X[full]), rtol=1e-8)
    assert np.isfinite(t2).all()
    assert np.isfinite(spe).all()
    assert t2[5] + spe[5] < 1e-30
    filled = model.impute(holes)
    some = ~full & ~np.isnan(holes).all(axis=1)
    assert_allclose(t2[some], model.hotelling_t2(filled[some]), rtol=1e-8)
    assert_allclose(spe[some], model.spe(filled[some]) * 13 / 12, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    one, other = PPCA(3).fit(X), PPCA(3).fit(factor * X)
    assert_allclose(one.hotelling_t2(X), other.hotelling_t2(factor * X), rtol=1e-5)
    assert_allclose(one.spe(X) * factor**2, other.spe(factor * X), rtol=1e-5)
    assert_allclose(one.control_limits().spe * factor**2, other.control_limits().spe, rtol=1e-5)


@pytest.mark.parametrize(
    "alpha, error", [(0.0, ValueError), (1.0, ValueError), ("5 %", TypeError), (np.nan, ValueError)]
)
def test_shares_are_between_nothing_and_all(alpha, error):
    with pytest.raises(error, match="alpha="):
        PPCA(2).fit(X).control_limits(alpha)


def test_a_description_has_both_behind_steps():
    model = make_pipeline(StandardScaler(), PPCA(3)).fit(2.0 * X)
    said = describe(model)
    t2, spe = said.monitor(2.0 * X)
    assert_allclose(t2, model[-1].hotelling_t2(model[:-1].transform(2.0 * X)))
    assert_allclose(spe, model[-1].spe(model[:-1].transform(2.0 * X)))
    assert said.limits(0.05) == model[-1].control_limits(0.05)
