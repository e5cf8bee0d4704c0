"""DPPCA taught by others: a few steps of EM from probabilities of the classes, instead of from labels alone."""

from ..._types import Array, IntArray
from .anneal import Options, Problem, Span
from .expected import Here
from .mixture import Params
from .reduction import Reduced

WHOLE = 120  # coordinates up to which factors are sought in all


def taught(rows: Reduced, index: IntArray, proba: Array, options: Options, n_steps: int) -> Params:
    """The parameters after one M-step and so many steps of EM, in each of which the noise level is set anew.

    `proba` (n, c) are probabilities of the classes; a row with a label is of its class.
    """
    problem = Problem(rows, index, proba.shape[1], options)
    here, r = problem.rows, len(problem.scatter)
    assert isinstance(here, Here)
    resp = proba.T * here.weights if len(here.T) == len(proba) else problem.labeled.one_hot.T
    resp[:, here.known.at] = problem.labeled.one_hot.T
    point = here.moments(resp)
    span = Span.whole(problem.scatter) if r <= WHOLE else problem.span()
    size = len(span.scatter)
    params, level = problem.at(point, None, span)
    for _ in range(n_steps):
        span = problem.widened(point, params, span).leading(size)
        point = problem.moments(problem.e_step(params, level))
        params, level = problem.at(point, None, span)
    return params
