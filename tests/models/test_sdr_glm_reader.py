"""What new rows are read by: units of x, projection of rows by the ridge's normal equations, means of targets."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.models.sdr_glm import reader
from gnomon.models.sdr_glm.model import Options
from gnomon.rows import read

N, P, K = 60, 5, 2


def rows_and_outputs(rng, hidden=0.0):
    Z = rng.normal(size=(N, K))
    X = 7.0 + 3.0 * (Z @ rng.normal(size=(K, P)) + 0.1 * rng.normal(size=(N, P)))
    X[rng.random((N, P)) < hidden] = np.nan
    values = Z @ rng.normal(size=(K, 1))
    labeled = np.arange(0, N, 3)
    observed = np.zeros((N, 1))
    observed[labeled] = 1.0
    return X, reader.Outputs("gaussian", values * observed, observed, labeled)


def fitted(rng, hidden=0.0):
    X, outputs = rows_and_outputs(rng, hidden)
    found = reader.fit(read(X, masked=None), "gaussian", outputs, Options(K, 0.5, 0.1), 0.5, rng)
    return X, outputs, found.value.reader


@pytest.mark.parametrize("hidden", [0.0, 0.2])
def test_scores_solve_the_normal_equations_of_each_row(rng, hidden):
    X, _, found = fitted(rng, hidden)
    U, cov = reader.posterior(found, read(X, masked=None))
    assert cov is None
    assert_allclose(found.shift, np.nanmean(X, axis=0))
    V = found.x.V.T
    for x, u in zip((X - found.shift) / found.scale, U, strict=True):
        seen = ~np.isnan(x)
        left = V[seen].T @ (x[seen] - V[seen] @ u - found.x.b[seen]) - 0.5 * u
        assert_allclose(left, 0.0, atol=1e-6)


def test_numbers_are_the_ridge_regression_on_scores_of_unit_variance(rng):
    X, outputs, found = fitted(rng)
    U = reader.posterior(found, read(X))[0]
    known, y = U[outputs.labeled] / U[outputs.labeled].std(axis=0), outputs.values[outputs.labeled]
    V, b = found.y.V * U[outputs.labeled].std(axis=0)[:, None], found.y.b
    left = y - known @ V - b
    assert_allclose(known.T @ left, V, atol=1e-4)
    assert_allclose(reader.predict(found, read(X))[1], U @ found.y.V + b)


def test_units_of_x_change_no_score(rng):
    X, outputs, found = fitted(rng)
    other = reader.fit(
        read(1e3 * X - 5.0), "gaussian", outputs, Options(K, 0.5, 0.1), 0.5, np.random.default_rng(0)
    ).value.reader
    same = reader.fit(
        read(X, masked=None), "gaussian", outputs, Options(K, 0.5, 0.1), 0.5, np.random.default_rng(0)
    ).value.reader
    U, scaled = (reader.posterior(*pair)[0] for pair in ((same, read(X, masked=None)), (other, read(1e3 * X - 5.0))))
    assert_allclose(scaled, U, atol=1e-6)


def test_columns_without_values_and_constant_tables_are_refused(rng):
    X = rng.normal(size=(8, 3))
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of X is never observed"):
        reader.units(read(X, masked=None), "gaussian")
    with pytest.raises(ValueError, match="X is constant"):
        reader.units(read(np.ones((8, 3))), "gaussian")


def test_sparse_rows_are_read_in_the_units_of_a_fit_to_dense_ones(rng):
    X, _, found = fitted(rng)
    assert np.abs(found.shift).min() > 1.0
    assert_allclose(reader.posterior(found, read(sp.csr_array(X)))[0], reader.posterior(found, read(X))[0], atol=1e-10)
