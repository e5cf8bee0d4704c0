"""Maximum likelihood in a growing basis: few passes over the data (a nonlinear block Davidson method).

The loadings of the optimum lie in the row space of X. Given an orthonormal basis the likelihood restricted to it is
exact, because outside it there is only noise of known energy; and the residual of the likelihood equations in the full
space comes from products already held. So: maximize in the basis, look at the residual, append it, read the data once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import Array, Result, Status
from ...numerics.linalg import orthonormal_columns, top_eigh
from ...numerics.linear_gaussian import LatentSums, Params, e_step, log_prior
from ...numerics.moments import Moments, completed
from .basis import Basis

Inner = Callable[[Moments, Params | None, bool, float], Params]

SPARE_DIRECTIONS = 10
START_ACCURACY = 1e-3
INNER_ACCURACY = 0.05


def start_block(basis: Basis, k: int, generator: np.random.Generator) -> None:
    """Begin an empty basis with leading directions of x and with X'Y; with everything where that is little more."""
    targets = orthonormal_columns(basis.targets_product())
    p = len(targets)
    width = min(k + SPARE_DIRECTIONS, p)
    # at least half the capacity stays free for growth; X'Y of many outputs is cut to its leading directions
    targets = targets[:, : max(k, basis.capacity // 2 - width)]
    spanned = width + targets.shape[1] >= min(p, basis.n_rows_spanned)
    if p <= basis.capacity and (spanned or p <= basis.whole_up_to):
        basis.expand(np.eye(p))
        return
    block = basis.leading_block(width, generator)
    block = np.hstack([block, orthonormal_columns(targets, block)])
    del targets  # a block of columns is the unit of memory here
    basis.expand(block)


def _residual(basis: Basis, params: Params, sums: LatentSums, prior_precision: float) -> tuple[Array, float]:
    """Residual of the likelihood equations outside the basis (p, k), and the relative size of all of it."""
    centered = basis.latent_cross(params)
    centered -= np.outer(basis.vectors @ params.m_x, sums.z)  # about the fitted mean, as in the likelihood equations
    size = float(np.linalg.norm(centered))
    if basis.size == len(centered):
        centered[:] = 0.0  # nothing is outside
    else:
        centered -= basis.vectors @ sums.xz  # what is left lies outside the basis, up to rounding
    inside = sums.xz - params.W_x @ sums.zz - prior_precision * params.x_noise_var * params.W_x
    residual = float(np.hypot(np.linalg.norm(centered), np.linalg.norm(inside)))
    return centered, residual / size if size > 0 else 0.0


def _restart(basis: Basis, moments: Moments, params: Params, room: int) -> Params:
    """Shrink the basis to the solution, X'Y and leading Ritz vectors, leaving room for growth."""
    r, k = params.W_x.shape
    keep = max(basis.capacity - room, 1)
    pooled = completed(moments)
    solution = orthonormal_columns(np.hstack([params.W_x, params.m_x[:, None]]))
    targets = orthonormal_columns(pooled.xy, solution)[:, : max(0, min(k, keep - solution.shape[1]))]
    held = np.hstack([solution, targets])
    ritz = top_eigh(pooled.xx, min(r, keep))[1]
    extra = orthonormal_columns(ritz, held)
    C = np.hstack([held, extra[:, : max(0, keep - held.shape[1])]])
    C = np.linalg.qr(C)[0]
    basis.rotate(C)
    return params._replace(W_x=C.T @ params.W_x, m_x=C.T @ params.m_x)


def _padded(params: Params, size: int) -> Params:
    extra = size - len(params.m_x)
    W_x = np.vstack([params.W_x, np.zeros((extra, params.W_x.shape[1]))])
    return params._replace(W_x=W_x, m_x=np.concatenate([params.m_x, np.zeros(extra)]))


def maximize_in_basis(
    basis: Basis, inner: Inner, k: int, *, tol: float, max_expansions: int, prior_precision: float = 0.0,
    look_again: bool = True, moments: Moments | None = None,
    inner_residual: Callable[[Params, Moments], float] = lambda params, moments: 0.0,
) -> Result[Params]:  # fmt: skip
    """Grow the basis until the relative residual of the likelihood equations is at most `tol`.

    Parameters
    ----------
    basis : Basis           begun by `start_block`; holds the final basis on return
    inner : callable        (moments, start or None, final, tol) -> Params that maximize the restricted likelihood to a
                            relative residual of tol; `final` asks for a last look for a better optimum
    k : int                 latent dimensions
    prior_precision : float of the prior on the loadings; the objective is then the log-posterior
    look_again : bool       let `inner` look for a better optimum once the residual is small
    moments : Moments       those of the basis as it is, where they are at hand
    inner_residual : callable   distance from stationarity of all that the basis does not concern

    Returns
    -------
    Result(params in the basis, status, log-likelihood after each maximization, {"residual", "n_expansions"})
    """
    moments = basis.moments() if moments is None else moments
    params = inner(moments, None, False, START_ACCURACY)
    path: list[float] = []
    status, expansions, final, sharpened = Status.MAX_ITER, 0, not look_again, False
    while True:
        sums = e_step(params, moments)
        path.append(sums.log_likelihood + log_prior(params, prior_precision))
        D, residual = _residual(basis, params, sums, prior_precision)
        left = max(residual, inner_residual(params, moments))
        if left <= tol and final:
            status = Status.CONVERGED
            break
        Q = D[:, :0]
        if residual > tol:
            if expansions >= max_expansions:
                break
            Q, params, moments = _directions(basis, D, params, moments, tol / residual)
        if Q.shape[1] == 0:  # what is left is the accuracy inside the basis
            if sharpened and left > tol:
                status = Status.STALLED
                break
            sharpened, final = True, final or residual <= tol
            params = inner(moments, params, final, INNER_ACCURACY * tol)
            continue
        sharpened = False
        basis.expand(Q)
        expansions += 1
        moments = basis.moments()
        accuracy = INNER_ACCURACY * max(tol, residual)  # no sharper than the residual that the basis leaves
        params = inner(moments, _padded(params, basis.size), final, accuracy)
    return Result(params, status, np.asarray(path), {"residual": left, "n_expansions": expansions})


def _directions(
    basis: Basis, D: Array, params: Params, moments: Moments, share: float
) -> tuple[Array, Params, Moments]:
    """Directions to append, none where the basis holds all there is; the basis is shrunk first where it is full."""
    k = params.W_x.shape[1]
    if basis.size + k > basis.capacity and basis.capacity < len(basis.vectors):
        params = _restart(basis, moments, params, room=2 * k)
        moments = basis.moments()
    Q = orthonormal_columns(D, basis.vectors, drop=max(5e-3, 1e-3 * share), outside=True)
    return Q[:, : basis.capacity - basis.size], params, moments
