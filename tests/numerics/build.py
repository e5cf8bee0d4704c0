"""Models and rows for the tests of numerics, solvers and the linear models."""

import numpy as np

from gnomon.likelihoods.exact import GaussianSites
from gnomon.likelihoods.layout import Layout
from gnomon.models.linear.basis import View
from gnomon.models.linear.evidence import LabeledPatterns, LabeledRows
from gnomon.models.linear.in_basis import BasisEM
from gnomon.models.linear.sites_em import Rules
from gnomon.numerics.linear_gaussian import Params
from gnomon.numerics.moments import output_sets
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


def em(X, Y, weights=None, B=None, loose_below=3, noise="shared", **rules):
    """EM of centered rows seen through B (p, r); patterns with few rows are kept row by row."""
    n, p = X.shape
    w = np.ones(n) if weights is None else weights
    B = np.eye(p) if B is None else B
    T, q, sets = X @ B, Y.shape[1], output_sets(~np.isnan(Y))
    counts = np.bincount(sets.of_row, minlength=len(sets.sets))
    rare = np.flatnonzero(counts[sets.of_row] < loose_below)
    frequent = counts >= max(loose_below, 1)
    layout = Layout(("gaussian",) * q, (0,) * q)
    loose = LabeledRows(T[rare], w[rare], Y[rare], layout, GaussianSites()) if len(rare) else None
    patterns = LabeledPatterns(sets.sets[frequent], moments_by_set(T, Y, w, sets)[frequent], loose)
    xx = (T * w[:, None]).T @ T
    view = View(xx, *np.linalg.eigh(xx), float(w @ (X**2).sum(axis=1)), float(w.sum()), p)
    k = rules.pop("k", 2)
    return BasisEM(view, patterns, Rules(layout, 0.0, k, noise=noise, **rules))


def moments_by_set(T, Y, w, sets):
    """Weighted sums of products of (1, t, y) over the rows of each set of observed outputs."""
    V = np.column_stack([np.ones(len(T)), T, np.nan_to_num(Y)])
    return np.array([(V * (w * (sets.of_row == g))[:, None]).T @ V for g in range(len(sets.sets))])


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
