"""EM for latent variables that explain x linearly and outputs of several kinds through linear predictors.

z ~ N(0, I), x = W z + e with x centered, e ~ N(0, x_noise_var I), and outputs given a = V z + b. Given x alone the
predictors of a row are Gaussian, so all that its labels say is a log-evidence with slope and curvature; the posterior
of z follows from them by Stein's lemma, and the rows without labels stay in second moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray, Result
from ...likelihoods.layout import Layout
from ...likelihoods.sites import ACCURACY, SiteFit, Sites
from ...numerics.linalg import inverse_logdet, kronecker_sum, symmetrize
from ...numerics.linear_gaussian import LOG_2PI
from ...solvers.em import run_em
from .basis import View
from .in_basis import X_FLOOR as X_FLOOR
from .in_basis import Y_FLOOR as Y_FLOOR

HALVINGS = 12
SMALLEST_SHARE = 0.05
FIRST_STEP = 1.0  # length of each v after one Newton step from zero, at most
COARSEST, COARSENESS = 1e-2, 0.1  # accuracy of rows: of the first steps, and as a share of the residual
MOST_UNKNOWNS = 200  # label parameters up to which a Newton step is solved by factorizing
CG_ACCURACY, CG_STEPS = 1e-2, 50


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
    shift: Array  # (n_l, k)   what the labels add to E[z]
    latent: Array  # (n_l, k)   E[z] without them
    fit: SiteFit
    accuracy: float  # of the sites


class Rules(NamedTuple):
    """What is held fixed, and what lies on the loadings."""

    layout: Layout
    ridge: float  # on the rows of V that are not of real outputs
    n_guided: int  # V is zero on the later latent dimensions
    guarded: bool = True  # whether steps are judged by the objective; Laplace's ignores how the curvature moves
    monotone: bool = True  # whether the objective never falls
    prior_precision: float = 0.0  # of a N(0, 1 / precision) prior on W and on the rows of V of real outputs
    free_means: bool = True  # estimate b of real outputs, or hold it
    noise: str = "each"  # variances of real outputs: one "each", one "shared" by all, or "fixed"

    @property
    def penalty(self) -> Array:
        """Precision of the prior on each row of V (h,)."""
        ridged = self.layout.ridged
        return np.asarray(self.ridge * ridged + self.prior_precision * (1.0 - ridged))

    @property
    def free_noise(self) -> BoolArray:
        """Which outputs (q,) have a noise variance that is estimated."""
        noisy = self.layout.noisy
        return np.zeros_like(noisy) if self.noise == "fixed" else noisy

    def noise_steps(self, noise: Array, gain: Array, curvature: Array, count: Array) -> Array:
        """Steps (q,) of the logarithms of the noise variances, zero where none is estimated.

        The evidence of a real output feels its noise as it feels the variance of its predictor, with the derivative
        `gain` / 2. Fisher scoring, at most by one, where the objective guards it; else the shorter step of EM.
        """
        out, free = np.zeros(len(noise)), self.free_noise
        if not free.any():
            return out
        parts = [np.where(free, part, 0.0) for part in (gain, curvature, count)]
        if self.noise == "shared":
            parts = [np.full(len(noise), part.sum()) for part in parts]
        gain, curvature, count = (part[free] for part in parts)
        if self.guarded:
            step = gain / np.maximum(curvature, 1e-300) / noise[free]
        else:
            step = np.log(1.0 + noise[free] * gain / count)
        out[free] = np.clip(step, np.maximum(-1.0, np.log(Y_FLOOR / noise[free])), 1.0)
        return out

    @property
    def free_b(self) -> Array:
        """Which entries of b are estimated (h,), as 0 and 1."""
        return np.ones(self.layout.size) if self.free_means else self.layout.ridged


def given_x(params: Params) -> FromX:
    """Condition z on x."""
    W = params.W
    inverse, log_det = inverse_logdet(symmetrize(W.T @ W) + params.x_noise_var * np.eye(W.shape[1]))
    return FromX(inverse @ W.T, params.x_noise_var * inverse, log_det)


def x_log_likelihood(params: Params, post: FromX, view: View) -> float:
    """Log-density of all rows of x, in nats."""
    k, s2 = params.W.shape[1], params.x_noise_var
    explained = float(np.sum((view.xx @ params.W) * post.gain.T))
    logs = view.n_features * LOG_2PI + post.log_det + (view.n_features - k) * np.log(s2)
    return float(-0.5 * (view.weight * logs + (view.energy - explained) / s2))


class OutputsEM:
    """The steps of EM over one view of the data; each is pure in its arguments."""

    def __init__(self, view: View, Y: Array, rules: Rules, sites: Sites) -> None:
        self.view, self.Y, self.rules, self.sites = view, Y, rules, sites
        self.seen = ~np.isnan(Y)
        self.penalty = rules.penalty
        self.label_weight = max(float(view.weights.sum()), 1e-300)

    def e_step(self, params: Params, near: Sums | None = None, accuracy: float = ACCURACY) -> Sums:
        """Expected statistics and the objective; sites start near those of other statistics."""
        view, V, w = self.view, params.V, self.view.weights
        post = given_x(params)
        latent = view.T @ post.gain.T
        VS = V @ post.cov  # (h, k)
        cov = symmetrize(VS @ V.T)
        start = None if near is None else near.fit.near
        fit = self.sites(self.Y, latent @ V.T + params.b, cov, params.noise, start, accuracy)
        shift = fit.slope @ VS
        weighted = shift * w[:, None]
        xx_gain = view.xx @ post.gain.T
        cross = weighted.T @ latent
        zz = view.weight * post.cov + post.gain @ xx_gain + cross + cross.T + weighted.T @ shift
        zz -= VS.T @ np.tensordot(w, fit.curvature, axes=1) @ VS
        objective = x_log_likelihood(params, post, view) + float(w @ fit.log_z) - self.penalty_of(params)
        gradient = self._gradient(params, latent, fit, VS)
        return Sums(
            objective, xx_gain + view.T.T @ weighted, symmetrize(zz), gradient, shift, latent, fit, accuracy
        )  # fmt: skip

    def penalty_of(self, params: Params) -> float:
        """What the priors take off the log-likelihood."""
        of_W = self.rules.prior_precision * float((params.W**2).sum())
        return 0.5 * (of_W + float(self.penalty @ (params.V**2).sum(axis=1)))

    def _gradient(self, params: Params, latent: Array, fit: SiteFit, VS: Array) -> Array:
        """Gradient of log-evidence and penalty in (V, b), through the means V E[z] + b and the covariance V cov V'."""
        slope = fit.slope * self.view.weights[:, None]
        second = slope.T @ fit.slope - np.tensordot(self.view.weights, fit.curvature, axes=1)
        in_V = slope.T @ latent + second @ VS - self.penalty[:, None] * params.V
        in_V[:, self.rules.n_guided :] = 0.0
        return np.column_stack([in_V, slope.sum(axis=0) * self.rules.free_b])

    def _newton(self, gradient: Array, curvature: Array, latent: Array) -> Array:
        """Ascent direction (h, k + 1): the gradient over the curvature in (V, b), the covariance of z held.

        `curvature` (n_l, h, h) is that of each row's log-likelihood in its predictors.
        """
        h, g = len(gradient), self.rules.n_guided
        if h == 0 or len(latent) == 0:
            return np.zeros_like(gradient)
        z1 = np.column_stack([latent[:, :g], np.ones(len(latent))])
        used, m = np.append(np.arange(g), gradient.shape[1] - 1), g + 1
        ridge = np.repeat(self.penalty[:, None], m, axis=1)
        ridge[:, -1] = 0.0
        weighted = curvature * self.view.weights[:, None, None]
        out = np.zeros_like(gradient)
        held = np.zeros((h, m), dtype=bool)
        held[:, -1] = self.rules.free_b == 0.0
        if h * m > MOST_UNKNOWNS:
            out[:, used] = np.where(held, 0.0, conjugate_gradients(gradient[:, used], weighted, z1, ridge))
            return out
        H = kronecker_sum(weighted, z1)
        smallest = 1e-9 * (float(H.diagonal().max()) + 1e-12 * self.label_weight)
        H.flat[:: len(H) + 1] += ridge.ravel() + smallest
        H[held.ravel()] = 0.0
        H[:, held.ravel()] = 0.0
        H.flat[:: len(H) + 1] += held.ravel()
        out[:, used] = np.linalg.solve(H, gradient[:, used].ravel()).reshape(h, m)
        return out

    def _noise_steps(self, params: Params, fit: SiteFit) -> Array:
        gain, curvature, count = np.zeros((3, len(params.noise)))
        for j, (family, at) in enumerate(self.rules.layout.parts):
            if family.noisy:
                rows, i = self.seen[:, j], at.start
                w, second = self.view.weights[rows], fit.curvature[rows, i, i]
                gain[j] = w @ (fit.slope[rows, i] ** 2 - second)
                curvature[j] = w @ second**2
                count[j] = w.sum()
        return self.rules.noise_steps(params.noise, gain, curvature, count)

    def m_step(self, sums: Sums, params: Params) -> Params:
        """Maximize the expected log-likelihood over W, its noise and the law of z; Newton steps of all else with it.

        Without the Newton steps, EM's own argument says that the objective does not fall; see `safeguard`.
        """
        loadings, L = self._loadings(sums, params)
        steps = self._newton_steps(sums, params)
        length = first_length(steps, params.V)
        if self.rules.guarded and self.rules.prior_precision == 0.0:
            W = params.W + self._lengthened(np.linalg.solve(sums.zz, sums.xz.T).T - params.W, params)
            loadings = loadings._replace(W=W @ L)
        return _moved(loadings, L, steps, length)

    def _lengthened(self, step: Array, params: Params) -> Array:
        """A step of EM on W, made as long as it had to be were there no labels.

        Without them EM moves the loadings of a principal direction of variance v, none of the first k, to a latent
        dimension that explains variance u a share 1 - v / u of the way.
        """
        values, Q = self.view.values / self.view.weight, self.view.axes
        explained, R = np.linalg.eigh(symmetrize(params.W.T @ params.W))
        share = 1.0 - np.maximum(values, 0.0)[:, None] / (explained + params.x_noise_var)
        share[-params.W.shape[1] :] = 1.0
        return np.asarray(Q @ ((Q.T @ step @ R) / np.maximum(share, SMALLEST_SHARE)) @ R.T)

    def safeguard(self, sums: Sums, params: Params, plain: Params, accuracy: float = ACCURACY) -> tuple[Params, Sums]:
        """Shorten the Newton steps of `m_step` until the objective does not fall below the one before."""
        found = self.e_step(plain, sums, accuracy)
        if not self.rules.guarded or found.objective >= sums.objective:
            return plain, found
        loadings, L = self._loadings(sums, params)
        shorter = self._shortened(sums, loadings, L, params, accuracy)
        if shorter is not None:
            return shorter
        still = loadings._replace(V=params.V @ L)
        return still, self.e_step(still, sums, accuracy)

    def _shortened(
        self, sums: Sums, loadings: Params, L: Array, params: Params, accuracy: float
    ) -> tuple[Params, Sums] | None:
        steps = self._newton_steps(sums, params)
        length = first_length(steps, params.V)
        for _ in range(HALVINGS):
            trial = _moved(loadings, L, steps, length)
            found = self.e_step(trial, sums, accuracy)
            if not self.rules.guarded or found.objective >= sums.objective:
                return trial, found
            length *= 0.5
        return None

    def refine_labels(self, params: Params, n_steps: int, accuracy: float) -> Params:
        """Newton steps of V, b and the noise of outputs alone."""
        same = np.eye(params.W.shape[1])
        sums = self.e_step(params, None, accuracy)
        for _ in range(n_steps):
            found = self._shortened(sums, params, same, params, accuracy)
            if found is None:
                break
            params, sums = found
        return params

    def _loadings(self, sums: Sums, params: Params) -> tuple[Params, Array]:
        """New W and noise of x, and the law of z that is folded into W and is to be folded into V."""
        view, ridge = self.view, self.rules.prior_precision * params.x_noise_var
        k = params.W.shape[1]
        W: Array = np.asarray(np.linalg.solve(sums.zz + ridge * np.eye(k), sums.xz.T).T)
        left = view.energy - float(np.sum(W * (2.0 * sums.xz - W @ sums.zz)))
        x_noise_var = max(left / (view.weight * view.n_features), X_FLOOR)
        if ridge:  # the prior holds z to its unit: nothing is folded
            return params._replace(W=W, x_noise_var=x_noise_var), np.eye(k)
        L = expansion(sums.zz / view.weight, params.V, self.penalty / view.weight)
        return params._replace(W=W @ L, x_noise_var=x_noise_var), L

    def _newton_steps(self, sums: Sums, params: Params) -> Steps:
        """Steps of (V, b) and of the logarithms of the noise variances."""
        direction = self._newton(sums.gradient, sums.fit.curvature, sums.latent)
        return Steps(direction, self._noise_steps(params, sums.fit))

    def residual(self, sums: Sums, params: Params, after: Params) -> float:
        """Relative distance from stationarity of loadings, noise variances, label parameters and sites."""
        size = float(np.linalg.norm(sums.xz))
        ridge = self.rules.prior_precision * params.x_noise_var
        left = sums.xz - params.W @ sums.zz - ridge * params.W
        loadings = float(np.linalg.norm(left)) / size if size > 0 else 0.0
        noises = [after.x_noise_var / params.x_noise_var, *(after.noise / params.noise)]
        moves = float(np.abs(np.log(noises)).max())
        sites = 0.0 if sums.fit.gap is None else float(self.view.weights @ sums.fit.gap) / self.label_weight
        return max(loadings, moves, sites, float(np.linalg.norm(sums.gradient)) / self.label_weight)

    def maximize(
        self, start: Params, tol: float, max_iter: int, acceleration: str | None, near: Sums | None = None,
        coarsest: float = COARSEST,
    ) -> Result[tuple[Params, Sums]]:  # fmt: skip
        """Run EM from `start`; sites are found the more accurately the smaller the residual is.

        Proposals are made where the objective can judge them. `coarsest` is the accuracy of the first step.
        """
        schedule = Schedule.for_tolerance(coarsest, tol)

        def residual(sums: Sums, params: Params, after: Params) -> float:
            return schedule.follow(self.residual(sums, params, after), sums.accuracy)

        return run_em(
            lambda params, last: self.e_step(params, near if last is None else last, schedule.accuracy),
            self.m_step,
            start,
            log_likelihood=lambda sums: sums.objective,
            residual=residual,
            tol=tol,
            max_iter=max_iter,
            packing=Vector(self.rules),
            acceleration=acceleration if self.rules.guarded else None,
            monotone=self.rules.monotone,
            safeguard=lambda sums, params, plain: self.safeguard(sums, params, plain, schedule.accuracy),
            warm=True,
        )


class Schedule:
    """Accuracy of the sites over one run: a share of the residual, never looser than before."""

    def __init__(self, accuracy: float, sharpest: float) -> None:
        self.accuracy, self.sharpest = max(accuracy, sharpest), sharpest

    @classmethod
    def for_tolerance(cls, coarsest: float, tol: float) -> Schedule:
        """From the coarsest accuracy to one that does not stand in the way of `tol`."""
        return cls(coarsest, min(ACCURACY, COARSENESS * tol))

    def follow(self, residual: float, used: float) -> float:
        """Take note of a residual; return it, no sharper than the sites it was made of."""
        found = max(residual, used) if used > self.sharpest else residual
        self.accuracy = min(max(COARSENESS * found, self.sharpest), self.accuracy)
        return found


class Steps(NamedTuple):
    """Newton's steps of what the outputs depend on."""

    direction: Array  # (h, k + 1)   of (V, b)
    log_noise: Array  # (q,)


def first_length(steps: Steps, V: Array) -> float:
    """Share of the Newton steps to try first."""
    # far from the maximum a full step may leave the region where the curvature means anything
    longest = float(np.linalg.norm(V)) + FIRST_STEP * np.sqrt(max(len(V), 1))
    full = float(np.linalg.norm(steps.direction[:, :-1]))
    return float(min(1.0, longest / max(full, 1e-300)))


def _moved(params: Params, L: Array, steps: Steps, length: float) -> Params:
    """Newton steps of some length from V, b and noise variances of `params`."""
    change = length * steps.direction
    trial = params._replace(V=(params.V + change[:, :-1]) @ L, b=params.b + change[:, -1])
    return trial._replace(noise=params.noise * np.exp(length * steps.log_noise))


def conjugate_gradients(gradient: Array, curvature: Array, z1: Array, ridge: Array) -> Array:
    """Solve sum_i C_i D z_i z_i' + ridge * D = gradient for D (h, m), to a share `CG_ACCURACY` of the gradient.

    Preconditioned by the Kronecker product of the sums of the C_i (n, h, h) and of the z_i z_i', z1 (n, m). Stopped at
    any step it gives an ascent direction.
    """
    values, A = np.linalg.eigh(symmetrize(curvature.sum(axis=0)))
    lengths, B = np.linalg.eigh(z1.T @ z1 / len(z1))
    scales = np.outer(np.maximum(values, 0.0), np.maximum(lengths, 0.0)) + float(ridge.mean())
    scales += 1e-9 * float(scales.max()) + 1e-300
    D, left = np.zeros_like(gradient), gradient.copy()
    toward, size = np.zeros_like(gradient), 1.0
    enough = CG_ACCURACY * float(np.linalg.norm(gradient))
    for _ in range(CG_STEPS):
        if float(np.linalg.norm(left)) <= enough:
            break
        scaled = A @ ((A.T @ left @ B) / scales) @ B.T
        new_size = float(np.sum(left * scaled))
        toward, size = scaled + new_size / size * toward, new_size
        image = np.matmul(curvature, (z1 @ toward.T)[:, :, None])[:, :, 0].T @ z1 + ridge * toward
        second = float(np.sum(toward * image))
        if second <= 0.0:
            break
        D += size / second * toward
        left -= size / second * image
    return D


def expansion(zz: Array, V: Array, ridge: Array) -> Array:
    """The lower triangular map (k, k) that folds the estimated law of z into W and V (parameter-expanded EM).

    With z ~ N(0, S) free, the expected log-density -(log|S| + tr S^-1 zz) / 2 less the ridge tr(S V' ridge V) / 2 that
    lies on the folded V is largest where S + S A S = zz, A = V' ridge V; with zz = CC' the solution is C t(C'AC) C',
    b t^2 + t = 1 for every eigenvalue b. All per unit of weight. Zero columns at the end of V stay zero.
    """
    C = np.linalg.cholesky(symmetrize(zz))
    VC = V @ C
    b, U = np.linalg.eigh(symmetrize(VC.T @ (VC * ridge[:, None])))
    t = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 * np.maximum(b, 0.0)))
    root = (C @ U) * np.sqrt(t)
    return np.asarray(np.linalg.cholesky(symmetrize(root @ root.T)))


class Vector:
    """Parameters as one unconstrained vector: logarithms of the noise variances, then V, b and W."""

    def __init__(self, rules: Rules) -> None:
        self.gaussian = rules.free_noise

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
