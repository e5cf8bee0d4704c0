"""What an estimator says of its convergence is true: at its defaults, and when it is stopped after one iteration."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

import gnomon

ITERATIVE = [
    name
    for name, cls in ((name, getattr(gnomon, name)) for name in gnomon.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and "max_iter" in inspect.signature(cls).parameters
]


def table(seed):
    """Three groups in eight columns, half of them labeled; more structure than two components hold."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 8)) + 0.7 * rng.normal(size=(60, 8))
    X += 1.5 * rng.normal(size=(3, 8))[truth]
    return X, np.where(rng.random(60) < 0.5, truth, -1)


def fitted(name, X, y, **parameters):
    """The estimator, and whether it warned that it did not converge."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = getattr(gnomon, name)(**parameters).fit(X, y)
    return model, any(issubclass(warning.category, ConvergenceWarning) for warning in seen)


@pytest.mark.parametrize("name", ITERATIVE)
@pytest.mark.parametrize("parameters", [{}, {"max_iter": 1}, {"max_iter": 1, "tol": 1e-12}], ids=str)
def test_converged_means_that_the_residual_is_within_tol(name, parameters):
    for seed in range(2):
        model, warned = fitted(name, *table(seed), **parameters)
        assert np.isfinite(model.objective_residual_)
        assert model.converged_ == (model.objective_residual_ <= model.tol)
        assert warned == (not model.converged_)
