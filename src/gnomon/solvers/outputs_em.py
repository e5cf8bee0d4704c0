"""EM for latent variables that explain x linearly and outputs of several kinds through linear predictors.

z ~ N(0, I), x = W z + e with x centred, e ~ N(0, x_noise_var I), and outputs given a = V z + b. Given x alone the
predictors of a row are Gaussian, so all that its labels say is a log-evidence with slope and curvature; the posterior
of z follows from them by Stein's lemma, and the rows without labels stay in second moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array, Result
from ..numerics.linalg import inverse_logdet, symmetrise
from ..numerics.linear_gaussian import LOG_2PI
from ..numerics.outputs import Layout
from .em import run_em
from .labelled_basis import View
from .row_posterior import Conditioner, RowFit

X_FLOOR, Y_FLOOR = 1e-6, 1e-3  # smallest noise variances, relative to the variance of x and of y
HALVINGS = 12


class Params(NamedTuple):
    """Parameters of the model; the mean of x is that of its rows, because b absorbs any other."""

    W: Array  # (r, k)
    x_noise_var: float
    V: Array  # (h, k)
    b: Array  # (h,)
    noise: Array  # (q,)   noise variances of Gaussian outputs, one for the others


class FromX(NamedTuple):
    """What x says of z: N(gain x, cov)."""

    gain: Array  # (k, r)
    cov: Array  # (k, k)
    log_det: float  # of W'W + x_noise_var I


class Sums(NamedTuple):
    """Expected statistics of an E-step and the objective in nats."""

    objective: float
    xz: Array  # (r, k)   sum of x E[z]'
    zz: Array  # (k, k)   sum of E[zz']
    gradient: Array  # (h, k + 1)   of the objective in (V, b)
    noise: Array  # (q,)   expected squared residuals of Gaussian outputs, averaged
    shift: Array  # (n_l, k)   what the labels add to E[z]


class Rules(NamedTuple):
    """What is held fixed."""

    layout: Layout
    ridge: float  # on the rows of V that are not of Gaussian outputs
    n_guided: int  # V is zero on the later latent dimensions


def given_x(params: Params) -> FromX:
    """Condition z on x."""
    W = params.W
    inverse, log_det = inverse_logdet(symmetrise(W.T @ W) + params.x_noise_var * np.eye(W.shape[1]))
    return FromX(inverse @ W.T, params.x_noise_var * inverse, log_det)


def x_log_likelihood(params: Params, post: FromX, view: View) -> float:
    """Log-density of all rows of x, in nats."""
    k, s2 = params.W.shape[1], params.x_noise_var
    explained = float(np.sum((view.xx @ params.W) * post.gain.T))
    logs = view.n_features * LOG_2PI + post.log_det + (view.n_features - k) * np.log(s2)
    return float(-0.5 * (view.weight * logs + (view.energy - explained) / s2))


class OutputsEM:
    """The steps of EM over one view of the data."""

    def __init__(self, view: View, Y: Array, rules: Rules, condition: Conditioner) -> None:
        self.view, self.Y, self.rules, self.condition = view, Y, rules, condition
        self.seen = ~np.isnan(Y)
        self.penalised = rules.ridge * (1.0 - rules.layout.is_gaussian())
        self.label_weight = max(float(view.weights.sum()), 1e-300)
        self._last: tuple[Params, FromX, Array, RowFit] | None = None

    def _fit_rows(self, params: Params, post: FromX, latent: Array) -> RowFit:
        cov = params.V @ post.cov @ params.V.T
        return self.condition(latent @ params.V.T + params.b, cov, params.noise)

    def _labels_value(self, params: Params, fit: RowFit) -> float:
        return float(self.view.weights @ fit.log_z) - 0.5 * float(self.penalised @ (params.V**2).sum(axis=1))

    def _gradient(self, params: Params, post: FromX, latent: Array, fit: RowFit) -> Array:
        """Of the log-evidence and the ridge in (V, b): through the means V E[z] + b and the covariance V cov V'."""
        slope = fit.slope * self.view.weights[:, None]
        second = slope.T @ fit.slope - np.tensordot(self.view.weights, fit.curvature, axes=1)
        in_V = slope.T @ latent + second @ params.V @ post.cov - self.penalised[:, None] * params.V
        in_V[:, self.rules.n_guided :] = 0.0
        return np.column_stack([in_V, slope.sum(axis=0)])

    def e_step(self, params: Params) -> Sums:
        """Expected statistics; the last fit of the rows is used again where it is of these parameters."""
        view, V = self.view, params.V
        if self._last is not None and self._last[0] is params:
            _, post, latent, fit = self._last
        else:
            post = given_x(params)
            latent = view.T @ post.gain.T
            fit = self._fit_rows(params, post, latent)
        w = view.weights
        VS = V @ post.cov  # (h, k)
        shift = fit.slope @ VS
        weighted = shift * w[:, None]
        xx_gain = view.xx @ post.gain.T
        cross = weighted.T @ latent
        zz = view.weight * post.cov + post.gain @ xx_gain + cross + cross.T + weighted.T @ shift
        zz -= VS.T @ np.tensordot(w, fit.curvature, axes=1) @ VS
        objective = x_log_likelihood(params, post, view) + self._labels_value(params, fit)
        gradient = self._gradient(params, post, latent, fit)
        return Sums(
            objective, xx_gain + view.T.T @ weighted, symmetrise(zz), gradient,
            self._residuals(params, post, latent, fit), shift,
        )  # fmt: skip

    def _residuals(self, params: Params, post: FromX, latent: Array, fit: RowFit) -> Array:
        """Average expected squared residual of each Gaussian output, one for the others."""
        out = np.ones(len(params.noise))
        cov = params.V @ post.cov @ params.V.T
        for j, (kind, predictors, _) in enumerate(self.rules.layout.parts()):
            if kind != "gaussian":
                continue
            rows, i = self.seen[:, j], predictors.start
            w = self.view.weights[rows]
            mean = latent[rows] @ params.V[i] + params.b[i] + fit.slope[rows] @ cov[:, i]
            var = cov[i, i] - np.einsum("a,nab,b->n", cov[i], fit.curvature[rows], cov[i])
            out[j] = w @ ((self.Y[rows, j] - mean) ** 2 + var) / w.sum()
        return out

    def m_step(self, sums: Sums, params: Params) -> Params:
        """Maximise the expected log-likelihood over W and the noise, then raise the evidence itself over V and b."""
        view = self.view
        W = np.linalg.solve(sums.zz, sums.xz.T).T
        left = view.energy - float(np.sum(W * sums.xz))
        x_noise_var = max(left / (view.weight * view.n_features), X_FLOOR)
        noise = np.array(params.noise)
        for j, kind in enumerate(self.rules.layout.kinds):
            if kind == "gaussian":
                noise[j] = max(sums.noise[j], Y_FLOOR)
        W = W @ expansion(sums.zz / view.weight, params.V)
        return self.raise_labels(Params(W, x_noise_var, params.V, params.b, noise))

    def raise_labels(self, params: Params, n_steps: int = 1) -> Params:
        """Newton steps of the log-evidence of the labels in (V, b), shortened until it does not fall."""
        if self.rules.layout.size == 0 or len(self.Y) == 0:
            return params
        post = given_x(params)
        latent = self.view.T @ post.gain.T
        fit = self._fit_rows(params, post, latent)
        for _ in range(n_steps):
            value = self._labels_value(params, fit)
            direction = self._newton(params, post, latent, fit)
            step = 1.0
            for _ in range(HALVINGS):
                trial = params._replace(V=params.V + step * direction[:, :-1], b=params.b + step * direction[:, -1])
                trial_fit = self._fit_rows(trial, post, latent)
                if self._labels_value(trial, trial_fit) >= value:
                    params, fit = trial, trial_fit
                    break
                step *= 0.5
            else:
                break
        self._last = (params, post, latent, fit)
        return params

    def _newton(self, params: Params, post: FromX, latent: Array, fit: RowFit) -> Array:
        """Ascent direction (h, k + 1): gradient over the curvature in each predictor, the covariance held."""
        gradient = self._gradient(params, post, latent, fit)
        g = self.rules.n_guided
        z1 = np.column_stack([latent[:, :g], np.ones(len(latent))])
        out = np.zeros_like(gradient)
        used = np.append(np.arange(g), gradient.shape[1] - 1)
        for i in range(len(gradient)):
            weights = self.view.weights * fit.curvature[:, i, i]
            H = (z1 * weights[:, None]).T @ z1
            diagonal = H.diagonal().copy()
            H[np.arange(g), np.arange(g)] += self.penalised[i]
            H.flat[:: len(H) + 1] += 1e-9 * (diagonal.max() + 1e-12 * self.label_weight)
            out[i, used] = np.linalg.solve(H, gradient[i, used])
        return out

    def residual(self, sums: Sums, params: Params, after: Params) -> float:
        """Relative distance from stationarity of loadings, noise variances and label parameters."""
        size = float(np.linalg.norm(sums.xz))
        loadings = float(np.linalg.norm(sums.xz - params.W @ sums.zz)) / size if size > 0 else 0.0
        noises = [after.x_noise_var / params.x_noise_var, *(after.noise / params.noise)]
        moves = float(np.abs(np.log(noises)).max())
        return max(loadings, moves, float(np.linalg.norm(sums.gradient)) / self.label_weight)

    def climb(self, start: Params, tol: float, max_iter: int, acceleration: str | None) -> Result[tuple[Params, Sums]]:
        """Run EM from `start`."""
        return run_em(
            self.e_step,
            self.m_step,
            start,
            log_likelihood=lambda sums: sums.objective,
            residual=self.residual,
            tol=tol,
            max_iter=max_iter,
            packing=Vector(self.rules.layout),
            acceleration=acceleration,
        )


def expansion(zz: Array, V: Array) -> Array:
    """The map (k, k) that folds the estimated law of z into W and leaves V as it is (parameter-expanded EM).

    What V does not see of z may have any mean given what it sees, and any covariance; with `zz` the average second
    moment, both are estimated and folded into W, which removes EM's slowest directions. V itself, on which a ridge
    lies, stays, so that the objective cannot fall.
    """
    k = len(zz)
    U, size, _ = np.linalg.svd(V.T, full_matrices=True)
    rank = int((size > 1e-10 * max(float(size.max(initial=0.0)), 1e-300)).sum())
    if rank >= k:
        return np.eye(k)
    turned = U.T @ zz @ U
    L = np.eye(k)
    on_seen = np.linalg.solve(turned[:rank, :rank], turned[:rank, rank:]).T
    L[rank:, :rank] = on_seen
    L[rank:, rank:] = np.linalg.cholesky(symmetrise(turned[rank:, rank:] - on_seen @ turned[:rank, rank:]))
    return np.asarray(U @ L @ U.T)


class Vector:
    """Parameters as one unconstrained vector: logarithms of the noise variances, then V, b and W."""

    def __init__(self, layout: Layout) -> None:
        self.gaussian = np.array([kind == "gaussian" for kind in layout.kinds], dtype=bool)

    def pack(self, params: Params) -> Array:
        """Return the vector."""
        logs = np.log(np.append(params.noise[self.gaussian], params.x_noise_var))
        return np.concatenate([logs, params.V.ravel(), params.b, params.W.ravel()])

    def unpack(self, vector: Array, like: Params) -> Params:
        """Return parameters shaped like `like`, noise variances at or above their floors."""
        m, (h, k) = int(self.gaussian.sum()), like.V.shape
        logs = np.exp(np.clip(vector[: m + 1], -60.0, 60.0))
        noise = like.noise.copy()
        noise[self.gaussian] = np.maximum(logs[:m], Y_FLOOR)
        V, b, W = np.split(vector[m + 1 :], [h * k, h * k + h])
        return Params(W.reshape(like.W.shape), max(float(logs[m]), X_FLOOR), V.reshape(h, k), b, noise)
