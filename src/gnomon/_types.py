"""The few types that every level shares."""

from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
Value = TypeVar("Value")


class Status(Enum):
    """How an iteration ended; the text is the advice an estimator passes on."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at max_iter; raise max_iter or take a larger tol"
    STALLED = "no further progress at this precision; the result may be less accurate than tol"


class Result(NamedTuple, Generic[Value]):
    """What every solver returns: the value, how it ended, the objective after each step (nats), extras."""

    value: Value
    status: Status
    path: Array
    stats: dict[str, Any]
