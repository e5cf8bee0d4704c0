"""Moments of tables of other libraries, taken where they are, beside the formulas and beside those of NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.rows.device_moments import device_summary
from gnomon.rows.local import LocalRows
from gnomon.rows.raw_moments import SAMPLE
from namespaces import LIBRARIES, get, put

N, P = 9_000, 5  # more rows than are added up in single precision at once


def table(seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) * [1, 2, 3, 0.5, 1] + offset
    Y = rng.normal(size=(N, 2)) * (np.arange(N) % 5 == 0)[:, None]
    return X, Y, rng.random(N) + 0.5


def of_groups(few):
    """One group; most rows in the first of three; or few of them there."""
    if few is None:
        return None, 1
    return np.where(np.arange(N) % 7 < (2 if few else 6), 0, np.arange(N) % 3), 3


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("few", [None, False, True])
@pytest.mark.parametrize("second", [False, True])
def test_sums_are_those_of_the_definition(library, weighted, few, second):
    X, Y, weights = table()
    group, n_groups = of_groups(few)
    found = device_summary(put(X, library), weights if weighted else None, Y, group, n_groups, second, False)
    w = weights if weighted else np.ones(N)
    mean = w @ X / w.sum()
    C = X - mean
    assert_allclose(found.weight, w.sum(), rtol=1e-13)
    assert_allclose(found.mean, mean, rtol=1e-13)
    assert_allclose(found.squares, w @ C**2, rtol=1e-12)
    assert found.largest >= np.abs(X).max()
    assert len(found.groups) == n_groups
    for g, sums in enumerate(found.groups):
        here = slice(None) if group is None else group == g
        wC, wY = C[here] * w[here, None], Y[here] * w[here, None]
        assert_allclose(sums.weight, w[here].sum(), rtol=1e-13)
        assert_allclose(sums.x, wC.sum(axis=0), atol=1e-9)
        assert_allclose(sums.y, wY.sum(axis=0), atol=1e-10)
        assert_allclose(sums.xy, C[here].T @ wY, atol=1e-9)
        assert_allclose(sums.yy, Y[here].T @ wY, atol=1e-9)
        if second:
            assert_allclose(sums.xx, C[here].T @ wC, rtol=1e-12, atol=1e-8)
        else:
            assert sums.xx is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_outputs_and_second_moments_there_are_no_groups(library):
    X, *_ = table()
    assert device_summary(put(X, library), None, None, None, 1, False, False).groups == ()
    (group,) = device_summary(put(X, library), None, None, None, 1, True, False).groups
    assert group.y.shape == (0,)


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_products_are_summed_in_double(library):
    X, Y, _ = table(offset=0.5)
    X = X.astype(np.float32)
    found = device_summary(put(X, library), None, Y, None, 1, True, True)
    wanted = LocalRows(X).summarize(Y, second=True)
    assert (np.abs(found.mean - wanted.mean) < 1e-6 * np.sqrt(wanted.squares / N)).all()
    size = np.sqrt(np.outer(wanted.squares, wanted.squares))
    assert (np.abs(found.groups[0].xx - wanted.groups[0].xx) < 2e-6 * size).all()
    assert not np.array_equal(found.groups[0].xx, wanted.groups[0].xx)


def with_entry(row, column, value):
    def change(X):
        X[row, column] = value
        return X

    return change


NOT_OURS = {
    "missing where the sample looks": with_entry(0, 2, np.nan),
    "missing elsewhere": with_entry(11, 0, np.nan),
    "infinite": with_entry(N - 1, 1, np.inf),
    "extreme": lambda X: X * 1e200,
    "unlike the sample": lambda X: X + np.where(np.arange(N) % (N // SAMPLE) == 0, 1e3, 0.0)[:, None],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("what", NOT_OURS)
def test_rows_that_need_another_way_are_told(library, what):
    X, Y, _ = table()
    assert device_summary(put(NOT_OURS[what](X), library), None, Y, None, 1, True, False) is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_of_no_group_are_left_to_another_way(library):
    X, Y, _ = table()
    group = np.where(np.arange(N) == 5, -1, 0)
    assert device_summary(put(X, library), None, Y, group, 1, True, False) is None


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("what", ["plain", "unlike the sample"])
def test_a_read_is_counted_once_whichever_way_it_goes(library, what):
    X, Y, _ = table()
    X = NOT_OURS.get(what, np.asarray)(X)
    rows = LocalRows(put(X, library))
    found, wanted = rows.summarize(Y, second=True), LocalRows(X).summarize(Y, second=True)
    assert rows.reads == 1.0
    assert_allclose(found.squares, wanted.squares, rtol=1e-11)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_more_than_sums_comes_to_the_host(library, monkeypatch):
    from gnomon.rows import device_moments

    moved, plain = [], device_moments.host_double

    def record(A):
        moved.append(tuple(A.shape))
        return plain(A)

    monkeypatch.setattr(device_moments, "host_double", record)
    X, *_ = table()
    stored = put(X, library)
    device_summary(stored, None, None, None, 1, True, False)
    assert sorted(moved) == [(P,), (P,), (P, P)]
    assert_array_equal(get(stored), X)
