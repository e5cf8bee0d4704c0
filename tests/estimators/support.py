"""Data sets and comparisons for the tests of the estimators."""

import warnings

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris, load_wine

from oracles import closed_forms, gaussian

LOADERS = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}


def load(name, hidden=0.0, seed=0):
    """X and y of a bundled data set, raw units, with a share of the targets hidden."""
    X, y = LOADERS[name](return_X_y=True)
    lost = np.random.default_rng(seed).random(len(y)) < hidden
    if name == "diabetes":
        return X, np.where(lost, np.nan, y)
    return X, np.where(lost, -1, y)


def entries_missing(seed=0, share=0.35):
    """Diabetes with three real outputs, single entries of which are missing."""
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed)
    Y = np.column_stack([y, X[:, 2] * 1000 + 10 * rng.normal(size=len(y)), rng.normal(size=len(y))])
    Y[rng.random(Y.shape) < share] = np.nan
    return X[:, [0, 1, 3, 4, 5, 6]], Y


def oracle(model):
    """The fitted model in the form of the oracles; only for outputs that are linearly independent."""
    q = len(model.y_intercept_)
    noise = np.full(q, model.y_noise_variance_ if q else 0.0)
    return gaussian.Model(
        model.components_.T.astype(float), model.mean_.astype(float), model.noise_variance_,
        model.y_loadings_.astype(float), model.y_intercept_.astype(float), noise,
    )  # fmt: skip


def coded(model, y):
    """Targets as rows of real numbers, NaN where missing: contrasts for classes."""
    if model.target_kind_ == "none" or y is None:
        return None
    if model.target_kind_ == "classes":
        return closed_forms.code(y, list(model.classes_))
    return np.asarray(y, dtype=float).reshape(len(y), -1)


def assert_same_fit(a, b, tol=1e-6):
    """Every fitted number agrees; components are compared directly because their rotation and signs are canonical."""
    both = (
        ("components_", "y_loadings_") if hasattr(a, "y_loadings_") and hasattr(b, "y_loadings_") else ("components_",)
    )
    for name in both:
        mine, other = getattr(a, name), getattr(b, name)
        assert_allclose(mine, other, atol=tol * np.abs(other).max(initial=0.0), err_msg=name)
    spread = np.abs(b.components_).max()
    assert_allclose(a.mean_, b.mean_, rtol=tol, atol=tol * spread)
    if len(both) > 1:
        assert_allclose(a.y_intercept_, b.y_intercept_, rtol=tol, atol=tol * np.abs(b.y_loadings_).max(initial=0.0))
    assert_allclose(a.noise_variance_, b.noise_variance_, rtol=tol)
    if len(both) > 1 and b.y_noise_variance_ is not None:
        assert_allclose(a.y_noise_variance_, b.y_noise_variance_, rtol=tol)
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-9, atol=1e-6)


def quietly(model, *args, **kwargs):
    """Fit without showing the warnings that are tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)
