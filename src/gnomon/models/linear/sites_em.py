"""EM for latent variables that explain x linearly and outputs of several kinds through linear predictors.

z ~ N(0, I), x = W_x z + m_x + e, e ~ N(0, x_noise_var I), and outputs given a = W_y z + m_y. Given x alone the
predictors of a row are Gaussian, so all that its outputs say is a log-evidence with slope and curvature; the posterior
of z follows from them by Stein's lemma. What is here is alike in a basis and over rows that miss entries.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, BoolArray, Result
from ...likelihoods.layout import Layout
from ...likelihoods.sites import ACCURACY
from ...numerics.linalg import symmetrize
from ...numerics.linear_gaussian import Params, regress
from ...solvers.em import Packing, run_em
from .curvature import Curvature, newton_step
from .of_rank import Normal, turn_of

X_FLOOR, Y_FLOOR = 1e-6, 1e-5  # smallest noise variances, relative to the variance of x and of y
FIRST_STEP = 1.0  # length of each row of W_y after one Newton step from zero, at most
COARSEST, COARSENESS = 1e-2, 0.1  # accuracy of rows: of the first steps, and as a share of the residual

SHORTER, SHORTEST = 0.7, 0.1  # share of the Newton steps after each that was too long
HIDDEN = 0.05  # share of a step that is next to none


class Rules(NamedTuple):
    """What is held fixed, and what lies on the loadings."""

    layout: Layout
    ridge: float  # on the rows of W_y that are not of real outputs
    n_guided: int  # W_y is zero on the later latent dimensions
    prior_precision: float = 0.0  # of a N(0, 1 / precision) prior on W_x and on the rows of W_y of real outputs
    free_means: bool = True  # estimate m_y of real outputs, or hold it
    noise: str = "each"  # variances of real outputs: one "each", one "shared" by all, or "fixed"

    @property
    def penalty(self) -> Array:
        """Precision of the prior on each row of W_y (h,)."""
        ridged = self.layout.ridged
        return np.asarray(self.ridge * ridged + self.prior_precision * (1.0 - ridged))

    def penalty_of(self, params: Params) -> float:
        """Minus the log-density of the priors, without constants."""
        of_x = self.prior_precision * float((params.W_x**2).sum())
        return 0.5 * (of_x + float(self.penalty @ (params.W_y**2).sum(axis=1)))

    @property
    def free_noise(self) -> BoolArray:
        """Which outputs (q,) have a noise variance that is estimated."""
        noisy = self.layout.noisy
        return np.zeros_like(noisy) if self.noise == "fixed" else noisy

    @property
    def free_b(self) -> Array:
        """Which entries of m_y are estimated (h,), as 0 and 1."""
        return np.ones(self.layout.size) if self.free_means else self.layout.ridged

    def noise_steps(self, noise: Array, sums: Array, *, scoring: bool) -> Array:
        """Steps (q,) of the logarithms of the noise variances, zero where none is estimated, from `noise_sums`.

        Those of EM; with `scoring` those of Fisher scoring, at most one, where these are longer.
        """
        out, free = np.zeros(len(noise)), self.free_noise
        if not free.any():
            return out
        gain, curvature, count = self._of_noise(sums)[:, free]
        step = np.log(np.maximum(1.0 + noise[free] * gain / np.maximum(count, 1e-300), 1e-300))
        if scoring:
            scored = np.clip(gain / np.maximum(curvature, 1e-300) / noise[free], -1.0, 1.0)
            step = np.where(np.abs(scored) > np.abs(step), scored, step)
        out[free] = np.maximum(step, np.log(Y_FLOOR / noise[free]))
        return out

    def _of_noise(self, sums: Array) -> Array:
        """`noise_sums`, those of all outputs for each that shares their noise."""
        parts = np.where(self.free_noise, sums, 0.0)
        return parts.sum(axis=1, keepdims=True) + np.zeros_like(sums) if self.noise == "shared" else parts


class Sums(NamedTuple):
    """Expected statistics of an E-step and the objective; moments of (z, 1) for each feature, or alike for all."""

    objective: float  # nats
    xz1: Array  # (p, k + 1)   sum of x E[(z, 1)] over the rows that observe the feature
    zz1: Array  # (p or 1, k + 1, k + 1)   sum of E[(z, 1)(z, 1)'] over the same rows
    total: Array  # (k + 1, k + 1)   the same over all rows
    gradient: Array  # (h, k + 1)   of the objective in (W_y, m_y)
    noise: Array  # (3, q)   see `noise_sums`
    gap: float  # of the sites, a mean over labeled rows
    held: Any  # what the next step starts from
    accuracy: float


class Steps(NamedTuple):
    """Newton's steps of what the outputs depend on."""

    direction: Array  # (h, k + 1)   of (W_y, m_y)
    log_noise: Array  # (q,)


class OfX(NamedTuple):
    """Parameters with new W_x, m_x and noise of x, and the law of z that they and W_y, m_y are to take up."""

    params: Params
    mean: Array  # (k,)
    root: Array  # (k, k)   lower triangle


class SitesEM:
    """The steps of EM; each is pure in its arguments. The E-step is what a basis and rows do in their own way."""

    shares: tuple[float, ...]  # of the Newton steps, tried one after the other where the objective would fall

    def __init__(self, rules: Rules, label_weight: float, energy: float, n_entries: float) -> None:
        self.rules, self.penalty = rules, rules.penalty
        self.label_weight = max(label_weight, 1e-300)
        self.energy, self.n_entries = energy, n_entries
        self.free_b = rules.free_b
        self.free_x_mean = False  # that of complete rows is the sample's
        self.observed: Array | float = 0.0  # weight (p,) of each feature, read where its mean is not zero

    def e_step(self, params: Params, near: Sums | None = None, accuracy: float = ACCURACY) -> Sums:
        """Expected statistics and the objective; sites start near those of other statistics."""
        raise NotImplementedError

    def newton(self, sums: Sums, params: Params) -> Curvature:
        """Curvature of the objective in (W_y, m_y) without the penalty."""
        raise NotImplementedError

    def _penalized(self, params: Params, objective: float, gradient: Array) -> tuple[float, Array]:
        """Objective and gradient with the priors; zero where nothing moves.

        What private dimensions would explain counts where a turn of the latent space makes it guided.
        """
        gradient, k, normal = gradient.copy(), params.W_y.shape[1], self.normal(params)
        gradient[:, :k] -= self.penalty[:, None] * params.W_y
        if normal is not None:
            gradient[:, :k] = normal.left_out(gradient[None, :, :k])[0]
        gradient[:, k] *= self.free_b
        return objective - self.rules.penalty_of(params), gradient

    def normal(self, params: Params) -> Normal | None:
        """Directions in which no turn of the latent space keeps W_y zero on private dimensions, if there are these."""
        g = self.rules.n_guided
        return Normal.beside(params.W_y, g) if g < params.W_y.shape[1] else None

    def steps(self, sums: Sums, params: Params) -> Steps:
        """An ascent direction of (W_y, m_y), over the curvature; steps of the logarithms of the noise variances."""
        log_noise = self.rules.noise_steps(params.y_noise_var, sums.noise, scoring=True)
        if len(sums.gradient) == 0 or self.label_weight <= 1e-300:
            return Steps(np.zeros(sums.gradient.shape), log_noise)
        curvature, held = self.newton(sums, params), self.free_b == 0.0
        normal = self.normal(params)
        return Steps(newton_step(curvature, sums.gradient, self.penalty, held, self.label_weight, normal), log_noise)

    def of_x(self, sums: Sums, params: Params) -> OfX:
        """Regress every feature on (z, 1) over the rows that observe it; estimate the law of z.

        Where approximate posteriors leave no moments to regress on, a step along the slope of W_x alone.
        """
        k, free, weight = params.W_x.shape[1], self.free_x_mean, float(sums.total[-1, -1])
        if not (self.rules.layout.gaussian or (_positive(sums.zz1) and _positive(sums.total))):
            fitted, wanted = self._normal_equations(sums, params)
            return OfX(params._replace(W_x=params.W_x + (wanted - fitted) / weight), np.zeros(k), np.eye(k))
        ridge = self.rules.prior_precision * params.x_noise_var
        shift = np.zeros_like(params.m_x) if free else params.m_x
        right = sums.xz1 - shift[:, None] * sums.zz1[:, k]
        if len(sums.zz1) == 1:
            beta = regress(sums.zz1[0], right.T, ridge, free).T
            fitted = beta @ sums.zz1[0]
        else:
            beta = regress(sums.zz1, right[:, :, None], ridge, free)[:, :, 0]
            fitted = np.matmul(sums.zz1, beta[:, :, None])[:, :, 0]
        energy = self.energy + float(np.sum(self.observed * shift**2) - 2.0 * shift @ sums.xz1[:, k])
        left = energy - float((beta * (2.0 * right - fitted)).sum())
        noise = max(left / self.n_entries, X_FLOOR)
        found = params._replace(W_x=beta[:, :k], m_x=shift + beta[:, k], x_noise_var=noise)
        mean = sums.total[:k, k] / weight if free else np.zeros(k)
        if ridge:  # the prior holds z to its unit: nothing is folded
            return OfX(found, np.zeros(k), np.eye(k))
        cov = symmetrize(sums.total[:k, :k] / weight - mean[:, None] * mean)
        return OfX(found, mean, expansion(cov, params.W_y, self.penalty / weight))

    def m_step(
        self, sums: Sums, params: Params, tol: float = 0.0, share: float = 1.0, lengthened: float = 1.0
    ) -> Params:
        """Maximize the expected log-likelihood over W_x, its noise and the law of z; a share of the Newton steps of
        all else with it. Where steps of W_x are made longer, a share of what they are `lengthened` by.

        Where the residual is at most `tol` no step will be taken, so that little need be done. Without the Newton
        steps, EM's own argument says that the objective does not fall; see `safeguard`.
        """
        return moved(self.of_x(sums, params), params, self.steps(sums, params), share, self.rules.n_guided)

    def safeguard(
        self, sums: Sums, params: Params, plain: Params, accuracy: float = ACCURACY
    ) -> tuple[Params, Sums, float]:
        """Shorten the Newton steps of `m_step` until the objective does not fall below that before; to which share."""
        found = self.e_step(plain, sums, accuracy)
        if found.objective >= sums.objective:
            return plain, found, 1.0
        return self._shortened(sums, params, self.of_x(sums, params), accuracy)

    def _shortened(self, sums: Sums, params: Params, of_x: OfX, accuracy: float) -> tuple[Params, Sums, float]:
        """The first of some shares of the Newton steps at which the objective does not fall, or the last; and which."""
        steps = self.steps(sums, params)
        for share in (*self.shares, 0.0):
            trial = moved(of_x, params, steps, share, self.rules.n_guided)
            found = self.e_step(trial, sums, accuracy)
            if found.objective >= sums.objective:
                break
        return trial, found, share

    def refine_labels(self, params: Params, n_steps: int, accuracy: float) -> Params:
        """Newton steps of W_y, m_y and the noise of outputs alone."""
        sums, k = self.e_step(params, None, accuracy), params.W_x.shape[1]
        for _ in range(n_steps):
            still = OfX(params, np.zeros(k), np.eye(k))
            params, sums, _ = self._shortened(sums, params, still, accuracy)
        return params

    def _normal_equations(self, sums: Sums, params: Params) -> tuple[Array, Array]:
        """Both sides (p, k) of what holds for W_x at a maximum; their difference is the slope, times the noise of x."""
        k, W = params.W_x.shape[1], params.W_x
        zz = sums.zz1[:, :k, :k]
        left = W @ zz[0] if len(zz) == 1 else np.matmul(zz, W[:, :, None])[:, :, 0]
        left = left + self.rules.prior_precision * params.x_noise_var * W
        return left, sums.xz1[:, :k] - params.m_x[:, None] * sums.zz1[:, k, :k]

    def residual(self, sums: Sums, params: Params, after: Params) -> float:
        """Relative distance from stationarity of loadings, noise variances, label parameters and sites."""
        left, right = self._normal_equations(sums, params)
        size = float(np.linalg.norm(right))
        loadings = float(np.linalg.norm(right - left)) / size if size > 0 else 0.0
        of_y = self.rules.noise_steps(params.y_noise_var, sums.noise, scoring=False)
        moves = max(abs(float(np.log(after.x_noise_var / params.x_noise_var))), float(np.abs(of_y).max(initial=0.0)))
        return max(loadings, moves, sums.gap, float(np.linalg.norm(sums.gradient)) / self.label_weight)

    def maximize(
        self, start: Params, tol: float, max_iter: int, acceleration: str | None, near: Sums | None = None,
        coarsest: float = COARSEST,
    ) -> Result[tuple[Params, Sums]]:  # fmt: skip
        """Run EM from `start`; sites are found the more accurately the smaller the residual is.

        Proposals are made where the objective can judge them. `coarsest` is the accuracy of the first step.
        """
        schedule = Schedule(0.0 if self.rules.layout.gaussian else coarsest, tol)  # no sites to iterate

        def safeguard(sums: Sums, params: Params, plain: Params) -> tuple[Params, Sums]:
            after, found, share = self.safeguard(sums, params, plain, schedule.accuracy)
            if after is not plain:
                schedule.shorten(share)
            return after, found

        return run_em(
            lambda params, last: self.e_step(params, near if last is None else last, schedule.accuracy),
            lambda sums, params: self.m_step(sums, params, tol, schedule.share, schedule.lengthened),
            start,
            log_likelihood=lambda sums: sums.objective,
            residual=lambda sums, params, after: schedule.follow(self.residual(sums, params, after), sums.accuracy),
            tol=tol,
            max_iter=max_iter,
            packing=Vector(self.rules),
            acceleration=acceleration,
            safeguard=safeguard,
            warm=True,
        )


def moved(of_x: OfX, params: Params, steps: Steps, share: float, n_guided: int) -> Params:
    """A share of Newton's steps of W_y, m_y and the noise of outputs; the law of z is folded in.

    Where there are private dimensions the latent space is turned to where outputs load on guided ones alone.
    """
    x, mean, L = of_x
    # far from the maximum a full step may leave the region where the curvature means anything
    longest = float(np.linalg.norm(params.W_y)) + FIRST_STEP * np.sqrt(max(len(params.W_y), 1))
    full = float(np.linalg.norm(steps.direction[:, :-1]))
    length = share * float(min(1.0, longest / max(full, 1e-300)))
    change = length * steps.direction
    W_y = params.W_y + change[:, :-1]
    if n_guided < L.shape[1]:
        L = L @ turn_of(W_y @ L, n_guided)
    loadings = W_y @ L
    loadings[:, n_guided:] = 0.0
    return x._replace(
        W_x=x.W_x @ L,
        m_x=x.m_x + x.W_x @ mean,
        W_y=loadings,
        m_y=params.m_y + change[:, -1] + W_y @ mean,
        y_noise_var=params.y_noise_var * np.exp(length * steps.log_noise),
    )


class Schedule:
    """Accuracy of the sites over one run: a share of the residual, never looser than before; and length of steps.

    The accuracy begins with the coarsest and ends with one that does not stand in the way of `tol`. Where Newton steps
    had to be shortened, all later ones are shorter, so that proposals are made along steps that can be trusted.
    """

    def __init__(self, coarsest: float, tol: float) -> None:
        self.sharpest = min(ACCURACY, COARSENESS * tol)
        self.accuracy, self.share, self.lengthened = max(coarsest, self.sharpest), 1.0, 1.0

    def follow(self, residual: float, used: float) -> float:
        """Take note of a residual; return it, no sharper than the sites it was made of."""
        found = max(residual, used) if used > self.sharpest else residual
        self.accuracy = min(max(COARSENESS * found, self.sharpest), self.accuracy)
        return found

    def shorten(self, taken: float) -> None:
        """Take note of the share of the Newton steps that could be taken where a step was refused.

        If all could, the step of W_x was too long; a share next to none says that rounding hides the gain.
        """
        if taken == 1.0:
            self.lengthened = 0.5 * self.lengthened if self.lengthened > SHORTEST else 0.0
        elif taken > HIDDEN:
            self.share = max(SHORTER * self.share, SHORTEST)


def _positive(S: Array) -> bool:
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return False
    return True


def expansion(zz: Array, V: Array, ridge: Array) -> Array:
    """The lower triangular map (k, k) that folds the estimated law of z into W and V (parameter-expanded EM).

    With z ~ N(0, S) free, the expected log-density -(log|S| + tr S^-1 zz) / 2 less the ridge tr(S V' ridge V) / 2 that
    lies on the folded V is largest where S + S A S = zz, A = V' ridge V; with zz = CC' the solution is C t(C'AC) C',
    b t^2 + t = 1 for every eigenvalue b. All per unit of weight. Zero columns at the end of V stay zero.
    """
    C = np.linalg.cholesky(symmetrize(zz))
    if not ridge.any():
        return np.asarray(C)
    VC = V @ C
    b, U = np.linalg.eigh(symmetrize(VC.T @ (VC * ridge[:, None])))
    t = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 * np.maximum(b, 0.0)))
    root = (C @ U) * np.sqrt(t)
    return np.asarray(np.linalg.cholesky(symmetrize(root @ root.T)))


class Vector(Packing):
    """Parameters as a vector; noise variances of outputs that are not free stay as they are."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(x_noise_var=X_FLOOR, y_noise_var=Y_FLOOR)
        self.free = rules.free_noise

    def unpack(self, vector: Array, like: Params) -> Params:
        """As in `Packing`."""
        found: Params = super().unpack(vector, like)
        return found._replace(y_noise_var=np.where(self.free, found.y_noise_var, like.y_noise_var))
