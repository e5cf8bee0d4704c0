"""Tables of every family and views of them, for the tests of SDRGLM."""

import numpy as np
import pytest

from gnomon.models.sdr_glm import model
from gnomon.models.sdr_glm.factors import Loadings
from oracles import sdr_glm as oracle

ALPHA, RIDGE, K = 0.3, 0.2, 2


NAMES = ["gaussian", "bernoulli", "multinomial", "poisson"]


PAIRS = [(x, y) for x in NAMES for y in NAMES]


pairs = pytest.mark.parametrize("families", PAIRS, ids="-".join)


def table(family, theta, rng):
    """Draws from a family at natural parameters theta."""
    if family == "gaussian":
        return theta + rng.normal(size=theta.shape)
    if family == "bernoulli":
        return (rng.random(theta.shape) < 1 / (1 + np.exp(-theta))).astype(float)
    if family == "poisson":
        return rng.poisson(np.exp(theta)).astype(float)
    proba = np.exp(theta) / np.exp(theta).sum(axis=1, keepdims=True)
    return np.array([rng.multinomial(1 + i % 3, p) for i, p in enumerate(proba)]).astype(float)


def problem(families, rng, n=30, p=6, q=3, k=K):
    """Both tables and views of them, every third row without its y."""
    U = rng.normal(size=(n, k))
    U /= 1 + np.abs(U).max() / 4  # rates stay below a few hundred
    X = table(families[0], 1.5 * U @ rng.normal(size=(k, p)), rng)
    Y = table(families[1], 1.5 * U @ rng.normal(size=(k, q)), rng)
    if families[1] == "multinomial":
        Y = np.eye(q)[Y.argmax(axis=1)]
    Y[::3] = np.nan
    if families[1] != "multinomial":
        Y[1, 0] = np.nan
    seen = ~np.isnan(Y)
    observed = seen[:, :1].astype(float) if families[1] == "multinomial" else seen.astype(float)
    x = model.make_view(families[0], X, None, ALPHA)
    y = model.make_view(families[1], np.nan_to_num(Y), observed, 1.0)
    return X, Y, (x, y)


def dense_objective(X, Y, families, views, params):
    return oracle.objective(
        X, Y, families, params.U, *params.x, *params.y, (views[0].prior, views[1].prior), ALPHA, RIDGE
    )


def some_params(views, rng, n=30):
    shapes = [len(view.prior) for view in views]
    parts = [Loadings(0.5 * rng.normal(size=(K, m)), 0.3 * rng.normal(size=m)) for m in shapes]
    return model.Params(rng.normal(size=(n, K)), *parts)
