"""Supervised exponential family PCA as multinomial regression under the spectral k-support norm (Guo 2008).

Rows of feature space are known by coordinates, rows (n, r), so that rows rows' is the kernel matrix. The densities of x
are exponential families over a base measure: m points of feature space with coordinates base (m, r), by default the
rows themselves. With F = [F_x, F_y] (n, r + q) in place of the product of codes and loadings, Z [W, Omega],

    value(F, b) = sum_i F_x[i] rows[i]' - log sum_j exp F_x[i] base[j]'
                + sum over labelled i of log softmax(F_y[i] + b)[class of i] - beta / 2 ||F||^2 - beta / 2 |b|^2

With the Frobenius norm and rank F <= k this is the paper's problem (1), less the constants log P0 and log m. With the
spectral k-support norm, the tightest convex bound of that penalty, it is the dual of the paper's (8):

    bound(T_x, T_y) = sum T log T + 1 / (2 beta) (sum of the k largest squared singular values of R + |R_y' 1|^2)
    R = [rows - T_x base, Y - T_y], zero in R_y where a row has no label

so value(F, b) <= maximum <= bound(T) for every F, b and T, and the two meet. T = softmax of F makes R the gradient.

A row of weight w counts as w equal rows do, in the likelihood and in the base. These have equal rows in F, whose norm
is then that of G = sqrt(w) F; so G is what is solved for, with sqrt(w) R as its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import xlogy

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import sign_of_columns
from ...numerics.ridge_map import ridge_map
from .bundle import Touch, begin, step
from .fista import Certified, Point, Slope, fista, relative_gap
from .k_support import proximal_map, small_gram, squared_dual_norm, squared_norm

MU, PLANES, SERIOUS = 1.0, 30, 0.1  # of algorithm 1: proximity (the paper's), planes kept, share of a serious step
BLOCK, BLOCK_STEPS = 20, 5  # rows of a block of the coordinate descent, and bundle steps on each
Whole = Callable[[Point], Point]
STARTS = 5  # ascents of the rank-constrained problem when the relaxation is not tight
TIGHT = 1e-5  # relative gap to a point of rank k up to which the relaxation counts as tight


class Data(NamedTuple):
    """What is fitted."""

    rows: Array  # (n, r)
    base: Array  # (m, r)
    Y: Array  # (l, q)     one-hot, labelled rows only
    labelled: IntArray  # (l,)
    k: int
    beta: float
    weights: Array | None = None  # (n,) positive; None: all 1
    base_weights: Array | None = None  # (m,)

    @property
    def root(self) -> Array:
        """Roots of the weights (n, 1), or (1, 1)."""
        return np.ones((1, 1)) if self.weights is None else np.sqrt(self.weights)[:, None]

    @property
    def labelled_weights(self) -> Array:
        """Weights of the labelled rows (l, 1)."""
        return np.ones((len(self.labelled), 1)) if self.weights is None else self.weights[self.labelled, None]

    def scores(self, F: Array) -> Array:
        """Natural parameters (n, m) of the base points at F times the roots of the weights."""
        return np.asarray((F[:, : self.rows.shape[1]] / self.root) @ self.base.T)

    def x_softmax(self, scores: Array, *, keep: bool = True) -> tuple[float, Array]:
        """Sum over rows of the log-partition of p(x | z) at scores (n, m), and p itself."""
        if self.weights is None or self.base_weights is None:
            return _softmax(scores, keep=keep)
        return _softmax(scores + np.log(self.base_weights), keep=keep, weights=self.weights[:, None])

    def only(self, seen: Array) -> Data:
        """The same rows, only some of the labelled ones (a mask) with their label."""
        return self._replace(Y=self.Y[seen], labelled=self.labelled[seen])


class Options(NamedTuple):
    """How to fit; see `gnomon.SEPCA` for the meaning."""

    solver: str = "fista"
    tol: float = 1e-6
    max_iter: int = 1000
    rank_exact: bool = False


class Fitted(NamedTuple):
    """Codes and what was learnt with them."""

    Z: Array  # (n, k)        columns orthonormal under the weights, by falling singular value of F
    W: Array  # (k, r)        of x
    Omega: Array  # (k, q)    of y
    b: Array  # (q,)
    F: Array  # (n, r + q)    of the convex problem, times the roots of the weights
    lower: float
    upper: float
    rank_value: float  # value of the rank-constrained problem at Z, W, Omega, b


class _Sums(NamedTuple):
    """Log-likelihood at scores, at the best bias, and what its gradient needs."""

    value: float  # log-likelihood less beta / 2 |b|^2
    T_x: Array  # (n, m)
    T_y: Array  # (l, q)
    log_sums: float
    b: Array  # (q,)


def fit(data: Data, options: Options) -> Result[Fitted]:
    """Solve the convex problem, take codes from its solution, refit the loadings for these codes."""
    result = solve(data, options)
    F = result.value.point[0]
    b = best_bias((F / data.root)[data.labelled, data.rows.shape[1] :], data.Y, data.beta, data.labelled_weights)
    Z = codes_of(data, F)
    ranked = refit(data, Z, b)
    if options.rank_exact:
        tight = relative_gap(ranked.rank_value, result.value.upper) <= TIGHT
        ranked = rank_constrained(data, ranked, F, 1 if tight else STARTS)
    fitted = ranked._replace(F=F, lower=result.value.lower, upper=result.value.upper)
    return Result(fitted, result.status, result.path, result.stats)


def solve(data: Data, options: Options) -> Result[Certified]:
    """Solve the convex problem with a certificate."""
    if options.solver == "fista":
        problem = Multinomial(data)
        return fista(problem, problem.start(), problem.first_step(), options.tol, options.max_iter)
    return _minimise_bound(data, options)


class Multinomial:
    """The convex problem in the form that `fista` wants; a point is F (times root weights) and the scores F_x base'.

    The bias is maximised out: its curvature grows with the number of rows, that of F does not, so a common step for
    both would be many times too short for F.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.b = np.zeros(data.Y.shape[1])  # the last one found, where the next search starts

    def start(self) -> Point:
        """Zero."""
        n, r, q = len(self.data.rows), self.data.rows.shape[1], self.data.Y.shape[1]
        return np.zeros((n, r + q)), np.zeros((n, len(self.data.base)))

    def first_step(self) -> float:
        """1 / curvature at zero: the covariance of the base, 1 / q for y."""
        base, v = self.data.base, self.data.base_weights
        v = np.ones(len(base)) if v is None else v
        centred = np.sqrt(v / v.sum())[:, None] * (base - v @ base / v.sum())
        largest = squared_dual_norm(small_gram(centred), 1) if centred.size else 0.0
        return 1.0 / float(max(largest, 1.0 / max(self.data.Y.shape[1], 1), 1e-6))

    def smooth(self, point: Point) -> float:
        """Log-likelihood at the best bias, less its penalty."""
        F, scores = point
        return self._sums(F, scores, keep=False).value

    def slope(self, point: Point) -> Slope:
        """The same, its gradient, and the bound from above at its softmax."""
        (F, scores), data = point, self.data
        sums = self._sums(F, scores)
        R, entropy = residual(data, F, sums)
        total = (data.root * R[:, data.rows.shape[1] :]).sum(axis=0)
        upper = entropy + 0.5 / data.beta * (squared_dual_norm(small_gram(R), data.k) + float(total @ total))
        return Slope(sums.value, (R,), upper)

    def proximal(self, point: Point, gradient: Point, step: float) -> tuple[Point, float]:
        """Proximal point of beta / 2 ||F||^2, and that penalty."""
        beta = self.data.beta
        F, size = proximal_map(point[0] + step * gradient[0], self.data.k, step * beta)
        return (F, self.data.scores(F)), 0.5 * beta * size

    def _sums(self, F: Array, scores: Array, *, keep: bool = True) -> _Sums:
        """Log-likelihood; T only when it is kept."""
        data, r, w = self.data, self.data.rows.shape[1], self.data.labelled_weights
        y_scores = (F[:, r:] / data.root)[data.labelled]
        self.b = best_bias(y_scores, data.Y, data.beta, w, self.b)
        y_scores = y_scores + self.b
        x_sum, T_x = data.x_softmax(scores, keep=keep)
        y_sum, T_y = _softmax(y_scores, keep=keep, weights=w)
        found = float(np.vdot(F[:, :r], data.root * data.rows)) + float(np.vdot(w * data.Y, y_scores))
        value = found - x_sum - y_sum - 0.5 * data.beta * float(self.b @ self.b)
        return _Sums(value, T_x, T_y, x_sum + y_sum, self.b)


def best_bias(scores: Array, Y: Array, beta: float, w: Array, start: Array | None = None) -> Array:
    """Bias b (q,) that maximises sum w log softmax(scores + b)[class] - beta / 2 |b|^2, w (l, 1), by Newton steps."""
    b = np.zeros(Y.shape[1]) if start is None else start
    counts, total = (w * Y).sum(axis=0), max(1.0, float(w.sum()))

    def value_at(b: Array) -> float:
        return float(counts @ b) - _softmax(scores + b, keep=False, weights=w)[0] - 0.5 * beta * float(b @ b)

    value = value_at(b)
    for _ in range(50):
        _, T = _softmax(scores + b)
        expected = (w * T).sum(axis=0)
        gradient = counts - expected - beta * b
        if np.abs(gradient).max(initial=0.0) <= 1e-13 * total:
            break
        step = np.linalg.solve(np.diag(expected + beta) - T.T @ (w * T), gradient)
        trial = value_at(b + step)
        while trial < value - 1e-14 * abs(value) and np.abs(step).max() > 1e-12:
            step = 0.5 * step
            trial = value_at(b + step)
        if trial <= value and np.abs(step).max() <= 1e-8:
            break
        b, value = b + step, trial
    return b


def _softmax(scores: Array, *, keep: bool = True, weights: Array | None = None) -> tuple[float, Array]:
    """Sum over rows, weighted by weights (n, 1) if any, of log sum exp, and the softmax of every row."""
    if scores.size == 0:
        return 0.0, scores
    top = scores.max(axis=1, keepdims=True)
    T = np.exp(scores - top)
    sums = T.sum(axis=1, keepdims=True)
    if keep:
        T /= sums
    if weights is not None:
        return float((weights * (np.log(sums) + top)).sum()), T
    return float(np.log(sums).sum() + top.sum()), T


def residual(data: Data, F: Array, sums: _Sums) -> tuple[Array, float]:
    """R at the softmax of F, times the roots of the weights, and sum T log T there."""
    r, root = data.rows.shape[1], data.root
    fitted = sums.T_x @ data.base
    R = np.zeros_like(F)
    np.subtract(data.rows, fitted, out=R[:, :r])
    R[data.labelled, r:] = data.Y - sums.T_y
    y_scores = (F[:, r:] / root)[data.labelled] + sums.b
    y_part = float(np.vdot(y_scores, data.labelled_weights * sums.T_y))  # sum T log T = sum T scores - log sums
    return root * R, float(np.vdot(F[:, :r], root * fitted)) + y_part - sums.log_sums


class Bound:
    """The bound as a function of T = (T_x, T_y), for the solvers of the paper."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def start(self) -> Point:
        """Uniform."""
        m = len(self.data.base)
        return np.full((len(self.data.rows), m), 1.0 / m), np.full_like(self.data.Y, 1.0 / max(self.data.Y.shape[1], 1))

    def value(self, T: Point) -> float:
        """Bound at T."""
        R = self._residual(T)
        total = R[:, self.data.rows.shape[1] :].sum(axis=0)
        largest = squared_dual_norm(small_gram(R), self.data.k)
        return float(sum(xlogy(part, part).sum() for part in T)) + 0.5 / self.data.beta * (
            largest + float(total @ total)
        )

    def touch(self, T: Point) -> Touch:
        """Bound, subgradient and the projector M on the k leading left singular vectors of R.

        In T_y it is log T_y + 1 - (M + E)(Y - T_y) / beta, where (10) prints M alone. At 0 the entropy has none: T
        stays inside the simplex.
        """
        data, R = self.data, self._residual(T)
        Z = top_left_vectors(R, data.k)
        pulled = Z @ (Z.T @ R)
        total = R[:, data.rows.shape[1] :].sum(axis=0)
        x_pull = pulled[:, : data.rows.shape[1]] @ data.base.T
        y_pull = pulled[data.labelled, data.rows.shape[1] :] + total
        logs = [np.log(np.maximum(part, 1e-300)) + 1.0 for part in T]
        return Touch(self.value(T), (logs[0] - x_pull / data.beta, logs[1] - y_pull / data.beta), Z @ Z.T)

    def certify(self, T: Point, projector: Array) -> tuple[float, Array]:
        """Bound from below at F = M R / beta, and that F; M any matrix of the fantope."""
        F = projector @ self._residual(T) / self.data.beta
        slope = Multinomial(self.data).smooth((F, F[:, : self.data.rows.shape[1]] @ self.data.base.T))
        s = np.sqrt(np.maximum(np.linalg.eigvalsh(small_gram(F)), 0.0))
        return slope - 0.5 * self.data.beta * squared_norm(s, self.data.k), F

    def _residual(self, T: Point) -> Array:
        R = np.zeros((len(self.data.rows), self.data.rows.shape[1] + self.data.Y.shape[1]))
        R[:, : self.data.rows.shape[1]] = self.data.rows - T[0] @ self.data.base
        R[self.data.labelled, self.data.rows.shape[1] :] = self.data.Y - T[1]
        return R


def _minimise_bound(data: Data, options: Options) -> Result[Certified]:
    """The paper's bundle method on all rows at once, or on blocks of rows in turn; the path holds best lower bounds."""
    bound, generator = Bound(data), np.random.default_rng(0)
    T, lower, upper, best, path = bound.start(), -np.inf, np.inf, None, []
    state = begin(bound.touch, T)
    for _ in range(options.max_iter):
        if options.solver == "bundle":
            state = step(state, bound.touch, bound.value, MU, PLANES, SERIOUS)
            T, projector = state.best, state.planes[0].projector
        else:
            T, projector = _sweep_blocks(bound, T, generator)
        upper = min(upper, bound.value(T))
        found, F = bound.certify(T, projector)
        if found > lower or best is None:
            lower, best = max(lower, found), F
        path.append(lower)
        if relative_gap(lower, upper) <= options.tol or (options.solver == "bundle" and state.decrease <= 0.0):
            break
    reached = relative_gap(lower, upper) <= options.tol
    status = Status.CONVERGED if reached else Status.MAX_ITER if len(path) == options.max_iter else Status.STALLED
    return Result(Certified((np.asarray(best),), lower, upper), status, np.array(path), {"n_iter": len(path)})


def _sweep_blocks(bound: Bound, T: Point, generator: np.random.Generator) -> tuple[Point, Array]:
    """A few bundle steps on each block of a random partition of the rows, the others held (section 3.2)."""
    n, labelled = len(bound.data.rows), bound.data.labelled
    projector = np.zeros((n, n))
    for block in np.array_split(generator.permutation(n), max(1, round(n / BLOCK))):
        inside = np.flatnonzero(np.isin(labelled, block))

        def whole(part: Point, block: IntArray = block, inside: IntArray = inside, T: Point = T) -> Point:
            T_x, T_y = T[0].copy(), T[1].copy()
            T_x[block], T_y[inside] = part
            return T_x, T_y

        def touch(part: Point, block: IntArray = block, inside: IntArray = inside, whole: Whole = whole) -> Touch:
            at = bound.touch(whole(part))
            return at._replace(slope=(at.slope[0][block], at.slope[1][inside]))

        def value(part: Point, whole: Whole = whole) -> float:
            return bound.value(whole(part))

        state = begin(touch, (T[0][block], T[1][inside]))
        for _ in range(BLOCK_STEPS):
            state = step(state, touch, value, MU, PLANES, SERIOUS)
        T, projector = whole(state.best), state.planes[0].projector
    return T, projector


def top_left_vectors(F: Array, k: int) -> Array:
    """The k leading left singular vectors (n, k) of F; zero where F has a smaller rank."""
    U, s, _ = np.linalg.svd(F, full_matrices=False)
    Z = U[:, :k] * (s[:k] > 1e-12 * s[0])
    return np.pad(Z, ((0, 0), (0, k - Z.shape[1])))


def codes_of(data: Data, F: Array) -> Array:
    """Codes (n, k) at F times the roots of the weights, largest entry positive."""
    Z = top_left_vectors(F, data.k) / data.root
    return np.asarray(Z * sign_of_columns(Z))


def refit(data: Data, Z: Array, b: Array, tol: float = 1e-8) -> Fitted:
    """Loadings and bias that maximise the rank-constrained value at given codes Z: a smooth concave problem."""
    r, q, k = data.rows.shape[1], data.Y.shape[1], Z.shape[1]

    def negative(v: Array) -> tuple[float, Array]:
        V, b = v[: k * (r + q)].reshape(k, r + q), v[k * (r + q) :]
        value, dV, db, _ = _rank_value(data, Z, V, b)
        value -= 0.5 * data.beta * (float(np.vdot(V, V)) + float(b @ b))
        return -value, -np.concatenate([(dV - data.beta * V).ravel(), db - data.beta * b])

    start = np.concatenate([np.zeros(k * (r + q)), b])
    v, value = _maximise(negative, start, tol)
    V, b = v[: k * (r + q)].reshape(k, r + q), v[k * (r + q) :]
    return Fitted(Z, V[:, :r], V[:, r:], b, Z @ V, np.nan, np.nan, value)


def rank_constrained(data: Data, start: Fitted, F: Array, n_starts: int = 1) -> Fitted:
    """Best local maximum of the rank-constrained problem, from given codes and from random mixtures of F's columns.

    Ties among singular values make the codes of the relaxation one choice of many, hence several starts.
    """
    best, generator = _ascend(data, start), np.random.default_rng(0)
    for _ in range(n_starts - 1):
        Z = codes_of(data, F @ generator.standard_normal((F.shape[1], data.k)))
        found = _ascend(data, refit(data, Z, start.b))
        best = max(best, found, key=lambda fitted: fitted.rank_value)
    return best


def _ascend(data: Data, start: Fitted) -> Fitted:
    """Ascent of the rank-constrained problem from a start: F = U V with U (n, k) free, V (k, r + q).

    The penalty beta / 2 ||U V||_F^2 does not depend on how F is split, so U need not be orthonormal on the way. Norms
    of U are weighted.
    """
    (n, k), r, q = start.Z.shape, data.rows.shape[1], data.Y.shape[1]
    cuts = np.cumsum([n * k, k * (r + q)])

    def negative(v: Array) -> tuple[float, Array]:
        U, V, b = _parts(v, cuts, k)
        value, dV, db, dU = _rank_value(data, U, V, b)
        WU = data.root**2 * U
        UU, VV = U.T @ WU, V @ V.T
        value -= 0.5 * data.beta * (float(np.vdot(UU, VV)) + float(b @ b))
        gradient = [dU - data.beta * WU @ VV, dV - data.beta * UU @ V, db - data.beta * b]
        return -value, -np.concatenate([part.ravel() for part in gradient])

    V = np.hstack([start.W, start.Omega])
    balance = np.sqrt(np.linalg.norm(V) / max(float(np.linalg.norm(start.Z)), 1e-300)) or 1.0
    v, _ = _maximise(negative, np.concatenate([(start.Z * balance).ravel(), (V / balance).ravel(), start.b]))
    U, V, b = _parts(v, cuts, k)
    return refit(data, codes_of(data, data.root * (U @ V)), b)


def _parts(v: Array, cuts: IntArray, k: int) -> tuple[Array, Array, Array]:
    U, V, b = np.split(v, cuts)
    return U.reshape(-1, k), V.reshape(k, -1), b


def _maximise(negative: Callable[[Array], tuple[float, Array]], start: Array, tol: float = 1e-8) -> tuple[Array, float]:
    """L-BFGS: the maximiser and the maximum of minus `negative`, which returns its gradient too."""
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-5 * tol, "gtol": tol, "maxcor": 20}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x), -float(found.fun)


def _rank_value(data: Data, U: Array, V: Array, b: Array) -> tuple[float, Array, Array, Array]:
    """Log-likelihood at F = U V, and its gradient in V, b and U, in products of k columns."""
    r, w = data.rows.shape[1], data.labelled_weights
    base = V[:, :r] @ data.base.T  # (k, m)
    sum_x, T_x = data.x_softmax(U @ base)
    y_scores = U[data.labelled] @ V[:, r:] + b
    sum_y, T_y = _softmax(y_scores, weights=w)
    rest = w * (data.Y - T_y)
    WU = data.root**2 * U
    moments = WU.T @ data.rows  # (k, r)
    value = float(np.vdot(moments, V[:, :r])) + float(np.vdot(w * data.Y, y_scores)) - sum_x - sum_y
    dV = np.hstack([moments - (WU.T @ T_x) @ data.base, U[data.labelled].T @ rest])
    dU = data.root**2 * (data.rows @ V[:, :r].T - T_x @ base.T)
    dU[data.labelled] += rest @ V[:, r:].T
    return value, dV, rest.sum(axis=0), dU


def standard_classifier(codes: Array, data: Data) -> tuple[Array, Array]:
    """Multinomial regression of labels on codes (n, k) of unit variance, ridge 1: slopes (k, q) of the codes, bias.

    The scale is that of all rows; the ridge is on the bias too, as in the model.
    """
    n, labelled = len(codes), data.labelled
    w = np.full(n, 1.0 / n) if data.weights is None else data.weights / data.weights.sum()
    centre = w @ codes
    scale = np.sqrt(w @ (codes - centre) ** 2)
    scale[scale <= 1e-12 * scale.max(initial=0.0)] = 1.0
    x_part = (np.zeros((len(labelled), 0)), np.zeros((1, 0)))
    weights = None if data.weights is None else data.weights[labelled]
    alone = Data(*x_part, data.Y, np.arange(len(labelled)), codes.shape[1], 1.0, weights, np.ones(1))
    found = refit(alone, (codes[labelled] - centre) / scale, np.zeros(data.Y.shape[1]), 1e-11)
    slopes = found.Omega / scale[:, None]
    return slopes, found.b - centre @ slopes


def deal_folds(Y: Array, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Fold of each labelled row, classes dealt evenly; -1 for the only row of a class, which is never held out."""
    folds = np.full(len(Y), -1)
    for column in Y.T:
        rows = np.flatnonzero(column)
        if len(rows) > 1:
            folds[generator.permutation(rows)] = np.arange(len(rows)) % n_folds
    return folds


def held_out_loss(data: Data, folds: IntArray, options: Options, ridge: float | None, *, centred: bool) -> float:
    """Mean of - log P(class) in nats over labelled rows whose label was hidden, fold by fold; their x stays."""
    total = 0.0
    for fold in range(int(folds.max()) + 1):
        seen = folds != fold
        known, w = data.only(seen), data.labelled_weights[~seen]
        plan = ridge_map(data.rows, fit(known, options).value.Z, ridge, data.weights, centred=centred)
        codes = plan.offset + data.rows @ plan.weights
        slopes, b = standard_classifier(codes, known)
        scores = codes[data.labelled[~seen]] @ slopes + b
        total += _softmax(scores, keep=False, weights=w)[0] - float(np.vdot(scores, w * data.Y[~seen]))
    return total / float(data.labelled_weights[folds >= 0].sum())
