"""Maximum likelihood in a growing basis: few passes over the data (a nonlinear block Davidson method).

The loadings of the optimum lie in the row space of X. Given an orthonormal basis the likelihood restricted to it is
exact, because outside it there is only noise of known energy; and the residual of the likelihood equations in the full
space comes from products already held. So: maximize in the basis, look at the residual, append it, read the data once.
"""

from typing import Any, Protocol

import numpy as np

from ..._types import Array, Result, Status
from ...numerics.linalg import orthonormal_columns
from ...numerics.linear_gaussian import FromX, Params
from .basis import Basis
from .evidence import Coded
from .sites_em import Rules, Sums

State = tuple[Params, Sums]  # in the basis, and the statistics near which those of the next parameters lie
START_ACCURACY = 1e-3
INNER_ACCURACY = 0.2  # of a basis that will grow, beside the residual outside
LAST_BUT_ONE = 3.0  # times the tolerance: with less to be left outside at the pace of the last expansion, it ends there
RECENT = 3  # expansions whose pace says how many are to come
TRIED = 10  # times fewer expansions than all directions cost: so many are made before the pace counts
LAST_ACCURACY = 0.05  # of the last one, beside the tolerance


class Data(Protocol):
    """Rows with outputs, seen through a basis that grows."""

    basis: Basis
    coded: Coded

    def labels(self) -> Any:
        """Their outputs, as `BasisEM` takes them."""

    def cross(self, params: Params, x: FromX, held: Any) -> Array:
        """X'Z (d, k), the sum of x E[z]' in the full space, at what the labels held for `params`."""


class ModelInBasis:
    """A model restricted to a basis."""

    def __init__(self, data: Data, k: int, rules: Rules) -> None:
        self.data, self.k, self.rules = data, k, rules

    @property
    def share(self) -> float:
        """The part of the tolerance to which it is maximized at the end."""
        return LAST_ACCURACY

    def maximize(self, start: State | None, tol: float, *, final: bool, max_iter: int) -> Result[State]:
        """Maximize to a relative residual of `tol`; `final` asks for a last look for a better optimum.

        The path holds what comes after the start; stats are "n_iter" and "residual", that of all inside the basis.
        """
        raise NotImplementedError


def grow(
    model: ModelInBasis, *, tol: float, max_expansions: int, max_iter: int | None = None, look_again: bool = False,
    enough: float = np.inf,
) -> Result[State]:  # fmt: skip
    """Grow the basis until the relative residual of the likelihood equations is at most `tol`.

    Parameters
    ----------
    model : ModelInBasis    its basis begun by `start`; that holds the final one on return
    max_expansions : int    of the basis
    max_iter : int or None  of the model, all maximizations together
    look_again : bool       let the model look for a better optimum once the residual is small
    enough : float          expansions, with those to be expected, that cost more than another way: growing ends there

    Returns
    -------
    Result(params in the basis, status, objective path, {"residual", "n_iter", "n_expansions", "slow"})
    """
    basis = model.data.basis
    most = np.iinfo(np.intp).max if max_iter is None else max_iter
    found = model.maximize(None, START_ACCURACY, final=False, max_iter=most)
    path, used = [found.path], found.stats["n_iter"]
    status, expansions, final, sharpened, slow = Status.MAX_ITER, 0, not look_again, False, False
    before: list[float] = []  # residuals outside
    while True:
        params, sums = found.value
        D, outside = _outside(model, params, sums)
        expected = expansions + _to_come(outside, before, tol)
        left = max(outside, found.stats["residual"])
        if left <= tol and final:
            status = Status.CONVERGED
            break
        slow = outside > tol and bool(np.isfinite(enough)) and expected >= enough
        if slow or used >= most or (outside > tol and expansions >= max_expansions):
            break
        n_new = 0
        if outside > tol:
            params, n_new = _appended(basis, params, D, tol / outside, expansions, expected)
        if n_new:
            sharpened, expansions = False, expansions + 1
            foreseen = outside * outside / before[-1] if before else outside
            left_by_it = 0.0 if foreseen <= LAST_BUT_ONE * tol else INNER_ACCURACY * outside
            accuracy = max(left_by_it, model.share * tol)  # no sharper than what the basis leaves
        elif sharpened and left > tol:
            status = Status.MAX_ITER if found.status is Status.MAX_ITER else Status.STALLED
            break
        else:  # what is left is the accuracy inside the basis
            sharpened, final, accuracy = True, final or outside <= tol, model.share * tol
        before.append(outside)
        found = model.maximize((params, sums), accuracy, final=final, max_iter=most - used)
        path.append(found.path)
        used += found.stats["n_iter"]
    stats = {**found.stats, "residual": left, "n_iter": used, "n_expansions": expansions, "slow": slow}
    return Result(found.value, status, np.concatenate(path), stats)


def _outside(model: ModelInBasis, params: Params, sums: Sums) -> tuple[Array, float]:
    """What of X'Z lies outside the basis, and its relative size."""
    basis = model.data.basis
    if basis.whole:
        return np.zeros_like(params.W_x), 0.0
    D = model.data.cross(params, *sums.held[:2])
    size = float(np.linalg.norm(D))
    D = basis.outside(D)
    return D, float(np.linalg.norm(D)) / size if size > 0 else 0.0


def _to_come(outside: float, before: list[float], tol: float) -> float:
    """Expansions until the residual is at most `tol`, at the pace of the last few; none are foreseen before the first.

    One alone may raise it, where the optimum in the basis turns into another.
    """
    if outside <= tol or not before:
        return 0.0
    recent = before[-RECENT:]
    return float(np.log(outside / tol) / np.log(recent[0] / outside)) * len(recent) if outside < recent[0] else np.inf


def _appended(
    basis: Basis, params: Params, D: Array, share: float, expansions: int, expected: float
) -> tuple[Params, int]:
    """Append directions and count them, none where the basis holds all there is; a full one is shrunk first.

    All at once where as many expansions are expected as cost about what all directions do, after a tenth of them.
    """
    W, k = params.W_x, params.W_x.shape[1]
    pace_is_known = TRIED * expansions >= basis.expansions_of_all
    if basis.fillable and not basis.whole and pace_is_known and expected >= basis.expansions_of_all:
        W = basis.vectors @ W
        basis.fill()
        return params._replace(W_x=W, m_x=np.zeros(len(W))), basis.size
    if basis.size + k > basis.capacity and basis.capacity < basis.products.size:
        W = basis.shrink(W, room=2 * k).T @ W
    Q = orthonormal_columns(D, basis.vectors, drop=max(5e-3, 1e-3 * share), outside=True)
    Q = Q[:, : basis.capacity - basis.size]
    if Q.shape[1]:
        basis.expand(Q)
    padded = np.vstack([W, np.zeros((basis.size - len(W), k))])
    return params._replace(W_x=padded, m_x=np.zeros(basis.size)), Q.shape[1]
