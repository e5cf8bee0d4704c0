"""The contract of rows: every storage equals the dense formulas, and answers merge exactly."""

import pickle
import tempfile
import tracemalloc
from dataclasses import dataclass

import array_api_strict
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import namespace, read
from gnomon.rows.contract import Kept, NotFinite, Step
from gnomon.rows.dask import DaskRows
from namespaces import WITH_TORCH, get, put
from rows.copied import CopiedRows, ForkedRows, copied_rows

N, P, CHUNK = 53, 7, 20
Y = np.random.default_rng(2).normal(size=(N, 2)) * (np.arange(N) % 4 > 0)[:, None]
V = np.random.default_rng(1).normal(size=(P, 3))
SOME = np.array([40, 3, 17, 18, 50, 0])
GROUP = np.arange(N) % 3
WEIGHTS = {"plain": None, "weighted": np.random.default_rng(5).integers(1, 4, N).astype(float)}


def table(seed=0):
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


def strided(X, form=np.asarray):
    wide = np.full((2 * N, 3 * P), 1e9)
    wide[::2, ::3] = X
    return form(wide)[::2, ::3]


def memory_map(X):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", X)
        return np.load(f"{folder}/rows.npy", mmap_mode="r")


STORAGES = {
    "c": np.asarray,
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
    "strict": lambda X: put(X, "strict"),
    "strict_cpu_float32": lambda X: put(X.astype(np.float32), "strict", "CPU_DEVICE"),
    "strict_int8": lambda X: put(X.astype(np.int8), "strict"),
    "torch": lambda X: put(X, "torch"),
    "torch_float32": lambda X: put(X.astype(np.float32), "torch"),
    "torch_int": lambda X: put(X.astype(np.int64), "torch"),
    "torch_strided": lambda X: strided(X, lambda A: put(A, "torch")),
    "copied": np.asarray,
    "copied_csr": sp.csr_array,
    "dask": lambda X: da.from_array(X, chunks=(CHUNK, P)),
    "dask_int": lambda X: da.from_array(X.astype(np.int64), chunks=(CHUNK, P)),
    "dask_csr": lambda X: da.from_array(X, chunks=(CHUNK, P)).map_blocks(sp.csr_array),
}
MARKED = [pytest.param(name, marks=WITH_TORCH) if name.startswith("torch") else name for name in STORAGES]


def plain(stored):
    """What is stored, as dense NumPy."""
    stored = stored.compute() if isinstance(stored, da.Array) else stored
    return stored.toarray() if sp.issparse(stored) else get(stored)


def share_read(rows):
    """Share of the rows that a read of SOME reads: of a chunk all of them."""
    if isinstance(rows, DaskRows):
        touched = np.unique(SOME // CHUNK)
        return sum(min(CHUNK, N - CHUNK * i) for i in touched) / N
    return len(SOME) / N


@dataclass(frozen=True)
class Bend:
    """A step that is not linear and looks at everything a view holds."""

    def __call__(self, view):
        U = np.tanh(view.T) + (view.at % 3)[:, None] + view.aligned["y"][:, :1]
        return Step(
            U * view.weights[:, None],
            (view.T.sum(axis=0), float(len(view.at))),
            Kept.of(view, view.T),
            aligned={"U": U},
        )


@pytest.fixture(params=MARKED)
def stored(request):
    return request.param, STORAGES[request.param](table())


@pytest.fixture(params=WEIGHTS)
def weights(request):
    return WEIGHTS[request.param]


@pytest.fixture(params=[False, True])
def rows(request, stored, weights, monkeypatch):
    name, X = stored
    if request.param:
        monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    return (copied_rows if name.startswith("copied") else read)(X, weights)


@pytest.fixture
def standard(rows):
    return rows.standard(rows.summarize())


class Dense:
    """The same by the dense formulas."""

    def __init__(self, weights):
        self.w = np.ones(N) if weights is None else weights
        self.mean = self.w @ table() / self.w.sum()
        self.X = table() - self.mean
        self.squares = self.w @ self.X**2
        self.scale = np.sqrt(self.squares.sum() / (self.w.sum() * P))
        self.X = self.X / self.scale


@pytest.fixture
def dense(weights):
    return Dense(weights)


class TestEveryStorage:
    def test_summary(self, rows, dense):
        found = rows.summarize(Y, GROUP, 3, second=True)
        assert_allclose(found.mean, dense.mean, rtol=1e-12)
        assert_allclose(found.scale, dense.scale, rtol=1e-12)
        assert_allclose(found.squares * found.unit**2, dense.squares, rtol=1e-12)
        assert found.weight == dense.w.sum()
        for g, group in enumerate(found.standard_groups()):
            here = np.flatnonzero(g == GROUP)
            X, w = dense.X[here], dense.w[here, None]
            assert group.weight == w.sum()
            assert_allclose(group.x, (w * X).sum(axis=0), atol=1e-11)
            assert_allclose(group.y, (w * Y[here]).sum(axis=0), atol=1e-12)
            assert_allclose(group.xy, (w * X).T @ Y[here], atol=1e-11)
            assert_allclose(group.yy, (w * Y[here]).T @ Y[here], atol=1e-11)
            assert_allclose(group.xx, (w * X).T @ X, atol=1e-11)
        assert rows.reads == 1

    def test_sweep(self, rows, standard, dense):
        before = rows.reads
        T = dense.X @ V
        found = standard.with_columns(y=Y).sweep(V, Bend(), aligned=True)
        U = np.tanh(T) + (np.arange(N) % 3)[:, None] + Y[:, :1]
        assert_allclose(found.product, dense.X.T @ (dense.w[:, None] * U), rtol=1e-10, atol=1e-10)
        assert_allclose(found.sums[0], T.sum(axis=0), atol=1e-10)
        assert found.sums[1] == N
        assert_allclose(found.kept.of_rows(), T, atol=1e-11)
        assert_allclose(found.rows.rows.gather("U"), U, atol=1e-11)
        assert rows.reads - before == 1

    def test_sweep_of_some_rows(self, rows, standard, dense):
        before = rows.reads
        found = standard.sweep(V, Bend(), rows=SOME, columns={"y": Y[SOME]})
        T = dense.X[SOME] @ V
        U = np.tanh(T) + (SOME % 3)[:, None] + Y[SOME, :1]
        assert_allclose(found.product, dense.X[SOME].T @ (dense.w[SOME, None] * U), rtol=1e-10, atol=1e-10)
        assert_allclose(found.kept.of_rows(SOME), T, atol=1e-11)
        assert_allclose(rows.reads - before, share_read(rows))

    def test_products(self, standard, dense):
        T, w = dense.X @ V, dense.w[:, None]
        assert_allclose(standard.times(V), T, atol=1e-11)
        assert_allclose(standard.times(V, SOME), T[SOME], atol=1e-11)
        assert_allclose(standard.gram_product(V), dense.X.T @ (w * T), rtol=1e-10)
        assert_allclose(standard.back(Y), dense.X.T @ (w * Y), atol=1e-10)
        assert_allclose(standard.back(Y[SOME], SOME), dense.X[SOME].T @ (w[SOME] * Y[SOME]), atol=1e-10)
        assert_allclose(standard.gram(), dense.X @ dense.X.T, atol=1e-10)

    def test_no_rows(self, standard):
        none = np.zeros(0, dtype=np.intp)
        assert standard.times(V, none).shape == (0, 3)
        assert not standard.back(np.zeros((0, 2)), none).any()

    def test_projection_keeps_what_it_leaves_out(self, standard, dense):
        B = np.linalg.qr(V)[0]
        found = standard.project(B)
        T = dense.X @ B
        assert_allclose(found.gather(), T, atol=1e-11)
        assert_allclose(found.gather("outside"), (dense.X**2).sum(axis=1) - (T**2).sum(axis=1), atol=1e-10)
        assert_allclose(standard.measured().rows.gather("length"), (dense.X**2).sum(axis=1), rtol=1e-10, atol=1e-12)

    def test_products_and_lengths_take_one_read(self, standard, dense):
        before = standard.reads
        products, lengths = standard.products_and_lengths(V)
        assert standard.reads == before + 1
        assert_allclose(products, dense.X @ V, atol=1e-11)
        assert_allclose(lengths, (dense.X**2).sum(axis=1), rtol=1e-10, atol=1e-12)

    def test_the_rows_are_not_changed(self, stored, weights):
        rows = read(stored[1], weights)
        standard = rows.standard(rows.summarize(Y, second=True))
        standard.gram_product(V)
        standard.times(V, SOME)
        standard.gram()
        assert_array_equal(plain(stored[1]), table())

    @pytest.mark.parametrize("principal", [True, False])
    def test_coordinates_span_the_rows(self, standard, dense, principal):
        found = standard.coordinates(principal=principal)
        xx = (dense.w[:, None] * found.T).T @ found.T
        assert_allclose(np.diag(found.xx) if principal else found.xx, xx, atol=1e-9)
        assert_allclose(found.T @ found.T.T, dense.X @ dense.X.T, atol=1e-9)
        basis = found.expand(np.eye(found.T.shape[1]))
        assert_allclose(basis.T @ basis, np.eye(P), atol=1e-9)
        assert_allclose(found.T @ basis.T, dense.X, atol=1e-9)


@dataclass
class Smuggler:
    """A step that writes into what it holds, instead of returning it."""

    seen: np.ndarray

    def __call__(self, view):
        self.seen[view.at] = view.T
        return Step()


def test_what_a_step_writes_beside_its_answer_is_lost():
    for make, arrives in ((read, True), (CopiedRows, False)):
        rows = make(table(), None)
        seen = np.full((N, 3), np.nan)
        rows.standard(rows.summarize()).sweep(V, Smuggler(seen))
        assert np.isfinite(seen).all() == arrives


def test_a_closure_does_not_travel():
    rows = CopiedRows(table(), None)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        rows.standard(rows.summarize()).sweep(V, lambda view: Step())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("second", [False, True])
def test_what_is_not_finite_shows_in_the_first_read(bad, offset, second):
    X = table() + offset
    X[17, 3] = bad
    with pytest.raises(NotFinite, match="missing, infinite or too large"):
        read(X).summarize(np.zeros((N, 1)), second=second)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_standard_units_do_not_depend_on_the_magnitude(form, size):
    reference, scaled = read(table()), read(form(table() * size))
    a, b = (rows.summarize(Y, second=True) for rows in (reference, scaled))
    assert_allclose(b.scale, a.scale * size, rtol=1e-12)
    for left, right in zip(a.standard_groups(), b.standard_groups(), strict=True):
        assert_allclose(right.xx, left.xx, rtol=1e-10, atol=1e-10)
        assert_allclose(right.xy, left.xy, rtol=1e-10, atol=1e-10)
    one, other = reference.standard(a), scaled.standard(b)
    assert_allclose(other.gram_product(V), one.gram_product(V), rtol=1e-10)
    assert_allclose(other.gram(), one.gram(), rtol=1e-10, atol=1e-10)


def test_constant_rows_and_rows_of_zeros():
    for X, scale in ((np.full((20, 3), 4.0), 4.0), (np.zeros((5, 3)), 1.0), (sp.csr_array((5, 3)), 1.0)):
        rows = read(X)
        standard = rows.standard(rows.summarize())
        assert standard.scale == scale
        assert standard.energy == 0.0
        assert not standard.gram_product(V[:3]).any()


def test_rows_in_other_processes():
    here, there = (make(table(), None) for make in (read, ForkedRows))
    a, b = (rows.standard(rows.summarize(Y)).with_columns(y=Y).sweep(V, Bend(), aligned=True) for rows in (here, there))
    assert_allclose(b.product, a.product, rtol=1e-12)
    assert_allclose(b.kept.of_rows(), a.kept.of_rows(), rtol=1e-12)
    assert_allclose(b.rows.rows.gather("U"), a.rows.rows.gather("U"), rtol=1e-12)


def test_derived_rows_count_their_reads_together():
    rows = read(table())
    standard = rows.standard(rows.summarize())
    standard.with_columns(y=Y).measured().times(V)
    assert rows.reads == 3
    assert_array_equal(standard.project(V).gather().shape, (N, 3))
    assert rows.reads == 4


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_weights_are_repeated_rows(form):
    X, w = table(), WEIGHTS["weighted"]
    times = w.astype(int)
    weighted, repeated = read(form(X), w), read(form(np.repeat(X, times, axis=0)))
    a, b = weighted.summarize(Y, second=True), repeated.summarize(np.repeat(Y, times, axis=0), second=True)
    assert a.weight == b.weight
    assert_allclose(a.scale, b.scale, rtol=1e-13)
    for left, right in zip(a.standard_groups(), b.standard_groups(), strict=True):
        assert_allclose(left.xy, right.xy, rtol=1e-10, atol=1e-11)
        assert_allclose(left.xx, right.xx, rtol=1e-11, atol=1e-11)
    assert_allclose(weighted.standard(a).gram_product(V), repeated.standard(b).gram_product(V), rtol=1e-11)


@pytest.mark.parametrize("form, tolerance", [(np.asarray, 1e-8), (sp.csr_array, 1e-6), (sp.csc_array, 1e-6)])
def test_large_offsets_cost_little_precision(form, tolerance):
    reference, moved = read(table()), read(form(table() + 1e4 * np.arange(1, P + 1)))
    a, b = (rows.summarize(second=True) for rows in (reference, moved))
    assert_allclose(b.scale, a.scale, rtol=1e-9)
    one, other = reference.standard(a), moved.standard(b)
    assert_allclose(other.gram_product(V), one.gram_product(V), rtol=1e-8, atol=1e-8)
    second, centered = b.standard_groups()[0].xx, a.standard_groups()[0].xx
    assert_allclose(second, centered, atol=tolerance * np.abs(centered).max())
    assert_allclose(other.gram(), one.gram(), atol=tolerance * np.abs(centered).max())


def test_products_follow_the_summary_and_need_no_order():
    X = 100.0 + np.random.default_rng(0).normal(size=(N, P))  # read in the wrong order it was off by a factor of 10,000
    rows = read(X)
    assert not hasattr(rows, "gram_product")
    C = (X - X.mean(axis=0)) / X.std(axis=0).mean()
    found = rows.standard(rows.summarize()).gram_product(V)
    assert_allclose(found, C.T @ C @ V, rtol=0.05)


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
    X = form(sp.random(n, p, density=1e-4, format="csr", random_state=rng))

    def work():
        rows = read(X, rng.uniform(1, 2, n))
        standard = rows.standard(rows.summarize(rng.normal(size=(n, 1))))
        standard.gram_product(rng.normal(size=(p, 2)))
        standard.back(np.ones((43, 2)), np.arange(0, n, 7))
        standard.gram()

    assert peak_memory(work) < 30e6


@pytest.mark.parametrize("second", [False, True])
def test_dense_rows_are_never_copied(second):
    X = np.random.default_rng(0).normal(size=(16_000, 500)).astype(np.float32)  # 32 MB, 64 MB as float64

    def work():
        rows = read(X)
        rows.standard(rows.summarize(np.zeros((16_000, 1)), second=second)).gram_product(np.ones((500, 2)))

    assert peak_memory(work) < 30e6


def test_only_small_products_leave_a_device(monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    rows, shapes = read(put(table(), "strict")), set()
    kept = array_api_strict._array_object.Array.to_device

    def record(self, *args, **kwargs):
        shapes.add(tuple(self.shape))
        return kept(self, *args, **kwargs)

    monkeypatch.setattr(array_api_strict._array_object.Array, "to_device", record)
    rows.standard(rows.summarize(Y, second=True)).gram_product(V)
    assert shapes == {(P,), (P, 2), (P, 3), (P, P)}


def test_without_float64_sums_over_blocks_are_still_double(monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X = np.ones((40_000, 1), dtype=np.float32) * np.float32(0.1)
    stored = put(X, "strict", "no_float64")
    assert not namespace.Place(stored).double
    assert abs(read(stored).summarize().mean[0] - X[0, 0]) < 2e-8  # 40,000 terms in float32 are off by 1e-6


def test_large_offsets_of_float32_rows_are_centered_in_float64():
    moved = (table() + 1e4).astype(np.float32)
    a, b = (read(X).summarize(second=True).standard_groups()[0].xx for X in (moved, put(moved, "strict")))
    assert_allclose(b, a, rtol=1e-9, atol=1e-9)


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
    targets, block = rng.normal(size=(shape[0], 2)), rng.normal(size=(shape[1], 2))
    tables = [read(form(X), w) for form in (np.asarray, sp.csr_array, sp.csc_array)]
    sums = [rows.summarize(targets) for rows in tables]
    products = [rows.standard(s).gram_product(block) for rows, s in zip(tables, sums, strict=True)]
    for found, product in zip(sums[1:], products[1:], strict=True):
        assert_allclose(found.standard_groups()[0].xy, sums[0].standard_groups()[0].xy, rtol=1e-9, atol=1e-9)
        assert_allclose(product, products[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.3, 3.0, 1e5])
def test_inner_products_are_centered_before_or_after(offset):
    X = table() * 0.1 + offset
    rows = read(X)
    standard = rows.standard(rows.summarize())
    centered = (X - X.mean(axis=0)) / standard.scale
    assert_allclose(standard.gram(), centered @ centered.T, atol=1e-9 * np.abs(centered @ centered.T).max())
    assert rows.reads == 2


@pytest.mark.parametrize("offset", [0.0, 0.3, 3.0, 1e5])
@pytest.mark.parametrize("width", [0, 1, 3])
def test_products_are_centered_before_or_after(offset, width):
    X = table() * 0.1 + offset
    rows = read(X, WEIGHTS["weighted"])
    standard = rows.standard(rows.summarize())
    centered = (X - np.average(X, axis=0, weights=WEIGHTS["weighted"])) / standard.scale
    B, U = V[:, :width], np.random.default_rng(3).normal(size=(N, width))
    assert_allclose(standard.times(B), centered @ B, atol=1e-9)
    assert_allclose(standard.back(U), centered.T @ (WEIGHTS["weighted"][:, None] * U), atol=1e-8)
    assert_allclose(standard.lengths(), (centered**2).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.3, 3.0, 1e5])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_sums_of_squares_are_centered_before_or_after(offset, weights):
    X = table() * 0.1 + offset
    found = read(X, weights).summarize()
    w = np.ones(N) if weights is None else weights
    assert_allclose(found.squares, w @ (X - np.average(X, axis=0, weights=w)) ** 2, rtol=1e-9)


@dataclass(frozen=True)
class Held:
    """A task that returns an array of its own."""

    ones: np.ndarray

    def __call__(self, block):
        return self.ones


def test_an_answer_that_a_task_holds_is_not_changed(monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    task = Held(np.ones(3))
    assert_array_equal(read(table()).fold(task), np.full(3, 4.0))
    assert_array_equal(task.ones, np.ones(3))


def test_what_is_kept_comes_in_the_order_asked_for():
    kept = Kept(((np.array([4, 9]), (np.array([40, 90]),)), (np.array([2, 7]), (np.array([20, 70]),))))
    assert_array_equal(kept.of_rows(), [20, 40, 70, 90])
    assert_array_equal(kept.of_rows(np.array([9, 2, 4])), [90, 20, 40])
    assert_array_equal(kept.of_rows(np.array([4, 9, 2, 7])), [40, 90, 20, 70])
