"""What every estimator makes of unusual tables: repeated entries, repeated names, text, numbers out of range."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

import gnomon

N = 24
SPARSE = {
    "CPPCA": {"n_components": 1},
    "DPPCA": {"n_components": 1},
    "KDA": {"kernel": "rbf"},
    "KernelSPPCA": {"n_components": 1},
    "NeighborFeatures": {"n_neighbors": 3},
    "PPCA": {"n_components": 1},
    "SCL": {"n_components": 1},
    "SDRGLM": {"n_components": 1},
    "SEPCA": {"n_components": 1},
    "SPPCA": {"n_components": 1},
}


def rows(rng):
    y = np.arange(N) % 2
    return rng.normal(size=(N, 4)) + 2.0 * y[:, None] * np.array([1, 0, 0, -1]), y


@pytest.mark.parametrize("name", SPARSE)
def test_repeated_entries_of_a_sparse_table_are_summed_in_a_copy(name):
    X, y = rows(np.random.default_rng(0))
    halves = np.repeat(0.5 * X.ravel(), 2)  # every entry stored twice, next to itself
    columns = np.tile(np.repeat(np.arange(4), 2), N)
    table = csr_matrix((halves, columns, np.arange(0, 8 * N + 1, 8)), shape=X.shape)
    kept = [part.copy() for part in (table.data, table.indices, table.indptr)]
    estimator = getattr(gnomon, name)(**SPARSE[name])
    found = estimator.fit(table, y).transform(table)
    for part, before in zip((table.data, table.indices, table.indptr), kept, strict=True):
        assert_array_equal(part, before)
    once = getattr(gnomon, name)(**SPARSE[name]).fit(csr_matrix(X), y)
    assert_allclose(np.asarray(found), np.asarray(once.transform(csr_matrix(X))), atol=1e-9)


@pytest.mark.parametrize("name", sorted(SPARSE))
def test_columns_of_one_name_are_refused_in_our_words(name):
    X, y = rows(np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match=r"X has several columns named 'a'; rename or drop them"):
        getattr(gnomon, name)(**SPARSE[name]).fit(frame, y)


@pytest.mark.parametrize("kind", ["category", "object"])
@pytest.mark.parametrize("name", sorted(SPARSE))
def test_text_in_a_column_is_named(name, kind):
    X, y = rows(np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["c"] = pd.Series(["low", "high"] * (N // 2), dtype=kind)
    with pytest.raises(ValueError, match=r"column 'c' of X holds 'low' in row 0, which is not a number"):
        getattr(gnomon, name)(**SPARSE[name]).fit(frame, y)


@pytest.mark.parametrize("name", sorted(SPARSE))
def test_an_integer_beyond_floats_is_refused(name):
    X, y = rows(np.random.default_rng(0))
    table = X.tolist()
    table[3][1] = 10**400
    with pytest.raises(ValueError, match="X holds an integer that no float can hold"):
        getattr(gnomon, name)(**SPARSE[name]).fit(table, y)


@pytest.mark.parametrize(
    "estimator, method",
    [
        (gnomon.KDA(n_landmarks=4), "labeled rows of X are all the same"),
        (gnomon.KernelSPPCA(1, n_landmarks=4), "kernel matrix has rank 0"),
        (gnomon.SEPCA(1, kernel="poly", coef0=0, n_landmarks=4), "rows of X are the same to the kernel"),
    ],
    ids=["KDA", "KernelSPPCA", "SEPCA"],
)
def test_rows_of_zeros_as_landmarks_are_refused(estimator, method):
    with pytest.raises(ValueError, match=method):
        estimator.fit(np.zeros((N, 3)), np.arange(N) % 2)


@pytest.mark.parametrize("name, parameter", [("SEPCA", "penalty"), ("SPPCA", "tol"), ("KDA", "shrinkage")])
def test_a_parameter_beyond_floats_is_refused(name, parameter):
    X, y = rows(np.random.default_rng(0))
    with pytest.raises(ValueError, match=f"{parameter}=1000.*must be finite"):
        getattr(gnomon, name)(**{parameter: 10**400}).fit(X, y)
