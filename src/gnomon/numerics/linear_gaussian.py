"""The linear-Gaussian latent variable model of two views: conditioning, likelihood, and one step of EM.

z ~ N(0, I),  x = W_x z + m_x + e_x,  y = W_y z + m_y + e_y, with isotropic noise on x and one variance per output on y.
x is given in an orthonormal basis of r out of p directions; outside it there is only noise, whose energy is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .._types import Array, BoolArray, IntArray
from .linalg import inverse_logdet, solve_positive, symmetrize
from .moments import Moments, OutputSets, Pattern, UngroupedRows

LOG_2PI = float(np.log(2.0 * np.pi))


class Params(NamedTuple):
    """Parameters of the two-view model."""

    W_x: Array  # (r, k)
    m_x: Array  # (r,)
    x_noise_var: float
    W_y: Array  # (q, k)
    m_y: Array  # (q,)
    y_noise_var: Array  # (q,)


class LatentMap(NamedTuple):
    """Posterior of z for rows that observe the same things: z | v ~ N(gain (v - m), cov)."""

    gain: Array  # (k, r + q_g)
    scaled: Array  # (k, r + q_g)   W' diag(1/noise)
    cov: Array  # (k, k)
    precision: Array  # (k, k)
    log_det_precision: float


class LatentSums(NamedTuple):
    """Expected sufficient statistics of an E-step, and the observed-data log-likelihood in nats."""

    log_likelihood: float
    weight: float
    zz: Array  # (k, k)   sum of E[zz']
    z: Array  # (k,)      sum of E[z]
    xz: Array  # (r, k)   sum of (x - m_x) E[z]'
    x: Array  # (r,)      sum of x - m_x
    x_energy: float  # sum of |x - m_x|^2, over all p directions
    y_zz: Array  # (q or 1, k + 1, k + 1)   the same moments of (z, 1) over the rows that observe the output
    y_zy: Array  # (q, k + 1)
    y_energy: Array  # (q,)
    y_count: Array  # (q,)


class OutputSums(Protocol):
    """The part of the expected statistics that concerns z and y, shared by all forms of the E-step."""

    @property
    def weight(self) -> float: ...
    @property
    def zz(self) -> Array: ...
    @property
    def z(self) -> Array: ...
    @property
    def y_zz(self) -> Array: ...
    @property
    def y_zy(self) -> Array: ...
    @property
    def y_energy(self) -> Array: ...
    @property
    def y_count(self) -> Array: ...


class Limits(NamedTuple):
    """Constraints of the M-step."""

    x_floor: float  # smallest noise variances, in standard units
    y_floor: float
    shared_y_noise: bool = True  # one noise variance for all outputs, or one each
    fixed_y_noise: Array | None = None  # hold them at these values (q,)
    n_guided: int | None = None  # only the first latent dimensions load on y; None: all of them
    prior_precision: float = 0.0  # of a N(0, 1 / precision) prior on every loading, in standard units
    free_means: bool = True  # estimate the means with W, or hold them at the sample means


def latent_map(params: Params, outputs: IntArray) -> LatentMap:
    """Condition z on x and the given outputs.

    The precision I + W' diag(1/noise) W has eigenvalues >= 1, so its Cholesky factor needs no jitter.
    Source: Yu et al. 2006, eqs. 2 and 3 (our precision is their A).
    """
    W, scaled = params.W_x, params.W_x / params.x_noise_var
    if len(outputs):
        W_y = params.W_y[outputs]
        W = np.concatenate([W, W_y])
        scaled = np.concatenate([scaled, W_y / params.y_noise_var[outputs, None]])
    scaled = scaled.T
    precision = scaled @ W
    precision.flat[:: len(precision) + 1] += 1.0
    cov, log_det = inverse_logdet(precision)
    return LatentMap(cov @ scaled, scaled, cov, precision, log_det)


class RowPosterior(NamedTuple):
    """Posterior of z row by row; rows with the same observed outputs share a covariance."""

    mean: Array  # (m, k)
    covs: Array  # (g, k, k)
    of_row: IntArray  # (m,)   which covariance
    log_det_precision: Array  # (m,)
    fit: Array  # (m,)   explained part of the quadratic form


def output_precisions(params: Params, sets: BoolArray) -> Array:
    """What each set of observed outputs adds to the posterior precision (g, k, k)."""
    outer = np.einsum("ja,jb->jab", params.W_y, params.W_y / params.y_noise_var[:, None])
    return np.asarray(np.tensordot(sets.astype(float), outer, axes=1))


def set_posteriors(params: Params, sets: BoolArray) -> tuple[Array, Array]:
    """Posterior covariances (g, k, k) and log-determinants of the precisions (g,) for x and each set of outputs."""
    k = params.W_x.shape[1]
    precisions = np.eye(k) + params.W_x.T @ (params.W_x / params.x_noise_var) + output_precisions(params, sets)
    factors = np.linalg.cholesky(precisions)
    log_det = 2.0 * np.log(np.einsum("gaa->ga", factors)).sum(axis=1)
    return np.asarray(np.linalg.inv(precisions), dtype=np.float64), log_det


def row_posterior(params: Params, XW: Array, Y: Array, observed: BoolArray, groups: OutputSets) -> RowPosterior:
    """Condition z row by row, every row with its own set of observed outputs, in batches.

    `XW` (m, k) is (x - m_x)' W_x; Y is (m, q) with any value where not observed.
    """
    covs, log_det = set_posteriors(params, groups.sets)
    dy = np.where(observed, Y - params.m_y, 0.0)
    b = XW / params.x_noise_var + (dy / params.y_noise_var) @ params.W_y
    mean = apply_by_row(covs, groups.of_row, b)
    return RowPosterior(mean, covs, groups.of_row, log_det[groups.of_row], np.einsum("ia,ia->i", b, mean))


def apply_by_row(covs: Array, of_row: IntArray, b: Array) -> Array:
    """covs[of_row[i]] b_i for every row, in chunks of at most 2^21 numbers."""
    if len(covs) == 1:
        return np.asarray(b @ covs[0])
    out = np.empty_like(b)
    size = max(1, (1 << 21) // b.shape[1] ** 2)
    for start in range(0, len(b), size):
        rows = slice(start, start + size)
        out[rows] = np.matmul(covs[of_row[rows]], b[rows, :, None])[:, :, 0]
    return out


def ungrouped_posterior(params: Params, rows: UngroupedRows) -> RowPosterior:
    """`row_posterior` of rows given in the basis of the moments."""
    return row_posterior(params, (rows.T - params.m_x) @ params.W_x, rows.Y, rows.observed, rows.groups)


class _Accumulator:
    """Adds the contributions of patterns and ungrouped rows to one set of `LatentSums`."""

    def __init__(self, params: Params, moments: Moments) -> None:
        r, k = params.W_x.shape
        q = moments.n_outputs
        self.params, self.r = params, r
        self.same_outputs = moments.same_outputs
        self.log_likelihood = 0.0
        self.zz, self.z = np.zeros((k, k)), np.zeros(k)
        self.xz, self.x, self.x_energy = np.zeros((r, k)), np.zeros(r), moments.outside_energy
        self.y_zz = np.zeros((1 if self.same_outputs else q, k + 1, k + 1))
        self.y_zy, self.y_energy, self.y_count = np.zeros((q, k + 1)), np.zeros(q), np.zeros(q)

    def add_pattern(self, g: Pattern) -> None:
        p, r, o = self.params, self.r, g.outputs
        post = latent_map(p, o)
        shift = g.mean - (np.concatenate([p.m_x, p.m_y[o]]) if len(o) else p.m_x)
        z = g.weight * (post.gain @ shift)
        zv = post.gain @ g.scatter + z[:, None] * shift
        squares = g.scatter.diagonal() + g.weight * shift**2
        # 2 z'b - z'A z instead of z'b: stationary in the gain, so that its rounding error enters squared
        zz_data = zv @ post.gain.T
        fit = 2.0 * float(np.vdot(zv, post.scaled)) - float(np.vdot(post.precision, zz_data))
        self.log_likelihood -= 0.5 * (g.weight * post.log_det_precision - fit)
        zz = g.weight * post.cov + zz_data
        self.zz += zz
        self.z += z
        self.xz += zv[:, :r].T
        self.x += g.weight * shift[:r]
        self.x_energy += float(squares[:r].sum())
        if len(o):
            y_noise = p.y_noise_var[o]
            logs = len(o) * LOG_2PI + float(np.log(y_noise).sum())
            self.log_likelihood -= 0.5 * (g.weight * logs + float((squares[r:] / y_noise).sum()))
            self.y_zz[0 if self.same_outputs else o] += _augmented(zz, z, g.weight)
            self.y_zy[o, :-1] += zv[:, r:].T
            self.y_zy[o, -1] += g.weight * shift[r:]
            self.y_energy[o] += squares[r:]
            self.y_count[o] += g.weight

    def add_ungrouped(self, rows: UngroupedRows) -> None:
        p, w = self.params, rows.weights
        post = ungrouped_posterior(p, rows)
        seen = rows.observed.astype(float)
        dx, dy = rows.T - p.m_x, np.where(rows.observed, rows.Y - p.m_y, 0.0)
        logs = seen @ (LOG_2PI + np.log(p.y_noise_var)) + post.log_det_precision + dy**2 @ (1.0 / p.y_noise_var)
        self.log_likelihood -= 0.5 * float(w @ (logs - post.fit))
        per_set = np.bincount(post.of_row, weights=w, minlength=len(post.covs))
        self.zz += np.tensordot(per_set, post.covs, axes=1) + (post.mean * w[:, None]).T @ post.mean
        self.z += w @ post.mean
        self.xz += (dx * w[:, None]).T @ post.mean
        self.x += w @ dx
        self.x_energy += float(w @ (dx**2).sum(axis=1))
        z1 = np.hstack([post.mean, np.ones((len(w), 1))])
        self.y_zz += np.einsum("ij,ia,ib->jab", seen * w[:, None], z1, z1, optimize=True)
        self.y_zz[:, :-1, :-1] += np.einsum("gj,gab->jab", rows.groups.sets * per_set[:, None], post.covs)
        self.y_zy += (dy * w[:, None]).T @ z1
        self.y_energy += w @ dy**2
        self.y_count += w @ seen

    def sums(self, count: float, n_features: float) -> LatentSums:
        noise = self.params.x_noise_var
        x_part = count * n_features * (LOG_2PI + float(np.log(noise))) + self.x_energy / noise
        return LatentSums(
            self.log_likelihood - 0.5 * x_part, count, symmetrize(self.zz), self.z, self.xz, self.x, self.x_energy,
            self.y_zz, self.y_zy, self.y_energy, self.y_count,
        )  # fmt: skip


def _augmented(zz: Array, z: Array, weight: float) -> Array:
    k = len(z)
    out = np.empty((k + 1, k + 1))
    out[:k, :k], out[:k, k], out[k, :k], out[k, k] = zz, z, z, weight
    return out


def log_density(
    params: Params, post: Any, x_energy: Array, n_features: Array | int, Y: Array, observed: BoolArray
) -> Array:
    """Log of p(observed x, observed y) per row, in nats; `x_energy` (m,) is |x - m_x|^2 / x_noise_var."""
    dy = np.where(observed, Y - params.m_y, 0.0)
    logs = n_features * (LOG_2PI + np.log(params.x_noise_var)) + observed @ (LOG_2PI + np.log(params.y_noise_var))
    quadratic = x_energy + (dy**2 / params.y_noise_var).sum(axis=1) - post.fit
    return np.asarray(-0.5 * (logs + post.log_det_precision + quadratic))


def e_step(params: Params, moments: Moments) -> LatentSums:
    """Expected statistics and log-likelihood (nats, in the units of the moments) at the given parameters.

    Source: Yu et al. 2006, eqs. 5, 6, 11 and 12, the last with its missing factor: the posterior covariance of a row
    without outputs is x_noise_var (W_x'W_x + x_noise_var I)^-1.
    """
    total = _Accumulator(params, moments)
    for pattern in moments.patterns:
        total.add_pattern(pattern)
    if moments.ungrouped is not None:
        total.add_ungrouped(moments.ungrouped)
    return total.sums(moments.weight, moments.n_features)


def m_step(sums: LatentSums, params: Params, n_features: float, limits: Limits, *, expand: bool = True) -> Params:
    """Maximize the expected log-likelihood, or log-posterior: regress x and y on (z, 1), then both noise variances.

    With `expand` the latent mean and covariance are estimated too and folded back into W and the means (PX-EM), which
    removes EM's slowest direction and never lowers the likelihood. Source: Yu et al. 2006, eqs. 8-10 and 13-16; the
    means are estimated together with W because those of the labeled rows differ from the sample means.
    """
    k = len(sums.z)
    zz1 = _augmented(sums.zz, sums.z, sums.weight)
    right = np.concatenate([sums.xz.T, sums.x[None, :]])
    ridge = limits.prior_precision * params.x_noise_var
    coefficients = regress(zz1, right, ridge, limits.free_means)
    W_x, m_x = coefficients[:k].T, params.m_x + coefficients[k]
    left = sums.x_energy - float(np.vdot(coefficients, 2.0 * right - zz1 @ coefficients))
    x_noise_var = max(left / (sums.weight * n_features), limits.x_floor)
    W_y, m_y, y_noise_var = outputs_m_step(sums, params, limits)
    found = Params(W_x, m_x, x_noise_var, W_y, m_y, y_noise_var)
    return fold_latent(found, sums, limits.free_means) if expand and limits.prior_precision == 0.0 else found


def regress(zz1: Array, right: Array, ridge: float | Array, free_means: bool) -> Array:
    """Coefficients (k + 1, m) of targets on (z, 1) from their moments; a ridge on z; the last row zero when held."""
    k = zz1.shape[-1] - 1
    A = zz1 + ridge * np.diag(np.arange(k + 1) < k) if np.any(ridge) else zz1
    if free_means:
        return solve_positive(A, right) if A.ndim == 2 else np.asarray(np.linalg.solve(A, right))
    out = np.zeros(right.shape)
    out[..., :k, :] = np.linalg.solve(A[..., :k, :k], right[..., :k, :])
    return out


def outputs_m_step(sums: OutputSums, params: Params, limits: Limits) -> tuple[Array, Array, Array]:
    """Loadings, means and noise variances of the outputs, each from the rows that observe it."""
    q, k = params.W_y.shape
    if q == 0:
        return params.W_y, params.m_y, params.y_noise_var
    zz1, right, guided = sums.y_zz, sums.y_zy, slice(limits.n_guided)
    if limits.n_guided is not None:
        used = np.append(np.arange(limits.n_guided), k)
        zz1, right = zz1[:, used[:, None], used], right[:, used]
    ridge = limits.prior_precision * params.y_noise_var[:, None, None]
    if limits.prior_precision and not limits.shared_y_noise:
        zz1 = np.broadcast_to(zz1, (q, *zz1.shape[1:]))
    if len(zz1) == 1:
        beta = regress(zz1[0], right.T, ridge[0], limits.free_means).T
    else:
        beta = regress(zz1, right[:, :, None], ridge, limits.free_means)[:, :, 0]
    fitted = beta @ zz1[0] if len(zz1) == 1 else np.matmul(zz1, beta[:, :, None])[:, :, 0]
    left = sums.y_energy - (beta * (2.0 * right - fitted)).sum(axis=1)
    W_y = np.zeros((q, k))
    W_y[:, guided] = beta[:, :-1]
    if limits.fixed_y_noise is not None:
        return W_y, params.m_y + beta[:, -1], params.y_noise_var
    noise = np.full(q, left.sum() / sums.y_count.sum()) if limits.shared_y_noise else left / sums.y_count
    noise = np.maximum(noise, limits.y_floor)
    return W_y, params.m_y + beta[:, -1], noise


def fold_latent(params: Params, sums: OutputSums, free_means: bool) -> Params:
    """Fold the estimated mean and covariance of z into the loadings; zero columns at the end of W_y stay zero."""
    z_mean = sums.z / sums.weight if free_means else np.zeros(len(sums.z))
    factor = np.asarray(np.linalg.cholesky(symmetrize(sums.zz / sums.weight - z_mean[:, None] * z_mean)))
    return params._replace(
        m_x=params.m_x + params.W_x @ z_mean,
        m_y=params.m_y + params.W_y @ z_mean,
        W_x=params.W_x @ factor,
        W_y=params.W_y @ factor,
    )


def log_prior(params: Params, prior_precision: float) -> float:
    """Log-density of the prior on the loadings, without its constant."""
    return -0.5 * prior_precision * float((params.W_x**2).sum() + (params.W_y**2).sum())


def relative_residual(sums: LatentSums, params: Params, limits: Limits | None = None) -> float:
    """Relative residual of the likelihood equations of the loadings, the larger of the two views.

    For x this is |X'Z - W C| / |X'Z| (C with the ridge of the prior, if any), for y the same difference over the guided
    dimensions beside its Cauchy-Schwarz bound |Y| |Z|, because Y'Z itself may be zero. Zero at a stationary point.
    """
    prior = 0.0 if limits is None else limits.prior_precision
    size = float(np.linalg.norm(sums.xz))
    left = params.W_x @ sums.zz
    if prior:
        left = left + prior * params.x_noise_var * params.W_x
    worst = float(np.linalg.norm(sums.xz - left)) / size if size > 0 else 0.0
    return max(worst, output_residual(sums, params, limits))


def output_residual(sums: OutputSums, params: Params, limits: Limits | None) -> float:
    """The part of `relative_residual` that concerns y."""
    if len(params.m_y) == 0:
        return 0.0
    k = len(sums.z)
    zz = sums.y_zz[:, :k, :k]
    left = params.W_y @ zz[0] if len(zz) == 1 else np.matmul(zz, params.W_y[:, :, None])[:, :, 0]
    if limits is not None and limits.prior_precision:
        left = left + limits.prior_precision * params.y_noise_var[:, None] * params.W_y
    guided = slice(None if limits is None else limits.n_guided)
    gap = float(np.linalg.norm((sums.y_zy[:, :-1] - left)[:, guided]))
    bound = float(np.sqrt(sums.y_energy.sum() * np.trace(sums.zz)))
    return gap / bound if bound > 0 else 0.0
