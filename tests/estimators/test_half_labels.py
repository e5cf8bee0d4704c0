"""How sure IFA is: as sure as it is right, by fits to half of the labels; the recipe typed a row at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import IFA
from gnomon.datasets import make_partial
from gnomon.estimators._half_labels import calibration_by_halves
from gnomon.likelihoods.calibration import Voice, averaged, calibrate
from gnomon.rows import read


def heavy(rng, n=400, C=3):
    """Classes of heavy tails in five columns, which Gaussian components name too surely."""
    y = rng.integers(0, C, n)
    centers = 1.2 * rng.normal(size=(C, 5))
    return centers[y] + rng.standard_t(2.5, size=(n, 5)), y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_confidence_comes_near_accuracy(rng):
    gaps = {"full": [], "plug-in": []}
    losses = {"full": [], "plug-in": []}
    for _ in range(6):
        X, y = heavy(rng)
        seen = make_partial(y, n_per_class=3, random_state=rng)
        rest = seen < 0
        for how, found in gaps.items():
            P = IFA(3, tied=True, uncertainty=how).fit(X, seen).predict_proba(X[rest])
            found.append(P.max(axis=1).mean() - (P.argmax(axis=1) == y[rest]).mean())
            losses[how].append(-np.log(np.maximum(P[np.arange(len(P)), y[rest]], 1e-6)).mean())
    assert abs(np.mean(gaps["full"])) < 0.5 * abs(np.mean(gaps["plug-in"]))
    assert np.mean(losses["full"]) < 0.7 * np.mean(losses["plug-in"])


def test_classes_are_those_of_the_model_itself(rng):
    X, y = heavy(rng)
    seen = make_partial(y, n_per_class=5, random_state=rng)
    full, plain = (IFA(3, tied=True, uncertainty=how).fit(X, seen) for how in ("full", "plug-in"))
    assert plain.calibration_ is None
    assert full.calibration_["n_held_out"] == 15
    assert_array_equal(full.predict(X), plain.predict(X))
    assert_array_equal(full.transform(X), plain.transform(X))
    odds = np.log(np.maximum(plain.predict_proba(X), 1e-300)) / full.calibration_["temperatures"][0]
    P = np.exp(odds - odds.max(axis=1, keepdims=True))
    P = np.maximum(P / P.sum(axis=1, keepdims=True), 1e-12) ** full.calibration_["exponent"]
    assert_allclose(full.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9)


def test_halves_know_other_labels_and_each_is_judged_by_what_it_does_not_know(rng):
    X, index = read(rng.normal(size=(30, 2))), np.full(30, -1)
    index[:12] = np.tile([0, 1, 2], 4)
    index[12] = 3  # a class of one label, which both know
    said, asked = rng.dirichlet(np.ones(4), size=30), []
    tables = rng.dirichlet(np.ones(4), size=(2, 30))

    def fit(part):
        asked.append(part)
        table = tables[len(asked) - 1]
        return lambda rows: table[: rows.shape[0]]

    found = calibration_by_halves(X, index, said, np.arange(30.0), fit)
    first, second = asked
    assert_array_equal(np.where(first >= 0, first, second), index)
    assert ((first >= 0) & (second >= 0)).sum() == 1
    assert_array_equal(np.bincount(first[first >= 0]), [2, 2, 2, 1])
    odds = np.log(said)
    odds[:13] = np.nan
    odds[(second >= 0) & (first < 0)] = np.log(tables[0])[(second >= 0) & (first < 0)]
    odds[(first >= 0) & (second < 0)] = np.log(tables[1])[(first >= 0) & (second < 0)]
    wanted = calibrate([Voice(odds, np.zeros(30), [tuple(table.argmax(axis=1) for table in tables)])], index)
    assert_allclose(found.temperatures, wanted.temperatures)
    zeros = [np.zeros(30)]
    assert_allclose(averaged([np.log(said)], zeros, found), averaged([np.log(said)], zeros, wanted))


def test_one_label_a_class_is_told(rng):
    X, y = heavy(rng)
    model = IFA(3, tied=True).fit(X, make_partial(y, n_per_class=1, random_state=rng))
    assert model.calibration_["n_held_out"] == 0
    assert model.predict_proba(X).max(axis=1).mean() < 0.95
    assert "no label can be held out: confidence by a prior temperature" in model._said()["fit"].remarks


def test_several_class_variables_are_those_of_the_model_itself(rng):
    X, y = heavy(rng, C=2)
    Y = np.column_stack(
        [make_partial(y, n_per_class=20, random_state=rng), make_partial(1 - y, n_per_class=20, random_state=rng)]
    )
    assert IFA([2, 2]).fit(X, Y).calibration_ is None
    assert IFA([2, 2]).fit(X).calibration_ is None
