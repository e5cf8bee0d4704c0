"""Columns of very different units: what one column is measured in hides no other."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon import GuidedProjection
from gnomon.estimators._preparations import fit_preparations, fit_preparations_of_numbers


@pytest.mark.parametrize("target", ["classes", "real", "several"])
def test_a_column_of_a_huge_unit_hides_no_other(target):
    rng = np.random.default_rng(0)
    X, labeled = rng.normal(size=(90, 6)), np.arange(90) < 30
    number = X[:, 1] + X[:, 2]
    kind = (number > 0) + 1.0
    Y = np.where(
        labeled[:, None], {"classes": kind[:, None], "real": number[:, None]}.get(target, np.c_[kind, number]), np.nan
    )
    X[:, 0] *= 1e14
    kinds = ["classes", "real"] if target == "several" else target
    model = GuidedProjection(2, target=kinds).fit(X, Y if target == "several" else Y[:, 0])
    assert model.transform(X).shape == (90, 2)
    assert model.components_.shape == (2, 6)
    found = np.reshape(model.predict(X), (90, -1))[~labeled].astype(float)
    if target != "real":
        assert (found[:, 0] == kind[~labeled]).mean() > 0.8
    if target != "classes":
        assert np.corrcoef(found[:, -1], number[~labeled])[0, 1] > 0.9


@pytest.mark.parametrize("unit", [1e-14, 1.0, 1e14])
def test_columns_are_standardized_whatever_the_units_of_others(unit):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 3)), np.full(40, 0.1)]) * [unit, 1.0, 1.0, 1.0]
    for found in (fit_preparations(X, 2), fit_preparations_of_numbers(X)):
        parts = {preparation.name: preparation.parts for preparation, _ in found}
        if unit != 1.0 or "standardized columns" in parts:
            assert_array_equal(parts["standardized columns"]["columns"], [0, 1, 2])


def test_rows_that_fill_too_few_components_are_not_chosen():
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 2
    X = rng.normal(size=(90, 6))
    X[:, 0] = 1e14 * (X[:, 0] + 20.0 * kind)  # the one column that tells
    model = GuidedProjection(2).fit(X, np.where(np.arange(90) < 30, kind, -1))
    assert model.projection_scores_["rows"] == 0.0
    assert model.transform(X).shape == (90, 2)


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_models_within_do_not_warn_of_their_noise_floors(holes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3)) @ rng.normal(size=(3, 13)) + 1e-6 * rng.normal(size=(10, 13))
    X[rng.random(X.shape) < holes] = np.nan
    y = np.where(np.arange(10) < 4, np.arange(10) + 0.5, np.nan)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*floor")
        GuidedProjection(target="real").fit(X, y)
