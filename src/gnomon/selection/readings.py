"""What a fitted model says of rows, with or without a measure of its doubt: not every model has one."""

import inspect

import numpy as np


def project(estimator, X):
    """Return the projection (n, k) of rows, and its posterior covariance or None where the model has none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import KDA
    >>> X, y = load_iris(return_X_y=True)
    >>> Z, cov = project(KDA(2).fit(X, y), X)
    >>> Z.shape, cov is None
    ((150, 2), True)
    """
    if _takes(estimator.transform, "return_cov"):
        Z, cov = estimator.transform(X, return_cov=True)
        return np.asarray(Z), None if cov is None else np.asarray(cov)
    return np.asarray(estimator.transform(X)), None


def predict(estimator, X):
    """Return predicted numbers, and their standard deviations or None where the model has none.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gnomon import SDRGLM
    >>> X, y = load_diabetes(return_X_y=True)
    >>> mean, std = predict(SDRGLM(2).fit(X, y), X)
    >>> mean.shape, std is None
    ((442,), True)
    """
    if _takes(estimator.predict, "return_std"):
        return estimator.predict(X, return_std=True)
    return estimator.predict(X), None


def n_components(estimator):
    """Return the size of the projection of a fitted model.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> n_components(SimpleNamespace(n_components_=3))
    3
    """
    return len(estimator.components_) if hasattr(estimator, "components_") else int(estimator.n_components_)


def loadings(estimator):
    """Return what a unit of each component adds to every column (k, p), or None where the model does not say.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> loadings(SimpleNamespace(mixing_=np.ones((3, 2)))).shape
    (2, 3)
    """
    if hasattr(estimator, "mixing_"):
        return estimator.mixing_.T
    return getattr(estimator, "components_", None)


def _takes(method, name):
    return name in inspect.signature(method).parameters
