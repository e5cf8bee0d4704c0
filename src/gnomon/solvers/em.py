"""The one EM loop, for EM, PX-EM and generalized EM, with or without acceleration."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from .._types import Array, Result, Status
from .acceleration import Alternating, Anderson, Squarem

P = TypeVar("P")
S = TypeVar("S")

TINY = 1e-300
FALL = 1e-9  # relative; a plain step falls by more only when precision is used up
ROUNDING = 1e-12  # relative error of a log-likelihood; close to a maximum, gains are smaller than that
ACCELERATIONS = {"alternating": Alternating, "anderson": Anderson, "squarem": Squarem}


class Packing:
    """Parameters, a NamedTuple of arrays, numbers and other such tuples, as one vector, for acceleration.

    Fields with a floor are positive: they enter as logarithms, and come back at or above it.
    """

    def __init__(self, **floors: float) -> None:
        self.floors = floors

    def pack(self, params: Any) -> Array:
        """Return the vector."""
        parts = [
            self.pack(part)
            if isinstance(part, tuple)
            else np.ravel(np.log(np.maximum(part, TINY)) if name in self.floors else part)
            for name, part in zip(params._fields, params, strict=True)
        ]
        return np.concatenate(parts)

    def unpack(self, vector: Array, like: Any) -> Any:
        """Return parameters shaped like `like`."""
        sizes = [self.pack(part).size if isinstance(part, tuple) else np.size(part) for part in like]
        parts = zip(like._fields, np.split(vector, np.cumsum(sizes)[:-1]), like, strict=True)
        return type(like)(*(self._field(name, part, of) for name, part, of in parts))

    def _field(self, name: str, part: Array, like: Any) -> Any:
        if isinstance(like, tuple):
            return self.unpack(part, like)
        if name in self.floors:
            part = np.maximum(np.exp(np.clip(part, -700.0, 60.0)), self.floors[name])
        return part.reshape(like.shape) if isinstance(like, np.ndarray) else float(part[0])


def run_em(
    e_step: Callable[..., S],
    m_step: Callable[[S, P], P],
    params: P,
    *,
    log_likelihood: Callable[[S], float],
    residual: Callable[[S, P, P], float],
    tol: float,
    max_iter: int,
    packing: Packing | None = None,
    acceleration: str | None = None,
    safeguard: Callable[[S, P, P], tuple[P, S]] | None = None,
    warm: bool = False,
) -> Result[tuple[P, S]]:
    """Maximize the likelihood until the residual is at most `tol`.

    Parameters
    ----------
    e_step, m_step : callables      params -> stats, and (stats, params) -> params
    log_likelihood : callable       of the stats, in nats
    residual : callable             of (stats, params, params after the M-step): relative distance from stationarity
    acceleration : None, "alternating", "anderson" or "squarem"
        A proposal is kept only if the likelihood does not fall; otherwise the plain step is taken.
    safeguard : None or callable
        (stats, params, params after the M-step) -> params at which the likelihood is not lower and their stats, for an
        M-step that does not see to it; asked only where no proposal was kept.
    warm : bool
        Whether `e_step` takes the stats of the step before as a second argument, to start near them.

    Returns
    -------
    Result((params, stats at params), status, path, {"n_iter", "n_refused", "residual"})
        The path holds the log-likelihood at the start and after every step; it never falls beyond rounding.
    """
    proposer: _Proposer[P, S] = _Proposer(log_likelihood, packing, acceleration)
    stats = e_step(params, None) if warm else e_step(params)
    path = [log_likelihood(stats)]
    status, distance = Status.MAX_ITER, np.inf
    for _ in range(max_iter):
        plain = m_step(stats, params)
        distance = residual(stats, params, plain)
        if distance <= tol:
            status = Status.CONVERGED
            break
        evaluate = partial(_evaluate, e_step, stats, warm)
        chosen, chosen_stats = (
            proposer.better(params, plain, path[-1], evaluate)
            or (None if safeguard is None else safeguard(stats, params, plain))
            or (plain, evaluate(plain))
        )
        value = log_likelihood(chosen_stats)
        if value < path[-1] - FALL * (1.0 + abs(path[-1])):
            status = Status.STALLED
            break
        params, stats = chosen, chosen_stats
        path.append(value)
    info = {"n_iter": len(path) - 1, "n_refused": proposer.n_refused, "residual": distance}
    return Result((params, stats), status, np.asarray(path), info)


def _evaluate(e_step: Callable[..., S], near: S, warm: bool, params: P) -> S:
    return e_step(params, near) if warm else e_step(params)


class _Proposer(Generic[P, S]):
    """Offers accelerated points and refuses those at which the likelihood falls."""

    def __init__(
        self,
        log_likelihood: Callable[[S], float],
        packing: Packing | None,
        acceleration: str | None,
    ) -> None:
        if acceleration is not None and packing is None:
            raise TypeError(f"acceleration={acceleration!r} needs packing=, with pack() and unpack()")
        self.log_likelihood, self.packing = log_likelihood, packing
        self.accelerator = None if acceleration is None else ACCELERATIONS[acceleration]()
        self.n_refused = 0

    def better(self, params: P, plain: P, value: float, evaluate: Callable[[P], S]) -> tuple[P, S] | None:
        """Return a point at which the log-likelihood is at least `value`, with its stats, or None."""
        if self.accelerator is None or self.packing is None:
            return None
        vector = self.accelerator.propose(self.packing.pack(params), self.packing.pack(plain))
        if np.isfinite(vector).all():
            proposal = self.packing.unpack(vector, plain)
            stats = evaluate(proposal)
            if self.log_likelihood(stats) >= value - ROUNDING * (1.0 + abs(value)):
                return proposal, stats
        self.n_refused += 1
        self.accelerator.reset()
        return None
