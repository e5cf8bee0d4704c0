"""Classification PPCA straight from its definition: two latent variables on a grid, one row at a time."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import norm


class Model(NamedTuple):
    """z ~ N(0, I), x = W z + m + N(0, s2 I), and outputs with predictors coef z + intercept, see `log_output`."""

    W: np.ndarray  # (p, 2)
    m: np.ndarray  # (p,)
    s2: float
    outputs: list  # of (kind, coef (c, 2), intercept (c,), noise variance)


def log_output(kind, a, y, noise=1.0):
    """Log p(y | predictors a (..., c))."""
    if kind == "logit":
        return np.log(1.0 / (1.0 + np.exp(-(2 * y - 1) * a[..., 0])))
    if kind == "probit":
        return norm.logcdf((2 * y - 1) * a[..., 0])
    if kind == "categorical":
        return a[..., int(y)] - np.log(np.exp(a).sum(axis=-1))
    if kind == "poisson":
        return y * a[..., 0] - np.exp(a[..., 0]) - gammaln(y + 1)
    return norm.logpdf(y, a[..., 0], np.sqrt(noise))


def row(model, x, y=()):
    """Log p(observed x and y), and the mean and covariance of z given them, by the trapezoid rule in two dimensions."""
    axis = np.linspace(-8.0, 8.0, 321)
    z = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)  # (g, g, 2)
    logs = norm.logpdf(z).sum(axis=-1)
    seen = ~np.isnan(x)
    left = (x - model.m)[seen] - z @ model.W[seen].T
    logs = logs - 0.5 * (left**2).sum(axis=-1) / model.s2 - 0.5 * seen.sum() * np.log(2 * np.pi * model.s2)
    for value, (kind, coef, intercept, noise) in zip(y, model.outputs):
        if not np.isnan(value):
            logs = logs + log_output(kind, z @ coef.T + intercept, value, noise)
    top = logs.max()
    weights = np.exp(logs - top)
    total = weights.sum()
    mean = np.einsum("ij,ija->a", weights, z) / total
    second = np.einsum("ij,ija,ijb->ab", weights, z, z) / total
    return top + np.log(total * (axis[1] - axis[0]) ** 2), mean, second - np.outer(mean, mean)


def rows(model, X, Y=None):
    """`row` for every row, stacked."""
    found = [row(model, x, () if Y is None else y) for x, y in zip(X, X if Y is None else Y)]
    return tuple(np.array(part) for part in zip(*found))


def of(estimator):
    """A fitted estimator with two latent dimensions in the form of this file; more than two classes have a row each."""
    outputs, start = [], 0
    noise = np.nan_to_num(np.atleast_1d(np.asarray(estimator.y_noise_variance_, dtype=float)), nan=1.0)
    for j, (kind, c) in enumerate(zip(estimator.families_, np.atleast_1d(_sizes(estimator)))):
        width = c if c > 2 else 1
        part = slice(start, start + width)
        outputs.append((kind, estimator.y_loadings_[part], estimator.y_intercept_[part], noise[min(j, len(noise) - 1)]))
        start += width
    return Model(estimator.components_.T, estimator.mean_, estimator.noise_variance_, outputs)


def _sizes(estimator):
    if not hasattr(estimator, "classes_"):
        return [0] * len(estimator.families_)
    lists = estimator.classes_ if isinstance(estimator.classes_, list) else [estimator.classes_]
    return [0 if c is None else len(c) for c in lists]


def draw(rng, n, p=5, s2=0.5):
    """Two latent variables, x in p dimensions, and the latent variables themselves."""
    Z = rng.normal(size=(n, 2))
    W = rng.normal(size=(p, 2))
    return Z @ W.T + 1.0 + np.sqrt(s2) * rng.normal(size=(n, p)), Z


def of_x(X, W, s2):
    """Log p(x) of centered rows; what their latent means are of x, and the covariance of z given x."""
    p, k = W.shape
    cov = W @ W.T + s2 * np.eye(p)
    gain = np.linalg.solve(cov, W).T
    total = -0.5 * np.einsum("ij,ij->", X, np.linalg.solve(cov, X.T).T)
    total -= 0.5 * len(X) * (np.linalg.slogdet(cov)[1] + p * np.log(2 * np.pi))
    return total, gain, np.eye(k) - gain @ W


def log_likelihood(X, y, W, s2, v, b=0.0):
    """Log p(x, y) of centered rows, y NaN where unlabeled: Gaussian x, and one integral a row over v'z + b given x."""
    total, gain, cov = of_x(X, W, s2)
    spread = np.sqrt(v @ cov @ v)
    nodes = np.linspace(-12, 12, 801)
    weights = norm.pdf(nodes) * (nodes[1] - nodes[0])
    for x, label in zip(X, y):
        if not np.isnan(label):
            a = (2 * label - 1) * (v @ gain @ x + b + spread * nodes)
            total += np.log(weights @ np.exp(-np.logaddexp(0, -a)))
    return total


def laplace_evidence(X, y, W, s2, v, b=0.0):
    """The same with the Laplace approximation of each integral: mode by Newton's method, volume from the curvature."""
    total, gain, cov = of_x(X, W, s2)
    var = v @ cov @ v
    for x, label in zip(X, y):
        if not np.isnan(label):
            mean = a = v @ gain @ x + b
            for _ in range(50):
                s = 1 / (1 + np.exp(-a))
                a = a + (label - s - (a - mean) / var) / (s * (1 - s) + 1 / var)
            s = 1 / (1 + np.exp(-a))
            total -= np.logaddexp(0, (1 - 2 * label) * a) + 0.5 * (a - mean) ** 2 / var
            total -= 0.5 * np.log(1 + s * (1 - s) * var)
    return total


def printed_em(X, y, W, s2, v, n_iter, correction=False, ridge=0.0):
    """EM of Cheng and Li 2011: Laplace (16)-(21), (23)-(27), and (28) read as a delta at the posterior means.

    With `correction` the expectation in (28) is taken to first order about the mode. A `ridge` may lie on v; a v of
    length k + 1 has a bias at its end. Yields (W, s2, v) after every iteration.
    """
    n, p = X.shape
    k = W.shape[1]
    known = np.flatnonzero(~np.isnan(y))
    bias = len(v) > k
    penalty = ridge * (np.arange(len(v)) < k)
    for _ in range(n_iter):
        S = s2 * np.linalg.inv(W.T @ W + s2 * np.eye(k))
        means, covs = X @ W @ S / s2, np.tile(S, (n, 1, 1))
        for i in known:
            z = means[i].copy()
            for _ in range(12):
                s = 1 / (1 + np.exp(-v[:k] @ z - v[k:].sum()))
                H = np.linalg.inv(S) + s * (1 - s) * np.outer(v[:k], v[:k])
                z = z + np.linalg.solve(H, (y[i] - s) * v[:k] - np.linalg.solve(S, z - means[i]))
            means[i], covs[i] = z, np.linalg.inv(H)
        zz = means.T @ means + covs.sum(axis=0)
        W = X.T @ means @ np.linalg.inv(zz)
        s2 = ((X**2).sum() - 2 * np.sum(W * (X.T @ means)) + np.trace(zz @ W.T @ W)) / (n * p)
        Z, extra = means[known], covs[known]
        if bias:
            Z, extra = np.column_stack([Z, np.ones(len(Z))]), np.pad(extra, ((0, 0), (0, 1), (0, 1)))
        for _ in range(30):
            s = 1 / (1 + np.exp(-np.clip(Z @ v, -500, 500)))
            slope, curve = Z.T @ (y[known] - s) - penalty * v, (Z * (s * (1 - s))[:, None]).T @ Z + np.diag(penalty)
            if correction:
                slope -= np.einsum("i,iab,b->a", s * (1 - s), extra, v)
                curve += np.einsum("i,iab->ab", s * (1 - s), extra)
            v = v + np.linalg.solve(curve + 1e-9 * np.eye(len(v)), slope)
        yield W, s2, v


def sequential_ep(kinds, mean, cov, y, noise, n_sweeps=300):
    """Log-evidence, mean and covariance of predictors a ~ N(mean, cov) by EP for one row: one site after another.

    Sites are exp(shift a - precision a^2 / 2); the moments of a label beside its cavity come from a fine grid.
    """
    h = len(mean)
    precision, shift, log_sites = np.zeros(h), np.zeros(h), np.zeros(h)
    prior = np.linalg.inv(cov)
    grid = np.linspace(-12.0, 12.0, 4001)
    for _ in range(n_sweeps):
        for j in range(h):
            S = np.linalg.inv(prior + np.diag(precision))
            m = S @ (prior @ mean + shift)
            left_precision = 1.0 / S[j, j] - precision[j]
            left_shift = m[j] / S[j, j] - shift[j]
            v, c = 1.0 / left_precision, left_shift / left_precision
            a = c + np.sqrt(v) * grid
            logs = norm.logpdf(grid) + log_output(kinds[j], a[:, None], y[j], noise[j]) + np.log(grid[1] - grid[0])
            total = np.exp(logs).sum()
            w = np.exp(logs) / total
            new_mean = w @ a
            new_var = w @ (a - new_mean) ** 2
            precision[j], shift[j] = 1.0 / new_var - left_precision, new_mean / new_var - left_shift
            # the site's scale: its product with the cavity has the label's own mass
            total_var = 1.0 / (left_precision + precision[j])
            total_mean = total_var * (left_shift + shift[j])
            own = -0.5 * np.log(v) - 0.5 * c**2 / v + 0.5 * np.log(total_var) + 0.5 * total_mean**2 / total_var
            log_sites[j] = np.log(total) - own
    S = np.linalg.inv(prior + np.diag(precision))
    m = S @ (prior @ mean + shift)
    log_det = np.linalg.slogdet(np.eye(h) + cov * precision[None, :])[1]
    squares = m @ np.linalg.solve(S, m) - mean @ prior @ mean
    return log_sites.sum() + 0.5 * (squares - log_det), m, S
