"""Supervised exponential family PCA as multinomial regression under the spectral k-support norm (Guo 2008).

Rows of feature space are known by coordinates, rows (n, r), so that rows rows' is the kernel matrix. The densities of x
are exponential families over a base measure: m points of feature space with coordinates base (m, r), by default the
rows themselves. With F = [F_x, F_y] (n, r + q) in place of the product of codes and loadings, Z [W, Omega],

    value(F, b) = sum_i F_x[i] rows[i]' - log sum_j exp F_x[i] base[j]'
                + sum over labeled i of log softmax(F_y[i] + b)[class of i] - penalty / 2 ||F||^2 - penalty / 2 |b|^2

With the Frobenius norm and rank F <= k this is the paper's problem (1), less the constants log P0 and log m. With the
spectral k-support norm, the tightest convex bound of that penalty, it is the dual of the paper's (8):

    bound(T_x, T_y) = sum T log T + 1 / (2 penalty) (sum of the k largest squared singular values of R + |R_y' 1|^2)
    R = [rows - T_x base, Y - T_y], zero in R_y where a row has no label

so value(F, b) <= maximum <= bound(T) for every F, b and T, and the two meet. T = softmax of F makes R the gradient.

A row of weight w counts as w equal rows do, in the likelihood and in the base. These have equal rows in F, whose norm
is then that of G = sqrt(w) F; so G is what is solved for, with sqrt(w) R as its gradient.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array, Result, Status
from .data import Data, best_bias
from .dual import minimize_bound
from .fista import Certified, fista, relative_gap
from .primal import Multinomial
from .rank import STARTS, STEPS, Ranked, codes_of, rank_constrained, refit

TIGHT = 1e-5  # relative gap to a point of rank k up to which the relaxation counts as tight


class Options(NamedTuple):
    """How to fit; see `gnomon.SEPCA` for the meaning."""

    solver: str = "fista"
    tol: float = 1e-6
    max_iter: int = 1000
    rank_exact: bool = False
    ascent_steps: int = STEPS  # of the search for loadings at given codes, and of the ascent of `rank_exact`


class Fitted(NamedTuple):
    """Codes, what was learned with them, and bounds of the optimum of the relaxation."""

    ranked: Ranked
    lower: float
    upper: float
    optima: Array | None  # values of the rank-constrained maxima that were found, best first; with `rank_exact`

    @property
    def tight(self) -> bool:
        """Whether the codes are a global optimum of the problem before its relaxation."""
        return relative_gap(self.ranked.value, self.upper) <= TIGHT


def fit(data: Data, options: Options) -> Result[Fitted]:
    """Solve the convex problem, take codes from its solution, refit the loadings for these codes.

    Returns
    -------
    Result(Fitted, status, path, stats): `path` holds the best lower bounds; "residual" is the larger of the relative
    gap and of what the search for the loadings left undone.
    """
    result = solve(data, options)
    F = result.value.point[0]
    y_scores = (F / data.root)[data.labeled, data.rows.shape[1] :]
    b = best_bias(y_scores, data.Y, data.penalty, data.labeled_weights)
    ranked = refit(data, codes_of(data, F), b, steps=options.ascent_steps)
    fitted = Fitted(ranked, result.value.lower, result.value.upper, None)
    if options.rank_exact:
        maxima = rank_constrained(data, ranked, F, 1 if fitted.tight else STARTS, options.ascent_steps)
        fitted = fitted._replace(ranked=maxima[0], optima=np.array([found.value for found in maxima]))
    residual = max(result.value.relative_gap, fitted.ranked.residual)
    reached = residual <= options.tol
    status = Status.CONVERGED if reached else Status.MAX_ITER if result.status is Status.MAX_ITER else Status.STALLED
    return Result(fitted, status, result.path, result.stats | {"residual": residual})


def solve(data: Data, options: Options) -> Result[Certified]:
    """Solve the convex problem with a certificate."""
    if options.solver == "fista":
        problem = Multinomial(data)
        return fista(problem, problem.start(), problem.first_step(), options.tol, options.max_iter)
    return minimize_bound(data, options.solver == "coordinate", options.tol, options.max_iter)
