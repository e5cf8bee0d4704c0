"""Arrays of other libraries: products of new rows, what is not finite, moves to the device."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import kind, namespace, read
from gnomon.rows.masked import look
from gnomon.rows.products import project
from namespaces import LIBRARIES, WITH_TORCH, get, put
from rows.test_contract import P, V, table


def test_what_is_foreign():
    assert kind.is_foreign(put(table(), "strict"))
    assert not kind.is_foreign(table())
    assert not kind.is_foreign([[1.0]])
    assert not kind.is_foreign(np.float64(1.0))


@pytest.mark.parametrize("library", ["strict", pytest.param("torch", marks=WITH_TORCH)])
@pytest.mark.parametrize("dtype, rtol, offset", [(np.float64, 1e-12, 1e3), (np.float32, 1e-5, 1e6)])
@pytest.mark.parametrize("entries", [1 << 19, 1])
def test_products_of_new_rows(library, dtype, rtol, offset, entries, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", entries)
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X, mean = table() + offset, offset + np.linspace(0, 1, P)
    stored = put(X.astype(dtype), library)
    Z = project(stored, mean, V)
    assert type(Z) is type(stored)
    assert Z.dtype == stored.dtype
    assert Z.device == stored.device
    assert_allclose(get(Z), (X - mean) @ V, rtol=rtol, atol=rtol * 10)
    lengths = read(stored).in_units(mean, 2.0).lengths()
    assert_allclose(lengths, ((X - mean) ** 2).sum(axis=1) / 4, rtol=1e-11)
    assert lengths.dtype == np.float64


def test_single_precision_stays_on_a_device_and_is_summed_in_double(rng, monkeypatch):
    monkeypatch.setattr(namespace, "SINGLE_ENTRIES", 1)
    X = (rng.normal(size=(3 * namespace.RUN + 50, P)) + 0.3).astype(np.float32)
    weights = rng.random(len(X)) + 0.5
    for w in (None, weights):
        rows = read(put(X, "strict"), w)
        assert rows.in_single
        standard, wanted = (each.standard(each.summarize()) for each in (rows, read(X.astype(np.float64), w)))
        found, product = standard.gram_product(V), wanted.gram_product(V)
        assert_allclose(found, product, atol=3e-6 * np.abs(product).max())
        assert not np.array_equal(found, product)
    assert not read(X, None).in_single
    assert not read(put(X, "strict", "CPU_DEVICE")).in_single
    assert not read(put(X.astype(np.float64), "strict")).in_single


def test_many_single_products_do_not_lose_digits():
    ones = put(np.full((40 * namespace.RUN, 1), 1.0 + 2.0**-12, dtype=np.float32), "strict")
    total = namespace.Place(ones, single=True).sum_product(ones, ones)
    exact = 40 * namespace.RUN * (1.0 + 2.0**-12) ** 2
    assert_allclose(get(total), [[exact]], rtol=1e-7)
    assert total.dtype == array_api_strict.float64


def test_rows_far_from_zero_are_centered_before_single_products(rng, monkeypatch):
    monkeypatch.setattr(namespace, "SINGLE_ENTRIES", 1)
    X = (rng.normal(size=(500, P)) + 2.0**12).astype(np.float32)
    standard, wanted = (
        each.standard(each.summarize()) for each in (read(put(X, "strict")), read(X.astype(np.float64)))
    )
    product = wanted.gram_product(V)
    assert_allclose(standard.gram_product(V), product, atol=1e-10 * np.abs(product).max())


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_are_picked_and_replaced_where_they_are(library, rng):
    A, rows = rng.normal(size=(7, 3)), np.array([5, 1])
    stored = put(A, library)
    for which in (rows, np.arange(7) % 2 == 0):
        assert_array_equal(namespace.rows_home(stored, which), A[which])
        assert_array_equal(namespace.rows_home(A, which), A[which])
    wanted = A.copy()
    wanted[rows] = 1.5
    assert_array_equal(get(namespace.replaced(stored, rows, put(np.full((2, 3), 1.5), library))), wanted)
    assert_array_equal(get(stored), A)
    assert namespace.replaced(stored, rows[:0], put(np.empty((0, 3)), library)) is stored
    assert_array_equal(get(namespace.columns_at(stored, np.array([2, 0, 2]))), A[:, [2, 0, 2]])


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
@pytest.mark.parametrize("bad, found", [(None, None), (np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_what_is_not_finite_is_named(bad, found, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X = np.full((100, 2), 1e308)  # the sum overflows; no entry does
    if bad is not None:
        X[70, 1] = bad
        X[3, 0] = np.nan
    seen = look(read(put(X, "strict")))
    assert seen.infinite == (found == "infinity")
    assert seen.missing == (bad is not None)
    assert seen.largest == 1e308


def test_numbers_go_to_the_device_in_its_type():
    single = put(np.ones((2, 2), dtype=np.float32), "strict", "no_float64")
    out = namespace.from_host(np.arange(3.0), single)
    assert out.device == single.device
    assert out.dtype == array_api_strict.float32
    whole = namespace.from_host(np.array([0.5]), put(np.ones((2, 2), dtype=np.int64), "strict"))
    assert whole.dtype == array_api_strict.float64
    assert_array_equal(get(whole), [0.5])
