"""Rows that belong together, as replicates of a sample do, are held out together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from gnomon import SPPCA
from gnomon.selection import compare
from gnomon.selection.comparison import Losses


def replicates(of_classes=True):
    """Three rows of each of 40 samples, of which features say nothing but which sample it is; two thirds labeled."""
    rng = np.random.default_rng(0)
    sample = np.repeat(np.arange(40), 3)
    X = rng.standard_normal((40, 30))[sample] + 0.01 * rng.standard_normal((120, 30))
    y = (rng.permutation(np.arange(40) % 2) if of_classes else rng.standard_normal(40))[sample].astype(float)
    y[sample % 3 == 2] = np.nan
    names = np.array([f"plant {i}" for i in sample], dtype=object)
    return X, y, names


@pytest.mark.parametrize("of_classes", [True, False])
def test_replicates_are_held_out_together(of_classes):
    X, y, names = replicates(of_classes)
    options = {"estimators": {"model": LogisticRegression() if of_classes else SPPCA(2)}, "random_state": 0}
    options |= {"target": "classes" if of_classes else "real"}
    alone, together = compare(X, y, **options), compare(X, y, groups=names, **options)
    told = [row["score"] for row in together.rows if row["score"] is not None]
    assert min(told) > 0.3 if of_classes else max(told) < 0.2  # nothing can be told
    assert alone.rows[-1]["score"] < 0.15 if of_classes else alone.rows[-1]["score"] > 0.7  # but of replicates
    assert (alone.n_groups, together.n_groups) == (0, 27)
    assert "27 groups, of which each was held out as a whole" in together.protocol
    assert together.n_scored == alone.n_scored == 81
    for held in together.held_out:
        assert sorted(set(held["rows"])) == np.flatnonzero(~np.isnan(y)).tolist()


def test_intervals_count_groups():
    rows, values = np.array([0, 1, 2, 4, 5]), np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    weights, groups = np.array([1.0, 1.0, 1.0, 9.0, 2.0, 4.0]), np.array([3, 3, 3, 3, 0, 0])
    losses = Losses([rows], [values], weights, 0.5, groups=groups)
    means, shares = losses.by_row()
    assert_allclose(means, [4.0 / 6.0, 2.0 / 3.0])
    assert_allclose(shares, [6.0 / 9.0, 3.0 / 9.0])
    assert losses.n_scored == 5


def test_groups_of_one_row_change_nothing():
    X, y, _ = replicates()
    options = {"estimators": {"model": LogisticRegression()}, "random_state": 0, "target": "classes"}
    names = [None if i % 2 else i for i in range(len(X))]
    plain, named = (compare(X, y, groups=groups, **options) for groups in (None, names))
    assert [row["score"] for row in plain.rows] == [row["score"] for row in named.rows]
    assert plain.protocol == named.protocol


def test_groups_must_be_as_many_as_rows():
    X, y, names = replicates()
    with pytest.raises(ValueError, match="groups has 119 entries and X 120 rows; give one for each row"):
        compare(X, y, groups=names[1:], random_state=0, target="classes")


def test_one_group_of_each_class_cannot_be_held_out():
    X, y, _ = replicates()
    with pytest.raises(ValueError, match="one labeled group of rows in each class"):
        compare(X, y, groups=np.nan_to_num(y, nan=2.0), random_state=0, target="classes")
