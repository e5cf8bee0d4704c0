"""One setting of one model, chosen by few labels: the size of the projection, or how much labels weigh."""

from typing import Any

import numpy as np

from gnomon.selection.candidates import Candidate
from gnomon.selection.partial import last_step
from gnomon.selection.search import GuidedSearch

SIZES = (1, 2, 3, 4, 5, 7, 10)
WEIGHTS = {"label_weight": (1.0, 10.0, 100.0), "unlabeled_weight": (1.0, 0.1, 0.0), "alpha": (0.01, 1e-4, 1.0)}


def choose_components(estimator: Any, X: Any, y: Any, *, values: Any = None, **parameters: Any) -> Any:
    """Choose `n_components` of a model by the labels at hand.

    Parameters
    ----------
    estimator : estimator
        A model with `n_components`, or a pipeline that ends in one; not changed.
    X : array-like or sparse array of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        One target of classes, or real targets, with unlabeled rows.
    values : sequence of int or None, default=None
        Sizes to try, of which the first wins a tie; None takes 1, 2, 3, 4, 5, 7 and 10, as far as X has as many
        directions.
    **parameters : dict
        For `GuidedSearch`: `n_splits`, `n_permutations`, `target`, `unlabeled`, `n_jobs`, `random_state`.

    Returns
    -------
    GuidedSearch
        Fitted: `best_estimator_`, `results_`, `permutation_test_`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.selection import choose_components
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> search = choose_components(SPPCA(), X, seen, values=[1, 2], n_permutations=0)
    >>> [row["settings"] for row in search.results_.rows]
    [{'n_components': 1}, {'n_components': 2}]
    """
    most = min(np.shape(X)) - 1
    sizes = [size for size in SIZES if size <= max(1, most)] if values is None else values
    return _choose(estimator, "n_components", sizes, X, y, parameters)


def choose_supervision(estimator: Any, X: Any, y: Any, *, values: Any = None, **parameters: Any) -> Any:
    """Choose how much labels weigh beside the columns of X, by the labels at hand.

    Parameters
    ----------
    estimator : estimator
        A model with `label_weight` (`SPPCA`, `KernelSPPCA`) or `unlabeled_weight` (`DPPCA`), or a pipeline that ends in
        one; not changed.
    X, y : array-like
        As in `choose_components`.
    values : sequence of float or None, default=None
        Weights to try, of which the first wins a tie; None takes 1, 10 and 100 for `label_weight`, and 1, 0.1 and 0 for
        `unlabeled_weight`.
    **parameters : dict
        For `GuidedSearch`, as in `choose_components`.

    Returns
    -------
    GuidedSearch
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.selection import choose_supervision
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> search = choose_supervision(SPPCA(2), X, seen, n_splits=1, n_permutations=0)
    >>> [row["settings"]["label_weight"] for row in search.results_.rows]
    [1.0, 10.0, 100.0]
    """
    model = last_step(estimator)
    known = [name for name in WEIGHTS if name in model.get_params(deep=False)]
    if not known:
        raise ValueError(
            f"{type(model).__name__} has no weight of its labels ({' or '.join(WEIGHTS)}); give a model that has one, "
            "such as SPPCA or DPPCA."
        )
    return _choose(estimator, known[0], WEIGHTS[known[0]] if values is None else values, X, y, parameters)


def _choose(estimator, name, values, X, y, parameters):
    title = type(last_step(estimator)).__name__
    tried = [Candidate(title, estimator, {name: value}) for value in values]
    return GuidedSearch(tried, preprocessing=["rows"], baselines=False, **parameters).fit(X, y)
