"""Products of new rows with a few vectors, in their own precision."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import namespace, read
from gnomon.rows.products import Presence, project, row_counts, rows_with_some

FORMS = {"dense": np.asarray, "csr": sp.csr_array, "csc_matrix": sp.csc_matrix}


@pytest.fixture(params=[1 << 19, 1], ids=["one_chunk", "small_chunks"])
def case(request, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", request.param)
    rng = np.random.default_rng(0)
    return rng.normal(size=(41, 6)), rng.normal(size=6), rng.normal(size=(6, 2))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_project_is_the_centered_product(case, form, dtype, rtol):
    X, mean, V = case
    out = project(FORMS[form](X.astype(dtype)), mean, V)
    assert isinstance(out, np.ndarray)
    assert out.dtype == dtype
    assert_allclose(out, (X - mean) @ V, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("form", FORMS)
def test_project_of_single_precision_rows_with_a_large_mean(case, form):
    X, _, V = case
    mean = np.full(6, 1e4)
    moved = (X + mean).astype(np.float32)
    assert_allclose(project(FORMS[form](moved), mean, V), (moved.astype(np.float64) - mean) @ V, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_squared_lengths(case, form, size):
    X, mean, _ = case
    out = read(FORMS[form](X * size)).in_units(mean * size, 2.0 * size).lengths()
    assert out.dtype == np.float64
    assert_allclose(out, ((X - mean) ** 2).sum(axis=1) / 4.0, rtol=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_squared_lengths_of_single_precision_rows_are_double(case, form):
    X, mean, _ = case
    X32 = X.astype(np.float32)
    out = read(FORMS[form](X32)).in_units(mean, 1.0).lengths()
    assert out.dtype == np.float64
    assert_allclose(out, ((X32.astype(np.float64) - mean) ** 2).sum(axis=1), rtol=1e-12)


def test_squared_length_of_a_row_at_the_mean_is_not_negative():
    mean = np.array([1e8, -3e7, 1.0])
    X = sp.csr_array(np.vstack([mean, mean + 1e-8]))
    assert (read(X).in_units(mean, 1.0).lengths() >= 0).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("share", [0, 0.01, 0.4, 1])
def test_rows_of_a_mask_are_counted(rng, order, share):
    mask = np.asarray(rng.random((530, 7)) < share, order=order)
    assert_array_equal(row_counts(mask), mask.sum(axis=1))
    assert_array_equal(rows_with_some(mask), np.flatnonzero(mask.any(axis=1)))


@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (0, 0)])
def test_rows_of_an_empty_mask_are_counted(shape):
    mask = np.zeros(shape, dtype=bool)
    assert_array_equal(row_counts(mask), np.zeros(shape[0]))
    assert_array_equal(rows_with_some(mask), [])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
def test_counts_are_those_of_the_comparison(rng, form):
    X = rng.integers(-2, 3, size=(50, 6)) * (rng.random((50, 6)) < 0.5)
    group = rng.integers(-1, 3, size=50)
    expected = [(X[group == g] != 0).sum(axis=0) for g in range(3)]
    found = read(form(X.astype(float))).fold(Presence(3), columns={"group": group})
    assert_array_equal(found, expected)
