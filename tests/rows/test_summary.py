"""Summaries of parts add up to that of the whole, whatever the parts are stored as."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gnomon.rows import read, threads
from gnomon.rows.contract import NotFinite
from gnomon.rows.frames import as_table
from rows.copied import copied_rows


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
        return read(form(X[a:b])).summarize(Y[a:b], np.arange(a, b) % 2, 2, second=True)

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
        if not (sparse and offset > 1e4):  # X'X of sparse rows is centered afterwards
            assert_allclose(a.xx, b.xx, atol=40 * tolerance * (max(1.0, offset) if sparse else 1.0))


def stored_as(X, kind):
    if kind == "frame":
        return read(as_table(pytest.importorskip("pandas").DataFrame(X)))
    return {"dense": read, "sparse": lambda X: read(sp.csr_array(X)), "copied": copied_rows}[kind](X)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "kinds", [("dense",), ("sparse",), ("copied",), ("frame",), ("dense", "sparse", "copied", "frame")]
)
def test_parts_of_any_storage_add_up_in_one_read_each(kinds, masked):
    offset = 10.0 if "sparse" in kinds else 1e8
    rng = np.random.default_rng(3)
    X, Y, weights = rng.normal(size=(40, 3)) + offset, rng.normal(size=(40, 2)), rng.random(40) + 0.5
    if masked:
        X[rng.random(X.shape) < 0.3] = np.nan
        X[19:21, 1] = np.nan  # a part without an entry of a column
        kinds = tuple("copied" if kind == "sparse" else kind for kind in kinds)
    total = None
    for i, (a, b) in enumerate(pairwise([0, 7, 19, 21, 40])):
        rows = stored_as(X[a:b], kinds[i % len(kinds)]).anew(weights=weights[a:b], masked=masked)
        part = rows.summarize(Y[a:b], second=True)
        assert rows.reads == 1
        total = part if total is None else total + part
    w = np.where(np.isnan(X), 0.0, weights[:, None])
    D = np.nan_to_num(X - offset)
    mean = (w * D).sum(axis=0) / w.sum(axis=0)
    D -= mean
    assert_allclose(total.counts, w.sum(axis=0))
    assert_allclose(total.mean - offset + total.mean_low, mean, atol=1e-14 * offset)
    assert_allclose(total.squares, (w * D**2).sum(axis=0), rtol=1e-9)
    assert len(total.groups) == (0 if masked else 1)  # products of incomplete rows are no moments
    for group in total.groups:
        assert_allclose(group.xy, (w * D).T @ Y, rtol=1e-7, atol=1e-7)
        assert_allclose(group.xx, (w * D).T @ D, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("share", [0.1, 0.6], ids=["by_total", "each_alone"])
def test_groups_add_up_however_many_rows_are_outside_the_first(rng, monkeypatch, share, size):
    """Of one table in this process, whatever threads share it; half of the rows of the first group have no outputs."""
    on_threads(monkeypatch, size)
    X, Y, w = rng.normal(size=(60, 3)) + 1.0, rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, 60)
    number = np.where(np.arange(60) < share * 60, 1 + np.arange(60) % 2, 0)
    Y[number == 0] *= (np.arange(60) % 2)[number == 0, None]
    summary = read(X, w).summarize(Y, number, 3, second=True)
    D = (X - w @ X / w.sum()) / summary.scale
    for g, found in enumerate(summary.standard_groups()):
        here = (w * (number == g))[:, None]
        for a, b in ((found.xx, (here * D).T @ D), (found.xy, (here * D).T @ Y), (found.yy, (here * Y).T @ Y)):
            assert_allclose(a, b, rtol=1e-10, atol=1e-11)
        assert_allclose(found.x, (here * D).sum(axis=0), atol=1e-11)
        assert_allclose(found.weight, here.sum())


def on_threads(monkeypatch, size):
    """Let so many threads share any sum over rows."""
    monkeypatch.setattr(threads, "SHARED_WORK", 0)
    monkeypatch.setattr(threads, "n_threads", lambda: size)


def test_what_overflows_on_other_threads_warns_no_one(rng, monkeypatch, recwarn):
    on_threads(monkeypatch, 3)
    X = rng.normal(size=(2000, 3))
    X[1001] = 1e200  # no row of the sample that says whether centering may wait
    with pytest.raises(NotFinite):
        read(X).summarize(second=True).checked()
    assert not len(recwarn)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_rough_moments_are_those_of_single_precision(rng, offset, weighted):
    """Of a large table in float32; one in float64, or without the leave, is exact."""
    X = (rng.normal(size=(70_000, 16)) * np.logspace(-3, 0, 16) + offset * (np.arange(16) % 2)).astype(np.float32)
    Y, w = rng.normal(size=(70_000, 2)), rng.uniform(0.5, 2.0, 70_000) if weighted else None
    number = np.arange(70_000) % 3
    exact = read(X.astype(float), w).summarize(Y, number, 3, second=True)
    rough = read(X, w).summarize(Y, number, 3, second=True, rough=True)
    plain = read(X, w).summarize(Y, number, 3, second=True)
    deviation = np.sqrt(exact.squares / exact.weight)
    assert np.abs((rough.mean - exact.mean) / deviation).max() < 1e-6
    for a, b, c in zip(rough.groups, exact.groups, plain.groups, strict=True):
        size = np.sqrt(np.outer(exact.squares, exact.squares))
        assert np.abs((a.xx - b.xx) / size).max() < 1e-6
        assert np.abs((c.xx - b.xx) / size).max() < 1e-12
        assert np.abs((a.xy - b.xy) / deviation[:, None]).max() < 1e-6 * a.weight
    assert not np.array_equal(rough.squares, plain.squares)


def test_rough_moments_of_float64_and_of_small_tables_are_exact(rng):
    for X in (rng.normal(size=(70_000, 16)), rng.normal(size=(700, 16)).astype(np.float32)):
        rough, plain = (read(X).summarize(second=True, rough=rough).groups[0].xx for rough in (True, False))
        assert np.array_equal(rough, plain)


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_rough_moments_of_extreme_numbers_are_those_of_double_precision(rng, size):
    X = (rng.normal(size=(70_000, 16)) * size).astype(np.float32)
    found = read(X).summarize(second=True, rough=True)
    assert_allclose(found.squares * found.unit**2, ((X - X.astype(float).mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_that_are_all_the_same_have_no_squares_whatever_their_weights(form):
    X = np.full((20, 3), [0.1, 2.5, 1 / 3])
    w = np.linspace(0.1, 1.1, 20)
    found = read(form(X), w).summarize(np.zeros((20, 0)), second=True)
    assert not found.squares.any()
    assert not found.groups[0].xx.any()
    X[0, 0] += 1e-15
    assert read(form(X), w).summarize().squares[0] > 1e-33


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_weights_add_no_rounding_to_stored_columns_far_from_zero(rng, form):
    X, w = rng.normal(size=(40, 3)) + [1e9, 0.0, 1e6], rng.random(40)
    assert_allclose(read(form(X), w).summarize().squares, read(X, w).summarize().squares, rtol=1e-9)
