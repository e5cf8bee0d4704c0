"""What displays ask of columns: names, means and correlations, of dense and sparse tables and of gaps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from gnomon import PPCA
from gnomon.describe import describe
from gnomon.plotting._columns import column_means, correlations, names_of, table_of

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(40, 3)) @ RNG.normal(size=(3, 3)), np.full(40, 2.0)])
Z = RNG.normal(size=(40, 2)) + X[:, :2]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_correlations_are_those_of_numpy(form):
    found = correlations(form(X), Z)
    assert_allclose(found[:3], np.corrcoef(X[:, :3].T, Z.T)[:3, 3:], atol=1e-12)
    assert found[3].tolist() == [0.0, 0.0]


def test_gaps_are_at_the_mean_of_their_column():
    holed = X.copy()
    holed[::4, 1] = np.nan
    filled = np.where(np.isnan(holed), np.nanmean(holed, axis=0), holed)
    assert_allclose(column_means(holed), np.nanmean(holed, axis=0))
    assert_allclose(correlations(holed, Z), correlations(filled, Z))


def test_names():
    said = describe(PPCA(2).fit(X[:, :3]))
    assert names_of(X[:, :3], said, None) == ["x0", "x1", "x2"]
    assert names_of(X, said, "abcd") == list("abcd")
    with pytest.raises(ValueError, match="feature_names has 3 names; X has 4 columns"):
        names_of(X, said, "abc")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["p", "q", "r", "s"])
    assert names_of(frame, said, None) == list("pqrs")
    assert_allclose(table_of(frame), X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("unit", [1e-14, 1e12])
def test_correlations_do_not_depend_on_units(form, unit):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 3)), np.full(50, 0.1)])
    Z = X[:, :2] + rng.normal(size=(50, 2))
    wanted = np.vstack([np.corrcoef(X[:, :3].T, Z.T)[:3, 3:], np.zeros((1, 2))])
    assert_allclose(correlations(form(X * [unit, 1.0, 1.0, 1.0]), Z), wanted, atol=1e-12)
