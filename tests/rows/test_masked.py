"""Rows with missing entries: sums over what is observed are the dense formulas, wherever the rows are kept."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import namespace, read
from gnomon.rows.contract import Kept, Step
from gnomon.rows.entries import MaskedEntries
from gnomon.rows.masked import column_range, filled, look
from namespaces import WITH_TORCH, get, put
from rows.copied import copied_rows

N, P = 90, 53  # more columns than the bits of one packed number
rng = np.random.default_rng(0)
V, V_MASK = rng.normal(size=(P, 3)), rng.normal(size=(P, 2))
LIBRARIES = ["numpy", "copied", "strict", "no_float64", pytest.param("torch", marks=WITH_TORCH)]
KINDS = ["repeated", "distinct", "both"]


def table(kind):
    generator = np.random.default_rng(1)
    X = np.round(4 * generator.normal(size=(N, P)) + generator.normal(size=P), 1)
    lost = generator.random((N, P)) < 0.3
    few = lost[np.arange(N) % 4]
    few[:, 50] |= np.arange(N) % 8 > 3  # differs in one late column only
    lost = {"repeated": few, "distinct": lost, "both": np.where(np.arange(N)[:, None] < N // 2, few, lost)}[kind]
    lost[:3] = False
    lost[7] = True
    X[lost] = np.nan
    return X.astype(np.float32).astype(np.float64)


def stored(X, library):
    if library == "no_float64":
        return put(X.astype(np.float32), "strict", "no_float64")
    return X if library in ("numpy", "copied") else put(X, library)


def rows_of(X, library, weights=None):
    return (copied_rows if library == "copied" else read)(stored(X, library), weights, masked=True)


@dataclass(frozen=True)
class Bend:
    """A step that uses every part of a view."""

    def __call__(self, view):
        of_mask, w = view.mask.by_row(view.mask.T), view.weights
        U = np.tanh(view.T) + of_mask[:, :1]
        sums = (view.T.sum(axis=0), w @ of_mask, w @ view.aligned["seen"], w @ view.aligned["length"])
        kept = Kept.of(view, view.T, of_mask)
        return Step(U * w[:, None], sums, kept, view.mask.sums(np.hstack([U, of_mask]), w))


@pytest.fixture(params=[1 << 19, 1], ids=["one_block", "small_blocks"])
def entries(request, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", request.param)


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sweep_is_the_dense_formula(kind, library, weighted):
    X = table(kind)
    w = np.random.default_rng(2).integers(1, 4, N).astype(float) if weighted else np.ones(N)
    rows = rows_of(X, library, w if weighted else None)
    standard = rows.standard(rows.summarize())
    tol = 1e-5 if library == "no_float64" else 1e-11
    M = (~np.isnan(X)).astype(float)
    mean = w @ np.nan_to_num(X) / (w @ M)
    D = np.where(M > 0, X - mean, 0.0)
    scale = np.sqrt(w @ (D**2).sum(axis=1) / (w @ M).sum())
    assert_allclose(standard.mean, mean, rtol=tol, atol=tol)
    assert_allclose(standard.scale, scale, rtol=tol)
    assert_allclose(standard.observed_weight, w @ M)
    assert standard.energy == standard.n_entries == (w @ M).sum()
    D /= scale
    for split in (None, "third"):
        U = np.tanh(D @ V) + M @ V_MASK[:, :1]
        wanted = (D.T @ (w[:, None] * U), M.T @ (w[:, None] * np.hstack([U, M @ V_MASK])))
        sums = ((D @ V).sum(axis=0), w @ M @ V_MASK, (w @ M).sum(), w @ (D**2).sum(axis=1))
        found = standard.with_columns(third=np.arange(N) % 3).sweep(V, Bend(), V_mask=V_MASK, split=split)
        mine = [found.product, found.mask_product, *found.sums, *found.kept.of_rows()]
        for one, other in zip(mine, [*wanted, *sums, D @ V, M @ V_MASK], strict=True):
            assert_allclose(one, other, rtol=tol, atol=tol * 100)
    assert_allclose(standard.gram_product(V), (D * w[:, None]).T @ D @ V, rtol=tol, atol=tol * 1000)
    assert rows.reads == 5


@dataclass(frozen=True)
class Names:
    """Which row stands for the pattern of every row."""

    def __call__(self, view):
        return Step(keep=Kept.of(view, view.at[view.mask.first][view.mask.of_row]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_patterns_are_the_distinct_masks(library):
    X, labels = table("repeated"), np.arange(N) % 3
    rows = rows_of(X, library)
    rows = rows.standard(rows.summarize()).with_columns(label=labels)
    names = rows.sweep(None, Names()).kept.of_rows()
    if library != "copied":  # these come in blocks, of which each has its own patterns
        assert len(np.unique(names)) == len(np.unique(np.isnan(X), axis=0)) < 12
    assert_array_equal(np.isnan(X)[names], np.isnan(X))
    names = rows.sweep(None, Names(), split="label").kept.of_rows()
    assert_array_equal(labels[names], labels)
    assert_array_equal(np.isnan(X)[names], np.isnan(X))


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_column_tells_patterns_apart(library):
    one = np.where(np.tile(np.eye(P), (2, 1)) == 1, np.nan, 0.5)  # each column is missing in two rows
    each = MaskedEntries(stored(one, library), np.zeros(P), 1.0).patterns()
    assert_array_equal(each.of_row[:P], each.of_row[P:])
    assert len(each.first) == P
    assert not MaskedEntries(stored(table("distinct"), library), np.zeros(P), 1.0).patterns().repeated


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_missing_is_found_and_filled(library, monkeypatch):
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X = table("both")
    X[:, 11], X[:, 12] = np.nan, 2.5
    Z, components = np.random.default_rng(3).normal(size=(N, 2)), V[:, :2].T
    rows = rows_of(X, library)
    found = rows.fold(column_range)
    assert_array_equal(np.isnan(found.low), np.arange(P) == 11)
    assert_array_equal(found.low, np.fmin.reduce(X, axis=0))
    assert_array_equal(found.high, np.fmax.reduce(X, axis=0))
    assert look(rows).missing
    assert read(stored(X, library), masked=None).masked
    assert not look(read(stored(np.ones((5, 2)), library))).missing
    out = filled(rows, np.ones(P), Z, components).gather()
    assert out.dtype == stored(X, library).dtype
    assert_allclose(get(out), np.where(np.isnan(X), 1.0 + Z @ components, X), rtol=1e-5)
