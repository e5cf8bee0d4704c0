"""Whether labels guide a model: its score with the labels as they are, and after they changed places."""

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.utils import check_array

from gnomon.selection.partial import HalfFit, fit_partial, permuted_scores, prepared, run_jobs
from gnomon.selection.results import PermutationTest
from gnomon.selection.search import GuidedSearch
from gnomon.selection.stability import halves_of, row_order
from gnomon.targets import read, read_groups

SEARCHES = (GuidedSearch, GridSearchCV, RandomizedSearchCV)


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: Any = 19,
    n_splits: Any = 1,
    groups: Any = None,
    target: Any = "auto",
    unlabeled: Any = "auto",
    n_jobs: Any = None,
    random_state: Any = 0,
) -> Any:
    """Test whether labels help a model, by its score after they have changed places.

    The score is that of `GuidedSearch`: models of half the labels must agree on the unlabeled rows and be right about
    the labels they have not seen. Of a search (`GuidedSearch`, or scikit-learn's `GridSearchCV`, which is fitted to the
    labeled rows) the score is that of what it chooses, and the whole search is repeated for every permutation, because
    it would choose another candidate there; `permutation_test_` of a fitted `GuidedSearch` is the quick test of the
    chosen one alone.

    Parameters
    ----------
    estimator : estimator
        Fitted or not: it is cloned, and choices that its `fit` makes ("auto") are made anew for every permutation.
    X : array-like or sparse array of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        One target of classes, or real targets, with unlabeled rows.
    n_permutations : int, default=19
        Random permutations of the labels of the labeled rows; 19 are the fewest that can reach p = 0.05.
    n_splits : int, default=1
        Random halves to average the score over, for a model that is no search.
    groups : array-like of shape (n_samples,) or None, default=None
        Which sample, patient, plot or the like each row is of, where several rows are of one, as in `compare`: they are
        in one half, and their labels change places together.
    target : {"auto", "classes", "real"}, default="auto"
        How to read y.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row.
    n_jobs : int or None, default=None
        Processes for the permutations, as in joblib.
    random_state : int, default=0
        Draws the halves and the permutations.

    Returns
    -------
    PermutationTest
        `p_value`, `above_chance`, `verdict`, `repeats_choice`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import KDA
    >>> from gnomon.selection import permutation_test
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> permutation_test(KDA(2), X, seen).above_chance
    True
    """
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    targets = read(y, X.shape[0], target=target, unlabeled=unlabeled, several="real")
    rng = np.random.default_rng(random_state)
    halves = halves_of(targets, row_order(X), n_splits, rng, read_groups(groups, X.shape[0]))
    if not isinstance(estimator, SEARCHES):
        return permuted_scores(halves, HalfFit(estimator, X, halves.kind, halves.groups), n_permutations, rng, n_jobs)
    tried = [halves, *(halves.permuted(rng) for _ in range(n_permutations))]
    scores = run_jobs(_best_score, [(estimator, X, one) for one in tried], n_jobs)
    return PermutationTest(scores[0], scores[1:])


def _best_score(search, X, halves):
    """The score of what a search chooses with these labels."""
    made = prepared(search, unlabeled=HalfFit.MARK[halves.kind], target=halves.kind, n_permutations=0)
    y = halves.targets.ravel() if halves.kind == "real" and halves.targets.shape[1] == 1 else halves.targets
    with warnings.catch_warnings(action="ignore"):  # each may say what the first fit has said
        return float(fit_partial(made, X, y, halves.complete, halves.groups).best_score_)
