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
from .row_fit import Conditioner, RowFit

X_FLOOR, Y_FLOOR = 1e-6, 1e-3  # smallest noise variances, relative to the variance of x and of y
HALVINGS = 12
FIRST_STEP = 1.0  # length of each v after one Newton step from zero, at most
MOST_UNKNOWNS = 600  # label parameters that one Newton step solves for together


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
    direction: Array  # (h, k + 1)   Newton step of (V, b)
    noise: Array  # (q,)   Newton step of the logarithms of the noise variances
    shift: Array  # (n_l, k)   what the labels add to E[z]


class Rules(NamedTuple):
    """What is held fixed."""

    layout: Layout
    ridge: float  # on the rows of V that are not of Gaussian outputs
    n_guided: int  # V is zero on the later latent dimensions
    guarded: bool = True  # whether steps are judged by the objective; Laplace's ignores how the curvature moves
    monotone: bool = True  # whether the objective never falls


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
        self._last: tuple[Params, Sums] | None = None

    def e_step(self, params: Params) -> Sums:
        """Expected statistics and the objective; those of the last parameters are kept."""
        if self._last is not None and self._last[0] is params:
            return self._last[1]
        view, V, w = self.view, params.V, self.view.weights
        post = given_x(params)
        latent = view.T @ post.gain.T
        VS = V @ post.cov  # (h, k)
        cov = symmetrise(VS @ V.T)
        fit = self.condition(latent @ V.T + params.b, cov, params.noise)
        shift = fit.slope @ VS
        weighted = shift * w[:, None]
        xx_gain = view.xx @ post.gain.T
        cross = weighted.T @ latent
        zz = view.weight * post.cov + post.gain @ xx_gain + cross + cross.T + weighted.T @ shift
        zz -= VS.T @ np.tensordot(w, fit.curvature, axes=1) @ VS
        objective = x_log_likelihood(params, post, view) + float(w @ fit.log_z)
        objective -= 0.5 * float(self.penalised @ (V**2).sum(axis=1))
        gradient = self._gradient(params, latent, fit, VS)
        sums = Sums(
            objective, xx_gain + view.T.T @ weighted, symmetrise(zz), gradient,
            self._newton(gradient, fit.curvature, latent), self._noise_steps(params, fit), shift,
        )  # fmt: skip
        self._last = params, sums
        return sums

    def _gradient(self, params: Params, latent: Array, fit: RowFit, VS: Array) -> Array:
        """Gradient of log-evidence and ridge in (V, b), through the means V E[z] + b and the covariance V cov V'."""
        slope = fit.slope * self.view.weights[:, None]
        second = slope.T @ fit.slope - np.tensordot(self.view.weights, fit.curvature, axes=1)
        in_V = slope.T @ latent + second @ VS - self.penalised[:, None] * params.V
        in_V[:, self.rules.n_guided :] = 0.0
        return np.column_stack([in_V, slope.sum(axis=0)])

    def _newton(self, gradient: Array, curvature: Array, latent: Array) -> Array:
        """Ascent direction (h, k + 1): the gradient over the curvature in (V, b), the covariance of z held.

        `curvature` (n_l, h, h) is that of each row's log-likelihood in its predictors. Very many unknowns are solved
        for one predictor at a time.
        """
        h, g = len(gradient), self.rules.n_guided
        if h == 0 or len(latent) == 0:
            return np.zeros_like(gradient)
        z1 = np.column_stack([latent[:, :g], np.ones(len(latent))])
        used, m = np.append(np.arange(g), gradient.shape[1] - 1), g + 1
        groups = [np.arange(h)] if h * m <= MOST_UNKNOWNS else [np.array([i]) for i in range(h)]
        outer = (z1[:, :, None] * z1[:, None, :]).reshape(len(z1), m * m)
        weighted = curvature * self.view.weights[:, None, None]
        out = np.zeros_like(gradient)
        for i in groups:
            part = weighted[:, i[:, None], i].reshape(len(z1), len(i) ** 2)
            H = (part.T @ outer).reshape(len(i), len(i), m, m).transpose(0, 2, 1, 3).reshape(len(i) * m, len(i) * m)
            ridge = np.repeat(self.penalised[i, None], m, axis=1)
            ridge[:, -1] = 0.0
            smallest = 1e-9 * (float(H.diagonal().max()) + 1e-12 * self.label_weight)
            H.flat[:: len(H) + 1] += ridge.ravel() + smallest
            out[i[:, None], used] = np.linalg.solve(H, gradient[i[:, None], used].ravel()).reshape(len(i), m)
        return out

    def _noise_steps(self, params: Params, fit: RowFit) -> Array:
        """Steps (q,) of the logarithms of the noise variances, zero if not Gaussian.

        The evidence of a Gaussian output feels its noise as it feels the variance of its predictor. Fisher scoring, at
        most by one, where the objective guards it; else the shorter step of EM.
        """
        out = np.zeros(len(params.noise))
        for j, (kind, predictors) in enumerate(self.rules.layout.parts()):
            if kind == "gaussian":
                rows, i = self.seen[:, j], predictors.start
                w, curvature = self.view.weights[rows], fit.curvature[rows, i, i]
                gain = float(w @ (fit.slope[rows, i] ** 2 - curvature))
                if self.rules.guarded:
                    step = gain / float(w @ curvature**2) / params.noise[j]
                else:
                    step = float(np.log(1.0 + params.noise[j] * gain / w.sum()))
                out[j] = np.clip(step, max(-1.0, np.log(Y_FLOOR / params.noise[j])), 1.0)
        return out

    def m_step(self, sums: Sums, params: Params) -> Params:
        """Maximise the expected log-likelihood over W, its noise and the law of z; Newton steps of all else with it.

        The Newton step is shortened until the objective does not fall below the one before; without it, EM's own
        argument says that it does not.
        """
        view = self.view
        W = np.linalg.solve(sums.zz, sums.xz.T).T
        left = view.energy - float(np.sum(W * sums.xz))
        x_noise_var = max(left / (view.weight * view.n_features), X_FLOOR)
        L = expansion(sums.zz / view.weight, params.V, self.penalised / view.weight)
        return self._with_labels(Params(W @ L, x_noise_var, params.V, params.b, params.noise), L, sums)

    def raise_labels(self, params: Params, n_steps: int) -> Params:
        """Newton steps of V, b and the noise of outputs alone."""
        for _ in range(n_steps):
            params = self._with_labels(params, np.eye(params.W.shape[1]), self.e_step(params))
        return params

    def _with_labels(self, params: Params, L: Array, sums: Sums) -> Params:
        # far from the maximum a full step may leave the region where the curvature means anything
        longest = float(np.linalg.norm(params.V)) + FIRST_STEP * np.sqrt(max(len(params.V), 1))
        step = min(1.0, longest / max(float(np.linalg.norm(sums.direction[:, :-1])), 1e-300))
        for _ in range(HALVINGS):
            change = step * sums.direction
            trial = params._replace(V=(params.V + change[:, :-1]) @ L, b=params.b + change[:, -1])
            trial = trial._replace(noise=params.noise * np.exp(step * sums.noise))
            if not self.rules.guarded or self.e_step(trial).objective >= sums.objective:
                return trial
            step *= 0.5
        return params._replace(V=params.V @ L)

    def residual(self, sums: Sums, params: Params, after: Params) -> float:
        """Relative distance from stationarity of loadings, noise variances and label parameters."""
        size = float(np.linalg.norm(sums.xz))
        loadings = float(np.linalg.norm(sums.xz - params.W @ sums.zz)) / size if size > 0 else 0.0
        noises = [after.x_noise_var / params.x_noise_var, *(after.noise / params.noise)]
        moves = float(np.abs(np.log(noises)).max())
        return max(loadings, moves, float(np.linalg.norm(sums.gradient)) / self.label_weight)

    def climb(self, start: Params, tol: float, max_iter: int, acceleration: str | None) -> Result[tuple[Params, Sums]]:
        """Run EM from `start`; proposals are made where the objective can judge them."""
        return run_em(
            self.e_step,
            self.m_step,
            start,
            log_likelihood=lambda sums: sums.objective,
            residual=self.residual,
            tol=tol,
            max_iter=max_iter,
            packing=Vector(self.rules.layout),
            acceleration=acceleration if self.rules.guarded else None,
            monotone=self.rules.monotone,
        )


def expansion(zz: Array, V: Array, ridge: Array) -> Array:
    """The lower triangular map (k, k) that folds the estimated law of z into W and V (parameter-expanded EM).

    With z ~ N(0, S) free, the expected log-density -(log|S| + tr S^-1 zz) / 2 less the ridge tr(S V' ridge V) / 2 that
    lies on the folded V is largest where S + S A S = zz, A = V' ridge V; with zz = CC' the solution is C t(C'AC) C',
    b t^2 + t = 1 for every eigenvalue b. All per unit of weight. Zero columns at the end of V stay zero.
    """
    C = np.linalg.cholesky(symmetrise(zz))
    VC = V @ C
    b, U = np.linalg.eigh(symmetrise(VC.T @ (VC * ridge[:, None])))
    t = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 * np.maximum(b, 0.0)))
    root = (C @ U) * np.sqrt(t)
    return np.asarray(np.linalg.cholesky(symmetrise(root @ root.T)))


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
