"""Class variables of latents, read one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import IFA, PPCA
from gnomon.describe import describe
from gnomon.plotting import ProjectionDisplay
from gnomon.selection import compare


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(1)
    ids = np.column_stack([rng.integers(0, 2, 150), rng.integers(0, 3, 150)])
    Z = rng.normal(size=(150, 4))
    Z[:, :2] += 5.0 * ids
    known = np.where(rng.random(ids.shape) < 0.3, ids, -1)
    X = Z @ rng.normal(size=(4, 4))
    return X, ids, known, IFA().fit(X, known)


def test_labels_and_predictions_are_those_of_the_column(planted):
    X, _, known, model = planted
    said = describe(model)
    for s, (target, found) in enumerate(zip(said.targets, said.predict(X), strict=True)):
        assert_array_equal(found.values, model.predict(X)[:, s])
        assert_allclose(found.proba, model.predict_proba(X)[s])
        assert_array_equal(target.codes(known), known[:, s])
        assert_array_equal(target.codes(np.where(known < 0, np.nan, known)), known[:, s])


def test_rows_count_as_labeled_with_a_label_of_any_variable(planted):
    X, _, known, model = planted
    any_label = (known >= 0).any(axis=1)
    said = describe(model)
    assert said.n_labeled == any_label.sum()
    assert_array_equal(said.labeled(known, 150), any_label)
    assert_array_equal(said.labeled(np.where(known < 0, np.nan, known), 150), any_label)
    soft = IFA().fit(X, plausibilities=[np.where(np.arange(150)[:, None] < 7, [1.0, 0.4], 1.0)])
    assert describe(soft).n_labeled == 7


def test_models_without_class_variables_have_none(planted):
    X, _, known, _ = planted
    assert describe(PPCA(2).fit(X)).targets == ()
    assert describe(IFA().fit(X)).targets == ()
    assert len(describe(IFA(tied=True).fit(X, known[:, 1])).targets) == 1


def test_the_display_colors_by_one_of_them(planted):
    X, _, known, model = planted
    display = ProjectionDisplay.from_estimator(model, X, known, output=1)
    assert display.class_names == ["0", "1", "2"]
    assert_array_equal(display.values, np.where(known[:, 1] >= 0, known[:, 1], model.predict(X)[:, 1]))
    assert_array_equal(display.labeled, known[:, 1] >= 0)


def test_one_class_variable_is_compared(planted):
    X, ids, known, _ = planted
    found = compare(X, known[:, 1], estimators={"IFA": IFA()}, y_true=ids[:, 1], n_components=2, random_state=0)
    hidden = known[:, 1] < 0
    error = (IFA().fit(X, known[:, 1]).predict(X) != ids[:, 1])[hidden].mean()
    assert found.rows[0]["prediction"] == pytest.approx(error)
