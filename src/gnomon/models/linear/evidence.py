"""What outputs say of their predictors, summed over rows in a basis: row by row, or by pattern of real outputs."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, BoolArray, IntArray
from ...likelihoods.exact import precisions
from ...likelihoods.layout import Layout
from ...likelihoods.quadrature import chunks
from ...likelihoods.sites import SiteFit, Sites
from ...numerics.linalg import symmetrize
from ...numerics.linear_gaussian import LOG_2PI, FromX, Params
from ...numerics.scramble import random_uniforms
from ...rows.contract import add
from ...rows.products import rows_with_some
from .basis import Basis
from .curvature import MOST_UNKNOWNS, Curvature, curvature_of_groups, curvature_of_rows
from .ratio import JointMoments

IN_CACHE = 32  # patterns whose moments are handled at once
FEWEST, MOST_PRODUCTS = 4000, 1 << 25  # rows whose curvature stands for that of all, or products of their predictors
SAME = 1e-13  # of predictors whose rows need not be asked again


class Evidence(NamedTuple):
    """Sums over rows, by weight, of log-evidence, its slopes and curvatures in the predictors, and products of them."""

    log_z: float
    gap: float  # of the sites
    slope: Array  # (h,)
    slope_x: Array  # (h, r)   slope times x'
    slopes: Array  # (h, h)   slope times slope'
    curvature: Array  # (h, h)
    noise: Array  # (3, q)   see `noise_sums`


def noise_sums(noisy: tuple[tuple[int, int], ...], Y: Array, weights: Array, fit: SiteFit) -> Array:
    """For each output (3, q): the derivative of the evidence in its noise variance, twice; its curvature; the weight.

    The evidence of a real output feels its noise as it feels the variance of its predictor; `noisy` names both.
    """
    out = np.zeros((3, Y.shape[1]))
    for j, i in noisy:
        rows = np.flatnonzero(~np.isnan(Y[:, j]))
        w, second = weights[rows], fit.distinct[rows if fit.of_row is None else fit.of_row[rows], i, i]
        out[:, j] = w @ (fit.slope[rows, i] ** 2 - second), w @ second**2, w.sum()
    return out


def noisy_predictors(layout: Layout) -> tuple[tuple[int, int], ...]:
    """The outputs that have a noise variance, and the predictor of each."""
    return tuple((j, at.start) for j, (family, at) in enumerate(layout.parts) if family.noisy)


class Coded(NamedTuple):
    """Second moments (h, h) and weights (h,) of outputs as real numbers over the rows that observe them."""

    yy: Array
    counts: Array

    @classmethod
    def of(cls, codes: Array, observed: BoolArray, weights: Array) -> "Coded":
        """Those of codes (n, h), zero where not observed."""
        some = rows_with_some(observed)
        seen, codes, weights = observed.take(some, axis=0).astype(float), codes.take(some, axis=0), weights[some]
        pairs = (seen * weights[:, None]).T @ seen
        yy = (codes * weights[:, None]).T @ codes
        return cls(symmetrize(yy / np.where(pairs > 0, pairs, 1.0)), pairs.diagonal())

    def joint(self, basis: Basis) -> JointMoments:
        """Averages of x and the codes as if every row observed them."""
        space = basis.products.space
        xy = basis.vectors.T @ basis.products.xy / np.maximum(self.counts, 1e-300)
        return JointMoments(
            basis.xx / space.weight, xy, self.yy, basis.outside_energy / space.weight, space.weight, space.n_features
        )


class Rows(NamedTuple):
    """What `LabeledRows` holds of its rows at some parameters."""

    fit: SiteFit
    latent: Array  # (n, k)   E[z | x]
    shift: Array  # (n, k)   what the outputs add to it
    curvature: Array  # (h, h)   sum of those of the sites
    given: tuple[Array, Array, Array]  # mean (n, h) and covariance of the predictors, noise
    accuracy: float  # of the sites

    def of(self, given: tuple[Array, Array, Array], accuracy: float) -> bool:
        """Whether it is what these predictors have, but for rounding: a basis that grew changes no row."""
        pairs = zip(self.given, given, strict=True)
        return self.accuracy <= accuracy and all(np.allclose(a, b, rtol=SAME, atol=SAME) for a, b in pairs)


class LabeledRows:
    """Outputs of any kind of rows seen through a basis, row by row.

    `held` is what one call leaves for others at the same parameters.
    """

    def __init__(self, T: Array, weights: Array, Y: Array, layout: Layout, sites: Sites) -> None:
        self.T, self.weights, self.Y, self.layout, self.sites = T, weights, Y, layout, sites
        self.noisy = noisy_predictors(layout)

    @property
    def weight(self) -> float:
        """Of the rows that have outputs."""
        return float(self.weights.sum())

    def chosen(self, n_rows: int) -> IntArray:
        """Some rows, whatever the order of all."""
        return np.sort(self._scrambled[:n_rows])

    @cached_property
    def _scrambled(self) -> IntArray:
        lengths = np.einsum("nr,nr->n", self.T, self.T)
        every = random_uniforms(lengths / max(float(lengths.mean()), 1e-300), np.random.default_rng(0))
        return np.argsort(np.where(self.weights > 0.0, every, np.inf), kind="stable")

    def some(self, rows: IntArray) -> "LabeledRows":
        """Some of the rows, which stand for all."""
        return LabeledRows(self.T[rows], self._for_all(rows), self.Y[rows], self.layout, self.sites)

    def _for_all(self, rows: IntArray) -> Array:
        w = self.weights[rows]
        return np.asarray(w * (self.weight / w.sum()))

    def sums(self, params: Params, x: FromX, near: Rows | None, accuracy: float) -> tuple[Evidence, Rows]:
        """The sums, iterating from `near`, the `held` of other parameters."""
        V, w = params.W_y, self.weights
        latent, VS = self.T @ x.gain.T, V @ x.cov
        given = latent @ V.T + params.m_y, symmetrize(VS @ V.T), params.y_noise_var
        if near is not None and near.of(given, accuracy):
            fit, total = near.fit, near.curvature
        else:
            start = None if near is None else near.fit.near_at(given[0] - near.given[0])
            fit = self.sites(self.Y, *given, start, accuracy)
            total = fit.total_curvature(w)
        weighted, shift = fit.slope * w[:, None], fit.slope @ VS
        found = Evidence(
            float(w @ fit.log_z),
            0.0 if fit.gap is None else float(w @ fit.gap),
            weighted.sum(axis=0),
            weighted.T @ self.T,
            weighted.T @ fit.slope,
            total,
            noise_sums(self.noisy, self.Y, w, fit),
        )
        return found, Rows(fit, latent, shift, total, given, 0.0 if fit.gap is None else accuracy)

    def newton(self, x: FromX, held: Rows, most: int = MOST_UNKNOWNS) -> Curvature:
        """Curvature of the log-evidence, the covariance of z held; of many rows, some stand for all."""
        fit, w = held.fit, self.weights
        z1 = np.column_stack([held.latent, np.ones(len(held.latent))])
        enough = max(FEWEST, MOST_PRODUCTS // (len(held.curvature) * z1.shape[1]) ** 2)
        if len(z1) > enough:
            rows = self.chosen(enough)
            fit, z1, w = fit.some(rows), z1[rows], self._for_all(rows)
        return curvature_of_rows(fit, z1, w, held.curvature, most)


class LabeledPatterns:
    """The same of real outputs, by moments of all rows that observe the same ones; rare ones row by row.

    `moments` (g, 1 + r + q, 1 + r + q) are weighted sums of products of (1, t, y), zero where `observed` (g, q) is not.
    """

    def __init__(self, observed: BoolArray, moments: Array, rare: LabeledRows | None) -> None:
        some = observed.any(axis=1)
        self.rare, self.observed, moments = rare, observed[some], moments if some.all() else moments[some]
        g, q, r = len(moments), observed.shape[1], moments.shape[1] - 1 - observed.shape[1]
        self.weights = moments[:, 0, 0].copy()
        mean = moments[:, 0, 1:] / self.weights[:, None]
        self.t, self.y = mean[:, :r], mean[:, r:]
        self.tt, self.yt, self.yy = np.empty((g, r, r)), np.empty((g, q, r)), np.empty((g, q, q))
        for at in chunks(g, 1, IN_CACHE):  # a copy of all moments at once would be as large as they are
            scatter = moments[at, 1:, 1:] - moments[at, 0, 1:, None] * mean[at, None, :]
            self.tt[at], self.yt[at], self.yy[at] = scatter[:, :r, :r], scatter[:, r:, :r], scatter[:, r:, r:]

    @property
    def weight(self) -> float:
        return float(self.weights.sum()) + (0.0 if self.rare is None else self.rare.weight)

    def sums(self, params: Params, x: FromX, near: Any, accuracy: float) -> tuple[Evidence, Any]:
        """Slopes are the precision times what x leaves of the outputs."""
        V, w = params.W_y, self.weights
        G, VS = V @ x.gain, V @ x.cov
        precision, log_det = precisions(VS @ V.T, params.y_noise_var, self.observed)
        tz = _times(self.tt, x.gain.T)
        mean = np.where(self.observed, self.y - params.m_y - self.t @ G.T, 0.0)
        wm = w[:, None] * mean
        left_x = self.yt - np.swapaxes(_times(tz, V.T), 1, 2)
        left = self.yy - _times(self.yt, G.T) - np.swapaxes(_times(left_x, G.T), 1, 2)
        left += wm[:, :, None] * mean[:, None, :]
        left_x += wm[:, :, None] * self.t[:, None, :]
        slopes = (precision @ left @ precision).sum(axis=0)
        slope_x = np.tensordot(precision, left_x, axes=([0, 2], [0, 1]))
        logs = float(np.vdot(precision, left)) + float(w @ (log_det + LOG_2PI * self.observed.sum(axis=1)))
        own = np.einsum("gaa->ga", precision)
        found = Evidence(
            -0.5 * logs,
            0.0,
            np.tensordot(precision, wm, axes=([0, 2], [0, 1])),
            slope_x,
            slopes,
            np.tensordot(w, precision, axes=1),
            np.array([slopes.diagonal() - w @ own, w @ own**2, w @ self.observed]),
        )
        if self.rare is None:
            return found, (None, precision, VS, tz)
        more, rare = self.rare.sums(params, x, None, accuracy)
        return add(found, more), (rare, precision, VS, tz)

    def beside_latent(self, gain: Array) -> Array:
        """Sums (q, k + 2, k + 2) of products of (1, z, y) over the rows that observe y, for z = gain t."""
        q, k = self.y.shape[1], len(gain)
        mean = np.ones((q, len(self.weights), k + 2))
        mean[:, :, 1:-1], mean[:, :, -1] = self.t @ gain.T, self.y.T
        yz, zz = _times(self.yt, gain.T), gain @ _times(self.tt, gain.T)
        observed = self.observed.T
        out = np.swapaxes(mean, 1, 2) @ ((self.weights * observed)[:, :, None] * mean)
        out[:, 1:-1, 1:-1] += np.tensordot(observed.astype(float), zz, axes=1)
        cross = (self.observed[:, :, None] * yz).sum(axis=0)
        out[:, 1:-1, -1] += cross
        out[:, -1, 1:-1] += cross
        out[:, -1, -1] += (self.observed * np.einsum("gaa->ga", self.yy)).sum(axis=0)
        if self.rare is not None:
            z, Y = self.rare.T @ gain.T, self.rare.Y
            for j in range(q):
                seen = ~np.isnan(Y[:, j])
                A = np.column_stack([np.ones(int(seen.sum())), z[seen], Y[seen, j]])
                out[j] += (A * self.rare.weights[seen, None]).T @ A
        return out

    def newton(self, x: FromX, held: Any) -> Curvature:
        rare, precision, VS, tz = held
        gain, w = x.gain, self.weights[:, None, None]
        z1 = np.column_stack([self.t @ gain.T, np.ones(len(self.t))])
        moments = w * z1[:, :, None] * z1[:, None, :]
        moments[:, :-1, :-1] += gain @ tz
        # outputs feel their loadings through the covariance of predictors as well
        moments[:, :-1, :-1] += 2.0 * w * (VS.T @ _times(precision, VS))
        found = curvature_of_groups(precision, moments)
        return found if self.rare is None else found.plus(self.rare.newton(x, rare))


def _times(A: Array, B: Array) -> Array:
    """A (g, a, b) times B (b, c), as one product."""
    return np.asarray((A.reshape(-1, A.shape[2]) @ B).reshape(*A.shape[:2], B.shape[1]))
