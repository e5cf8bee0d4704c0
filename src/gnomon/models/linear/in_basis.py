"""Maximum likelihood inside a basis: closed form, global ratio search, or quasi-Newton climbs from computed starts."""

import numpy as np

from ..._types import Array, Result, Status
from ...likelihoods.sites import ACCURACY
from ...numerics.linalg import orthonormal_columns, symmetrize
from ...numerics.linear_gaussian import LOG_2PI, FromX, Limits, Params, given_x
from ...rows.threads import one_thread
from ...solvers.quasi_newton import PATIENCE, ascend, pick
from .basis import SPARE_DIRECTIONS, Basis, View
from .curvature import MOST_SUMMED, Curvature
from .curved import ALIKE, Curved
from .evidence import LabeledPatterns, LabeledRows
from .expansion import Expansion
from .grow import Data, ModelInBasis, State, grow
from .ratio import (
    JointMoments,
    Optimum,
    params_at,
    refine_ratio,
    search_ratio,
)
from .sites_em import X_FLOOR, Y_FLOOR, Rules, SitesEM, Sums, moved

FLOORS = Limits(X_FLOOR, Y_FLOOR)
START_LOG_RATIOS = np.log(10.0) * np.arange(4.0, -5.0, -2.0)  # y to x noise of the starts: labels ignored to decisive
# beside a start without labels these are enough, where labeled rows weigh no more than the others
FEW_LOG_RATIOS = START_LOG_RATIOS[2::2]
SMALLEST_SHARE = 0.05
NEAR, FEW_STEPS = 0.1, 20  # residual, and steps, up to which EM makes the start of a climb
# Rows times predictors, and rows for each label parameter, from which the evidence of rows is expanded; up to which
# residual; and that of a climb of the expansion, as a share of it
MANY_PREDICTORS, ROWS_FOR_EACH = 1 << 14, 10
NEAR_ENOUGH, SHARPER = 0.05, 0.003
EM_TURN = 100  # steps of EM after quasi-Newton steps that crawl, before these are tried again; then twice as many
FIRST_EM_STEPS = 2  # of all starts that are climbed from side by side: from far away quasi-Newton steps are poor
CLOSE = 1e-3  # residual at which the best of them is chosen; in a basis that will grow it is `NEAR`
FIRST_STEPS = 2  # of a climb in a basis that will grow, whose own optimum is soon left; and side by side before it
FIRST_PATIENCE = 6
SAME = 1e-3  # relative difference up to which two starts are one


class BasisEM(SitesEM):
    """EM over the moments of x in a basis, and what outputs add to them."""

    shares = tuple(0.25 ** np.arange(6))

    def __init__(self, view: View, labels: LabeledRows | LabeledPatterns | Expansion, rules: Rules) -> None:
        super().__init__(rules, labels.weight, view.energy, view.weight * view.n_features)
        self.view, self.labels = view, labels

    def e_step(self, params: Params, near: Sums | None = None, accuracy: float = ACCURACY) -> Sums:
        view, x, V = self.view, given_x(params), params.W_y
        k = V.shape[1]
        found, held = self.labels.sums(params, x, None if near is None else near.held[1], accuracy)
        VS, second = V @ x.cov, found.slopes - found.curvature
        xx_gain = view.xx @ x.gain.T
        slope_z = found.slope_x @ x.gain.T
        cross = VS.T @ slope_z
        zz = view.weight * x.cov + x.gain @ xx_gain + cross + cross.T + VS.T @ second @ VS
        total = np.zeros((k + 1, k + 1))
        total[:k, :k], total[k, k] = symmetrize(zz), view.weight
        xz1 = np.column_stack([xx_gain + found.slope_x.T @ VS, np.zeros(len(xx_gain))])
        gradient = np.column_stack([slope_z + second @ VS, found.slope])
        objective = x_log_likelihood(params, x, view) + found.log_z
        objective, gradient = self._penalized(params, objective, gradient)
        gap, accuracy = found.gap / self.label_weight, accuracy if found.gap else 0.0
        return Sums(objective, xz1, total[None], total, gradient, found.noise, gap, (x, held, second, found), accuracy)

    def newton(self, sums: Sums, params: Params) -> Curvature:
        (x, held, second, found), weight = sums.held, self.label_weight
        curvature = self.labels.newton(x, held).with_covariance(second, x.cov, weight)
        if isinstance(self.labels, LabeledRows):  # patterns count it, and an expansion has none
            return curvature.with_turning(found.curvature, params.W_y @ x.cov, weight)
        return curvature

    @property
    def curved(self) -> bool:
        """Whether a climb is by quasi-Newton steps: with real outputs alone, and nothing on the loadings of x."""
        return bool(self.rules.layout.gaussian and self.rules.prior_precision == 0.0 and self.label_weight > 1e-300)

    def climb(self, start: Params, tol: float, max_iter: int) -> Result[State]:
        """Real outputs by quasi-Newton steps where these serve; others by EM, and where these steps stall."""
        if not self.curved:
            return self.maximize(start, tol, max_iter, "alternating")
        return self.best_climb([start], tol, max_iter)

    def best_climb(
        self, starts: list[Params], tol: float, max_iter: int, close: float = 0.0, patience: int = PATIENCE
    ) -> Result[State]:
        """The best of the climbs from some starts to a model of real outputs; see `ascend`."""
        assert isinstance(self.labels, LabeledPatterns)  # what real outputs alone come as
        landscape = Curved(self.view, self.labels, self.rules, starts[0])
        place = landscape.at(landscape.vectors(starts))
        if len(starts) > 1:
            place = pick(place, landscape.distinct(place, SAME))
            for _ in range(FIRST_EM_STEPS):
                place = landscape.em_step(place)
        found, left = ascend(landscape, place, tol, max_iter, close, patience), max_iter
        path, n_turn = [found.path], EM_TURN
        while found.status is Status.STALLED:  # each goes on where the other one crawls
            more = self.maximize(landscape.params(found.value), tol, min(n_turn, left), "alternating")
            path.append(more.path[1:])
            left -= len(more.path) - 1
            if more.status is not Status.MAX_ITER or left <= 0:
                return more._replace(path=np.concatenate(path))
            found = ascend(landscape, landscape.at(landscape.vectors([more.value[0]])), tol, left)
            path.append(found.path[1:])
            left, n_turn = left - len(found.path) + 1, 2 * n_turn
        params = landscape.params(found.value)
        return Result((params, self.e_step(params)), found.status, np.concatenate(path), found.stats)

    def m_step(
        self, sums: Sums, params: Params, tol: float = 0.0, share: float = 1.0, lengthened: float = 1.0
    ) -> Params:
        """As in `SitesEM`, with a longer step of W_x; or a climb of what rows with classes say to second order."""
        of_x = self.of_x(sums, params)
        residual = self.residual(sums, params, of_x.params)
        if max(residual, sums.accuracy) <= tol:
            return of_x.params  # no step will be taken
        if residual <= NEAR_ENOUGH and self.expands(params.W_x.shape[1]):
            climb = self._expanded(sums, params).maximize(params, SHARPER * residual, FEW_STEPS, "alternating")
            if len(climb.path) > 1:
                return climb.value[0]
        if self.rules.prior_precision == 0.0:
            step = of_x.params.W_x - params.W_x
            step = step + lengthened * (self._lengthened(step, params, sums.held[3].curvature) - step)
            of_x = of_x._replace(params=of_x.params._replace(W_x=params.W_x + step))
        return moved(of_x, params, self.steps(sums, params), share, self.rules.n_guided)

    def expands(self, k: int) -> bool:
        """Whether a climb of what the rows say to second order costs less than the steps that it saves."""
        rows, h = self.labels, self.rules.layout.size
        if not isinstance(rows, LabeledRows) or self.rules.layout.noisy.any() or self.label_weight <= 1e-300:
            return False
        n = len(rows.Y)
        return n * h >= MANY_PREDICTORS and n >= ROWS_FOR_EACH * h * (k + 1)

    def _expanded(self, sums: Sums, params: Params) -> "BasisEM":
        """The same with the evidence of rows expanded about the parameters."""
        assert isinstance(self.labels, LabeledRows)
        x, held, _, found = sums.held
        curvature = self.labels.newton(x, held, MOST_SUMMED)
        xx = self.view.xx / self.view.weight
        return BasisEM(self.view, Expansion(params, x, found, curvature, xx), self.rules)

    def _lengthened(self, step: Array, params: Params, curvature: Array) -> Array:
        """A step of EM on W_x, made as long as it has to be.

        Without labels EM moves the loadings of a principal direction of variance v, none of the first k, to a latent
        dimension that explains variance u a share 1 - v / u of the way. Labels hold them the more: what z is expected
        to be moves with the loadings, and with it predictors of this `curvature` (h, h).
        """
        values, Q = np.maximum(self.view.values / self.view.weight, 0.0), self.view.axes
        explained, R = np.linalg.eigh(symmetrize(params.W_x.T @ params.W_x))
        u, k = explained + params.x_noise_var, len(explained)
        of_z = params.W_y @ (R / u)
        held = (params.x_noise_var / self.view.weight) * (of_z.T @ curvature @ of_z)
        shares = np.maximum(1.0 - values[:-k, None] / u, SMALLEST_SHARE)
        moved = Q.T @ step @ R
        together = values[:-k, None, None] * held + shares[:, :, None] * np.eye(k)
        moved[:-k] = np.linalg.solve(together, moved[:-k, :, None])[:, :, 0]
        return np.asarray(Q @ moved @ R.T)


def x_log_likelihood(params: Params, x: FromX, view: View) -> float:
    """Log-density of all rows of x, in nats."""
    k, s2 = params.W_x.shape[1], params.x_noise_var
    gain_xx = x.gain @ view.xx
    M = params.W_x.T @ params.W_x + s2 * np.eye(k)
    # stationary in the gain, so that its rounding error enters squared
    explained = 2.0 * float(np.vdot(gain_xx, params.W_x.T)) - float(np.vdot(gain_xx @ x.gain.T, M))
    logs = view.n_features * LOG_2PI + x.log_det + (view.n_features - k) * np.log(s2)
    return float(-0.5 * (view.weight * logs + (view.energy - explained) / s2))


def alike(a: Params, b: Params, share: float = ALIKE) -> bool:
    """Whether two models say the same of x, of x with the outputs, and of their noise, up to a share."""
    noise = float(np.abs(np.log(a.y_noise_var / b.y_noise_var)).max(initial=0.0))
    for one, other in ((a.W_x @ a.W_x.T, b.W_x @ b.W_x.T), (a.W_x @ a.W_y.T, b.W_x @ b.W_y.T)):
        if np.linalg.norm(one - other) > share * np.linalg.norm(other):
            return False
    return noise <= share


class RatioSearch:
    """Global maximum for fully labeled rows: all ratios are searched first and last, the best is followed between."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.bracket: tuple[float, float] | None = None
        self.optima: list[float] = []
        self.searched: tuple[View, Optimum] | None = None  # where last, and what was best

    def __call__(self, joint: JointMoments, view: View, *, final: bool) -> Params:
        """Return the best parameters in the basis; the whole range of ratios is searched first and last."""
        k = self.k
        best: Optimum | None = None
        if self.searched is not None and self.searched[0] is view:
            best = self.searched[1]  # the basis has not changed
        elif self.bracket is not None and not final:
            best = refine_ratio(joint, k, FLOORS, self.bracket)
            low, high = self.bracket
            if min(best.log_ratio - low, high - best.log_ratio) < 0.02 * (high - low):
                best = None  # the optimum has left its bracket as the basis grew
        if best is None:
            found = search_ratio(joint, k, FLOORS, fewer=leading(joint, view, k)[0])
            self.optima = [o.log_likelihood for o in found]
            best = found[0]
            self.bracket, self.searched = best.bracket, (view, best)
        return params_at(joint, k, best.log_ratio, FLOORS)


def gaussian_starts(joint: JointMoments, k: int, rules: Rules, log_ratios: Array) -> list[Params]:
    """The Gaussian model of x and coded outputs at some noise ratios; what the outputs share comes first."""
    found = []
    for log_ratio in log_ratios[: None if len(joint.yy) else 1]:
        at = params_at(joint, k, float(log_ratio), FLOORS)
        if rules.n_guided < k and len(joint.yy):
            rotation = np.linalg.svd(at.W_y)[2].T
            W_y = at.W_y @ rotation
            W_y[:, rules.n_guided :] = 0.0
            at = at._replace(W_x=at.W_x @ rotation, W_y=W_y)
        found.append(_start(at))
    return found


def start_without_labels(joint: JointMoments, k: int) -> Params:
    """Plain PPCA of x: steps from there begin with the regression of the outputs on what it finds."""
    q = len(joint.yy)
    of_x = joint._replace(xy=joint.xy[:, :0], yy=joint.yy[:0, :0])
    at = params_at(of_x, k, START_LOG_RATIOS[0], FLOORS)  # where the floor of y holds no noise of x
    return _start(at._replace(W_y=np.zeros((q, k)), m_y=np.zeros(q), y_noise_var=np.ones(q)))


def _start(at: Params) -> Params:
    lengths = np.linalg.eigvalsh(at.W_x.T @ at.W_x)
    smallest = min(1e-3 * float(lengths.sum()), float(lengths.min()))  # a column below the noise would shrink
    y_noise = np.minimum(at.y_noise_var, 1.0)  # the variance of an output
    return at._replace(x_noise_var=max(at.x_noise_var, smallest), y_noise_var=y_noise)


def leading(joint: JointMoments, view: View, k: int) -> tuple[JointMoments, Array]:
    """The same moments in fewer directions C (r, c), which is near enough for a start: leading ones and those of xy."""
    r, q = joint.xy.shape
    if r <= k + SPARE_DIRECTIONS + q:
        return joint, np.eye(r)
    C = view.axes[:, -k - SPARE_DIRECTIONS :]
    C = np.hstack([C, orthonormal_columns(joint.xy, C)])
    xx = C.T @ joint.xx @ C
    outside = joint.outside + float(np.trace(joint.xx) - np.trace(xx))
    return joint._replace(xx=xx, xy=C.T @ joint.xy, outside=outside), C


class GaussianInBasis(ModelInBasis):
    """Real outputs alone: in closed form, by `search`, or else by EM; the path has one entry a basis."""

    def __init__(
        self, data: Data, k: int, rules: Rules, noise: Array, search: RatioSearch | None, tol: float, max_iter: int
    ) -> None:
        super().__init__(data, k, rules)
        self.noise, self.search, self.tol, self.max_iter = noise, search, tol, max_iter

    def maximize(self, start: State | None, tol: float, *, final: bool, max_iter: int) -> Result[State]:
        with one_thread():
            em = BasisEM(self.data.basis.view(), self.data.labels(), self.rules)
            if len(self.noise) == 0 and self.rules.prior_precision == 0.0:  # PPCA
                params = params_at(self.data.coded.joint(self.data.basis), self.k, START_LOG_RATIOS[0], FLOORS)
            elif self.search is not None:
                params = self.search(self.data.coded.joint(self.data.basis), self.data.basis.view(), final=final)
            else:
                found = self._best(em, tol) if start is None else self._climb(em, start[0], tol)
                stats = {"n_iter": 1, "residual": found.stats["residual"]}
                return Result(found.value, found.status, found.path[-1:], stats)
            sums = em.e_step(params)
            residual = em.residual(sums, params, em.m_step(sums, params))
            if final and self.search is not None and self.share * residual > tol:  # the search is exact to rounding
                found = em.climb(params, tol, self.max_iter)
                (params, sums), residual = found.value, found.stats["residual"]
        stats = {"n_iter": 1, "residual": residual, "optima": self.search.optima if self.search else []}
        return Result((params, sums), Status.CONVERGED, np.array([sums.objective]), stats)

    def _climb(self, em: BasisEM, start: Params, tol: float) -> Result[State]:
        """To the end by quasi-Newton steps where nothing is outside the basis."""
        if self.data.basis.whole and em.curved:
            tol = self.share * self.tol
        return em.climb(start, tol, self.max_iter)

    def _best(self, em: BasisEM, tol: float) -> Result[State]:
        """The best of climbs from all starts, side by side or one by one.

        They are short in a basis that grows, whose own optimum is soon left.
        """
        starts, whole = self._starts(em), self.data.basis.whole
        max_iter = self.max_iter if whole else FIRST_STEPS
        if em.curved:
            tol = self.share * self.tol if whole else tol
            close, patience = (CLOSE, PATIENCE) if whole else (NEAR, FIRST_PATIENCE)
            return em.best_climb(starts, tol, max_iter, close, patience)
        starts = [at for i, at in enumerate(starts) if not any(alike(at, other, SAME) for other in starts[:i])]
        begun = [em.maximize(at, max(tol, NEAR), FEW_STEPS, "alternating") for at in starts]
        found: list[Result[State]] = []
        # the most likely first; not those on the way to an optimum found
        for trial in sorted(begun, key=lambda trial: -float(trial.path[-1])):
            if not any(alike(trial.value[0], other.value[0]) for other in found):
                found.append(em.climb(trial.value[0], tol, max_iter))
        return max(found, key=lambda trial: float(trial.path[-1]))

    def _starts(self, em: BasisEM) -> list[Params]:
        """They turn with the basis and use no random numbers: no order of rows nor a seed decides between optima."""
        joint, C = leading(self.data.coded.joint(self.data.basis), self.data.basis.view(), self.k)
        begun, ratios = list[Params](), START_LOG_RATIOS
        if em.curved:
            begun = [start_without_labels(joint, self.k)]
            ratios = FEW_LOG_RATIOS if em.label_weight <= 0.5 * em.view.weight else START_LOG_RATIOS[1:]
        starts = begun + gaussian_starts(joint, self.k, self.rules, ratios)
        starts = [at._replace(W_x=C @ at.W_x, m_x=np.zeros(len(C))) for at in starts]
        if self.rules.noise == "fixed":
            starts = [start._replace(y_noise_var=self.noise) for start in starts]
        return starts


def grow_gaussian(
    data: Data, k: int, rules: Rules, noise: Array, tol: float, max_iter: int, solver: str, enough: float = np.inf
) -> Result[Params]:
    """Fit to real outputs in a growing basis, begun before; parameters in the coordinates of features."""
    search = RatioSearch(k) if solver == "ratio" else None
    model = GaussianInBasis(data, k, rules, noise, search, tol, max_iter)
    found = grow(model, tol=tol, max_expansions=max_iter, look_again=solver == "ratio", enough=enough)
    params, sums = found.value
    beside = data.labels().beside_latent(sums.held[0].gain) if len(noise) else None
    stats = {**found.stats, "beside_latent": beside}
    return Result(in_features(params, data.basis), found.status, found.path, stats)


def in_features(params: Params, basis: Basis) -> Params:
    """Parameters in the coordinates of features, from those in the basis."""
    W_x = basis.products.features(basis.vectors @ params.W_x)
    return params._replace(W_x=W_x, m_x=np.zeros(len(W_x)))
