"""What a comparison keeps of rows held out: each labeled row once, by a fit that had not seen its label."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from gnomon import PPCA, SPPCA
from gnomon.selection import compare
from gnomon.selection.scoring import Problem


def test_what_the_first_model_says_of_rows_held_out_is_kept():
    """Each labeled row once, by the fit of a split that hid it, again by hand."""
    X, y = load_wine(return_X_y=True)
    X, seen = scale(X), np.where(np.arange(178) % 8 == 0, y, -1)
    result = compare(X, seen, estimators={"SPPCA": SPPCA(2), "PPCA": PPCA(2)}, n_splits=5, random_state=0)
    (found,) = result.held_out
    assert (found["method"], found["classes"]) == ("SPPCA", ["0", "1", "2"])
    assert found["rows"] == np.flatnonzero(seen >= 0).tolist()
    assert_array_equal(found["truth"], seen[found["rows"]])
    rng = np.random.RandomState(0)
    rng.randint(2**31 - 1)
    problem = Problem(seen, 178, None, target="auto", unlabeled="auto", several="one")
    for visible, rows in problem.splits(5, rng):
        model = SPPCA(2).fit(X, np.where(np.isfinite(visible[:, 0]), seen, -1))
        place = np.searchsorted(found["rows"], rows)
        assert_array_equal(np.array(found["predicted"])[place], model.predict(X[rows]))
        assert_allclose(np.array(found["doubt"])[place], model.predict_proba(X[rows]).max(axis=1), rtol=1e-6)
    assert compare(X, seen, y_true=y, estimators={"SPPCA": SPPCA(2)}, random_state=0).held_out is None
    other = compare(X, seen, estimators={"logistic": LogisticRegression()}, n_splits=3, random_state=0).held_out
    assert other[0]["doubt"] is None


def test_of_numbers_held_out_only_measured_ones_are_kept():
    X, y = load_diabetes(return_X_y=True)
    Y = np.where(np.arange(442)[:, None] % [8, 16] > 0, np.nan, np.column_stack([y, 100.0 * X[:, 0]]))
    first, second = compare(X[:, 1:], Y, estimators={"SPPCA": SPPCA(2)}, n_splits=3, random_state=0).held_out
    assert (len(first["rows"]), len(second["rows"])) == (56, 28)
    assert_array_equal(second["truth"], Y[second["rows"], 1])
    assert min(first["doubt"]) > 0.0
    assert np.corrcoef(first["predicted"], first["truth"])[0, 1] > 0.4
