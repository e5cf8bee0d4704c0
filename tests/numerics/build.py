"""Models and moments for the tests of numerics and solvers."""

import numpy as np

from gnomon.numerics.linear_gaussian import Params
from gnomon.numerics.moments import Moments, UngroupedRows, output_sets, pattern_from_rows
from oracles import gaussian

TARGETS = ("labeled", "semi", "entries", "unlabeled", "none")


def draw(rng, n=40, p=5, k=2, q=3, targets="semi", s2_x=0.3):
    """Rows X, Y of a planted model, with the targets of some rows or single entries set to NaN."""
    q = 0 if targets == "none" else q
    model = gaussian.random_model(rng, p, k, q, s2_x=s2_x)
    X, Y = gaussian.draw(rng, model, n)
    if targets == "semi":
        Y[rng.permutation(n)[: n // 2]] = np.nan
    elif targets == "entries":
        Y[rng.random(Y.shape) < 0.4] = np.nan
    elif targets == "unlabeled":
        Y[:] = np.nan
    return model, X, Y


def moments(X, Y, weights=None, B=None, loose_below=3):
    """Sufficient statistics of rows seen through B (p, r); patterns with few rows are kept as ungrouped rows."""
    n, p = X.shape
    w = np.ones(n) if weights is None else weights
    B = np.eye(p) if B is None else B
    T, observed = X @ B, ~np.isnan(Y)
    sets = output_sets(observed)
    patterns, ungrouped = [], []
    for g, outputs in enumerate(sets.sets):
        rows = np.flatnonzero(sets.of_row == g)
        if len(rows) < loose_below:
            ungrouped.extend(rows)
            continue
        o = np.flatnonzero(outputs)
        patterns.append(pattern_from_rows(o, T[rows], Y[np.ix_(rows, o)], w[rows]))
    kept = None
    if ungrouped:
        i = np.array(ungrouped)
        kept = UngroupedRows(T[i], np.where(observed[i], Y[i], 0.0), observed[i], w[i], output_sets(observed[i]))
    outside = float(w @ ((X - T @ B.T) ** 2).sum(axis=1))
    return Moments(tuple(patterns), kept, p, Y.shape[1], outside)


def params(model):
    """The library's form of an oracle model."""
    return Params(model.W_x, model.m_x, model.s2_x, model.W_y, model.m_y, np.asarray(model.s2_y, dtype=float))


def model(p, B=None):
    """The oracle's form of the library's parameters in a basis B."""
    B = np.eye(len(p.W_x)) if B is None else B
    return gaussian.Model(B @ p.W_x, B @ p.m_x, p.x_noise_var, p.W_y, p.m_y, p.y_noise_var)


def flat(p):
    """Parameters as one vector, noise variances as logarithms."""
    parts = (p.W_x.ravel(), p.m_x, [np.log(p.x_noise_var)], p.W_y.ravel(), p.m_y, np.log(p.y_noise_var))
    return np.concatenate(parts)


def unflat(vector, like):
    """The inverse of `flat`."""
    (r, k), q = like.W_x.shape, len(like.m_y)
    W_x, m_x, s, W_y, m_y, t = np.split(vector, np.cumsum([r * k, r, 1, q * k, q]))
    return Params(W_x.reshape(r, k), m_x, float(np.exp(s[0])), W_y.reshape(q, k), m_y, np.exp(t))


def loglik(p, X, Y, weights=None):
    """Weighted log-likelihood by brute force."""
    rows = gaussian.log_density(model(p), X, Y)
    return float(rows.sum() if weights is None else weights @ rows)
