"""Rows of other array libraries, read where they are."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import ArrayRows, DenseRows, namespace, row_source
from gnomon.rows.products import project, squared_lengths
from namespaces import WITH_TORCH, get, put
from rows import test_row_sources as shared

N, P, V, Y = shared.N, shared.P, shared.V, shared.Y


def torch_strided(X):
    wide = np.full((2 * N, 3 * P), 1e9)
    wide[::2, ::3] = X
    return put(wide, "torch")[::2, ::3]


STORAGES = {
    "strict": lambda X: put(X, "strict"),
    "strict_cpu_float32": lambda X: put(X.astype(np.float32), "strict", "CPU_DEVICE"),
    "strict_int8": lambda X: put(X.astype(np.int8), "strict"),
    "torch": lambda X: put(X, "torch"),
    "torch_float32": lambda X: put(X.astype(np.float32), "torch"),
    "torch_int": lambda X: put(X.astype(np.int64), "torch"),
    "torch_strided": torch_strided,
}
MARKED = [pytest.param(name, marks=WITH_TORCH) if name.startswith("torch") else name for name in STORAGES]
weights, truth = shared.weights, shared.truth


@pytest.fixture(params=MARKED)
def stored(request):
    return STORAGES[request.param](shared.table())


@pytest.fixture(params=[1 << 19, 1], ids=["one_block", "small_blocks"])
def source(request, stored, weights, monkeypatch):
    """A source after its first pass, in standard units."""
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", request.param)
    source = row_source(stored, weights)
    assert isinstance(source, ArrayRows)
    source.first_pass(np.zeros((N, 0)))
    source.standardise()
    source.n_passes = 0.0
    return source


class TestArrayRows(shared.TestRowSource):
    """What every row source must do, over arrays of other libraries."""

    def test_the_rows_are_not_changed(self, source, stored):
        source.sweep(V, shared.bend)
        source.gram_product(V)
        source.second_moment()
        source.gram()
        assert_array_equal(get(stored), shared.table())


def test_source_is_chosen_by_the_library():
    assert type(row_source(put(shared.table(), "strict"))) is ArrayRows
    assert type(row_source(shared.table())) is DenseRows
    assert not namespace.is_foreign([[1.0]])
    assert not namespace.is_foreign(np.float64(1.0))


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_standard_units_do_not_depend_on_the_magnitude(size):
    reference, scaled = row_source(shared.table()), row_source(put(shared.table() * size, "strict"))
    for source in (reference, scaled):
        source.first_pass(Y)
        source.standardise()
    assert_allclose(scaled.scale, reference.scale * size, rtol=1e-12)
    assert_allclose(scaled.gram_product(V), reference.gram_product(V), rtol=1e-10)
    assert_allclose(scaled.sweep(V, shared.bend)[0], reference.sweep(V, shared.bend)[0], rtol=1e-10, atol=1e-10)


def test_large_offsets_of_float32_rows_are_centred_in_float64():
    moved = (shared.table() + 1e4).astype(np.float32)
    sources = [row_source(moved), row_source(put(moved, "strict"))]
    for source in sources:
        source.first_pass(Y)
        source.standardise()
    assert_allclose(sources[1].second_moment(), sources[0].second_moment(), rtol=1e-9, atol=1e-9)


def moved_by(work, monkeypatch):
    """Shapes of the arrays that came to the host during `work`."""
    shapes = []
    plain = array_api_strict._array_object.Array.to_device

    def record(self, *args, **kwargs):
        shapes.append(tuple(self.shape))
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(array_api_strict._array_object.Array, "to_device", record)
    work()
    return shapes


def test_only_small_products_come_to_the_host(monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    source = row_source(put(shared.table(), "strict"))

    def work():
        source.first_pass(Y)
        source.standardise()
        source.gram_product(V)
        source.second_moment()

    assert set(moved_by(work, monkeypatch)) == {(1, P), (P, 2), (P, 3), (P, P)}


def test_without_float64_sums_over_blocks_are_still_double(monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X = np.ones((40_000, 1), dtype=np.float32) * np.float32(0.1)
    source = row_source(put(X, "strict", "no_float64"))
    source.first_pass(np.zeros((len(X), 0)))
    assert not namespace.has_double(source.X)
    assert abs(source.mean[0] - X[0, 0]) < 2e-8  # 40,000 terms added in float32 are off by 1e-6


@pytest.mark.parametrize("library", ["strict", pytest.param("torch", marks=WITH_TORCH)])
@pytest.mark.parametrize("dtype, rtol, offset", [(np.float64, 1e-12, 1e3), (np.float32, 1e-5, 1e6)])
@pytest.mark.parametrize("entries", [1 << 19, 1])
def test_products_of_new_rows(library, dtype, rtol, offset, entries, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", entries)
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X, mean = shared.table() + offset, offset + np.linspace(0, 1, P)
    stored = put(X.astype(dtype), library)
    Z = project(stored, mean, V)
    assert type(Z) is type(stored)
    assert Z.dtype == stored.dtype
    assert Z.device == stored.device
    assert_allclose(get(Z), (X - mean) @ V, rtol=rtol, atol=rtol * 10)
    lengths = squared_lengths(stored, mean, 2.0)
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
    assert namespace.first_not_finite(put(X, "strict")) == found
    assert namespace.all_finite(put(X, "strict")) == (found is None)


def test_numbers_go_to_the_device_in_its_type():
    single = put(np.ones((2, 2), dtype=np.float32), "strict", "no_float64")
    out = namespace.from_host(np.arange(3.0), single)
    assert out.device == single.device
    assert out.dtype == array_api_strict.float32
    whole = namespace.from_host(np.array([0.5]), put(np.ones((2, 2), dtype=np.int64), "strict"))
    assert whole.dtype == array_api_strict.float64
    assert_array_equal(get(whole), [0.5])
