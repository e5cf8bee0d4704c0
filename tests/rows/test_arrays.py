"""Arrays of other libraries: products of new rows, what is not finite, moves to the device."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import kind, namespace, read
from gnomon.rows.masked import look
from gnomon.rows.products import project
from namespaces import WITH_TORCH, get, put
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
