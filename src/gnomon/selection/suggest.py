"""Which rows to label next."""

from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from gnomon.describe import describe


def suggest_labels(model: Any, n: int = 10, X: Any = None) -> Any:
    """Name the rows whose label would teach a model most.

    Of classes these are rows whose most probable class leads by little, and that have many rows around them which no
    labeled row is near; of numbers alone, rows as far as can be from every labeled one. Each is chosen with those
    before it counted as labeled, so that together they cover the table.

    Parameters
    ----------
    model : fitted GuidedProjection
        Or a pipeline that ends in one.
    n : int, default=10
        How many rows to name, at most 500.
    X : array-like or sparse array of shape (n_samples, n_features), default=None
        Rows to choose among; None takes the rows of the fit that have no label, 500 of them where there are more.

    Returns
    -------
    rows : ndarray of shape (min(n, n_samples),)
        Row numbers in X, or in the table of the fit, the most wanted first.

    Raises
    ------
    TypeError
        When the model does not say what it is, or suggests nothing.
    ValueError
        When n is not positive.

    Notes
    -----
    The gain of a row i is (1 - lead of its most probable class) sum_j max(s_ij - c_j, 0): s is exp(-d^2 / h^2) in the
    leading coordinates of all preparations side by side, c_j the largest s of row j with any labeled row, and h the
    median distance to that neighbor up to which each labeled row would stand for as many rows as any other. For numbers
    it is the distance to the nearest labeled row, of standardized columns (Kennard and Stone 1969).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import GuidedProjection
    >>> from gnomon.selection import suggest_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 50 < 2, y, -1)       # two flowers of each species
    >>> rows = suggest_labels(GuidedProjection().fit(X, seen), n=5)
    >>> len(rows), bool((seen[rows] == -1).all())
    (5, True)
    """
    check_scalar(n, "n", (int, np.integer), min_val=1)
    said = describe(model)
    if said.suggest is None:
        raise TypeError(f"{said.model} suggests no rows to label; a fitted GuidedProjection does.")
    return said.suggest(int(n), X)
