"""Posteriors that take neither the map nor the classes for known, and those that do."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.estimators.test_noise_of_map import planted

from gnomon import DPPCA, GuidedProjection

MODELS = [DPPCA(2, n_factors=3, shrinkage=0.1, unlabeled_weight=1.0), GuidedProjection(2)]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def fitted(request):
    (X, _, y), (new, _) = planted(60, 40, "classes", 0)
    return request.param.fit(X, y), new


def test_the_posterior_is_the_projection_and_its_region(fitted):
    model, X = fitted
    Z, covs = model.transform(X, return_cov=True)
    mean, same = model.posterior(X)
    assert_array_equal(mean, Z)
    assert_array_equal(same, covs)
    known, _ = model.posterior(X, np.zeros(len(X), dtype=int))
    assert_array_equal(known, Z)


def test_plug_in_is_of_the_model_itself(fitted):
    model, X = fitted
    mean, cov = model.posterior(X, uncertainty="plug-in")
    Z, same = model.transform(X, return_cov=True, uncertainty="plug-in")
    assert_array_equal(same, cov)
    assert np.abs(mean - Z).max() > 0.0
    told, _ = model.posterior(X, np.zeros(len(X), dtype=int), uncertainty="plug-in")
    assert np.abs(told - mean).max() > 0.0


def test_what_is_wrong_with_arguments_is_said(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="uncertainty='none'"):
        model.transform(X, uncertainty="none")
    with pytest.raises(ValueError, match="rows"):
        model.posterior(X, np.zeros(3, dtype=int))


def test_a_model_that_knows_no_noise_gives_plug_in(fitted):
    model, X = fitted
    del model._noise
    for found, expected in zip(model.posterior(X), model.posterior(X, uncertainty="plug-in"), strict=True):
        assert_array_equal(found, expected)
