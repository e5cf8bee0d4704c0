"""Rows with missing entries: sums over what is observed are the dense formulas, wherever the rows are kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows import MaskedRows, namespace
from gnomon.rows.masked import column_range, filled, incomplete_rows, masked_products
from namespaces import WITH_TORCH, get, put

N, P = 90, 53  # more columns than the bits of one packed number
rng = np.random.default_rng(0)
V, V_MASK = rng.normal(size=(P, 3)), rng.normal(size=(P, 2))
LIBRARIES = ["numpy", "strict", "no_float64", pytest.param("torch", marks=WITH_TORCH)]
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
    return X if library == "numpy" else put(X, library)


def bend(block):
    """A step that uses every part of a block."""
    of_mask = block.patterns.by_row(block.TM)
    U = np.tanh(block.T) + of_mask[:, :1]
    return U, block.sums(np.hstack([U, of_mask])), (block.T.sum(axis=0), block.weights @ of_mask)


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
    source = MaskedRows(stored(X, library), w if weighted else None)
    tol = 1e-5 if library == "no_float64" else 1e-11
    M = (~np.isnan(X)).astype(float)
    mean = w @ np.nan_to_num(X) / (w @ M)
    D = np.where(M > 0, X - mean, 0.0)
    scale = np.sqrt(w @ (D**2).sum(axis=1) / (w @ M).sum())
    assert_allclose(source.mean, mean, rtol=tol, atol=tol)
    assert_allclose(source.scale, scale, rtol=tol)
    assert_allclose(source.observed_weight, w @ M)
    assert_allclose(source.energy, source.n_entries, rtol=tol)
    labels = np.arange(N) % 3
    for patterns in (None, source.split_patterns(labels)):
        U = np.tanh(D @ V / scale) + M @ V_MASK[:, :1]
        wanted = (D.T / scale @ (w[:, None] * U), M.T @ (w[:, None] * np.hstack([U, M @ V_MASK])))
        *found, stats = source.sweep(V, V_MASK, bend, patterns)
        for mine, other in zip([*found, *stats], [*wanted, (D @ V / scale).sum(axis=0), w @ M @ V_MASK], strict=True):
            assert_allclose(mine, other, rtol=tol, atol=tol * 100)
    assert_allclose(source.gram_product(V), (D * w[:, None]).T @ D @ V / scale**2, rtol=tol, atol=tol * 1000)


@pytest.mark.parametrize("library", LIBRARIES)
def test_patterns_are_the_distinct_masks(library):
    X = table("repeated")
    source = MaskedRows(stored(X, library))
    (patterns,) = source.patterns
    assert len(patterns.first) == len(np.unique(np.isnan(X), axis=0)) < 12
    assert_array_equal(np.isnan(X)[patterns.first][patterns.of_row], np.isnan(X))
    labels = np.arange(N) % 3
    (split,) = source.split_patterns(labels)
    assert_array_equal(labels[split.first][split.of_row], labels)
    assert_array_equal(np.isnan(X)[split.first][split.of_row], np.isnan(X))
    one = np.where(np.tile(np.eye(P), (2, 1)) == 1, np.nan, 0.5)  # each column is missing in two rows
    (each,) = MaskedRows(stored(one, library)).patterns
    assert_array_equal(each.of_row[:P], each.of_row[P:])
    assert len(each.first) == P
    (single,) = MaskedRows(stored(table("distinct"), library)).patterns
    assert not single.repeated


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [None, np.arange(60) % 2])
def test_products_of_new_rows(kind, library, labels):
    X, rows = table(kind), np.arange(60)[::-1]
    mean, tol = np.linspace(0, 1, P), 1e-5 if library == "no_float64" else 1e-11
    found = masked_products(stored(X, library), rows, mean, 2.0, V, V_MASK, labels)
    D, M = np.nan_to_num((X[rows] - mean) / 2), (~np.isnan(X[rows])).astype(float)
    assert_allclose(found.T, D @ V, rtol=tol, atol=tol * 10)
    assert_allclose(found.patterns.by_row(found.TM), M @ V_MASK, rtol=tol, atol=tol * 10)
    assert_allclose(found.energy, (D**2).sum(axis=1), rtol=tol)
    assert_array_equal(found.n_observed, M.sum(axis=1))


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_missing_is_found_and_filled(library, monkeypatch):
    monkeypatch.setattr(namespace, "DEVICE_BLOCKS", 1)
    X = table("both")
    X[:, 11], X[:, 12] = np.nan, 2.5
    Z, components = np.random.default_rng(3).normal(size=(N, 2)), V[:, :2].T
    lowest, highest = column_range(stored(X, library))
    assert_array_equal(np.isnan(lowest), np.arange(P) == 11)
    assert_array_equal(lowest, np.fmin.reduce(X, axis=0))
    assert_array_equal(highest, np.fmax.reduce(X, axis=0))
    assert_array_equal(incomplete_rows(stored(X, library)), np.flatnonzero(np.isnan(X).any(axis=1)))
    assert len(incomplete_rows(stored(np.ones((5, 2)), library))) == 0
    if library != "numpy":
        out = filled(stored(X, library), np.ones(P), Z, components)
        assert out.dtype == stored(X, library).dtype
        assert_allclose(get(out), np.where(np.isnan(X), 1.0 + Z @ components, X), rtol=1e-5)
