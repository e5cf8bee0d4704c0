import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.graphs import neighbors
from gnomon.graphs.screen import few_points, screen_of


def points(kind, m=400, p=20):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((m, p))
    return {
        "plain": X,
        "far from the origin": X + 1e4,
        "clusters": 1e3 * rng.standard_normal((8, p))[np.arange(m) % 8] + X,
        "nearly the same": np.repeat(X[:20], 20, axis=0) * (1.0 + 1e-9 * np.arange(m)[:, None]),
        "whole numbers": rng.integers(0, 3, size=(m, p)).astype(float),
        "huge": 1e150 * X,
        "tiny": 1e-150 * X,
        "one column": X[:, :1],
    }[kind]


KINDS = ("plain", "far from the origin", "clusters", "nearly the same", "whole numbers", "huge", "tiny", "one column")


@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_are_those_of_all_distances(monkeypatch, kind):
    X = points(kind)
    wanted = neighbors.nearest(X[::3], X, 5)
    monkeypatch.setattr(neighbors, "MANY", 100)
    found = neighbors.nearest(X[::3], X, 5)
    used = (wanted.share > 0).sum(axis=1).max()
    assert not found.share[:, used:].any()
    assert_array_equal((found.share[:, :used] > 0).sum(axis=1), (wanted.share > 0).sum(axis=1))
    for i, (share, other) in enumerate(zip(found.share, wanted.share, strict=True)):
        ours = dict(zip(found.indices[i, share > 0], share[share > 0], strict=True))
        theirs = dict(zip(wanted.indices[i, other > 0], other[other > 0], strict=True))
        assert ours == pytest.approx(theirs)
    largest = np.abs(X - X.mean(axis=0)).max() ** 2
    assert_allclose(found.squared[:, :5], wanted.squared[:, :5], rtol=1e-6, atol=1e-9 * largest)


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_point_is_nearer_than_is_said(kind):
    X = points(kind)
    screen = screen_of(X)
    near, bound = few_points(screen, X, 10)
    unit = np.abs(X).max()
    squared = (((X[:, None] - X[None]) / unit) ** 2).sum(axis=2)
    told = np.flatnonzero(bound > -np.inf)
    np.put_along_axis(squared, near, np.inf, axis=1)
    assert (squared.min(axis=1)[told] >= bound[told] / unit / unit).all()
    if kind in ("plain", "far from the origin", "huge", "tiny"):
        assert len(told) == len(X)


def test_points_that_do_not_differ_have_no_screen():
    assert screen_of(np.ones((5, 3))) is None
