"""Independent latent variables, each a one-dimensional mixture of Gaussians, in whitened coordinates.

Rows are whitened (mean 0, covariance I) and held as columns U (d, n). A latent is z_s = v_s u with a row v_s of unit
length, so it has variance one, and a variance floor means the same on every scale. Latents that are plain Gaussians
are profiled out: any orthonormal complement of the rows of V (S, d) is a best choice of them.

Components are padded to the largest number. A padded one, like one that every row excludes, is absent: log-weight minus
infinity, mean 0 and variance 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray
from ...numerics.linalg import inverse_logdet, symmetrize, top_eigh
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.normalize import normalized

FLOOR = 1e-4  # smallest variance of a component; the latent has variance 1
CEILING = 1e6  # no likely component comes near: share times variance is at most the variance of the latent
SAME = 1e-9  # relative difference of variances that tie
CHUNK = 4096  # rows at a time: their numbers for every latent and component stay in the cache
LEAST_SHARE = 1e-3  # of a component, where units are measured
LEAST_LOGIT = -30.0  # of a component that no row belongs to


class Params(NamedTuple):
    """Rows of V have unit length; b is S, or 1 when the latents share one class variable."""

    V: Array  # (S, d)
    log_weights: Array  # (b, c)
    means: Array  # (S, c)
    variances: Array  # (S, c)   equal along a row when the class variable is shared


@dataclass(frozen=True)
class Rows:
    """Whitened rows and how plausible their components are: log 1 = 0 everywhere in a row without a label.

    A row that is alone in a direction has the same products with all others: nothing that is white tells one such row
    from another, and directions that split off as many rows are as likely. `lengths` do.
    """

    U: Array  # (d, n)
    log_pl: Array  # (b, c, n)
    n_tied: int = 0  # latents that share one class variable; 0: each has its own
    lengths: Array | None = None  # (n,)   mean squares in units of the columns
    alone: BoolArray | None = None  # (n,)   in a direction

    @property
    def n_latents(self) -> int:
        """S."""
        return self.n_tied or len(self.log_pl)

    @cached_property
    def present(self) -> BoolArray:
        """Components (S, c) that some row may come from: not padded ones, nor those that every row excludes."""
        possible = np.isfinite(self.log_pl).any(axis=2)
        return np.asarray(np.repeat(possible, self.n_tied, axis=0) if self.n_tied else possible)

    @cached_property
    def labeled(self) -> BoolArray:
        """Which class variables (b,) have a label in some row: a component less plausible than another one there."""
        possible = np.asarray(np.isfinite(self.log_pl).any(axis=2))
        least = np.where(possible[:, :, None], self.log_pl, np.inf).min(axis=1)
        return np.asarray((least < self.log_pl.max(axis=1)).any(axis=1))

    def within(self, B: Array, log_pl: Array) -> "Rows":
        """Their coordinates along orthonormal columns B (d, e), with other labels."""
        U = np.ascontiguousarray(B.T @ self.U)
        return Rows(U, log_pl, self.n_tied, self.lengths, self.alone)

    def mean_squares(self) -> Array:
        """Numbers (n,), one on average, that differ between rows: of white coordinates, or of those of the columns."""
        found = np.einsum("dn,dn->n", self.U, self.U) / len(self.U)
        return found if self.lengths is None or self.alone is None else np.where(self.alone, self.lengths, found)

    def sizes(self, V: Array) -> float:
        """How far the rows along V (m, d) are from their mean, in units of the columns."""
        return 0.0 if self.lengths is None else float(((V @ self.U) ** 2).sum(axis=0) @ self.lengths)

    def chunks(self) -> Iterator[tuple[Array, Array]]:
        """Yield the rows in parts."""
        for start in range(0, self.U.shape[1], CHUNK):
            part = slice(start, start + CHUNK)
            yield self.U[:, part], self.log_pl[:, :, part]


class RowPosterior(NamedTuple):
    """New rows under a fitted model."""

    z: Array  # (n, k)    latents, or their posterior means
    proba: list[Array]  # (n, K_s) for each class variable
    log_density: Array  # (n,)   in nats, jointly with labels where these were passed


class Posterior(NamedTuple):
    """Components of rows given their latents z (S, n)."""

    deviation: Array  # (S, c, n)  z - mean
    resp: Array  # (b, c, n)
    log_density: Array  # (b, n)   of the latents and of the labels


def condition(params: Params, Z: Array, log_pl: Array) -> Posterior:
    """Responsibilities t_k = pl_k pi_k N(z; mu_k, nu_k) / sum, and the log of that sum in nats (eq. 11 with labels)."""
    deviation = Z[:, None, :] - params.means[:, :, None]
    log_joint = deviation * deviation
    log_joint *= (-0.5 / params.variances)[:, :, None]
    constant = -0.5 * (LOG_2PI + np.log(params.variances))
    if len(params.log_weights) < len(Z):  # one class variable for all latents
        log_joint, constant = log_joint.sum(axis=0, keepdims=True), constant.sum(axis=0, keepdims=True)
    log_joint += (params.log_weights + constant)[:, :, None]
    log_joint += log_pl
    return Posterior(deviation, *normalized(log_joint))


def padded_mixtures(weights: list[Array], means: list[Array], variances: list[Array]) -> tuple[Array, Array, Array]:
    """Log-weights, means and variances (S, c) of mixtures from lists; minus infinity where a component is absent."""
    shape = len(weights), max(map(len, weights))
    out = np.full(shape, -np.inf), np.zeros(shape), np.ones(shape)
    for s, w in enumerate(weights):
        for values, given in zip(out, (np.log(w, where=w > 0, out=out[0][s, : len(w)]), means[s], variances[s])):
            values[s, : len(w)] = given
    return out


def floors(variances: Array) -> list[tuple[int, int]]:
    """Latents and components whose variance rests on its floor."""
    return [(int(s), int(k)) for s, k in np.argwhere(variances <= FLOOR * (1.0 + 1e-9))]


def excluded(log_weights: Array, log_pl: Array) -> BoolArray:
    """Which rows (b, n) have a label that says of every component with some weight that it is none of them."""
    return np.asarray(np.isneginf(log_weights[:, :, None] + log_pl).all(axis=1))


def complement(V: Array, unwhiten: Array, rows: Rows | None = None) -> Array:
    """Orthonormal rows (d - S, d) orthogonal to those of V (S, d), by the variance of X that they explain, falling.

    Those that explain as much, as words that occur once do, are axes of the weights that `rows` have.
    """
    outside = np.linalg.qr(V.T, mode="complete")[0][:, len(V) :]
    values, vectors = top_eigh(symmetrize(outside.T @ (unwhiten.T @ unwhiten) @ outside), len(outside.T))
    vectors = outside @ vectors
    if rows is not None:
        edges = np.flatnonzero(-np.diff(values) > SAME * values[:1]) + 1
        for same in np.split(np.arange(len(values)), edges):
            if len(same) > 1:
                Z = vectors[:, same].T @ rows.U
                vectors[:, same] = vectors[:, same] @ np.linalg.eigh((Z * rows.mean_squares()) @ Z.T)[1]
    return np.asarray(vectors.T)


def log_volume(V: Array) -> float:
    """Half the log-determinant of V V': the log of the volume that the rows span; minus infinity for dependent rows."""
    sign, value = np.linalg.slogdet(V @ V.T)
    return 0.5 * float(value) if sign > 0 else -np.inf


def log_volume_slope(V: Array) -> tuple[float, Array]:
    """`log_volume` and its gradient (V V')^-1 V."""
    if len(V) == 1:  # one latent is common, and tables with few rows count every call
        square = float(np.vdot(V, V))
        return 0.5 * float(np.log(square)), V / square
    try:
        inverse, value = inverse_logdet(V @ V.T)
    except np.linalg.LinAlgError:  # dependent rows, far from any maximum
        return -np.inf, np.asarray(np.linalg.pinv(V).T, dtype=np.float64)
    return 0.5 * value, np.asarray(inverse @ V)


def log_likelihood(params: Params, rows: Rows) -> float:
    """Profiled log-likelihood per row of whitened rows and their labels, in nats.

    logdet(V V') / 2 - (d - S) (1 + log 2 pi) / 2 + mean_i sum_s log sum_k pl_isk pi_sk N(v_s u_i; mu_sk, nu_sk)
    """
    S, d = params.V.shape
    total = sum(float(condition(params, params.V @ U, log_pl).log_density.sum()) for U, log_pl in rows.chunks())
    return float(log_volume(params.V) - 0.5 * (d - S) * (1.0 + LOG_2PI) + total / rows.U.shape[1])


class Sums(NamedTuple):
    """Averages over rows, and the log-likelihood per row."""

    value: float
    V: Array  # (S, d)       gradient with respect to V
    resp: Array  # (b, c)
    first: Array  # (S, c)   of responsibility times deviation from the mean
    second: Array  # (S, c)  of responsibility times its square


def accumulate(params: Params, rows: Rows) -> Sums:
    """Everything that the gradient of `log_likelihood` needs, in one read of the rows."""
    S, d = params.V.shape
    n = rows.U.shape[1]
    total, V, resp, first, second = 0.0, 0.0, 0.0, 0.0, 0.0  # a single part is not copied
    for U, log_pl in rows.chunks():
        post = condition(params, params.V @ U, log_pl)
        weighted = post.resp * post.deviation
        total = total + post.log_density.sum()
        resp = resp + post.resp.sum(axis=2)
        first = first + weighted.sum(axis=2)
        second = second + np.einsum("skn,skn->sk", weighted, post.deviation)
        V = V + np.einsum("skn,sk->sn", weighted, 1.0 / params.variances) @ U.T
    volume, slope = log_volume_slope(params.V)
    value = volume - 0.5 * (d - S) * (1.0 + LOG_2PI) + float(total) / n
    return Sums(value, slope - V / n, resp / n, first / n, second / n)


# -- one vector without constraints, for gradient methods ----------------------------------------------------------


class Packing:
    """Parameters as one vector: rows of V of any length, logits, means, log-variances; `present` (S, c) components."""

    def __init__(self, present: BoolArray, d: int, *, tied: bool) -> None:
        self.present, self.d, self.tied = present, d, tied
        self.weights_present = self.present[:1] if tied else self.present
        self.all_present = bool(present.all())  # no padding, so masks can be left out, which counts on few rows
        self.n_variances = len(present) if tied else int(self.present.sum())
        sizes = [len(present) * d, int(self.weights_present.sum()), int(self.present.sum()), self.n_variances]
        self.edges = np.cumsum(sizes).tolist()

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds; only log-variances have them, and the upper one keeps trial steps finite."""
        lower = np.full(int(self.edges[-1]), -np.inf)
        upper = -lower
        lower[int(self.edges[-2]) :], upper[int(self.edges[-2]) :] = np.log(FLOOR), np.log(CEILING)
        return lower, upper

    def pack(self, params: Params) -> Array:
        """Return the vector."""
        variances = params.variances[:, 0] if self.tied else params.variances[self.present]
        logits = np.maximum(params.log_weights[self.weights_present], LEAST_LOGIT)
        return np.concatenate([params.V.ravel(), logits, params.means[self.present], np.log(variances)])

    def units(self, params: Params) -> Array:
        """Length of each entry in which the likelihood has a curvature of about one, from the Fisher information."""
        weights = np.exp(params.log_weights)
        safe = np.maximum(weights, LEAST_SHARE)
        information = safe / params.variances  # (S, c)
        rows_of_v = np.repeat(information.sum(axis=1), self.d)
        per_variance = np.broadcast_to(0.5 * safe, self.present.shape)
        last = np.full(len(self.present), 0.5) if self.tied else self._flat(per_variance, self.present)
        parts = (rows_of_v, self._flat(safe, self.weights_present), self._flat(information, self.present), last)
        return np.asarray(1.0 / np.sqrt(np.concatenate(parts)))

    def unpack(self, vector: Array) -> Params:
        """Return parameters with rows of unit length and weights that sum to one."""
        first, second, third, _ = self.edges
        V = vector[:first].reshape(-1, self.d)
        log_weights = self._padded(vector[first:second].copy(), self.weights_present, -np.inf)
        log_weights -= normalized(log_weights)[1][:, None]
        variances = np.maximum(np.exp(vector[third:]), FLOOR)  # exp(log(floor)) may round to less
        if self.tied:
            variances = np.repeat(variances[:, None], self.present.shape[1], axis=1)
        else:
            variances = self._padded(variances, self.present, 1.0)
        means = self._padded(vector[second:third], self.present, 0.0)
        return Params(V / np.sqrt(np.einsum("sd,sd->s", V, V))[:, None], log_weights, means, variances)

    def _padded(self, values: Array, present: BoolArray, blank: float) -> Array:
        if self.all_present:
            return values.reshape(present.shape)
        out = np.full(present.shape, blank)
        out[present] = values
        return out

    def _flat(self, A: Array, present: BoolArray) -> Array:
        return A.ravel() if self.all_present else A[present]

    def split(self, vector: Array) -> tuple[Array, Array]:
        """Rows of V (S, d), and logits, means and log-variances (S, 3, c); no class variable is shared.

        Of a slope or a step: zeros where components are absent.
        """
        first, second, third, _ = self.edges
        parts = vector[first:second], vector[second:third], vector[third:]
        return vector[:first].reshape(-1, self.d), np.stack(
            [self._padded(part, self.present, 0.0) for part in parts], axis=1
        )

    def join(self, of_V: Array, of_mixtures: Array) -> Array:
        """The way back, from (S, d) and (S, 3, c)."""
        parts = of_mixtures.transpose(1, 0, 2)
        return np.concatenate([of_V.ravel(), *(self._flat(part, self.present) for part in parts)])

    def value_and_gradient(self, vector: Array, rows: Rows) -> tuple[float, Array]:
        """Log-likelihood per row and its gradient with respect to the vector."""
        params = self.unpack(vector)
        sums = accumulate(params, rows)
        rows_of_v = vector[: self.edges[0]].reshape(-1, self.d)
        lengths = np.sqrt(np.einsum("sd,sd->s", rows_of_v, rows_of_v))
        along = np.einsum("sd,sd->s", sums.V, params.V)
        V = (sums.V - along[:, None] * params.V) / lengths[:, None]
        weights = sums.resp - np.exp(params.log_weights)
        means = sums.first / params.variances
        log_variances = 0.5 * (sums.second / params.variances - sums.resp)
        last = log_variances.sum(axis=1) if self.tied else self._flat(log_variances, self.present)
        parts = (V.ravel(), self._flat(weights, self.weights_present), self._flat(means, self.present), last)
        return sums.value, np.concatenate(parts)


# -- ECM: closed-form moves, each of which cannot lower the likelihood ----------------------------------------------


class Clusters(NamedTuple):
    """Moments of whitened rows by component, weighted by responsibilities."""

    shares: Array  # (c,)
    means: Array  # (c, d)
    covariances: Array  # (c, d, d)   about the mean of the component


def cluster_moments(params: Params, rows: Rows, s: int) -> Clusters:
    """Moments of the rows by component of latent s, or of the shared class variable."""
    block = s if len(params.log_weights) > 1 else 0
    latents = slice(block, block + 1) if len(params.log_weights) > 1 else slice(None)
    some = Params(params.V[latents], params.log_weights[[block]], params.means[latents], params.variances[latents])
    d, n = rows.U.shape
    c = params.means.shape[1]
    shares, firsts, seconds = np.zeros(c), np.zeros((c, d)), np.zeros((c, d, d))
    for U, log_pl in rows.chunks():
        resp = condition(some, some.V @ U, log_pl[[block]]).resp[0]
        shares += resp.sum(axis=1)
        firsts += resp @ U.T
        for k in range(c - 1):
            seconds[k] += (U * resp[k]) @ U.T
    shares, firsts, seconds = shares / n, firsts / n, seconds / n
    seconds[-1] = np.eye(d) - seconds[:-1].sum(axis=0)  # the rows are white
    safe = np.where(shares > 0, shares, 1.0)[:, None]
    means = firsts / safe
    covariances = seconds / safe[:, :, None] - means[:, :, None] * means[:, None, :]
    return Clusters(shares, means, covariances)


def move_latent(params: Params, moments: Clusters, s: int, present: BoolArray) -> Params:
    """Best row s of V for given responsibilities and variances, then the best mixture for that row.

    The row maximizes v' P v / v' A v, with P projecting off the other rows and A = sum_k p_k S_k / nu_k: for P = N N'
    it is A^-1 N w with w the leading eigenvector of N' A^-1 N.
    """
    S, d = params.V.shape
    others = params.V[np.arange(S) != s]
    outside = np.linalg.qr(others.T, mode="complete")[0][:, S - 1 :] if S > 1 else np.eye(d)  # P = outside outside'
    A = np.tensordot(moments.shares / params.variances[s], moments.covariances, axes=1)
    A.flat[:: d + 1] += 1e-12 * np.trace(A) / d  # components of a few rows have flat covariances
    try:
        half = inverse_logdet(symmetrize(A))[0] @ outside
    except np.linalg.LinAlgError:  # covariances that are rounding, of a row far from all others
        return params
    v = half @ np.linalg.eigh(symmetrize(outside.T @ half))[1][:, -1]
    v /= np.linalg.norm(v)
    v *= 1.0 if v @ params.V[s] >= 0 else -1.0
    V, log_weights = params.V.copy(), params.log_weights.copy()
    means, variances = params.means.copy(), params.variances.copy()
    V[s], used = v, present[s] & (moments.shares > 0)
    with np.errstate(divide="ignore"):
        log_weights[s] = np.log(moments.shares)
    means[s, used] = (moments.means @ v)[used]
    variances[s, used] = np.maximum(np.einsum("i,kij,j->k", v, moments.covariances, v), FLOOR)[used]
    return Params(V, log_weights, means, variances)


def move_tied(params: Params, moments: Clusters) -> Params:
    """M-step of classes that share their covariance: the rows of V are the leading directions of the class means.

    White rows have within-class covariance I - B with B the covariance of the class means, so the eigenvectors of B
    are the discriminant directions and one minus its eigenvalues the variances within classes.
    """
    S = len(params.V)
    values, vectors = top_eigh((moments.means.T * moments.shares) @ moments.means, S)
    means = vectors.T @ moments.means.T
    variances = np.maximum(1.0 - values, FLOOR)
    with np.errstate(divide="ignore"):
        log_weights = np.log(moments.shares)[None, :]
    return Params(vectors.T, log_weights, means, np.repeat(variances[:, None], means.shape[1], axis=1))
