"""suggest_labels: rows by their numbers, of the fit or of a table, whatever holds them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import SPPCA, GuidedProjection
from gnomon.export import load_model, save_model
from gnomon.selection import suggest_labels

X, Y = load_iris(return_X_y=True)
SEEN = np.where(np.arange(150) % 50 < 2, Y, -1)


@pytest.fixture(scope="module")
def model():
    return GuidedProjection().fit(X, SEEN)


def test_rows_of_the_fit_are_those_without_a_label(model):
    rows = suggest_labels(model, 7)
    assert len(set(rows.tolist())) == 7
    assert (SEEN[rows] == -1).all()


def test_the_rows_of_the_fit_may_be_given_again(model):
    unlabeled = np.flatnonzero(SEEN == -1)
    again = unlabeled[suggest_labels(model, 7, X[unlabeled])]
    np.testing.assert_array_equal(again, suggest_labels(model, 7))
    np.testing.assert_array_equal(model.describe().suggest(7, X, unlabeled), again)


def test_a_pipeline_and_a_model_file_say_the_same(model, tmp_path):
    pipeline = make_pipeline(StandardScaler(), GuidedProjection()).fit(X, SEEN)
    inner = suggest_labels(pipeline[-1], 5, pipeline[0].transform(X[10:40]))
    np.testing.assert_array_equal(suggest_labels(pipeline, 5, X[10:40]), inner)
    save_model(model, tmp_path / "m.gnomon")
    np.testing.assert_array_equal(suggest_labels(load_model(tmp_path / "m.gnomon"), 5), suggest_labels(model, 5))


@pytest.mark.parametrize("case", ["several", "mixed", "missing", "sparse"])
def test_any_table(case):
    y, rows = SEEN, X.copy()
    if case == "several":
        y = np.column_stack([SEEN, np.where(SEEN >= 0, SEEN > 0, -1)])
    if case == "mixed":
        y = np.column_stack([SEEN.astype(object), np.where(SEEN >= 0, X[:, 0], np.nan).astype(object)])
    if case == "missing":
        rows[::3, 1] = np.nan
    rows = sp.csr_array(rows) if case == "sparse" else rows
    found = suggest_labels(GuidedProjection().fit(rows, y), 4)
    assert len(found) == 4
    assert (SEEN[found] == -1).all()


def test_bad_input_is_refused(model):
    with pytest.raises(ValueError, match="n == 0"):
        suggest_labels(model, 0)
    with pytest.raises(TypeError, match="n must be"):
        suggest_labels(model, 2.5)
    with pytest.raises(TypeError, match="SPPCA suggests no rows"):
        suggest_labels(SPPCA(2).fit(X, SEEN), 3)
    with pytest.raises(ValueError, match="features"):
        suggest_labels(model, 3, X[:, :2])
