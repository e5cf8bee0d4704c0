"""The linear map that is nearest to a projection: found where there is one, and silent where there is none."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.export._report_nearest import nearest_linear
from gnomon.graphs.neighbors import unit_rows


def table(rng, n=300, p=120):
    """Rows of unlike length that vary along few directions."""
    return rng.gamma(2.0, size=(n, 1)) * (3.0 + rng.standard_normal((n, 5)) @ rng.standard_normal((5, p)))


def said(X, Z):
    """What the parts of all rows add, by the slopes, and the components that are near."""
    middle = np.zeros(X.shape[1]) if sp.issparse(X) else np.nanmean(X, axis=0)
    parts, slopes, near = nearest_linear(X, Z, middle)
    return np.asarray(parts(X) @ slopes), near


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_a_linear_map_is_its_own_nearest(rng, size):
    X = table(rng) * size
    Z = (X / size) @ rng.standard_normal((120, 2))
    found, near = said(X, Z)
    assert near.all()
    assert_allclose(found, Z - Z.mean(axis=0), atol=1e-3 * np.abs(Z).max())


@pytest.mark.parametrize("sparse", [False, True])
def test_a_map_of_rows_at_unit_length_is_found(rng, sparse):
    X = table(rng, p=40)
    X = np.where(rng.random(X.shape) < 0.5, X, 0.0) if sparse else X
    Z = unit_rows(X) @ np.column_stack([np.linspace(-1.0, 1.0, 40), np.cos(np.arange(40.0))])
    found, near = said(sp.csr_array(X) if sparse else X, Z)
    assert near.all()
    shift = found - Z
    assert (shift.std(axis=0) < 0.2 * Z.std(axis=0)).all()


def test_of_a_component_that_no_linear_map_comes_near_nothing_is_said(rng):
    X = table(rng)
    Z = np.column_stack([X[:, 0], np.cos(40.0 * X[:, 1])])
    assert said(X, Z)[1].tolist() == [True, False]


def test_of_few_rows_nothing_is_said(rng, recwarn):
    X = table(rng)
    for n in (1, 2, 15):
        assert not said(X[:n], X[:n, :2])[1].any()
    assert not recwarn.list


def test_an_entry_that_is_missing_adds_nothing(rng):
    X = table(rng)
    Z = X @ rng.standard_normal((120, 1))
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    parts, _, near = nearest_linear(holes, Z, np.nanmean(holes, axis=0))
    assert near.all()
    assert not parts(holes)[np.isnan(holes)].any()
