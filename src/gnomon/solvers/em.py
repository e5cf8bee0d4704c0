"""The one EM loop, for EM, PX-EM and generalised EM, with or without acceleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from .._types import Array, Result, Status
from .acceleration import Anderson, Squarem

P = TypeVar("P")
S = TypeVar("S")

ACCELERATIONS = {"anderson": Anderson, "squarem": Squarem}


class Packing(Protocol[P]):
    """How parameters become one unconstrained vector and back; needed only with acceleration."""

    def pack(self, params: P) -> Array:
        """Return the vector."""

    def unpack(self, vector: Array, like: P) -> P:
        """Return the parameters."""


def run_em(
    e_step: Callable[[P], S],
    m_step: Callable[[S, P], P],
    params: P,
    *,
    log_likelihood: Callable[[S], float],
    residual: Callable[[S, P, P], float],
    tol: float,
    max_iter: int,
    packing: Packing[P] | None = None,
    acceleration: str | None = None,
) -> Result[tuple[P, S]]:
    """Climb the likelihood until the residual is at most `tol`.

    Parameters
    ----------
    e_step, m_step : callables      params -> stats, and (stats, params) -> params
    log_likelihood : callable       of the stats, in nats
    residual : callable             of (stats, params, params after the M-step): relative distance from stationarity
    acceleration : None, "anderson" or "squarem"
        A proposal is kept only if the likelihood does not fall; otherwise the plain step is taken.

    Returns
    -------
    Result((params, stats at params), status, path, {"n_iter", "n_e_steps", "residual"})
        The path holds the log-likelihood at the start and after every step; it never falls beyond rounding.
    """
    if acceleration is not None and packing is None:
        raise TypeError(f"acceleration={acceleration!r} needs packing=, with pack() and unpack()")
    accelerator = ACCELERATIONS[acceleration]() if acceleration is not None else None
    stats = e_step(params)
    path = [log_likelihood(stats)]
    status, n_e_steps, distance = Status.MAX_ITER, 1, np.inf
    for _ in range(max_iter):
        plain = m_step(stats, params)
        distance = residual(stats, params, plain)
        if distance <= tol:
            status = Status.CONVERGED
            break
        chosen, chosen_stats = None, None
        if accelerator is not None and packing is not None:
            x = packing.pack(params)
            proposal = accelerator.propose(x, packing.pack(plain))
            if np.isfinite(proposal).all():
                chosen = packing.unpack(proposal, plain)
                chosen_stats = e_step(chosen)
                n_e_steps += 1
                if not log_likelihood(chosen_stats) >= path[-1]:
                    chosen, chosen_stats = None, None
                    accelerator.reset()
        if chosen is None or chosen_stats is None:
            chosen, chosen_stats = plain, e_step(plain)
            n_e_steps += 1
        value = log_likelihood(chosen_stats)
        if value < path[-1] - 1e-9 * (
            1.0 + abs(path[-1])
        ):  # a plain step falls only when precision is used up
            status = Status.STALLED
            break
        params, stats = chosen, chosen_stats
        path.append(value)
    info = {"n_iter": len(path) - 1, "n_e_steps": n_e_steps, "residual": distance}
    return Result((params, stats), status, np.asarray(path), info)
