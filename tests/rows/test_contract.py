"""The contract of rows: every storage equals the dense formulas, and answers merge exactly."""

import pickle
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import namespace
from gnomon.rows.contract import Kept, NotFinite, Step
from gnomon.rows.read import read
from rows.copied import CopiedRows, CopiedSparseRows, ForkedRows

N, P = 53, 7
Y = np.random.default_rng(2).normal(size=(N, 2)) * (np.arange(N) % 4 > 0)[:, None]
V = np.random.default_rng(1).normal(size=(P, 3))
SOME = np.array([40, 3, 17, 18, 50, 0])
GROUP = np.arange(N) % 3
WEIGHTS = {"plain": None, "weighted": np.random.default_rng(5).integers(1, 4, N).astype(float)}


def table(seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 12, size=(N, P)) * (rng.random((N, P)) < 0.4) * 1.0


STORAGES = {
    "c": read,
    "fortran": lambda X, w: read(np.asfortranarray(X), w),
    "float32": lambda X, w: read(X.astype(np.float32), w),
    "int": lambda X, w: read(X.astype(np.int64), w),
    "csr": lambda X, w: read(sp.csr_array(X), w),
    "csc": lambda X, w: read(sp.csc_matrix(X), w),
    "coo": lambda X, w: read(sp.coo_array(X), w),
    "strict": lambda X, w: read(array_api_strict.asarray(X), w),
    "copied": CopiedRows,
    "copied_csr": lambda X, w: CopiedSparseRows(sp.csr_array(X), w),
}


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


@pytest.fixture(params=STORAGES)
def make(request):
    return STORAGES[request.param]


@pytest.fixture(params=WEIGHTS)
def weights(request):
    return WEIGHTS[request.param]


@pytest.fixture(params=[False, True])
def rows(request, make, weights, monkeypatch):
    if request.param:
        monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)
    return make(table(), weights)


@pytest.fixture
def standard(rows):
    return rows.standard(rows.summarise())


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
        found = rows.summarise(Y, GROUP, 3, second=True)
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
        assert_allclose(rows.reads - before, len(SOME) / N)

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

    def test_coordinates_span_the_rows(self, standard, dense):
        found = standard.coordinates()
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
        rows.standard(rows.summarise()).sweep(V, Smuggler(seen))
        assert np.isfinite(seen).all() == arrives


def test_a_closure_does_not_travel():
    rows = CopiedRows(table(), None)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        rows.standard(rows.summarise()).sweep(V, lambda view: Step())


def with_gaps(seed=0):
    rng = np.random.default_rng(seed)
    X = table()
    X[rng.random((N, P)) < 0.2] = np.nan
    X[30:] = np.where(np.isnan(X[29]), np.nan, np.nan_to_num(X[30:]))  # many rows that miss the same
    return X


@dataclass(frozen=True)
class MaskStep:
    """A step over rows that miss entries."""

    def __call__(self, view):
        shift = view.mask.by_row(view.mask.T)
        U = view.T - shift[:, :3]
        ones = np.ones((len(view.at), 1))
        return Step(
            view.weights[:, None] * U,
            float(view.weights @ view.aligned["seen"]),
            Kept.of(view, U, view.mask.by_row(view.mask.T)),
            U_mask=view.mask.sums(np.hstack([ones, view.T]), view.weights),
        )


@pytest.mark.parametrize("block", [1, 1 << 19])
@pytest.mark.parametrize("split", [None, "half"])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("form", [read, lambda X, w, **k: read(array_api_strict.asarray(X), w, **k), CopiedRows])
def test_rows_that_miss_entries(form, weights, split, block, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", block)
    X, w = with_gaps(), np.ones(N) if weights is None else weights
    rows = form(X, weights, masked=True)
    standard = rows.standard(rows.summarise()).with_columns(half=np.arange(N) % 2)
    seen = ~np.isnan(X)
    mean = np.array([np.average(X[o, j], weights=w[o]) for j, o in enumerate(seen.T)])
    C = np.where(seen, X - mean, 0.0)
    scale = np.sqrt(w @ (C**2).sum(axis=1) / (w @ seen).sum())
    C /= scale
    assert_allclose(standard.mean, mean, rtol=1e-12)
    assert_allclose(standard.scale, scale, rtol=1e-12)
    assert_allclose(standard.observed_weight, w @ seen)
    assert standard.energy == standard.n_entries == (w @ seen).sum()
    V_mask = np.arange(4.0 * P).reshape(P, 4)
    found = standard.sweep(V, MaskStep(), V_mask=V_mask, split=split)
    U, M = C @ V - (seen @ V_mask)[:, :3], seen.astype(float)
    assert_allclose(found.kept.of_rows()[0], U, atol=1e-10)
    assert_allclose(found.kept.of_rows()[1], M @ V_mask, atol=1e-10)
    assert_allclose(found.product, C.T @ (w[:, None] * U), atol=1e-8)
    assert_allclose(found.mask_product, M.T @ (w[:, None] * np.hstack([np.ones((N, 1)), C @ V])), atol=1e-9)
    assert found.sums == (w @ seen).sum()
    assert_allclose(standard.gram_product(V), C.T @ (w[:, None] * (C @ V)), atol=1e-9)
    assert rows.reads == 4


def exact(X):
    """Mean, squares and X'X about the mean by fractions."""
    columns = [[Fraction(float(x)) for x in column] for column in X.T]
    means = [sum(column) / len(column) for column in columns]
    squares = [float(sum((x - m) ** 2 for x in column)) for column, m in zip(columns, means, strict=True)]
    return np.array([float(m) for m in means]), np.array(squares)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    offset=st.sampled_from([0.0, 1.0, 1e4, 1e8]),
    size=st.sampled_from([2.0**-330, 1.0, 2.0**330]),
    cuts=st.lists(st.integers(1, 39), max_size=4, unique=True),
    sparse=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_summaries_merge_to_the_whole(offset, size, cuts, sparse, seed):
    rng = np.random.default_rng(seed)
    X, Y = (rng.normal(size=(40, 3)) + offset) * size, rng.normal(size=(40, 2))
    edges = [0, *sorted(cuts), 40]
    form = sp.csr_array if sparse else np.asarray

    def summary(a, b):
        return read(form(X[a:b])).summarise(Y[a:b], np.arange(a, b) % 2, 2, second=True)

    whole, merged = summary(0, 40), None
    for a, b in pairwise(edges):
        merged = summary(a, b) if merged is None else merged + summary(a, b)
    mean, squares = exact(X / size)
    tolerance = 1e-12 if not sparse else 1e-12 * max(1.0, offset)
    for found in (whole, merged):
        assert_allclose(found.mean / size, mean, rtol=1e-15, atol=1e-15)
        assert_allclose(found.squares * (found.unit / size) ** 2, squares, rtol=tolerance)
    for a, b in zip(whole.standard_groups(), merged.standard_groups(), strict=True):
        for left, right in ((a.x, b.x), (a.xy, b.xy)):
            assert_allclose(left, right, atol=40 * tolerance)
        if not (sparse and offset > 1e4):  # X'X of sparse rows is centred afterwards
            assert_allclose(a.xx, b.xx, atol=40 * tolerance * (max(1.0, offset) if sparse else 1.0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("second", [False, True])
def test_what_is_not_finite_shows_in_the_first_read(bad, offset, second):
    X = table() + offset
    X[17, 3] = bad
    with pytest.raises(NotFinite, match="missing, infinite or too large"):
        read(X).summarise(np.zeros((N, 1)), second=second)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_standard_units_do_not_depend_on_the_magnitude(form, size):
    reference, scaled = read(table()), read(form(table() * size))
    a, b = (rows.summarise(Y, second=True) for rows in (reference, scaled))
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
        standard = rows.standard(rows.summarise())
        assert standard.scale == scale
        assert standard.energy == 0.0
        assert not standard.gram_product(V[:3]).any()


def test_rows_in_other_processes():
    here, there = (make(table(), None) for make in (read, ForkedRows))
    a, b = (rows.standard(rows.summarise(Y)).with_columns(y=Y).sweep(V, Bend(), aligned=True) for rows in (here, there))
    assert_allclose(b.product, a.product, rtol=1e-12)
    assert_allclose(b.kept.of_rows(), a.kept.of_rows(), rtol=1e-12)
    assert_allclose(b.rows.rows.gather("U"), a.rows.rows.gather("U"), rtol=1e-12)


def test_derived_rows_count_their_reads_together():
    rows = read(table())
    standard = rows.standard(rows.summarise())
    standard.with_columns(y=Y).measured().times(V)
    assert rows.reads == 3
    assert_array_equal(standard.project(V).gather().shape, (N, 3))
    assert rows.reads == 4
