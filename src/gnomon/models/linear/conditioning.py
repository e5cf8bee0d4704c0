"""What a fitted model says of rows, in the units of the data: posterior, density, predictions and samples."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...likelihoods.inference import sites_of
from ...likelihoods.layout import Layout
from ...likelihoods.second_opinion import Opinion, agree, said
from ...likelihoods.sites import SiteFit
from ...numerics import linear_gaussian as lg
from ...numerics.masked import masked_posterior
from ...numerics.moments import OutputSets, output_sets
from ...rows.contract import Rows
from .class_densities import learn, log_joint
from .class_likelihood import Labeled, LabelParams, applies, log_evidence


class Model(NamedTuple):
    """A fitted model with outputs of any kind, and the way to condition on them; `Params` has Gaussian ones alone."""

    x: lg.Params  # without outputs
    labels: LabelParams
    layout: Layout
    inference: str
    of_x: lg.FromX | None = None  # what x says of z, where it is at hand

    def prepared(self) -> "Model":
        """The same with all at hand that does not depend on rows."""
        return self._replace(of_x=lg.given_x(self.x))

    def sites(self, Y: Array, given: "Given") -> SiteFit:
        """The fit of the labels, given what x says of z."""
        V, b, noise = self.labels
        return sites_of(self.layout, self.inference)(Y, given.mean @ V.T + b, given.cov(V), noise)


class Given(NamedTuple):
    """Posterior of z row by row, rows that observe the same sharing a covariance; and the log-density (n,)."""

    mean: Array  # (n, k)
    covs: Array  # (u, k, k)
    of_row: IntArray  # (n,)
    log_density: Array  # NaN where it was not asked for
    shared: bool  # whether all rows have the one covariance

    def cov(self, V: Array | None = None) -> Array:
        """The covariance of z, or of V z: one for all rows, or one of each."""
        covs = self.covs if V is None else V @ self.covs @ V.T
        return covs[0] if self.shared else covs[self.of_row]


def _given(params: lg.Params | Model, rows: Rows, Y: Array | None, *, density: bool) -> Given:
    """The posterior of z, and the log-density if it is asked for; of a `Model` given x alone."""
    of_x: lg.FromX | None = None
    if isinstance(params, Model):
        of_x, params, Y = params.of_x, params.x, None
    n, p = rows.shape
    if Y is None and not rows.masked and not density:
        return _of_complete(params, of_x or lg.given_x(params), rows)
    if Y is None:
        Y, observed = np.zeros((n, len(params.m_y))), np.zeros((n, len(params.m_y)), dtype=bool)
        groups = OutputSets(observed[:1], np.zeros(n, dtype=np.intp))
    else:
        observed = ~np.isnan(Y)
        groups = output_sets(observed)
    n_features: Any = p
    if rows.masked:
        with np.errstate(over="ignore"):  # the square of a distance may be infinite
            post, energy, n_features = masked_posterior(params, rows, Y, observed, groups)
    else:
        noise_std = float(np.sqrt(params.x_noise_var))
        known = rows.in_units(params.m_x, noise_std)
        post = lg.row_posterior(params, known.times(params.W_x) * noise_std, Y, observed, groups)
        energy = known.lengths() if density else np.zeros(n)
    shared = len(post.covs) == 1 and not rows.masked
    if not density:
        return Given(post.mean, post.covs, post.of_row, np.full(n, np.nan), shared)
    with np.errstate(invalid="ignore"):
        logs = lg.log_density(params, post, energy, n_features, Y, observed)
    return Given(post.mean, post.covs, post.of_row, np.where(np.isinf(energy), -np.inf, logs), shared)


def _of_complete(params: lg.Params, of_x: lg.FromX, rows: Rows) -> Given:
    """The posterior of z given complete x alone, the same for every row but for its mean."""
    noise_std, n = float(np.sqrt(params.x_noise_var)), rows.shape[0]
    mean = rows.in_units(params.m_x, noise_std).times(of_x.gain.T) * noise_std
    return Given(mean, of_x.cov[None], np.zeros(n, dtype=np.intp), np.full(n, np.nan), True)


def posterior(
    params: lg.Params | Model, rows: Rows, Y: Array | None = None, *, with_cov: bool = True
) -> tuple[Array, Any]:
    """Mean (n, k) of z, and covariance (k, k) or (n, k, k), given x and the observed entries of Y (n, q), if passed.

    Without a covariance memory is that of the means, and of a covariance for each set of rows that observe the same.
    """
    given = _given(params, rows, Y, density=False)
    if Y is None or not isinstance(params, Model):
        return given.mean, given.cov() if with_cov else None
    fit, cov = params.sites(Y, given), given.cov()
    VS = params.labels.V @ cov  # (h, k) or (n, h, k)
    mean = given.mean + np.matmul(fit.slope[:, None, :], VS)[:, 0]
    return mean, cov - fit.through(VS)


def log_density(params: lg.Params | Model, rows: Rows, Y: Array | None = None) -> Array:
    """Log p(observed x, observed y) of every row (n,), in nats."""
    given = _given(params, rows, Y, density=True)
    if Y is None or not isinstance(params, Model):
        return given.log_density
    if not applies(params.layout, params.inference):
        return np.asarray(given.log_density + params.sites(Y, given).log_z)
    labeled = Labeled(Y, given.mean, given.cov(), np.ones(len(Y)))
    return given.log_density + log_evidence(params.layout, labeled, params.labels)


def outputs_at(params: lg.Params, mean: Array, cov: Array) -> tuple[Array, Array]:
    """Mean (n, q) and covariance, (q, q) or (n, q, q), of Gaussian outputs at a posterior of z."""
    return params.m_y + mean @ params.W_y.T, params.W_y @ cov @ params.W_y.T + np.diag(params.y_noise_var)


def predict(
    params: lg.Params | Model, rows: Rows, opinions: Sequence[Opinion | None] | None = None
) -> tuple[Any, Array]:
    """Mean and covariance of Gaussian outputs; of a `Model` what each output is expected to be, and deviations (n, q).

    That is an array for each: probabilities (n, C) of classes, or numbers (n,). An opinion, of classes whose labeled
    rows tell them too, is shared in.
    """
    if not isinstance(params, Model):
        return outputs_at(params, *posterior(params, rows))
    given = _given(params, rows, None, density=False)
    found, std = _of_outputs(params, given)
    for j, opinion in enumerate(opinions or ()):
        if opinion is not None:
            logs = log_joint(params.x, opinion.densities, given.mean, given.cov())
            found[j] = said(found[j], logs, opinion.mean)
    return found, std


def _of_outputs(params: Model, given: Given) -> tuple[list[Array], Array]:
    """What the model alone expects of each output, and deviations (n, q)."""
    V, b, noise = params.labels
    mean, cov = given.mean @ V.T + b, given.cov(V)
    found, std = [], []
    for (family, at), s in zip(params.layout.parts, noise, strict=True):
        found.append(family.predict(mean[:, at], cov[..., at, at]))
        std.append(family.deviation(mean[:, at.start], cov[..., at.start, at.start], s))
    return found, np.column_stack(std)


def opinions_of(params: Model, labeled: Rows, Y: Array, judged: Rows) -> list[Opinion | None]:
    """What labeled rows, with outputs Y (n_l, q), say of classes beside the model; None for numbers.

    How sure both are is told by the rows `judged`.
    """
    known, given = posterior(params, labeled, with_cov=False)[0], _given(params, judged, None, density=False)
    found, _ = _of_outputs(params, given)
    w, w_judged = (np.ones(rows.shape[0]) if rows.weights is None else rows.weights for rows in (labeled, judged))
    out: list[Opinion | None] = []
    for y, (_, at), proba in zip(Y.T, params.layout.parts, found, strict=True):
        if proba.ndim == 1:
            out.append(None)
            continue
        seen = np.flatnonzero(~np.isnan(y))
        of_labels = params.x._replace(W_y=params.labels.V[at])
        learned = learn(of_labels, known[seen], y[seen].astype(np.intp), w[seen], proba.shape[1])
        logs = log_joint(params.x, learned, given.mean, given.cov())
        out.append(Opinion(np.zeros(known.shape[1]), learned, agree(proba, logs, w_judged, learned.counts)))
    return out


def draw_rows(params: lg.Params, n: int, rng: np.random.Generator | np.random.RandomState) -> tuple[Array, Array]:
    """Draw n rows (n, p) and their latent variables (n, k)."""
    Z = rng.standard_normal((n, params.W_x.shape[1]))
    noise = np.sqrt(params.x_noise_var) * rng.standard_normal((n, len(params.m_x)))
    return params.m_x + Z @ params.W_x.T + noise, Z


def draw_outputs(params: lg.Params | Model, Z: Array, rng: np.random.Generator | np.random.RandomState) -> Array:
    """Draw outputs (n, q) at latent variables; classes by their number."""
    if not isinstance(params, Model):
        noise = np.sqrt(params.y_noise_var) * rng.standard_normal((len(Z), len(params.m_y)))
        return np.asarray(params.m_y + Z @ params.W_y.T + noise)
    a, drawn = Z @ params.labels.V.T + params.labels.b, np.zeros((len(Z), len(params.layout.kinds)))
    for j, (family, at) in enumerate(params.layout.parts):
        uniform, normal = rng.random(len(Z)), rng.standard_normal(len(Z))
        drawn[:, j] = family.draw(a[:, at], float(params.labels.noise[j]), uniform, normal)
    return drawn


def sample(params: lg.Params | Model, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw n rows (n, p) and their outputs (n, q)."""
    X, Z = draw_rows(params.x if isinstance(params, Model) else params, n, rng)
    return X, draw_outputs(params, Z, rng)
