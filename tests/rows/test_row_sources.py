"""One test class for every way rows are stored: each source must equal the dense formulas."""

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import DenseRows, NotFinite, SparseRows, dense, row_source
from gnomon.rows.products import row_counts

N, P = 53, 7


def table(seed=0):
    """Small whole numbers, most of them zero: exact in every storage."""
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 12, size=(N, P)) * (rng.random((N, P)) < 0.4) * 1.0


def with_duplicates(X):
    """A csr matrix that holds every entry in two halves, in no order."""
    rows, columns = np.nonzero(X)
    order = np.random.default_rng(0).permutation(2 * len(rows))
    rows, columns = np.tile(rows, 2)[order], np.tile(columns, 2)[order]
    by_row = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    out = sp.csr_array((X[rows, columns][by_row] / 2, columns[by_row], indptr), shape=X.shape)
    assert not out.has_canonical_format
    return out


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X):
    wide = np.full((2 * N, 3 * P), 1e9)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def memory_map(X, folder):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


STORAGES = {
    "c": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "int": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "read_only": read_only,
    "strided": strided,
    "memory_map": memory_map,
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "csr_float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "duplicates": with_duplicates,
}
WEIGHTS = {"plain": None, "weighted": np.random.default_rng(5).integers(1, 4, N).astype(float)}


class Stats(NamedTuple):
    """What a step may return beside U."""

    total: np.ndarray
    count: float


def bend(T, index):
    """A step that is not linear and depends on which rows it is given."""
    U = np.tanh(T) + (index % 3)[:, None]
    return U, Stats(T.sum(axis=0), float(len(index)))


@pytest.fixture(params=STORAGES)
def stored(request, tmp_path):
    make = STORAGES[request.param]
    return make(table(), tmp_path) if request.param == "memory_map" else make(table())


@pytest.fixture(params=WEIGHTS)
def weights(request):
    return WEIGHTS[request.param]


@pytest.fixture(params=[1 << 19, 1], ids=["one_block", "small_blocks"])
def source(request, stored, weights, monkeypatch):
    """A source after its first pass, in standard units."""
    monkeypatch.setattr(dense, "BLOCK_ENTRIES", request.param)
    source = row_source(stored, weights)
    source.first_pass(np.zeros((N, 0)))
    source.standardise()
    source.n_passes = 0.0
    return source


class Dense:
    """The same quantities by the plain formulas, in the standard units of a source."""

    def __init__(self, weights):
        X = table()
        self.w = np.ones(N) if weights is None else weights
        self.mean = self.w @ X / self.w.sum()
        centred = X - self.mean
        self.scale = np.sqrt(self.w @ (centred**2).sum(axis=1) / (self.w.sum() * P))
        self.X = centred / self.scale


@pytest.fixture
def truth(weights):
    return Dense(weights)


V = np.random.default_rng(1).normal(size=(P, 3))
Y = np.random.default_rng(2).normal(size=(N, 2))
SOME = np.array([40, 3, 17, 18, 50, 0, 29])


class TestRowSource:
    def test_first_pass_returns_means_and_products(self, stored, weights, truth):
        source = row_source(stored, weights)
        product = source.first_pass(Y)
        assert_allclose(source.mean, truth.mean, rtol=1e-14)
        assert_allclose(product * source.scale, truth.X.T @ (truth.w[:, None] * Y) * truth.scale, rtol=1e-11)
        assert source.n_passes == 1
        assert source.count == truth.w.sum()

    def test_first_pass_with_rows_without_targets(self, stored, weights, truth):
        some = Y * (np.arange(N) % 5 == 0)[:, None]
        source = row_source(stored, weights)
        product = source.first_pass(some) * source.scale
        assert_allclose(product, truth.X.T @ (truth.w[:, None] * some) * truth.scale, rtol=1e-10)

    def test_standard_units_have_mean_square_one(self, stored, weights, truth):
        source = row_source(stored, weights)
        before = source.first_pass(Y)
        factor = source.standardise()
        assert_allclose(source.scale, truth.scale, rtol=1e-13)
        assert_allclose(before * factor, truth.X.T @ (truth.w[:, None] * Y), rtol=1e-11)
        assert_allclose(source.energy, truth.w.sum() * P, rtol=1e-13)

    def test_energy_is_the_weighted_sum_of_squares(self, stored, weights, truth):
        source = row_source(stored, weights)
        source.first_pass(Y)
        expected = truth.w @ (truth.X**2).sum(axis=1) * (truth.scale / source.scale) ** 2
        assert_allclose(source.energy, expected, rtol=1e-12)

    def test_energy_measured_during_a_sweep_is_the_same(self, stored, weights):
        lazy, eager = row_source(stored, weights), row_source(stored, weights)
        lazy.first_pass(Y)
        eager.first_pass(Y)
        lazy.gram_product(V)
        assert_allclose(lazy.energy, eager.energy, rtol=1e-12)

    def test_sweep_is_the_dense_formula(self, source, truth):
        product, stats = source.sweep(V, bend)
        T = truth.X @ V
        U, expected = bend(T, np.arange(N))
        assert_allclose(product, truth.X.T @ (truth.w[:, None] * U), rtol=1e-10, atol=1e-10)
        assert_allclose(stats.total, expected.total, rtol=1e-10, atol=1e-10)
        assert stats.count == N
        assert isinstance(stats, Stats)
        assert source.n_passes == 1

    def test_sweep_of_some_rows(self, source, truth):
        seen = []

        def step(T, index):
            seen.append((index.copy(), T.copy()))
            return bend(T, index)

        product, stats = source.sweep(V, step, rows=SOME)
        T = truth.X[SOME] @ V
        U, expected = bend(T, SOME)
        assert_allclose(product, truth.X[SOME].T @ (truth.w[SOME, None] * U), rtol=1e-10, atol=1e-10)
        assert_allclose(stats.total, expected.total, rtol=1e-10, atol=1e-10)
        assert_array_equal(np.concatenate([index for index, _ in seen]), SOME)
        assert_allclose(np.vstack([T for _, T in seen]), T, rtol=1e-10, atol=1e-12)
        assert_allclose(source.n_passes, len(SOME) / N)

    def test_sweep_of_no_rows_is_zero(self, source):
        product, _ = source.sweep(None, lambda T, index: (np.ones((len(index), 2)), None), rows=np.arange(0))
        assert product.size == 0 or not product.any()
        assert source.n_passes == 0

    def test_sweep_without_a_product(self, source, truth):
        U = np.random.default_rng(3).normal(size=(N, 4))
        product, stats = source.sweep(None, lambda T, index: (U[index], None))
        assert_allclose(product, truth.X.T @ (truth.w[:, None] * U), rtol=1e-10, atol=1e-10)
        assert stats is None

    def test_gram_product(self, source, truth):
        assert_allclose(source.gram_product(V), truth.X.T @ (truth.w[:, None] * (truth.X @ V)), rtol=1e-10)
        assert source.n_passes == 1

    def test_second_moment(self, source, truth):
        assert_allclose(source.second_moment(), truth.X.T @ (truth.w[:, None] * truth.X), rtol=1e-10, atol=1e-10)
        assert source.n_passes == 1

    def test_second_moment_of_some_rows(self, source, truth):
        expected = truth.X[SOME].T @ (truth.w[SOME, None] * truth.X[SOME])
        assert_allclose(source.second_moment(SOME), expected, rtol=1e-10, atol=1e-10)
        assert_allclose(source.n_passes, len(SOME) / N)

    @pytest.mark.parametrize("small_blocks", [False, True])
    @pytest.mark.parametrize("first_has_targets", [False, True])
    def test_group_moments(self, stored, weights, truth, monkeypatch, small_blocks, first_has_targets):
        if small_blocks:
            monkeypatch.setattr(dense, "BLOCK_ENTRIES", 1)
        group = np.arange(N) % 3
        targets = Y * ((group > 0) | first_has_targets)[:, None]
        source = row_source(stored, weights)
        found = source.group_moments([np.flatnonzero(group == g) for g in range(3)], targets)
        for g, moments in enumerate(found):
            X, w, T = truth.X[group == g], truth.w[group == g], targets[group == g]
            assert_allclose(moments.x, w @ X, atol=1e-11)
            assert_allclose(moments.xx, (X * w[:, None]).T @ X, atol=1e-10)
            assert_allclose(moments.xy, (X * w[:, None]).T @ T, atol=1e-11)
        assert_allclose(source.energy, truth.w.sum() * P, rtol=1e-12)

    def test_gram_is_of_the_rows_without_weights(self, source, truth):
        assert_allclose(source.gram(), truth.X @ truth.X.T, rtol=1e-10, atol=1e-10)
        assert source.n_passes == 1

    def test_the_rows_are_not_changed(self, source, stored):
        before = stored.toarray() if sp.issparse(stored) else np.array(stored)
        source.sweep(V, bend)
        source.second_moment()
        source.gram()
        after = stored.toarray() if sp.issparse(stored) else np.array(stored)
        assert_array_equal(before, after)
        assert_array_equal(before, table())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_weights_are_repeated_rows(form):
    X, w = table(), WEIGHTS["weighted"]
    weighted = row_source(form(X), w)
    repeated = row_source(form(np.repeat(X, w.astype(int), axis=0)))
    products = weighted.first_pass(Y), repeated.first_pass(np.repeat(Y, w.astype(int), axis=0))
    assert_allclose(*products, rtol=1e-11)
    for source in (weighted, repeated):
        source.standardise()
    assert weighted.count == repeated.count
    assert_allclose(weighted.scale, repeated.scale, rtol=1e-13)
    assert_allclose(weighted.gram_product(V), repeated.gram_product(V), rtol=1e-11)
    assert_allclose(weighted.second_moment(), repeated.second_moment(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_standard_units_do_not_depend_on_the_magnitude(form, size):
    reference, scaled = row_source(table()), row_source(form(table() * size))
    for source in (reference, scaled):
        source.first_pass(Y)
        source.standardise()
    assert_allclose(scaled.scale, reference.scale * size, rtol=1e-12)
    assert_allclose(scaled.gram_product(V), reference.gram_product(V), rtol=1e-10)
    assert_allclose(scaled.second_moment(), reference.second_moment(), rtol=1e-10, atol=1e-10)
    assert_allclose(scaled.gram(), reference.gram(), rtol=1e-10, atol=1e-10)
    assert_allclose(scaled.sweep(V, bend)[0], reference.sweep(V, bend)[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form, tolerance", [(np.asarray, 1e-8), (sp.csr_array, 1e-6), (sp.csc_array, 1e-6)])
def test_large_offsets_cost_little_precision(form, tolerance):
    reference, moved = row_source(table()), row_source(form(table() + 1e4 * np.arange(1, P + 1)))
    for source in (reference, moved):
        source.first_pass(Y)
        source.standardise()
    assert_allclose(moved.energy, reference.energy, rtol=1e-9)
    assert_allclose(moved.scale, reference.scale, rtol=1e-9)
    assert_allclose(moved.gram_product(V), reference.gram_product(V), rtol=1e-8, atol=1e-8)
    atol = tolerance * np.abs(reference.second_moment()).max()
    assert_allclose(moved.second_moment(), reference.second_moment(), atol=atol)
    assert_allclose(moved.gram(), reference.gram(), atol=atol)


def test_constant_rows_keep_their_scale():
    source = row_source(np.full((20, 3), 4.0))
    source.first_pass(np.zeros((20, 0)))
    assert source.energy == 0
    assert source.standardise() == 1.0
    assert not source.gram_product(V[:3]).any()


def test_rows_of_zeros_have_scale_one():
    for X in (np.zeros((5, 3)), sp.csr_array((5, 3))):
        source = row_source(X)
        assert not source.first_pass(np.ones((5, 1))).any()
        assert source.scale == 1.0
        assert source.energy == 0.0


def peak_memory(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_rows_are_never_made_dense(form):
    n, p = 300, 100_000  # 240 MB when dense
    rng = np.random.default_rng(0)
    X = form(sp.random_array((n, p), density=1e-4, format="csr", rng=rng))

    def work():
        source = SparseRows(X, rng.uniform(1, 2, n))
        source.first_pass(rng.normal(size=(n, 1)))
        source.standardise()
        source.gram_product(rng.normal(size=(p, 2)))
        source.sweep(None, lambda T, index: (np.ones((len(index), 2)), None), rows=np.arange(0, n, 7))
        source.gram()

    assert peak_memory(work) < 30e6


def test_dense_rows_are_never_copied():
    X = np.random.default_rng(0).normal(size=(4000, 2000)).astype(np.float32)  # 32 MB, 64 MB as float64

    def work():
        source = DenseRows(X)
        source.first_pass(np.zeros((4000, 1)))
        source.standardise()
        source.sweep(np.ones((2000, 2)), lambda T, index: (T, None))

    assert peak_memory(work) < 24e6


def test_row_source_picks_by_storage():
    assert isinstance(row_source(table()), DenseRows)
    assert isinstance(row_source(sp.csc_matrix(table())), SparseRows)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 9)),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    weighted=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_sparse_equals_dense(shape, density, weighted, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * (rng.random(shape) < density)
    w = rng.uniform(0.1, 3.0, shape[0]) if weighted else None
    sources = [row_source(form(X), w) for form in (np.asarray, sp.csr_array, sp.csc_array)]
    targets, block = rng.normal(size=(shape[0], 2)), rng.normal(size=(shape[1], 2))
    products = [source.first_pass(targets) for source in sources]
    factors = [source.standardise() for source in sources]
    sweeps = [source.sweep(block, bend)[0] for source in sources]
    for product, factor, swept in zip(products[1:], factors[1:], sweeps[1:], strict=True):
        assert_allclose(product * factor, products[0] * factors[0], rtol=1e-9, atol=1e-9)
        assert_allclose(swept, sweeps[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_what_is_not_finite_shows_in_the_first_read(bad, offset):
    X = table() + offset
    X[17, 3] = bad
    with pytest.raises(NotFinite, match="missing, infinite or too large"):
        DenseRows(X).first_pass(np.zeros((N, 0)))
    with pytest.raises(NotFinite, match="missing, infinite or too large"):
        DenseRows(X).group_moments([np.arange(5, N), np.arange(5)], np.zeros((N, 1)))


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e5])
def test_inner_products_are_centred_before_or_after(offset):
    X = table() * 0.1 + offset
    source = DenseRows(X)
    source.first_pass(np.zeros((N, 0)))
    centred = (X - X.mean(axis=0)) / source.scale
    assert_allclose(source.gram(), centred @ centred.T, atol=1e-9 * np.abs(centred @ centred.T).max())
    assert source.n_passes == 2


def test_row_counts():
    mask = table() != 0
    assert_array_equal(row_counts(mask), mask.sum(axis=1))
    assert_array_equal(row_counts(np.zeros((4, 0), dtype=bool)), np.zeros(4))
